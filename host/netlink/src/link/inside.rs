//! Work inside of a pod's network namespace, on a thread that goes there and does not come back.

use std::os::fd::AsFd as _;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::time::timeout;

use super::netns::Netns;
use super::step::{LIMIT, step};
use crate::error::Error;
use crate::kernel::Kernel;

/// Does something inside. A pod that has NET_ADMIN chooses how much there is to look at, so the work has a limit in time.
pub(super) async fn inside<T: Send + 'static>(
    netns: &Netns,
    work: impl AsyncFnOnce(Kernel) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let netns = netns.again()?;
    let what = format!("work in {}", netns.path().display());
    // Never a thread of a pool: the next one's work would be done in the pod.
    step(what, netns.turn(), move || enter(&netns, work)).await
}

/// Moves the calling thread into the namespace, and does the work there.
fn enter<T>(netns: &Netns, work: impl AsyncFnOnce(Kernel) -> Result<T, Error>) -> Result<T, Error> {
    let failed = |source| Error::Io { what: format!("enter {}", netns.path().display()), source };
    move_into_link_name_space(netns.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| failed(error.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    // What nobody waits for any more is not carried on with.
    let done = runtime.block_on(async { timeout(LIMIT, async { work(Kernel::connect()?).await }).await });
    done.unwrap_or_else(|_| Err(Error::TooSlow(format!("work in {}", netns.path().display()))))
}
