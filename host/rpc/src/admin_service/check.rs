//! Comparing what the daemon holds in memory with its checkpoint and with the sandboxes that are really there.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Allocation, Error, ErrorCode, Generation, NetworkName};
use tonic::Status;

use super::{AdminService, addresses};
use crate::status::to_status;
use crate::v1;

impl AdminService {
    /// Everything that differs, and how many facts were looked at. Nothing is locked, so a difference may be of the moment.
    pub(super) async fn compare(&self) -> Result<(u64, Vec<v1::Finding>), Status> {
        let node = Arc::clone(&self.node);
        let on_disk = tokio::task::spawn_blocking(move || node.books_on_disk())
            .await
            .map_err(|error| to_status(&Error::new(ErrorCode::Internal, error)))?
            .map_err(|error| to_status(&error))?;
        let in_memory = self.books().await;
        let (compared, mut findings) = differences(&on_disk, &in_memory);
        let held: Vec<_> = in_memory.iter().flat_map(|book| book.allocations().cloned()).collect();
        let (traces, problem) = self.node.look_for(&held).await;
        findings.extend(held.iter().zip(traces).filter_map(|(held, traces)| traces.finding(held)));
        findings.extend(problem.map(|error| {
            v1::Finding {
                kind: "runtime-unreachable".to_owned(),
                subject: "container runtime".to_owned(),
                detail: error.cause,
                next_step:
                    "start the runtime or mend `runtime.socket`; until then nothing is freed for its silence"
                        .to_owned(),
                ..v1::Finding::default()
            }
        }));
        Ok((compared, findings))
    }
}

/// Where memory and disk differ.
fn differences(on_disk: &[Book], in_memory: &[Arc<Book>]) -> (u64, Vec<v1::Finding>) {
    let on_disk = keyed(on_disk.iter());
    let in_memory = keyed(in_memory.iter().map(Arc::as_ref));
    let (mut compared, mut findings) = (0, Vec::new());
    let nothing = Allocations::new();
    for network in on_disk.keys().chain(in_memory.keys().filter(|name| !on_disk.contains_key(*name))) {
        let disk = on_disk.get(network).unwrap_or(&nothing);
        let memory = in_memory.get(network).unwrap_or(&nothing);
        compared += disk.len().max(memory.len()) as u64;
        let next_step = "read the daemon's log for checkpoint errors, and report it";
        findings
            .extend(only_in(memory, disk).map(|held| missing("missing-from-checkpoint", held, next_step)));
        let next_step = "restart tenured: the checkpoint is what counts; and report it";
        findings.extend(only_in(disk, memory).map(|held| missing("missing-from-memory", held, next_step)));
    }
    (compared, findings)
}

type Allocations = BTreeMap<Generation, Arc<Allocation>>;

fn keyed<'a>(books: impl Iterator<Item = &'a Book>) -> BTreeMap<NetworkName, Allocations> {
    let of = |book: &Book| book.allocations().map(|held| (held.generation, Arc::clone(held))).collect();
    books.map(|book| (book.network().name.clone(), of(book))).collect()
}

fn only_in<'a>(these: &'a Allocations, those: &'a Allocations) -> impl Iterator<Item = &'a Allocation> {
    these
        .iter()
        .filter(|(generation, held)| those.get(generation) != Some(held))
        .map(|(_, held)| held.as_ref())
}

fn missing(kind: &str, held: &Allocation, next_step: &str) -> v1::Finding {
    v1::Finding {
        kind: kind.to_owned(),
        network: held.network.to_string(),
        subject: held.owner.to_string(),
        detail: format!("allocation {} of {}", held.generation, addresses(held).join(", ")),
        next_step: next_step.to_owned(),
        generation: held.generation.0,
    }
}
