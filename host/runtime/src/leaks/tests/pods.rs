//! The API server as the second half of the proof. In all of these no namespace is known.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_types::{PodIdentity, hold};

use super::*;
use crate::PodWitness;
use crate::WitnessVerdict::{Absent, Present, Unknown};

/// An API server that answers as it is told.
#[derive(Debug, Default)]
struct ToldPods {
    /// The answer of each look; the last one stays.
    looks: Mutex<VecDeque<WitnessVerdict>>,
    /// The answer of the last look.
    last: Mutex<Option<WitnessVerdict>>,
    /// The answer to the last read, if it is another one.
    confirmation: Mutex<Option<WitnessVerdict>>,
    /// Last reads are never answered: the time goes on to their deadline.
    is_silent: AtomicBool,
    reports: Mutex<Vec<PodReport>>,
    changed: tokio::sync::Notify,
}

#[tonic::async_trait]
impl PodWitness for ToldPods {
    async fn look_for(&self, pods: &[&PodIdentity]) -> Vec<WitnessVerdict> {
        let mut looks = hold(&self.looks);
        let verdict = match looks.len() {
            0 | 1 => looks.front().copied().unwrap_or(Unknown),
            _ => looks.pop_front().unwrap(),
        };
        *hold(&self.last) = Some(verdict);
        vec![verdict; pods.len()]
    }

    async fn confirm(&self, _: &PodIdentity) -> WitnessVerdict {
        if self.is_silent.load(Ordering::Relaxed) {
            tokio::time::pause();
            std::future::pending::<()>().await;
        }
        let last = *hold(&self.last);
        hold(&self.confirmation).or(last).unwrap_or(Unknown)
    }

    async fn changed(&self) {
        self.changed.notified().await;
    }

    fn report(&self, _: &PodIdentity, report: PodReport, _: &Allocation) {
        hold(&self.reports).push(report);
    }
}

/// A watch for the allocation of a pod's container, beside a runtime that lists these sandboxes.
struct Node {
    leaks: Leaks,
    pods: Arc<ToldPods>,
    directory: tempfile::TempDir,
    serving: tokio::task::AbortHandle,
}

impl Node {
    fn new(listed: Vec<&'static str>, looks: impl Into<VecDeque<WitnessVerdict>>) -> Self {
        Self::with(vec![allocation("c1", of_pod(), None)], listed, looks)
    }

    /// The same with these allocations.
    fn with(
        held: Vec<Allocation>,
        listed: Vec<&'static str>,
        looks: impl Into<VecDeque<WitnessVerdict>>,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("cri.sock");
        let serving = FakeRuntime(listed).serve(&socket);
        let pods = Arc::new(ToldPods { looks: Mutex::new(looks.into()), ..ToldPods::default() });
        let sandboxes = Sandboxes::new(Some(Runtime::at(socket))).with_pods(Some(Arc::clone(&pods) as _));
        let engine = engine_holding(held);
        let leaks = Leaks::new(engine, Arc::new(sandboxes), Arc::new(ManualClock::default()), || GRACE);
        Self { leaks, pods, directory, serving }
    }

    async fn look(&mut self, at: Duration) {
        self.leaks.look(at).await;
    }

    async fn held(&self) -> usize {
        held(&self.leaks).await
    }

    fn reports(&self) -> Vec<PodReport> {
        hold(&self.pods.reports).clone()
    }
}

/// The sandbox of a pod.
fn of_pod() -> Sandbox {
    let pod = PodIdentity { namespace: "web".into(), name: "front-0".into(), uid: "1-2".into() };
    Sandbox { pod: Some(pod), ..Sandbox::default() }
}

#[tokio::test]
async fn the_api_server_and_the_runtime_together_free_after_the_grace_period() {
    let mut node = Node::new(vec!["other"], [Absent]);
    node.look(BEGIN).await;
    node.look(BEGIN + GRACE - NEARLY).await;
    assert_eq!((node.held().await, node.reports()), (1, vec![]));
    node.look(BEGIN + GRACE).await;
    assert_eq!((node.held().await, node.reports()), (0, vec![PodReport::Reclaimed]));
}

/// whereabouts #162, #176 and #207: an error of the API, or a list that was not complete, freed the addresses of living pods.
#[tokio::test]
async fn an_api_server_that_cannot_say_frees_nothing_and_begins_the_time_again() {
    let mut node = Node::new(vec!["other"], [Absent, Unknown, Absent]);
    for at in [BEGIN, BEGIN + GRACE, BEGIN + GRACE + NEARLY, BEGIN + 2 * GRACE] {
        node.look(at).await;
        assert_eq!(node.held().await, 1, "{at:?}");
    }
    node.look(BEGIN + 2 * GRACE + NEARLY).await;
    assert_eq!(node.held().await, 0, "a grace period after the second first sight");
}

