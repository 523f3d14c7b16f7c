//! `tenurectl allocations`: however many there are, they are handed over as they come and none is kept.

use tenure_rpc::v1;
use tenure_types::Error;

use crate::daemon::Daemon;

/// Hands over a network's allocations, or all, and at last that there is none left; for as long as they are wanted.
pub(crate) async fn allocations(
    daemon: &Daemon,
    network: String,
    mut take: impl FnMut(Option<&v1::Allocation>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let request = v1::ListAllocationsRequest { network };
    let mut answer = daemon.call(async |mut admin| admin.list_allocations(request).await).await?;
    loop {
        let next = daemon.next(&mut answer).await?;
        if !take(next.as_ref())? || next.is_none() {
            return Ok(());
        }
    }
}
