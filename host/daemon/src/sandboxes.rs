//! Looking for the sandboxes of allocations: for their network namespaces, and in the runtime's list.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use tenure_rpc::traces::{Trace, Traces};
use tenure_types::{Allocation, Error};

use crate::runtime::Runtime;

/// Where sandboxes are looked for.
#[derive(Debug)]
pub(crate) struct Sandboxes {
    runtime: Option<Runtime>,
}

impl Sandboxes {
    /// Looks also in the runtime's list, where one is configured.
    pub(crate) fn new(runtime: Option<Runtime>) -> Self {
        Self { runtime }
    }

    /// The traces of each, and why the runtime could not be asked.
    pub(crate) async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<Traces>, Option<Error>) {
        let listed = match &self.runtime {
            None => None,
            Some(runtime) => Some(runtime.sandboxes().await),
        };
        let traces = held.iter().map(|held| {
            // An unknown owner has no sandbox that anybody could look for.
            let Some((container, _)) = held.owner.attachment() else {
                return Traces { namespace: Trace::Unknown, runtime: Trace::Unknown };
            };
            let runtime = match &listed {
                Some(Ok(listed)) if listed.contains(container.as_str()) => Trace::There,
                Some(Ok(_)) => Trace::Gone,
                Some(Err(_)) | None => Trace::Unknown,
            };
            Traces { namespace: namespace(&held.netns), runtime }
        });
        (traces.collect(), listed.and_then(Result::err))
    }
}

/// What is to be seen of a network namespace by its path.
///
/// Where the directory is not there either, it may only be that the daemon does not see it; but a process that is gone takes
/// its directory of /proc along.
fn namespace(path: &str) -> Trace {
    let path = Path::new(path);
    let exists = |path: &Path| match std::fs::symlink_metadata(path) {
        Ok(_) => Trace::There,
        Err(error) if error.kind() == ErrorKind::NotFound => Trace::Gone,
        Err(_) => Trace::Unknown,
    };
    match (exists(path), path.parent()) {
        _ if !path.is_absolute() => Trace::Unknown,
        (Trace::Gone, Some(parent)) if !path.starts_with("/proc") && exists(parent) != Trace::There => {
            Trace::Unknown
        }
        (trace, _) => trace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_namespace_that_would_be_seen_is_known_to_be_gone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| namespace(directory.path().join(name).to_str().unwrap());
        std::fs::write(directory.path().join("here"), "").unwrap();
        assert_eq!(at("here"), Trace::There);
        assert_eq!(at("gone"), Trace::Gone);
        assert_eq!(at("unmounted/gone"), Trace::Unknown, "its directory is not there either");
        assert_eq!(namespace("/proc/4194305/ns/net"), Trace::Gone, "no process has so high an id");
        assert_eq!(namespace("/proc/self/ns/net"), Trace::There);
        for nothing in ["", "here"] {
            assert_eq!(namespace(nothing), Trace::Unknown);
        }
    }
}