#[tokio::test]
async fn a_pod_that_is_back_at_the_last_read_keeps_its_address() {
    for confirmation in [Present, Unknown] {
        let mut node = Node::new(vec!["other"], [Absent]);
        *hold(&node.pods.confirmation) = Some(confirmation);
        node.look(BEGIN).await;
        node.look(BEGIN + GRACE).await;
        node.look(BEGIN + 2 * GRACE - NEARLY).await;
        assert_eq!((node.held().await, node.reports()), (1, vec![]), "{confirmation:?}");
        *hold(&node.pods.confirmation) = None;
        node.look(BEGIN + GRACE + NEARLY).await;
        assert_eq!(node.held().await, 1, "the time has begun again");
    }
}

/// A pod that was deleted by force goes on running: the API server alone frees nothing.
#[tokio::test]
async fn the_word_of_the_api_server_alone_is_a_doubt_and_ends_with_it() {
    let mut node = Node::new(vec!["c1"], [Absent]);
    node.look(BEGIN).await;
    node.look(BEGIN + DOUBTFUL_AFTER - NEARLY).await;
    assert_eq!(doubted(&node.leaks).await, Vec::<String>::new());
    node.look(BEGIN + DOUBTFUL_AFTER).await;
    let words =
        "the API server has no such pod, or it has finished, but the container runtime lists its sandbox";
    assert_eq!((doubted(&node.leaks).await, node.held().await), (vec![words.to_owned()], 1));
    assert_eq!(node.reports(), [PodReport::Quarantined(words)]);
    node.look(BEGIN + 2 * DOUBTFUL_AFTER).await;
    assert_eq!(node.reports().len(), 1, "said once");
    *hold(&node.pods.looks) = [Present].into();
    node.look(BEGIN + 2 * DOUBTFUL_AFTER).await;
    assert_eq!(doubted(&node.leaks).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_word_of_the_runtime_alone_is_a_doubt() {
    let mut node = Node::new(vec!["other"], [Present]);
    node.look(BEGIN).await;
    node.look(BEGIN + DOUBTFUL_AFTER).await;
    let words = "the container runtime does not list its container, but the API server has its pod";
    assert_eq!((doubted(&node.leaks).await, node.held().await), (vec![words.to_owned()], 1));
}

#[tokio::test]
async fn a_runtime_that_is_down_frees_nothing_of_a_pod_that_is_gone() {
    let mut node = Node::new(vec!["other"], [Absent]);
    node.look(BEGIN).await;
    node.serving.abort();
    tokio::task::yield_now().await;
    std::fs::remove_file(node.directory.path().join("cri.sock")).unwrap();
    node.look(BEGIN + GRACE).await;
    node.look(BEGIN + 2 * GRACE).await;
    assert_eq!(node.held().await, 1);
}

/// The kubelet replaces a sandbox that failed: the API server keeps the pod, and the old sandbox is gone all the same.
#[tokio::test]
async fn a_newer_sandbox_of_the_same_pod_is_the_second_half_of_the_proof() {
    let mut node = Node::new(vec!["c2@1-2"], [Present]);
    node.look(BEGIN).await;
    node.look(BEGIN + GRACE).await;
    assert_eq!(node.held().await, 0);
    let mut node = Node::new(vec!["c2@3-4"], [Present]);
    node.look(BEGIN).await;
    node.look(BEGIN + GRACE).await;
    assert_eq!(node.held().await, 1, "a sandbox of another pod");
}

#[tokio::test]
async fn a_look_follows_soon_after_the_watch_says_that_a_pod_may_be_gone() {
    let node = Node::new(vec![], [Absent]);
    node.pods.changed.notify_one();
    // Ends, and not after the pause.
    node.leaks.wait(Duration::MAX).await;
}

/// The API server may fall silent between a look and the last reads that follow from it.
#[tokio::test]
async fn last_reads_without_an_answer_keep_nothing_else_and_no_time_begins_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gone");
    let proven = Sandbox { netns: path.display().to_string().into(), netns_seen: seen(&path), ..of_pod() };
    let held = vec![
        allocation("c1", of_pod(), None),
        allocation("c2", of_pod(), None),
        allocation("c3", proven, None),
    ];
    let mut node = Node::with(held, vec!["other"], [Absent]);
    node.pods.is_silent.store(true, Ordering::Relaxed);
    node.look(BEGIN).await;
    // Ends, since all last reads have one deadline.
    node.look(BEGIN + GRACE).await;
    tokio::time::resume();
    assert_eq!(node.held().await, 2, "what the namespace proves needs no last read");
    node.pods.is_silent.store(false, Ordering::Relaxed);
    node.look(BEGIN + GRACE).await;
    assert_eq!(node.held().await, 0);
}

#[tokio::test]
async fn after_a_last_read_that_says_nothing_the_others_wait_for_the_next_look() {
    let held = vec![allocation("c1", of_pod(), None), allocation("c2", of_pod(), None)];
    let mut node = Node::with(held, vec!["other"], [Absent]);
    *hold(&node.pods.confirmation) = Some(Unknown);
    node.look(BEGIN).await;
    node.look(BEGIN + GRACE).await;
    *hold(&node.pods.confirmation) = None;
    node.look(BEGIN + GRACE).await;
    assert_eq!(node.held().await, 1, "the time of one has begun again");
}
