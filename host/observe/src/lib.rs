//! What a node shows of itself: metrics, logging and health.
//!
//! Nothing here decides anything, and nothing here is needed to serve a request: each part is told what
//! happened and can be left out. What a daemon shows over HTTP is numbers and reasons, never who owns what;
//! that is the admin socket's.

pub mod http;
pub mod logging;
mod metrics;

pub use metrics::Metrics;
