//! Check: compares the daemon's memory with its checkpoint and with the sandboxes that exist.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_engine::Engine;
use tenure_ledger::Book;
use tenure_runtime::{SandboxEvidence, SandboxStanding, Sandboxes, WitnessVerdict};
use tenure_types::{Allocation, Error, ErrorCode, Owner, PodIdentity, Result};

use super::books::books;
use super::difference::{ComparedBooks, MissingAllocation, missing};
use super::node::AdminNode;
use super::overlap::{Overlap, overlaps};
use super::quarantine;
use super::shown::addresses;
use super::taken::TakenRanges;
use crate::v1;

/// All differences between memory, disk and node.
pub(super) async fn check(engine: &Engine, node: &Arc<dyn AdminNode>) -> Result<v1::CheckResponse> {
    // Requests are served meanwhile: only findings of both passes are real.
    let (first, silence) = compare(engine, node, None).await?;
    let (mut check, _) = compare(engine, node, silence).await?;
    let key = |found: &v1::Finding| {
        (found.kind.clone(), found.network.clone(), found.generation, found.subject.clone())
    };
    let first: HashSet<_> = first.findings.iter().map(key).collect();
    check.findings.retain(|finding| first.contains(&key(finding)));
    check.findings_left_out = bounded(&mut check.findings, MOST_FINDINGS);
    check.notes_left_out = bounded(&mut check.notes, MOST_NOTES);
    Ok(check)
}

/// The most findings and notes to return.
const MOST_FINDINGS: usize = 100_000;
const MOST_NOTES: usize = 1000;

/// Leaves out what is too much, and returns how much that is.
fn bounded(findings: &mut Vec<v1::Finding>, most: usize) -> u64 {
    let left_out = findings.len().saturating_sub(most) as u64;
    findings.truncate(most);
    left_out
}

/// The current differences, and the error if the runtime could not be queried; one that was `silent` a moment ago is not asked again.
/// Nothing is locked, so what is found about sandboxes may be transient.
async fn compare(
    engine: &Engine,
    node: &Arc<dyn AdminNode>,
    silent: Option<Error>,
) -> Result<(v1::CheckResponse, Option<Error>)> {
    let before = books(engine).await;
    // What memory had then is on the disk from here on; if it cannot be, the difference is real.
    let _ = engine.settled().await;
    let reading = Arc::clone(node);
    let on_disk = tokio::task::spawn_blocking(move || reading.books_on_disk())
        .await
        .map_err(|error| Error::new(ErrorCode::Internal, error))??;
    let in_memory = books(engine).await;
    let looked = ComparedBooks { before: &before, on_disk: &on_disk, after: &in_memory };
    let (compared, different) = missing(looked);
    let mut findings: Vec<_> = different.iter().map(difference).collect();
    let held: Vec<_> = in_memory.iter().flat_map(|book| book.allocations().cloned()).collect();
    let (evidence, problem) = match silent {
        None => node.look_for(&held).await,
        silent => (Sandboxes::look_for_namespaces(&held), silent),
    };
    let looked_for = held.iter().zip(evidence);
    findings.extend(looked_for.filter_map(|(held, evidence)| Some(about(held, no_sandbox(held, evidence)?))));
    findings.extend(in_memory.iter().flat_map(|book| unknown_owners(book)));
    if let Some(taken) = TakenRanges::of(node.cloud()).await {
        findings.extend(taken.held(&in_memory).map(|(held, finding)| about(held, finding)));
    }
    findings.extend(problem.as_ref().map(|error| {
        v1::Finding {
            kind: "runtime-unreachable".to_owned(),
            subject: "container runtime".to_owned(),
            detail: error.cause.clone(),
            next_step:
                "start the runtime or fix `runtime.socket`; until it answers, no allocation is freed as leaked"
                    .to_owned(),
            ..v1::Finding::default()
        }
    }));
    let mut notes = overlapping(&in_memory);
    notes.extend(in_memory.iter().flat_map(|book| quarantine::notes(book)));
    Ok((v1::CheckResponse { compared, findings, notes, ..v1::CheckResponse::default() }, problem))
}

