//! The real plugin, built and run, against a daemon that answers as it is told.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic anywhere"
)]

mod asking;
mod dispatch;
mod support;
