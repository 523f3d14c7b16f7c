//! Runs the built plugin against a daemon with scripted answers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic anywhere"
)]

mod asking;
mod dispatch;
mod support;
mod waiting;
