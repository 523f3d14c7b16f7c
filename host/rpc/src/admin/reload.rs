//! Reloading the configuration.

use tenure_types::Result;

use super::node::{AdminNode, Reloaded};
use crate::v1;

/// Reloads it, and returns which keys took effect and which did not.
pub(super) async fn reload(node: &dyn AdminNode) -> Result<v1::ReloadResponse> {
    let Reloaded { applied, after_restart, problems } = node.reload().await?;
    let problem = |(key, message)| v1::ReloadProblem { key, message };
    Ok(v1::ReloadResponse { applied, after_restart, problems: problems.into_iter().map(problem).collect() })
}
