//! Whether anybody may live on this node whose address is not known: what a lost state has to know before ADD is served again.

use crate::{Runtime, strangers};

/// Why somebody may live whose address is not known; `None` when all who can tell say that nobody does.
///
/// A runtime knows of its own pods only, so its word counts alone only where it is `exclusive`, the only one on the node.
pub async fn who_may_live(runtime: &Runtime, exclusive: bool) -> Option<String> {
    match runtime.has_pods().await {
        Ok(true) => return Some("the container runtime has pods".to_owned()),
        Ok(false) if exclusive => return None,
        Ok(false) => {}
        Err(error) => return Some(format!("the container runtime cannot say whether it has pods: {error}")),
    }
    let looked = tokio::task::spawn_blocking(strangers::look).await.unwrap_or_else(|error| Err(error.into()));
    match looked {
        Ok(None) => None,
        Ok(Some(found)) => Some(format!(
            "the container runtime has no pods, but {} is a network namespace that somebody may live in",
            found.display()
        )),
        Err(error) => Some(format!(
            "the container runtime has no pods, but whether others have containers cannot be seen: {error}; \
             `runtime.exclusive` says that nobody has"
        )),
    }
}
