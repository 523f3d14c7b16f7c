//! The record of the DELs that were served, which outlives the daemon.

use std::fmt::Debug;
use std::time::Duration;

use tenure_types::{Moment, NetworkName, Owner};

/// How long a DEL is remembered; an ADD that began longer ago is refused as well.
pub const DELS_REMEMBERED: Duration = Duration::from_secs(600);

/// A DEL that an earlier engine has served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedDel {
    /// The network.
    pub network: NetworkName,
    /// The owner whose addresses it released.
    pub owner: Owner,
    /// Beginning of the caller's request.
    pub began: Moment,
    /// Time at which the engine served it.
    pub served: Moment,
}

/// Records the DELs that an engine serves, so that the next one in the same boot knows them.
pub trait DelRecord: Debug + Send + Sync + 'static {
    /// Records a DEL before it is answered. Called with a lock held, so it must not wait.
    fn served(&self, network: &NetworkName, owner: &Owner, began: Moment, now: Moment);
}
