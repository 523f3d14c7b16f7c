//! A policy that is asked from afar: each call on a thread of its own kind, whoever waits for it waits asleep.

use std::sync::Arc;

use tenure_engine::ports::{Answer, Policy};
use tenure_ledger::Book;
use tenure_types::{
    Definition, Error, ErrorCode, NetworkConfig, NetworkName, PolicyStamp, Proposal, Request, Result,
};
use tokio::sync::oneshot;

use super::policy::WasmPolicy;
use super::question::{configuration, question};
use super::threads::Job;
use super::watch::Watch;

/// A loaded policy that is called on the sandbox's threads.
#[derive(Debug)]
pub struct AskedPolicy {
    policy: Arc<WasmPolicy>,
}

impl AskedPolicy {
    /// Calls a policy on the sandbox's threads.
    #[must_use]
    pub fn new(policy: WasmPolicy) -> Self {
        Self { policy: Arc::new(policy) }
    }

    /// Has a call made; the future is its answer, and dropping it ends the call soon.
    async fn ask<T: Send + 'static>(
        &self,
        call: impl FnOnce(&WasmPolicy, &Arc<Watch>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let asked = Asked(Arc::new(Watch::default()));
        let (policy, watch) = (Arc::clone(&self.policy), Arc::clone(&asked.0));
        let digest = Arc::clone(&policy.stamp().digest);
        let work = Box::new(move || {
            if !watch.is_given_up() {
                // Whoever asked may be gone.
                let _ = sender.send(call(&policy, &watch));
            }
            !watch.is_demoted()
        });
        self.policy.sandbox().threads().run(Job { policy: digest, work });
        answer.await.unwrap_or_else(|_| {
            let cause = format_args!("a call of policy {} came to no end", self.policy.stamp());
            Err(Error::new(ErrorCode::Internal, cause))
        })
    }
}

/// Somebody waits for an answer.
struct Asked(Arc<Watch>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl Policy for AskedPolicy {
    fn stamp(&self) -> &PolicyStamp {
        self.policy.stamp()
    }

    fn silenced(&self) -> u64 {
        self.policy.silenced()
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        let config = configuration(network, config);
        Box::pin(self.ask(move |policy, watch| policy.define_watched(&config, Some(watch))))
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>) -> Answer<'a, Proposal> {
        let request = question(request);
        Box::pin(self.ask(move |policy, watch| policy.propose_watched(&request, book, Some(watch))))
    }
}