/// The finding for an allocation with this evidence about its sandbox, if a witness reports the sandbox or its pod as gone.
fn no_sandbox(held: &Allocation, evidence: SandboxEvidence) -> Option<v1::Finding> {
    let namespace = format!("network namespace {} is gone", held.netns());
    let (kind, detail, next_step) = match evidence.standing() {
        SandboxStanding::Gone => {
            let half = match evidence.namespace {
                WitnessVerdict::Absent => namespace,
                WitnessVerdict::Present | WitnessVerdict::Unknown => {
                    format!("pod {} is gone", pod_name(held))
                }
            };
            (
                "sandbox-gone",
                format!("{half}, and the runtime does not list the container"),
                "the daemon frees it after the grace period; `tenurectl repair --from REPORT --apply` frees it now",
            )
        }
        SandboxStanding::Ending => (
            "namespace-gone",
            format!("{namespace}, but the runtime lists the container"),
            "nothing to do if the container has stopped: the runtime will send its DEL",
        ),
        SandboxStanding::Unconfirmed if evidence.namespace == WitnessVerdict::Absent => (
            "namespace-gone",
            format!("{namespace}; no runtime reports on the container"),
            "set `runtime.socket` so that the runtime can confirm it; the runtime's DEL or GC frees the address",
        ),
        _ if evidence.pod == WitnessVerdict::Absent => pod_gone(held, evidence),
        // The files of other IPAMs name no namespace. An ADD that is under way has no origin.
        SandboxStanding::Unknown if evidence.runtime == WitnessVerdict::Absent && held.origin.is_some() => {
            return Some(container_gone(held));
        }
        SandboxStanding::Lives | SandboxStanding::Unconfirmed | SandboxStanding::Unknown => return None,
    };
    Some(v1::Finding {
        kind: kind.to_owned(),
        network: held.network.to_string(),
        subject: held.owner.to_string(),
        detail: format!("allocation {}: {detail}", held.generation),
        next_step: next_step.to_owned(),
        generation: held.generation.0,
        ..v1::Finding::default()
    })
}

/// The kind, words and next step for a pod that the API server does not have, while a witness of its sandbox is missing or contradicts.
fn pod_gone(held: &Allocation, evidence: SandboxEvidence) -> (&'static str, String, &'static str) {
    let pod = pod_name(held);
    let (but, next_step) = match (evidence.runtime, evidence.namespace) {
        (WitnessVerdict::Present, _) => (
            "but the runtime lists its sandbox",
            "a pod that was deleted by force may still run; end its sandbox with `crictl stopp` and `crictl rmp`, and the runtime sends its DEL",
        ),
        (_, WitnessVerdict::Present) => (
            "but its network namespace exists",
            "look for processes in the namespace; if there are none, remove it, and the address is freed after the grace period",
        ),
        _ => (
            "and no runtime reports on the container",
            "set `runtime.socket`, or start the runtime, so that it can confirm it; the runtime's DEL or GC frees the address",
        ),
    };
    ("pod-gone", format!("the API server has no pod {pod}, {but}"), next_step)
}

/// The pod's name and uid, for people.
fn pod_name(held: &Allocation) -> String {
    let name = |pod: &PodIdentity| format!("{}/{} with uid {}", pod.namespace, pod.name, pod.uid);
    held.pod().map_or_else(|| "of the container".to_owned(), name)
}

/// The finding for an imported allocation of which no namespace is known, and whose container the runtime does not list. One
/// witness frees nothing.
fn container_gone(held: &Allocation) -> v1::Finding {
    let source = held.origin.as_ref().map_or("", |origin| &origin.source);
    v1::Finding {
        kind: "container-gone".to_owned(),
        network: held.network.to_string(),
        subject: held.owner.to_string(),
        detail: format!(
            "allocation {}: imported from {source}, so its network namespace is not known; the runtime does not list the container",
            held.generation
        ),
        next_step: "nothing frees it but a DEL, a GC or a boot; if the pod is gone, `tenurectl release ADDRESS --apply` frees it"
            .to_owned(),
        generation: held.generation.0,
        ..v1::Finding::default()
    }
}

/// The finding for a difference between disk and memory.
fn difference(missing: &MissingAllocation) -> v1::Finding {
    let (held, kind, next_step) = match missing {
        MissingAllocation::FromDisk(held) => {
            let next_step = "look for checkpoint errors in the daemon's log, and report a bug";
            (held, "missing-from-checkpoint", next_step)
        }
        MissingAllocation::FromMemory(held) => {
            let next_step = "restart tenured, which loads the checkpoint; and report a bug";
            (held, "missing-from-memory", next_step)
        }
    };
    let finding = v1::Finding {
        kind: kind.to_owned(),
        network: held.network.to_string(),
        subject: held.owner.to_string(),
        detail: format!("allocation {} of {}", held.generation, addresses(held).join(", ")),
        next_step: next_step.to_owned(),
        generation: held.generation.0,
        ..v1::Finding::default()
    };
    about(held, finding)
}

/// Adds the allocation's addresses and pod to a finding.
fn about(held: &Allocation, finding: v1::Finding) -> v1::Finding {
    let pod = held.pod().cloned().unwrap_or_default();
    let (pod_namespace, pod_name) = (pod.namespace.to_string(), pod.name.into());
    v1::Finding { addresses: addresses(held), pod_namespace, pod_name, ..finding }
}

