//! `tenurectl allocations`: streams allocations without buffering them.

use tenure_rpc::v1;
use tenure_types::Error;

use crate::daemon::Daemon;

/// Passes each allocation of a network (or of all networks, if the name is empty) to `take` until it returns `false`; `None`
/// marks the end.
pub(crate) async fn allocations(
    daemon: &Daemon,
    network: String,
    mut take: impl FnMut(Option<v1::Allocation>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let request = v1::ListAllocationsRequest { network };
    let mut answer = daemon.call(async |mut admin| admin.list_allocations(request).await).await?;
    loop {
        let next = daemon.next(&mut answer).await?;
        let is_last = next.is_none();
        if !take(next)? || is_last {
            return Ok(());
        }
    }
}
