//! Live policies: which component serves a network, and how one replaces another under load.
//!
//! ```text
//!  load ─▶ conformance ─▶ shadow ─▶ exchange ─▶ watch ─▶ kept
//!            │ fails        │ ends     │ not durable  │ does worse
//!            ▼              ▼          ▼              ▼
//!          refused       nothing     undone       rolled back
//! ```
//!
//! Each step is a fact of the chapter `choices` and a line of the network's history. A failed step leaves the policy
//! before it serving. Nothing here runs in the path of a request, except that a watched network's failures are
//! repeated with the policy before, and that a shadowed network's requests are noted in a bounded queue.

pub(crate) mod activate;
pub(crate) mod changed;
pub(crate) mod commit;
pub(crate) mod components;
pub(crate) mod conformance;
pub(crate) mod define;
pub(crate) mod follow;
pub(crate) mod follower;
pub(crate) mod judge;
pub(crate) mod naming;
pub(crate) mod promote;
pub(crate) mod replace_state;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod shadow;
pub(crate) mod tend;
pub(crate) mod vetted;
pub(crate) mod vetting;

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use self::run::{Reports, Runs};
use self::vetted::Vetting;
use crate::core::EngineCore;
use crate::policy::shadows::Shadows;

/// Owns which policy serves a network: the verdicts on policies, the shadow runs, and the exchanges.
pub(crate) struct PolicyExchange {
    core: Arc<EngineCore>,
    /// Which policies have passed the conformance suite, and which are to be checked.
    vetting: Vetting,
    /// Held while a policy is loaded or unloaded.
    loading: tokio::sync::Mutex<()>,
    /// Requests and facts for the shadows.
    shadows: Arc<Shadows>,
    /// The reports of the shadow runs. A `std::sync::Mutex`, held to read and to replace them.
    reports: Mutex<Reports>,
    /// Notified when [`tend`](Self::tend) has something to do.
    due: Notify,
    /// The shadow runs, which belong to the one caller that tends.
    tending: tokio::sync::Mutex<Runs>,
}

impl PolicyExchange {
    pub(crate) fn new(core: Arc<EngineCore>, shadows: Arc<Shadows>) -> Self {
        Self {
            core,
            vetting: Vetting::default(),
            loading: tokio::sync::Mutex::default(),
            shadows,
            reports: Mutex::default(),
            due: Notify::new(),
            tending: tokio::sync::Mutex::default(),
        }
    }
}
