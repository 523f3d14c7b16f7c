//! A policy as the engine calls it: on the calling thread if its calls are quick, otherwise on one of the policies'
//! threads.
//!
//! A proposal has no side effects but log lines. So a proposal that takes too long on the calling thread is dropped
//! and made again from the start on another thread, while the caller sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_engine::ports::{Answer, Policy};
use tenure_ledger::Book;
use tenure_types::{
    Definition, Effect, Error, ErrorCode, Meter, NetworkConfig, NetworkName, Outcome, PlanState, PolicyStamp,
    Request, Result,
};
use tokio::sync::oneshot;

use super::bindings::tenure::ipam::types;
use super::policy::WasmPolicy;
use super::processor;
use super::question::{configuration, question};
use super::threads::Job;
use super::trust::{CallSlot, Trust};
use super::watch::CallWatch;
use crate::decisions::Tape;

/// A loaded policy, and what is known about the duration of its calls.
#[derive(Debug)]
pub struct AskedPolicy {
    policy: Arc<WasmPolicy>,
    /// The same for calls that serve nobody, which are metered apart.
    trial: Arc<WasmPolicy>,
    /// Of definitions and migrations: they read what was written elsewhere, and never run on the calling thread.
    definitions: Arc<Trust>,
    proposals: Arc<Trust>,
    /// Whether its calls are recorded, where the network's are.
    recorded: bool,
}

impl AskedPolicy {
    /// A policy about whose calls nothing is known yet.
    #[must_use]
    pub fn new(policy: WasmPolicy) -> Self {
        let (definitions, proposals) = (Arc::default(), Arc::default());
        let trial = Arc::new(policy.metered_apart());
        Self { policy: Arc::new(policy), trial, definitions, proposals, recorded: true }
    }

    /// Begins to record a proposal, if it is to be recorded.
    fn tape_of_propose(&self, request: &types::Request, state: &[u8]) -> Option<Box<Tape>> {
        if self.recorded { self.policy.tape_of_propose(request, state) } else { None }
    }

    /// The policy itself.
    pub(crate) fn policy(&self) -> &WasmPolicy {
        &self.policy
    }

    /// Proposes on the calling thread; `None` if the proposal must be made on another thread, from the start.
    fn propose_here(
        &self,
        request: &types::Request,
        state: &[u8],
        book: &Arc<Book>,
    ) -> Option<Result<Outcome>> {
        if self.proposals.place() != CallSlot::Here {
            return None;
        }
        let start = processor::time();
        let tape = self.tape_of_propose(request, state);
        let answer = self.policy.propose_briefly(request, state, Arc::clone(book), start, tape);
        let used = processor::time().saturating_sub(start);
        self.proposals.learn(used);
        self.policy.meters().used(used);
        answer
    }

    /// Runs a call on one of the threads. Dropping the future ends the call soon.
    async fn ask<T: Send + 'static>(
        &self,
        trust: &Arc<Trust>,
        call: impl FnOnce(&WasmPolicy, &Arc<CallWatch>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let asked = WaitingCaller::default();
        let (policy, given_up, trust) =
            (Arc::clone(&self.policy), Arc::clone(&asked.given_up), Arc::clone(trust));
        let sandbox = self.policy.sandbox();
        let threads = match trust.place() {
            CallSlot::Behind => sandbox.behind(),
            CallSlot::Thread | CallSlot::Here => sandbox.threads(),
        };
        let digest = Arc::clone(&policy.stamp().digest);
        threads.run(Job {
            policy: digest,
            work: Box::new(move |seat| {
                let watch = Arc::new(CallWatch::new(given_up, seat, trust));
                if watch.is_given_up() {
                    return;
                }
                let start = processor::time();
                let answer = call(&policy, &watch);
                let used = processor::time().saturating_sub(start);
                watch.has_ended(used);
                policy.meters().used(used);
                // The caller may be gone.
                let _ = sender.send(answer);
            }),
        });
        answer.await.unwrap_or_else(|_| Err(self.unfinished()))
    }

