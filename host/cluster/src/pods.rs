//! The pods of one node, as the API server has them: a witness for the addresses that they hold.
//!
//! ```text
//!   watch of spec.nodeName, metadata only, without those that have finished ─▶ known ── has the pod, with its uid ─▶ present, without a call
//!                                             │ lacks it
//!                                             ▼
//!                                         questions ── one GET, within the bucket and the pod's own pause ─▶ present, absent or unknown
//! ```
//!
//! The watch alone proves nothing: an interrupted one does not report the deletions that it missed, and a cached one may be behind. So it only says
//! which pods to ask about, and a GET from etcd answers. An error is never an answer. A pod is asked about for as long as its row is in
//! the ledger, so that none can be dropped; there is no queue but the ledger.

mod events;
mod get;
mod guest;
mod known;
mod labels;
mod lookup;
mod namespaces;
mod node;
mod questions;
#[cfg(test)]
mod simulation;
mod verdict;
mod watch;
mod witness;

pub use self::events::{PodEvent, PodEventWriter, PodEvents, pod_events};
pub use self::get::LookupError;
pub use self::guest::guest_of;
pub(crate) use self::labels::NETWORKS_ANNOTATION;
pub use self::labels::ObjectLabels;
pub use self::labels::{CLAIM_ANNOTATION, MATCH_ANNOTATION, POOLS_ANNOTATION};
pub use self::node::NodePods;
pub use self::verdict::PodPresence;
pub use self::watch::PodWatch;
pub use self::witness::{KnownPodLabels, PodFigures, PodsOfNode};
