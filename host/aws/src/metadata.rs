//! The instance's metadata service: this node's identity, and hints that something about its interfaces changed.
//!
//! The service lags behind EC2, sometimes for hours, and has no versions. So nothing is handed out or given up because of
//! it: only EC2's answers decide; a difference is a reason to ask EC2 earlier, and agreement one to ask it later. Where EC2 must not be asked, by the setting `imdsOnly` or
//! for want of a permission, it is the only source there is.

mod attached;
mod door;
mod hints;
mod imds;
mod round;
mod token;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use crate::identity::Identity;
use crate::port::{Ec2Interface, Ec2Subnet};

pub use self::door::{ENDPOINT, InvalidEndpoint};
pub use self::hints::Hints;
pub use self::imds::Imds;
pub use self::round::{CarriedField, Hint, HintRound, ShownPart};

/// A pending answer of the metadata service.
pub type Read<'a, T> = Pin<Box<dyn Future<Output = Result<T, MetadataError>> + Send + 'a>>;

/// The instance's metadata service.
pub trait InstanceMetadata: Send + Sync + 'static {
    /// Reads this node's identity.
    fn identity(&self) -> Read<'_, Identity>;

    /// Reads the interfaces of this node, and the subnets that they are in.
    fn attached(&self) -> Read<'_, AttachedInterfaces>;

    /// Reads the lines of one field or list, such as a [`HintRound`] asks for, and tries no second time; an absent one has none.
    fn lines<'a>(&'a self, path: &'a str) -> Read<'a, BTreeSet<String>>;
}

/// The interfaces of this node, as the metadata service shows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttachedInterfaces {
    /// The interfaces. The service does not know their tags, the ids of their attachments, and since when they are attached.
    pub interfaces: Vec<Ec2Interface>,
    /// The subnets of the interfaces, each once. The service does not know their tags, and how many of their addresses are free.
    pub subnets: Vec<Ec2Subnet>,
}

/// Why the metadata service did not say something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// The service could not be reached, or its answer was cut off, several times in a row.
    #[error("cannot read {path} from the metadata service: {reason}")]
    Unreachable {
        /// Path of the request.
        path: String,
        /// Last failure.
        reason: String,
    },
    /// The service refused. Status 403 means that it is turned off, or that this is not the instance's own network.
    #[error("the metadata service refuses {path} with HTTP status {status}")]
    Refused {
        /// Path of the request.
        path: String,
        /// The status.
        status: u16,
    },
    /// The service lacks an item that every instance has.
    #[error("the metadata service has no {0}")]
    Missing(String),
    /// The service returned an impossible value.
    #[error("the metadata service says {value:?} for {path}")]
    Invalid {
        /// Path of the request.
        path: String,
        /// Returned value.
        value: String,
    },
}
