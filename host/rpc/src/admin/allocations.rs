//! Listing any number of allocations: a network's book is read in parts, and the allocations are streamed.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _, stream};
use tenure_engine::{Engine, Listed};
use tenure_types::{Generation, NetworkName, Result};
use tonic::Status;

use super::shown::{shown, unknown_network};
use crate::v1;

/// The answer to a list request.
pub(super) type AllocationStream = Pin<Box<dyn Stream<Item = Result<v1::Allocation, Status>> + Send>>;

/// The number of allocations to read while the book is locked.
const PART: usize = 4096;

/// The allocations of one network, or of all networks if the name is empty; sorted by network and address.
pub(super) async fn allocations(engine: &Arc<Engine>, only: &str) -> Result<AllocationStream> {
    let names = match only {
        "" => engine.network_names(),
        only => match NetworkName::new(only) {
            Ok(name) if engine.book(&name).await.is_some() => vec![name],
            _ => return Err(unknown_network(only)),
        },
    };
    let engine = Arc::clone(engine);
    let of_each = stream::iter(names).then(move |name| of_network(Arc::clone(&engine), name));
    let shown = |listed: Listed| Ok(shown(&listed.allocation, listed.outside, listed.waiting));
    Ok(Box::pin(of_each.flat_map(move |listed| stream::iter(listed).map(shown))))
}

/// A network's allocations, sorted by address.
async fn of_network(engine: Arc<Engine>, network: NetworkName) -> Vec<Listed> {
    let mut listed = Vec::new();
    let mut after = Generation::default();
    loop {
        let part = engine.list(&network, after, PART).await;
        let Some(last) = part.last() else { break };
        after = last.allocation.generation;
        listed.extend(part);
    }
    let sort = move || {
        listed.sort_by_cached_key(|held| held.allocation.addresses.first().map(|first| first.address.addr()));
        listed
    };
    // This fails only while the daemon is stopping.
    tokio::task::spawn_blocking(sort).await.unwrap_or_default()
}
