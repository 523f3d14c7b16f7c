//! The sources from which the daemon knows pods: their control groups, and the container runtime that tells their names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use prost::Message as _;
use tenure_e2e::recording::wire::{self, Answer, Answers, Call, Message, Status};

#[derive(Clone, PartialEq, prost::Message)]
struct Listed {
    #[prost(message, repeated, tag = "1")]
    items: Vec<Sandbox>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sandbox {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(message, optional, tag = "2")]
    metadata: Option<Metadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    uid: String,
    #[prost(string, tag = "3")]
    namespace: String,
}

/// A container runtime, for as long as this lives.
pub(crate) struct Runtime {
    _runs: tokio::runtime::Runtime,
}

/// The encoded list of its pods.
struct Lists(Vec<u8>);

impl Runtime {
    /// Serves at a socket, with pods of these uids and names.
    pub(crate) fn serve(socket: &Path, pods: &[(&str, &str)]) -> anyhow::Result<Self> {
        let sandbox = |(uid, name): &(&str, &str)| {
            let [name, uid, namespace] = [*name, *uid, "kube-system"].map(ToOwned::to_owned);
            Sandbox { id: format!("sandbox-{uid}"), metadata: Some(Metadata { name, uid, namespace }) }
        };
        let listed = Listed { items: pods.iter().map(sandbox).collect() };
        let runs = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runs.block_on(async { wire::serve(socket, &Arc::new(Lists(listed.encode_to_vec()))) })?;
        Ok(Self { _runs: runs })
    }
}

impl Answers for Lists {
    async fn answer(&self, call: Call) -> anyhow::Result<Answer> {
        Ok(match call.method.as_str() {
            "/runtime.v1.RuntimeService/ListPodSandbox" => {
                Answer { messages: vec![Message(self.0.clone())], status: Status::default() }
            }
            _ => Answer { messages: Vec::new(), status: Status::unimplemented() },
        })
    }
}

/// The control group of a pod, in one hierarchy. Removed when this is dropped.
pub(crate) struct PodGroup(PathBuf);

impl PodGroup {
    /// Makes it.
    pub(crate) fn make(uid: &str) -> anyhow::Result<Self> {
        // With version 1, any hierarchy will do whose groups need no settings.
        let hierarchies = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let has_processes = |root: &&Path| root.join("cgroup.procs").exists();
        let root = hierarchies.into_iter().find(has_processes).context("no control groups")?;
        let group = root.join(format!("kubepods/pod{uid}"));
        fs::create_dir_all(&group).with_context(|| group.display().to_string())?;
        Ok(Self(group))
    }

    /// The file that moves a process into the group.
    pub(crate) fn procs(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for PodGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
        // Unless another test needs it.
        let _ = self.0.parent().map(fs::remove_dir);
    }
}
