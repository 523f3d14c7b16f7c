//! Looks for the sandboxes of allocations: their network namespaces, and their entries in the runtime's list.

use std::sync::Arc;

use tenure_types::{Allocation, Error};

use crate::{Runtime, Trace, Traces, netns};

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

    /// The traces of each allocation's sandbox, and the error if the runtime could not be queried.
    pub async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<Traces>, Option<Error>) {
        let listed = match &self.runtime {
            None => None,
            Some(runtime) => Some(runtime.sandboxes().await),
        };
        let traces = held.iter().map(|held| {
            // An unknown owner has no sandbox to look for.
            let Some((container, _)) = held.owner.attachment() else {
                return Traces { namespace: Trace::Unknown, runtime: Trace::Unknown };
            };
            let runtime = match &listed {
                Some(Ok(listed)) if listed.contains(container.as_str()) => Trace::There,
                Some(Ok(_)) => Trace::Gone,
                Some(Err(_)) | None => Trace::Unknown,
            };
            Traces { namespace: netns::look(held.netns(), held.netns_seen()), runtime }
        });
        (traces.collect(), listed.and_then(Result::err))
    }
}
