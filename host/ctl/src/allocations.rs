//! `tenurectl allocations`: however many there are, they are printed as they come and none is kept.

use tenure_rpc::v1;
use tenure_types::Error;

use crate::arguments::Output;
use crate::daemon::Daemon;
use crate::{json, print_on, render};

/// How much is printed at a time.
const PIECE: usize = 64 << 10;

/// Prints a network's allocations, or all.
pub(crate) async fn print(daemon: &Daemon, network: String, output: Output) -> Result<(), Error> {
    let request = v1::ListAllocationsRequest { network: network.clone() };
    let mut answer = daemon.call(async |mut admin| admin.list_allocations(request).await).await?;
    let mut table = render::Allocations::new(&network, render::now_ms());
    let mut list = json::Allocations::default();
    let mut text = String::new();
    while let Some(allocation) = daemon.next(&mut answer).await? {
        match output {
            Output::Table => table.add(&allocation, &mut text),
            Output::Json => list.add(&allocation, &mut text),
        }
        if text.len() >= PIECE {
            if !print_on(&text)? {
                return Ok(());
            }
            text.clear();
        }
    }
    match output {
        Output::Table => table.end(&mut text),
        Output::Json => list.end(&mut text),
    }
    print_on(&text).map(drop)
}
