//! The pods in the API server, its changes, and its faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_types::hold;
use tokio::time::Instant;

use super::super::verdict::CONFIG_HASH;

/// The namespace of all pods.
pub(super) const NAMESPACE: &str = "web";

/// The age of what the watch has shown, from which on no question about it can be under way any more.
const SETTLED: Duration = Duration::from_secs(30);

/// A pod.
#[derive(Debug, Clone)]
pub(super) struct PodObject {
    pub(super) name: String,
    pub(super) uid: String,
    /// The uid of the static pod whose mirror it is.
    pub(super) of_file: Option<String>,
    pub(super) has_finished: bool,
}

/// How the API server answers the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiMode {
    Serves,
    /// Connections are refused.
    Away,
    /// Each call fails with this status.
    Fails(u16),
    /// Nothing is answered until the connection is given up.
    Silent,
}

/// A change that the watch reports.
#[derive(Debug, Clone)]
pub(super) struct PodChange {
    pub(super) version: u64,
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) object: Value,
}

/// The pods, their changes, and the faults.
#[derive(Debug)]
pub(super) struct ApiState {
    pub(super) version: u64,
    pub(super) pods: BTreeMap<String, PodObject>,
    pub(super) changes: Vec<PodChange>,
    /// A watch cannot begin before this version.
    pub(super) compacted: u64,
    pub(super) mode: ApiMode,
    /// The time that an answer takes.
    pub(super) latency: Duration,
    /// No watch reports anything until then.
    pub(super) lags_until: Instant,
    /// Lists are cut off after their first page.
    pub(super) cuts_lists: bool,
    /// Watches that began in an earlier one are interrupted.
    pub(super) epoch: u64,
    /// The lists that are being read, by their version.
    pub(super) lists: BTreeMap<u64, Vec<PodObject>>,
    /// The names of the pods that the watch has shown to this agent, and since when.
    pub(super) shown: BTreeMap<String, Instant>,
    /// The names that more than one pod has had, or that an agent may ask about for another reason.
    pub(super) reused: BTreeSet<String>,
    pub(super) gets: u64,
    pub(super) lists_cut: u64,
    /// The pod that the agent has asked about in vain.
    pub(super) asked_in_vain: Option<String>,
}

/// The API server.
#[derive(Debug)]
pub(super) struct ApiServer(Mutex<ApiState>);

impl ApiServer {
    pub(super) fn new() -> Self {
        Self(Mutex::new(ApiState {
            version: 1,
            pods: BTreeMap::new(),
            changes: Vec::new(),
            compacted: 0,
            mode: ApiMode::Serves,
            latency: Duration::ZERO,
            lags_until: Instant::now(),
            cuts_lists: false,
            epoch: 0,
            lists: BTreeMap::new(),
            shown: BTreeMap::new(),
            reused: BTreeSet::new(),
            gets: 0,
            lists_cut: 0,
            asked_in_vain: None,
        }))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ApiState> {
        hold(&self.0)
    }
}

impl PodObject {
    /// Whether it is the pod that the runtime knows by this uid.
    pub(super) fn is(&self, uid: &str) -> bool {
        self.uid == uid || self.of_file.as_deref() == Some(uid)
    }

    pub(super) fn metadata(&self, version: u64) -> Value {
        let annotations: BTreeMap<_, _> = self.of_file.iter().map(|hash| (CONFIG_HASH, hash)).collect();
        json!({
            "name": self.name,
            "namespace": NAMESPACE,
            "uid": self.uid,
            "resourceVersion": version.to_string(),
            "annotations": annotations,
        })
    }
}

impl ApiState {
    /// The pod with this name and uid, if it has not finished.
    pub(super) fn has(&self, name: &str, uid: &str) -> bool {
        self.pods.get(name).is_some_and(|pod| pod.is(uid) && !pod.has_finished)
    }

    pub(super) fn create(&mut self, pod: PodObject) {
        if self.changes.iter().any(|change| change.name == pod.name) {
            self.reused.insert(pod.name.clone());
        }
        self.changed("ADDED", &pod);
        self.pods.insert(pod.name.clone(), pod);
    }

    /// The watch leaves out what has finished, so it reports an end.
    pub(super) fn finish(&mut self, name: &str) {
        let Some(pod) = self.pods.get_mut(name).filter(|pod| !pod.has_finished) else { return };
        pod.has_finished = true;
        let pod = pod.clone();
        self.changed("DELETED", &pod);
    }

    pub(super) fn delete(&mut self, name: &str) {
        if let Some(pod) = self.pods.remove(name).filter(|pod| !pod.has_finished) {
            self.changed("DELETED", &pod);
        }
    }

    fn changed(&mut self, kind: &'static str, pod: &PodObject) {
        self.version += 1;
        let object = json!({
            "apiVersion": "meta.k8s.io/v1",
            "kind": "PartialObjectMetadata",
            "metadata": pod.metadata(self.version),
        });
        self.changes.push(PodChange { version: self.version, kind, name: pod.name.clone(), object });
    }

    /// Follows what the watch shows.
    pub(super) fn shows(&mut self, change: &PodChange) {
        match change.kind {
            "DELETED" => _ = self.shown.remove(&change.name),
            _ => _ = self.shown.insert(change.name.clone(), Instant::now()),
        }
    }

    /// Follows a question about a pod.
    pub(super) fn asked(&mut self, name: &str) {
        self.gets += 1;
        let is_shown = self.shown.get(name).is_some_and(|since| since.elapsed() >= SETTLED);
        if is_shown && self.pods.contains_key(name) && !self.reused.contains(name) {
            self.asked_in_vain = Some(name.to_owned());
        }
    }
}
