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
    Definition, Error, ErrorCode, Meter, NetworkConfig, NetworkName, PolicyStamp, Proposal, Request, Result,
};
use tokio::sync::oneshot;

use super::bindings::tenure::ipam::types;
use super::policy::WasmPolicy;
use super::processor;
use super::question::{configuration, question};
use super::threads::Job;
use super::trust::{Place, Trust};
use super::watch::Watch;
use crate::decisions::Function;

/// A loaded policy, and what is known about the duration of its calls.
#[derive(Debug)]
pub struct AskedPolicy {
    policy: Arc<WasmPolicy>,
    /// Of definitions: they read what an operator wrote, of any length, and never run on the calling thread.
    definitions: Arc<Trust>,
    proposals: Arc<Trust>,
}

impl AskedPolicy {
    /// A policy about whose calls nothing is known yet.
    #[must_use]
    pub fn new(policy: WasmPolicy) -> Self {
        Self { policy: Arc::new(policy), definitions: Arc::default(), proposals: Arc::default() }
    }

    /// Proposes on the calling thread; `None` if the proposal must be made on another thread, from the start.
    fn propose_here(&self, request: &types::Request, book: &Arc<Book>) -> Option<Result<Proposal>> {
        if self.proposals.place() != Place::Here {
            return None;
        }
        let start = processor::time();
        let tape = self.policy.tape(&request.network, Function::Propose, request);
        let answer = self.policy.propose_briefly(request, Arc::clone(book), start, tape);
        let used = processor::time().saturating_sub(start);
        self.proposals.learn(used);
        self.policy.meters().used(used);
        answer
    }

    /// Runs a call on one of the threads. Dropping the future ends the call soon.
    async fn ask<T: Send + 'static>(
        &self,
        trust: &Arc<Trust>,
        call: impl FnOnce(&WasmPolicy, &Arc<Watch>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let asked = Asked::default();
        let (policy, given_up, trust) =
            (Arc::clone(&self.policy), Arc::clone(&asked.given_up), Arc::clone(trust));
        let sandbox = self.policy.sandbox();
        let threads = match trust.place() {
            Place::Behind => sandbox.behind(),
            Place::Thread | Place::Here => sandbox.threads(),
        };
        let digest = Arc::clone(&policy.stamp().digest);
        threads.run(Job {
            policy: digest,
            work: Box::new(move |seat| {
                let watch = Arc::new(Watch::new(given_up, seat, trust));
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
        answer.await.unwrap_or_else(|_| {
            let cause = format_args!("a call to policy {} did not finish", self.policy.stamp());
            Err(Error::new(ErrorCode::Internal, cause))
        })
    }
}

/// A caller that waits for an answer.
#[derive(Debug, Default)]
struct Asked {
    given_up: Arc<AtomicBool>,
}

impl Drop for Asked {
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

    fn meter(&self) -> Meter {
        self.policy.meters().read()
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        let config = configuration(network, config);
        let call = move |policy: &WasmPolicy, watch: &Arc<Watch>| {
            let tape = policy.tape(&config.name, Function::Define, &config);
            policy.define_watched(config, Some(watch), tape)
        };
        Box::pin(self.ask(&self.definitions, call))
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>) -> Answer<'a, Proposal> {
        let request = question(request);
        Box::pin(async move {
            if let Some(answer) = self.propose_here(&request, &book) {
                return answer;
            }
            let call = move |policy: &WasmPolicy, watch: &Arc<Watch>| {
                let tape = policy.tape(&request.network, Function::Propose, &request);
                policy.propose_watched(&request, book, Some(watch), tape)
            };
            self.ask(&self.proposals, call).await
        })
    }
}
