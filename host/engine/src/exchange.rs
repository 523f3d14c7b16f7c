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
pub(crate) mod components;
pub(crate) mod conformance;
pub(crate) mod define;
pub(crate) mod exchange;
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
