//! The witness: what the watch has, and what the API server answers about the rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::core::ObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use tenure_types::PodIdentity;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::known::KnownPods;
use super::labels::ObjectLabels;
use super::namespaces::KnownNamespaces;
use super::questions::{PodQuestion, PodQuestions, TOKEN_EVERY};
use super::verdict::{PodPresence, judge};
use crate::client::call;

/// Questions that are under way at once.
const AT_ONCE: usize = 4;

/// The longest that all questions of one look may take. What is not answered by then is unknown, and is asked again.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

/// The longest that a list may take before that is a trouble. The watch itself waits longer.
const LONGEST_LIST: Duration = Duration::from_secs(15);

/// Figures of the questions about pods, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PodFigures {
    /// Pods with an address that the watch lacks.
    pub missing: usize,
    /// The longest time that one of them has been missing.
    pub oldest: Duration,
    /// Questions without an answer, since the start.
    pub retries: u64,
    /// Interruptions of the watch, since the start.
    pub interruptions: u64,
}

/// The labels and annotations of the node's pods, as far as they are known without a call.
pub trait KnownPodLabels: Send + Sync {
    /// The labels of the pod of this name; with its uid, if that is known.
    fn known_labels(&self, pod: &PodIdentity) -> Option<Arc<ObjectLabels>>;
}

/// The pods of one node.
pub struct PodsOfNode {
    pub(crate) client: Client,
    state: Mutex<WitnessState>,
    changed: Notify,
    /// Each event of the watch.
    pub(crate) events: watch::Sender<()>,
    pub(crate) namespaces: KnownNamespaces,
    /// Times are since this.
    start: Instant,
}

struct WitnessState {
    known: KnownPods,
    questions: PodQuestions,
    interruptions: u64,
    /// The failure of the watch since the API server's last word.
    trouble: Option<String>,
    /// The time since which a list has been awaited.
    listing_since: Option<Duration>,
}

impl std::fmt::Debug for PodsOfNode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PodsOfNode").finish_non_exhaustive()
    }
}

impl PodsOfNode {
    /// Knows no pod until the watch has listed all of them.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let questions = PodQuestions::new(Duration::ZERO);
        let state = Mutex::new(WitnessState {
            known: KnownPods::default(),
            questions,
            interruptions: 0,
            trouble: None,
            listing_since: None,
        });
        let (events, namespaces) = (watch::Sender::new(()), KnownNamespaces::default());
        Self { client, state, changed: Notify::new(), events, namespaces, start: Instant::now() }
    }

    /// Waits until a pod may have gone.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The verdict about each pod. One that the watch has is there. Any other is asked about, if its pause and the bucket allow it; else the
    /// last answer holds. Until all pods have been listed once, nothing is known.
    pub fn look_for<'a>(&'a self, pods: &'a [&'a PodIdentity]) -> BoxFuture<'a, Vec<PodPresence>> {
        self.look_at_each(pods).boxed()
    }

    async fn look_at_each(&self, pods: &[&PodIdentity]) -> Vec<PodPresence> {
        let now = self.start.elapsed();
        let (mut verdicts, asked) = self.sort(pods, now);
        let answers = stream::iter(asked).map(async |index: usize| (index, self.ask(pods.get(index)).await));
        let mut answers = std::pin::pin!(answers.buffer_unordered(AT_ONCE));
        let all = async {
            while let Some((index, presence)) = answers.next().await {
                if let (Some(verdict), Some(pod)) = (verdicts.get_mut(index), pods.get(index)) {
                    *verdict = presence;
                    self.state().questions.answered(pod, presence, self.start.elapsed());
                }
            }
        };
        let _ = tokio::time::timeout(LONGEST_LOOK, all).await;
        let WitnessState { known, questions, .. } = &mut *self.state();
        questions.settle(|pod| known.has(pod), now);
        verdicts
    }

    /// Reads a pod now, also one that the watch has, or as soon as the bucket allows it.
    pub fn confirm<'a>(&'a self, pod: &'a PodIdentity) -> BoxFuture<'a, PodPresence> {
        let confirmed = async move {
            while !self.state().questions.take(self.start.elapsed()) {
                tokio::time::sleep(TOKEN_EVERY).await;
            }
            self.ask(Some(&pod)).await
        };
        confirmed.boxed()
    }

    /// The failure of the watch, until the API server's next word; or that a list is not complete after 15 s.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let state = self.state();
        let is_late = state
            .listing_since
            .is_some_and(|since| self.start.elapsed().saturating_sub(since) >= LONGEST_LIST);
        let late = || {
            let waited = LONGEST_LIST.as_secs();
            format!("the API server has not listed the pods of this node within {waited} s")
        };
        state.trouble.clone().or_else(|| is_late.then(late))
    }

    /// The figures.
    #[must_use]
    pub fn figures(&self) -> PodFigures {
        let state = self.state();
        let (missing, oldest, retries) = state.questions.figures(self.start.elapsed());
        PodFigures { missing, oldest, retries, interruptions: state.interruptions }
    }

    pub(crate) fn follow(&self, event: Event<ObjectMeta>) {
        let now = self.start.elapsed();
        let mut state = self.state();
        match event {
            // The API server is about to be asked.
            Event::Init => _ = state.listing_since.get_or_insert(now),
            Event::InitDone => (state.listing_since, state.trouble) = (None, None),
            Event::InitApply(_) | Event::Apply(_) | Event::Delete(_) => state.trouble = None,
        }
        if state.known.follow(event) {
            self.changed.notify_one();
        }
        self.events.send_replace(());
    }

    pub(crate) fn interrupted(&self, error: &kube::runtime::watcher::Error) {
        let mut state = self.state();
        state.interruptions = state.interruptions.saturating_add(1);
        state.trouble = Some(error.to_string());
        tracing::debug!("the watch of this node's pods was interrupted; no address is freed by it: {error}");
    }

    /// The verdicts that need no question, and the indices of those that do.
    fn sort(&self, pods: &[&PodIdentity], now: Duration) -> (Vec<PodPresence>, Vec<usize>) {
        let WitnessState { known, questions, .. } = &mut *self.state();
        let mut asked = Vec::new();
        let verdicts = pods.iter().enumerate().map(|(index, pod)| {
            if !known.is_complete() {
                return PodPresence::Unknown;
            }
            if known.has(pod) {
                return PodPresence::Present;
            }
            match questions.want(pod, now) {
                PodQuestion::Wait(presence) => presence,
                PodQuestion::Ask => {
                    asked.push(index);
                    PodPresence::Unknown
                }
            }
        });
        (verdicts.collect(), asked)
    }

    /// Reads a pod from etcd.
    async fn ask(&self, pod: Option<&&PodIdentity>) -> PodPresence {
        let Some(pod) = pod.filter(|pod| !pod.name.is_empty() && !pod.namespace.is_empty()) else {
            return PodPresence::Unknown;
        };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        judge(pod, call(pods.get(&pod.name)).await)
    }

    fn state(&self) -> MutexGuard<'_, WitnessState> {
        // Each change of the state is complete in itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownPodLabels for PodsOfNode {
    /// The labels that the watch shows.
    fn known_labels(&self, pod: &PodIdentity) -> Option<Arc<ObjectLabels>> {
        self.state().known.labels(pod)
    }
}

#[cfg(test)]
mod tests;
