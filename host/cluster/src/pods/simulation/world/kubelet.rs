//! The kubelet and its runtime: pods that begin and end, with and without a DEL.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_runtime::ListedSandbox;
use tenure_types::{AssignedAddress, Clock as _, PodIdentity};
use tokio::time::Instant;

use super::super::pod::{PodSandbox, make_netns};
use super::super::runtime::RuntimeMode;
use super::super::server::{NAMESPACE, PodObject};
use super::PodWorld;

/// The most sandboxes at a time.
const MOST: usize = 8;

/// The names of a StatefulSet's pods.
const ORDINALS: u64 = 3;

impl PodWorld {
    /// Makes a pod, and begins its sandbox.
    pub(super) async fn create_pod(&mut self) {
        if self.sandboxes.len() >= MOST {
            return;
        }
        let number = self.number();
        let uid = format!("{number:08x}-0000-4000-8000-000000000000");
        let (name, of_file, known_as) = match self.random.below(10) {
            0 => (format!("static-{number}"), Some(format!("{number:032x}")), format!("{number:032x}")),
            // An older runtime does not name the uid.
            1 => (format!("pod-{number}"), None, String::new()),
            2..6 => (format!("set-{}", self.random.below(ORDINALS)), None, uid.clone()),
            _ => (format!("pod-{number}"), None, uid.clone()),
        };
        {
            let mut state = self.server.state();
            if state.pods.contains_key(&name) {
                return;
            }
            if uid != known_as {
                state.reused.insert(name.clone());
            }
            state.create(PodObject { name: name.clone(), uid, of_file, has_finished: false });
        }
        let pod = PodIdentity { namespace: NAMESPACE.into(), name: name.into(), uid: known_as.into() };
        self.begin_sandbox(pod).await;
    }

    /// Begins a sandbox, if the runtime is there. Its ADD may be repeated before the runtime lists it.
    async fn begin_sandbox(&mut self, pod: PodIdentity) {
        if self.runtime.state().mode != RuntimeMode::Serves {
            return;
        }
        let number = self.number();
        let id = format!("c{number}");
        let is_seen = pod.uid.is_empty() || self.random.below(3) == 0;
        let netns = is_seen.then(|| make_netns(self.directory.path(), &id));
        let (mut making, mut at) = (VecDeque::new(), Instant::now());
        if self.random.below(10) < 3 {
            for _ in 0..self.random.below(3) {
                at += self.seconds(20, 75);
                making.push_back(at);
            }
            at += self.seconds(1, 40);
        }
        making.push_back(at);
        let added = Instant::now();
        let sandbox = PodSandbox { id, pod, netns, address: None, added, making, listed: None };
        self.sandboxes.insert(number, sandbox);
        self.tally.sandboxes += 1;
        if self.add(number).await {
            self.make().await;
        }
    }

    /// Goes on making sandboxes.
    pub(super) async fn make(&mut self) {
        let numbers: Vec<u64> = self.sandboxes.keys().copied().collect();
        for number in numbers {
            while let Some(sandbox) = self.sandboxes.get_mut(&number) {
                if sandbox.making.front().is_none_or(|at| *at > Instant::now()) {
                    break;
                }
                sandbox.making.pop_front();
                if !sandbox.making.is_empty() {
                    self.add(number).await;
                    continue;
                }
                sandbox.listed = Some(Instant::now());
                let (id, pod_uid) = (sandbox.id.clone(), sandbox.pod.uid.to_string());
                let created_at = i64::try_from(self.agent.clock.now().wall_ms).unwrap() * 1_000_000;
                let listed = ListedSandbox { id: id.clone(), pod_uid, created_at };
                self.runtime.state().listed.insert(id, listed);
            }
        }
    }

    /// Sends an ADD. If it fails, so does the sandbox.
    async fn add(&mut self, number: u64) -> bool {
        let Some(sandbox) = self.sandboxes.get_mut(&number) else { return false };
        let add = sandbox.add(self.agent.clock.now());
        match self.agent.engine.add(add, |_| Ok(())).await {
            Ok(grant) => {
                sandbox.address = grant.addresses.iter().map(AssignedAddress::ip).next();
                sandbox.added = Instant::now();
                true
            }
            Err(_) => {
                let del = sandbox.del(self.agent.clock.now());
                self.remove_sandbox(number);
                drop(self.agent.engine.del(del).await);
                false
            }
        }
    }

    /// A sandbox ends: no container, no namespace, and the runtime lists it no more.
    fn remove_sandbox(&mut self, number: u64) -> Option<PodSandbox> {
        let sandbox = self.sandboxes.remove(&number)?;
        self.runtime.state().listed.remove(&sandbox.id);
        if let Some(path) = &sandbox.netns {
            std::fs::remove_file(path).unwrap();
        }
        Some(sandbox)
    }

