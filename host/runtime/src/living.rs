//! Whether containers with unknown addresses may be running on this node, which must be ruled out before ADD is
//! served after a lost state.

use crate::{Runtime, strangers};

/// Why containers with unknown addresses may be running; `None` if all sources say that there are none.
///
/// A runtime knows only its own pods, so its answer alone is enough only if it is `exclusive`, the only runtime on
/// the node.
pub async fn who_may_live(runtime: &Runtime, exclusive: bool) -> Option<String> {
    match runtime.has_pods().await {
        Ok(true) => return Some("the container runtime has pods".to_owned()),
        Ok(false) if exclusive => return None,
        Ok(false) => {}
        Err(error) => {
            return Some(format!("cannot determine whether the container runtime has pods: {error}"));
        }
    }
    let looked = tokio::task::spawn_blocking(strangers::look).await.unwrap_or_else(|error| Err(error.into()));
    match looked {
        Ok(None) => None,
        Ok(Some(found)) => Some(format!(
            "the container runtime has no pods, but network namespace {} may belong to a running container",
            found.display()
        )),
        Err(error) => Some(format!(
            "the container runtime has no pods, but cannot determine whether others have containers: {error}; \
             set `runtime.exclusive` if it is the only runtime"
        )),
    }
}
