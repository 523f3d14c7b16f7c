//! The daemon: whether it serves ADD.

use tenure_rpc::v1::GetStatusResponse;
use tenure_types::{Error, ErrorCode};

use crate::exit::next_step;
use crate::report::NodeCheck;

/// Judges the daemon's answer.
pub(super) fn served(status: &Result<GetStatusResponse, Error>, is_before: bool) -> NodeCheck {
    const NAME: &str = "daemon";
    let status = match status {
        Ok(status) => status,
        Err(error) if is_before && error.code == ErrorCode::Unreachable => {
            return NodeCheck::skipped(NAME, "not running yet");
        }
        Err(error) => return NodeCheck::problem(NAME, error.cause.clone(), next_step(error)),
    };
    let first = status.conditions.first();
    let found = match first {
        Some(condition) => format!("{}: {}: {}", status.state, condition.name, condition.message),
        None => format!("{}, version {}", status.state, status.version),
    };
    let next = first.map(|condition| condition.next_step.clone()).unwrap_or_default();
    match status.state.as_str() {
        "ready" => NodeCheck::fine(NAME, found),
        "degraded" => NodeCheck::warning(NAME, found, next),
        _ => NodeCheck::problem(NAME, found, next),
    }
}
