//! Looks for the sandboxes of allocations: their network namespaces, and their entries in the runtime's list.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_types::{Allocation, Error};

use crate::{Runtime, SandboxEvidence, WitnessVerdict, netns};

/// The sources that report sandboxes.
#[derive(Debug)]
pub struct Sandboxes {
    runtime: Option<Runtime>,
}

impl Sandboxes {
    /// Uses the runtime's list, too, if one is configured.
    #[must_use]
    pub fn new(runtime: Option<Runtime>) -> Self {
        Self { runtime }
    }

    /// The evidence about each allocation's sandbox, and the error if the runtime could not be queried.
    pub async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<SandboxEvidence>, Option<Error>) {
        match &self.runtime {
            None => (evidence(held, None), None),
            Some(runtime) => match runtime.sandboxes().await {
                Ok(listed) => (evidence(held, Some(&listed)), None),
                Err(error) => (evidence(held, None), Some(error)),
            },
        }
    }

    /// The same without the runtime.
    #[must_use]
    pub fn look_for_namespaces(held: &[Arc<Allocation>]) -> Vec<SandboxEvidence> {
        evidence(held, None)
    }
}

/// The evidence about each allocation's sandbox: its namespace, and its container in the runtime's list, if there is one.
fn evidence(held: &[Arc<Allocation>], listed: Option<&HashSet<String>>) -> Vec<SandboxEvidence> {
    let evidence = held.iter().map(|held| {
        // An unknown owner has no sandbox to look for.
        let Some((container, _)) = held.owner.attachment() else {
            return SandboxEvidence::NONE;
        };
        let runtime = match listed {
            Some(listed) if listed.contains(container.as_str()) => WitnessVerdict::Present,
            Some(_) => WitnessVerdict::Absent,
            None => WitnessVerdict::Unknown,
        };
        SandboxEvidence { namespace: netns::look(held.netns(), held.netns_seen()), runtime }
    });
    evidence.collect()
}
