//! Observability of a node: metrics, logging and health.
//!
//! Nothing here makes decisions, and nothing here is needed to serve a request: each part is notified of what
//! happened, and can be omitted. The daemon's HTTP server shows numbers and reasons, but never who holds which
//! address; only the admin socket shows that.

pub mod http;
pub mod logging;
mod metrics;

pub use metrics::{
    CloudFigures, ClusterFigures, ClusterPoolFigure, Metrics, NetworkFigures, PodWatchFigures, PoolFigures,
};