    /// Does work that serves nobody with the policy on a thread of the lowest priority, to its end.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WasmPolicy) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let policy = Arc::clone(&self.trial);
        self.policy.sandbox().behind().run(Job {
            policy: Arc::clone(&self.policy.stamp().digest),
            // The caller may be gone.
            work: Box::new(move |_| drop(sender.send(work(&policy)))),
        });
        answer.await.unwrap_or_else(|_| Err(self.unfinished()))
    }

    fn unfinished(&self) -> Error {
        let cause = format_args!("a call to policy {} did not finish", self.policy.stamp());
        Error::new(ErrorCode::Internal, cause)
    }
}

/// A caller that waits for an answer.
#[derive(Debug, Default)]
struct WaitingCaller {
    given_up: Arc<AtomicBool>,
}

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}

impl Policy for AskedPolicy {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        self.policy.stamp()
    }

    fn silenced(&self) -> u64 {
        self.policy.silenced()
    }

    fn rejected(&self, rule: &'static str) {
        self.policy.meters().rejected(rule);
    }

    fn on_trial(&self) -> Option<Arc<dyn Policy>> {
        let (policy, trial) = (Arc::clone(&self.trial), Arc::clone(&self.trial));
        let (definitions, proposals) = (Arc::clone(&self.definitions), Arc::clone(&self.proposals));
        Some(Arc::new(Self { policy, trial, definitions, proposals, recorded: false }))
    }

    fn meter(&self) -> Meter {
        let Meter { calls, processor, .. } = self.trial.meters().read();
        Meter { trial_calls: calls, trial_processor: processor, ..self.policy.meters().read() }
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        let config = configuration(network, config);
        let tape = if self.recorded { self.policy.tape_of_define(&config) } else { None };
        let call = move |policy: &WasmPolicy, watch: &Arc<CallWatch>| {
            policy.define_watched(config, Some(watch), tape)
        };
        Box::pin(self.ask(&self.definitions, call))
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        let request = question(request, &self.policy.grants());
        Box::pin(async move {
            if let Some(answer) = self.propose_here(&request, &state, &book) {
                return answer;
            }
            let tape = self.tape_of_propose(&request, &state);
            let call = move |policy: &WasmPolicy, watch: &Arc<CallWatch>| {
                policy.propose_watched(&request, &state, book, Some(watch), tape)
            };
            self.ask(&self.proposals, call).await
        })
    }

    fn keeps_state(&self) -> bool {
        self.policy.keeps_state()
    }

    fn plans(&self) -> bool {
        self.policy.plans()
    }

    fn plan<'a>(&'a self, state: Arc<PlanState>, book: Arc<Book>) -> Answer<'a, Vec<Effect>> {
        let call = move |policy: &WasmPolicy, watch: &Arc<CallWatch>| {
            policy.plan_watched(&state, &book, Some(watch))
        };
        Box::pin(self.ask(&self.definitions, call))
    }

    fn explain<'a>(
        &'a self,
        state: Arc<PlanState>,
        book: Arc<Book>,
    ) -> Answer<'a, (Vec<Effect>, Vec<String>)> {
        let call = move |policy: &WasmPolicy, watch: &Arc<CallWatch>| {
            policy.explain_watched(&state, &book, Some(watch))
        };
        Box::pin(self.ask(&self.definitions, call))
    }

    fn migrate<'a>(
        &'a self,
        state: Arc<[u8]>,
        from: &'a PolicyStamp,
        book: Arc<Book>,
    ) -> Answer<'a, Arc<[u8]>> {
        let from = from.clone();
        let call = move |policy: &WasmPolicy, watch: &Arc<CallWatch>| {
            policy.migrate_watched(&state, &from, &book, Some(watch))
        };
        Box::pin(self.ask(&self.definitions, call))
    }
}
