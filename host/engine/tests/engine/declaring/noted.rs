//! Policies that note whom they are asked for, and the engine that they serve.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_engine::ports::{Answer, Policy};
use tenure_fixtures::ports::catalogue::LookUp;
use tenure_fixtures::ports::{ManualClock, policy};
use tenure_ledger::Book;
use tenure_types::{
    Definition, Error, NetworkConfig, NetworkName, Outcome, Owner, PolicyName, PolicyStamp, Request,
};
use tokio::sync::Semaphore;

use crate::claiming::named;
use crate::support::{Bench, fits, poll_once};

/// The questions that policies were asked, and the gates before which some of them wait.
struct Questions {
    asked: Mutex<Vec<String>>,
    gates: [Semaphore; 2],
}

/// A policy that notes its questions and proposes the first free address.
///
/// | name | answer |
/// |---|---|
/// | `fast` | after others have had a chance to run |
/// | `slow` | after a millisecond |
/// | `counting`, `counting-slowly` | as these two, and counts its answers in its state |
/// | `gated-a`, `gated-b` | once the first or the second gate is [opened](Noted::open) |
struct Noting {
    stamp: Arc<PolicyStamp>,
    first: Arc<dyn Policy>,
    questions: Arc<Questions>,
    clock: Arc<ManualClock>,
}

impl Policy for Noting {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        self.first.define(network, config)
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        Box::pin(async move {
            let who = match &request.owner {
                Owner::Claim { name, .. } => name.to_string(),
                _ => "pod".to_owned(),
            };
            self.questions.asked.lock().unwrap().push(who);
            tokio::task::yield_now().await;
            match self.stamp.name.as_str() {
                "slow" | "counting-slowly" => self.clock.advance(Duration::from_millis(1)),
                "gated-a" => self.questions.gates[0].acquire().await.unwrap().forget(),
                "gated-b" => self.questions.gates[1].acquire().await.unwrap().forget(),
                _ => {}
            }
            let outcome = self.first.propose(request, book, Arc::default()).await?;
            let count = || vec![state.first().map_or(1, |count| count + 1)].into();
            Ok(Outcome { state: self.keeps_state().then(count), ..outcome })
        })
    }

    fn keeps_state(&self) -> bool {
        self.stamp.name.as_str().starts_with("counting")
    }
}

/// An engine whose policies note whom they are asked for.
pub(super) struct Noted {
    pub(super) bench: Bench,
    questions: Arc<Questions>,
    pods: AtomicU32,
}

impl Noted {
    pub(super) fn new() -> Self {
        let gates = [Semaphore::new(0), Semaphore::new(0)];
        let questions = Arc::new(Questions { asked: Mutex::default(), gates });
        let noting = Arc::clone(&questions);
        let bench = Bench::with(16, 16, |clock| {
            let clock = Arc::clone(clock);
            Arc::new(LookUp(move |name: &PolicyName| -> Result<Arc<dyn Policy>, Error> {
                let first = policy::catalogue().find(&PolicyName::new("first").unwrap())?;
                let stamp = Arc::new(PolicyStamp { name: name.clone(), digest: "d".into() });
                let (questions, clock) = (Arc::clone(&noting), Arc::clone(&clock));
                Ok(Arc::new(Noting { stamp, first, questions, clock }))
            }))
        });
        Self { bench, questions, pods: AtomicU32::new(1) }
    }

    pub(super) async fn of(policy: &str, ipam: &str) -> Self {
        let noted = Self::new();
        noted.bench.define_with("net", policy, ipam).await;
        noted
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.questions.asked.lock().unwrap().clone()
    }

    /// Lets so many questions through a gate.
    pub(super) fn open(&self, gate: usize, questions: usize) {
        self.questions.gates[gate].add_permits(questions);
    }

    /// Adds another pod, which may ask for an address.
    pub(super) async fn pod(&self, network: &str, policy: &str, ipam: &str, requested: Option<&str>) {
        let mut add = self.bench.add_with(self.pods.fetch_add(1, Ordering::Relaxed), policy, ipam);
        add.request.network = named(network);
        add.request.requested = requested.iter().map(|address| address.parse().unwrap()).collect();
        self.bench.engine.add(add, fits).await.unwrap();
    }

    /// Goes on with something until a policy has been asked so many questions.
    pub(super) fn until_asked(&self, number: usize, mut doing: Pin<&mut impl Future>) {
        let mut steps = 0..100;
        while self.asked().len() < number && steps.next().is_some() {
            assert!(poll_once(doing.as_mut()).is_pending());
        }
        assert!(self.asked().len() >= number, "asked for {:?}", self.asked());
    }

    /// The number of requests that the policy of `net` has counted.
    pub(super) async fn count(&self) -> u8 {
        self.bench.engine.states_of(&named("net")).await.unwrap().unwrap().now.bytes[0]
    }
}
