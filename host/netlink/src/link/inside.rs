//! Work inside of a pod's network namespace, on a thread that goes there and does not come back.

use std::os::fd::AsFd as _;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::sync::oneshot;

use super::netns::Netns;
use crate::error::Error;
use crate::kernel::Kernel;

/// Does something inside.
pub(super) async fn inside<T: Send + 'static>(
    netns: &Netns,
    work: impl AsyncFnOnce(Kernel) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let netns = netns.again()?;
    let what = format!("work in {}", netns.path().display());
    let failed = |source| Error::Io { what: what.clone(), source };
    let (answer, result) = oneshot::channel();
    // Never a thread of a pool: the next one's work would be done in the pod.
    std::thread::Builder::new()
        .name("pod-link".to_owned())
        .spawn(move || {
            // If nobody waits any more, the link is checked by whoever asks next.
            let _ = answer.send(enter(&netns, work));
        })
        .map_err(failed)?;
    result.await.map_err(|_| failed(std::io::Error::other("its thread ended early")))?
}

/// Moves the calling thread into the namespace, and does the work there.
fn enter<T>(netns: &Netns, work: impl AsyncFnOnce(Kernel) -> Result<T, Error>) -> Result<T, Error> {
    let failed = |source| Error::Io { what: format!("enter {}", netns.path().display()), source };
    move_into_link_name_space(netns.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| failed(error.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async { work(Kernel::connect()?).await })
}