    /// Deletes the object of a sandbox's pod, if there still is that one.
    fn delete_object(&self, pod: &PodIdentity) {
        let mut state = self.server.state();
        let is_there = |object: &PodObject| pod.uid.is_empty() || object.is(&pod.uid);
        if state.pods.get(&*pod.name).is_some_and(is_there) {
            state.delete(&pod.name);
        }
    }

    pub(super) async fn end_in_order(&mut self) {
        let Some(number) = self.pick(|_| true) else { return };
        let Some(sandbox) = self.sandboxes.get(&number) else { return };
        let del = sandbox.del(self.agent.clock.now());
        // Its address may go from now on.
        let ended = self.remove_sandbox(number);
        drop(self.agent.engine.del(del).await);
        if let Some(sandbox) = ended {
            self.delete_object(&sandbox.pod);
        }
    }

    /// A pod ends, and its DEL is lost, or comes late.
    pub(super) fn end_without_del(&mut self) {
        // The address of an unseen static pod comes back by its DEL alone.
        let Some(number) = self.pick(|sandbox| !sandbox.is_static() || sandbox.netns.is_some()) else {
            return;
        };
        let now = self.agent.clock.now();
        let Some(sandbox) = self.remove_sandbox(number) else { return };
        self.delete_object(&sandbox.pod);
        if self.random.below(4) == 0 {
            self.late.push(sandbox.del(now));
        }
    }

    /// A person deletes a pod by force, and its sandbox runs on.
    pub(super) fn delete_by_force(&mut self) {
        let Some(number) = self.pick(|_| true) else { return };
        if let Some(sandbox) = self.sandboxes.get(&number) {
            self.delete_object(&sandbox.pod);
        }
    }

    /// A pod succeeds, and keeps its sandbox.
    pub(super) fn finish(&mut self) {
        let Some(number) = self.pick(|sandbox| !sandbox.pod.uid.is_empty() && !sandbox.is_static()) else {
            return;
        };
        if let Some(pod) = self.sandboxes.get(&number).map(|sandbox| sandbox.pod.clone()) {
            let mut state = self.server.state();
            if state.has(&pod.name, &pod.uid) {
                state.finish(&pod.name);
            }
        }
    }

    /// A sandbox dies, and its pod stays.
    pub(super) fn lose_sandbox(&mut self) {
        if let Some(number) = self.pick(|sandbox| !sandbox.is_static() || sandbox.netns.is_some()) {
            self.remove_sandbox(number);
        }
    }

    /// The kubelet makes another sandbox for a pod whose sandbox has died.
    pub(super) async fn replace_sandbox(&mut self) {
        if self.runtime.state().mode != RuntimeMode::Serves {
            return;
        }
        let is_meant = |sandbox: &PodSandbox| sandbox.listed.is_some() && !sandbox.is_static();
        let Some(number) = self.pick(is_meant) else { return };
        let Some(sandbox) = self.remove_sandbox(number) else { return };
        let is_there = self.server.state().has(&sandbox.pod.name, &sandbox.pod.uid);
        if is_there {
            self.begin_sandbox(sandbox.pod).await;
        }
    }

    /// The runtime repeats an ADD.
    pub(super) async fn repeat_add(&mut self) {
        if self.runtime.state().mode == RuntimeMode::Serves
            && let Some(number) = self.pick(|sandbox| sandbox.listed.is_some())
        {
            self.add(number).await;
        }
    }

    pub(super) async fn send_late_del(&mut self) {
        if let Some(del) = self.late.pop() {
            drop(self.agent.engine.del(del).await);
        }
    }

    /// Deletes what the kubelet would not keep: pods without a sandbox.
    pub(super) fn delete_lost(&mut self) {
        let mut state = self.server.state();
        let names: Vec<String> = state.pods.keys().cloned().collect();
        for name in names {
            if self.sandboxes.values().all(|sandbox| *sandbox.pod.name != *name) {
                state.delete(&name);
            }
        }
    }

    /// The mirror of a static pod is deleted, or made again.
    pub(super) fn change_mirror(&mut self) {
        let Some(number) = self.pick(PodSandbox::is_static) else { return };
        let Some(pod) = self.sandboxes.get(&number).map(|sandbox| sandbox.pod.clone()) else { return };
        let uid = format!("{:08x}-0000-4000-8000-000000000001", self.number());
        let mut state = self.server.state();
        match state.pods.contains_key(&*pod.name) {
            true => state.delete(&pod.name),
            false => {
                let (name, of_file) = (pod.name.to_string(), Some(pod.uid.to_string()));
                state.create(PodObject { name, uid, of_file, has_finished: false });
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Whether a sandbox is being made that the API server's word and the runtime's list would leave out.
    pub(super) fn has_unlisted(&self) -> bool {
        let is_new = |sandbox: &PodSandbox| {
            sandbox.listed.is_none_or(|since| since.elapsed() < Duration::from_secs(90))
        };
        let state = self.server.state();
        let mut sandboxes = self.sandboxes.values();
        sandboxes.any(|sandbox| sandbox.listed.is_none() || is_new(sandbox) && sandbox.is_orphan(&state))
    }
}