/// A note for each pair of networks that could hand out the same address, which is allowed.
fn overlapping(books: &[Arc<Book>]) -> Vec<v1::Finding> {
    let finding = |Overlap { one, other, ranges: (ours, theirs) }: Overlap<'_>| {
        let (one, other) = (books.get(one)?.name(), books.get(other)?.name());
        Some(v1::Finding {
            kind: "networks-overlap".to_owned(),
            network: one.to_string(),
            subject: other.to_string(),
            detail: format!("range {ours} overlaps {theirs} of network {other}"),
            next_step: "if an address must not be in use on both, give them separate ranges; `exclusive` in tenured.toml \
                        refuses overlaps"
                .to_owned(),
            ..v1::Finding::default()
        })
    };
    overlaps(books).into_iter().filter_map(finding).collect()
}

/// A finding for each address held for an unknown owner: only the operator can find out whether it is in use.
fn unknown_owners(book: &Book) -> impl Iterator<Item = v1::Finding> {
    let unknown = book.allocations().filter(|held| matches!(held.owner, Owner::Unknown { .. }));
    unknown.map(|held| {
        let origin = held.origin.as_ref();
        let why = origin.map_or_else(String::new, |origin| format!("{}: {}", origin.source, origin.why));
        let address = held.addresses.first().map(|address| address.address.addr());
        let other = address.filter(|_| book.is_waiting(held)).and_then(|address| book.holder(address));
        let (kind, detail) = match other {
            None => ("unknown-owner", format!("allocation {}: {why}", held.generation)),
            Some(other) => (
                "contested-address",
                format!("allocation {} waits for {} to end: {why}", held.generation, other.owner),
            ),
        };
        let address = address.map_or_else(String::new, |address| address.to_string());
        let finding = v1::Finding {
            kind: kind.to_owned(),
            network: held.network.to_string(),
            subject: held.owner.to_string(),
            detail,
            next_step: format!(
                "find out whether the address is in use; once it is not, run `tenurectl release {address} --apply`"
            ),
            generation: held.generation.0,
            ..v1::Finding::default()
        };
        about(held, finding)
    })
}

#[cfg(test)]
mod tests {
    use tenure_types::{
        Attributes, ContainerId, Generation, InterfaceName, Moment, NetworkName, Origin, PolicyName,
        PolicyStamp, Sandbox,
    };

    use super::*;

    fn held(origin: Option<Origin>) -> Allocation {
        let container = ContainerId::new("c1").unwrap();
        Allocation {
            network: NetworkName::new("pods").unwrap(),
            generation: Generation(7),
            owner: Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() },
            addresses: std::iter::empty().collect(),
            sandbox: Sandbox::default(),
            tags: Attributes::default(),
            policy: Arc::new(PolicyStamp { name: PolicyName::new("p").unwrap(), digest: "00".into() }),
            origin: origin.map(Box::new),
            requested_at: Moment::default(),
            allocated_at: Moment::default(),
        }
    }

    #[test]
    fn an_imported_row_has_the_runtime_as_its_only_witness() {
        let origin = Origin { source: "host-local /networks".to_owned(), ..Origin::default() };
        let (imported, own) = (held(Some(origin)), held(None));
        let found = |held: &Allocation, runtime| {
            let evidence = SandboxEvidence { runtime, ..SandboxEvidence::NONE };
            assert!(!evidence.proves_gone(), "a repair needs two");
            no_sandbox(held, evidence).map(|found| (found.kind, found.detail))
        };
        let (kind, detail) = found(&imported, WitnessVerdict::Absent).unwrap();
        assert_eq!(kind, "container-gone");
        assert!(detail.contains("host-local /networks"), "{detail}");
        for runtime in [WitnessVerdict::Present, WitnessVerdict::Unknown] {
            assert_eq!(found(&imported, runtime), None);
        }
        assert_eq!(found(&own, WitnessVerdict::Absent), None, "its ADD may be under way");
    }

    #[test]
    fn a_pod_that_the_api_server_lacks_is_said_with_the_witness_that_it_waits_for() {
        use WitnessVerdict::{Absent, Present, Unknown};
        let pod = PodIdentity { namespace: "web".into(), name: "front-0".into(), uid: "1-2".into() };
        let held = Allocation { sandbox: Sandbox { pod: Some(pod), ..Sandbox::default() }, ..held(None) };
        let found = |namespace, runtime, pod| {
            let evidence = SandboxEvidence { namespace, runtime, pod };
            no_sandbox(&held, evidence).map(|found| (found.kind, found.detail))
        };
        let words = |kind: &str, rest: &str| Some((kind.to_owned(), format!("allocation 7: {rest}")));
        let gone = "pod web/front-0 with uid 1-2 is gone, and the runtime does not list the container";
        assert_eq!(found(Unknown, Absent, Absent), words("sandbox-gone", gone));
        for (namespace, runtime, but) in [
            (Unknown, Present, "but the runtime lists its sandbox"),
            (Present, Absent, "but its network namespace exists"),
            (Unknown, Unknown, "and no runtime reports on the container"),
        ] {
            let detail = format!("the API server has no pod web/front-0 with uid 1-2, {but}");
            assert_eq!(found(namespace, runtime, Absent), words("pod-gone", &detail));
        }
        assert_eq!(found(Unknown, Absent, Present), None);
    }
}
