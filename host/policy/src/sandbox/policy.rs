//! A loaded policy.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{
    Definition, Error, ErrorCode, NetworkConfig, NetworkName, PolicyFailure, PolicyStamp, Proposal, Request,
};
use wasmtime::Store;
use wasmtime::component::{Component, InstancePre};

use super::abilities::Abilities;
use super::answer::{self, Nonsense};
use super::bindings::exports::tenure::ipam::{allocation, network};
use super::bindings::tenure::ipam::types::{self, Refusal};
use super::call::{Call, Patience, is_interrupted};
use super::engine::Sandbox;
use super::lines::Lines;
use super::question::{configuration, question};
use super::sight::Sight;
use super::watch::Watch;

/// A policy that is a component. Each call runs in a fresh instance.
pub struct WasmPolicy {
    sandbox: Arc<Sandbox>,
    stamp: Arc<PolicyStamp>,
    lines: Arc<Lines>,
    /// Imports are linked and exports found once, not per call; a call looks only at the types of its own function.
    instance: InstancePre<Call>,
    network: network::GuestIndices,
    allocation: allocation::GuestIndices,
    pub(super) abilities: Abilities,
}

impl WasmPolicy {
    /// Makes a policy of a component; an error is wasmtime's about one that does not fit the interface.
    pub(crate) fn new(
        sandbox: Arc<Sandbox>,
        stamp: PolicyStamp,
        component: &Component,
    ) -> wasmtime::Result<Self> {
        let instance = sandbox.linker().instantiate_pre(component)?;
        let abilities = Abilities::of(&instance);
        let network = network::GuestIndices::new(&instance)?;
        let allocation = allocation::GuestIndices::new(&instance)?;
        let (stamp, lines) = (Arc::new(stamp), Arc::default());
        Ok(Self { sandbox, stamp, lines, instance, network, allocation, abilities })
    }

    pub(super) fn store(&self, sight: Sight, patience: Patience) -> Store<Call> {
        let (engine, limits) = (self.sandbox.engine(), self.sandbox.limits());
        Call::store(engine, limits, &self.stamp, &self.lines, sight, patience)
    }

    /// The outcome of a call, with the host's errors for refusals and failures.
    pub(super) fn told<A>(
        &self,
        call: &Call,
        outcome: wasmtime::Result<Result<A, Refusal>>,
    ) -> Result<A, Error> {
        match outcome {
            Ok(answer) => answer.map_err(|refusal| answer::refusal(&self.stamp, refusal)),
            Err(error) => {
                let (failure, cause) = call.failure(&error, self.sandbox.limits());
                Err(self.failed(failure, cause))
            }
        }
    }

    fn call_define(
        &self,
        store: &mut Store<Call>,
        config: &types::Config,
    ) -> wasmtime::Result<Result<types::Definition, Refusal>> {
        let instance = self.instance.instantiate(&mut *store)?;
        self.network.load(&mut *store, &instance)?.call_define(store, config)
    }

    fn call_propose(
        &self,
        store: &mut Store<Call>,
        request: &types::Request,
    ) -> wasmtime::Result<Result<types::Proposal, Refusal>> {
        let instance = self.instance.instantiate(&mut *store)?;
        self.allocation.load(&mut *store, &instance)?.call_propose(store, request)
    }

    fn proposal(
        &self,
        call: &Call,
        outcome: wasmtime::Result<Result<types::Proposal, Refusal>>,
    ) -> Result<Proposal, Error> {
        self.read(answer::proposal(&self.told(call, outcome)?))
    }

    /// An answer that has been read, or the failure of the policy.
    pub(super) fn read<A>(&self, answer: Result<A, Nonsense>) -> Result<A, Error> {
        answer.map_err(|nonsense| self.failed(PolicyFailure::Nonsense, nonsense))
    }

    fn failed(&self, failure: PolicyFailure, cause: impl std::fmt::Display) -> Error {
        Error::new(ErrorCode::PolicyFailed, format_args!("policy {} failed: {cause}", self.stamp))
            .failed_by(failure)
    }
}

impl WasmPolicy {
    /// Its name and digest.
    #[must_use]
    pub fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    pub(super) fn silenced(&self) -> u64 {
        self.lines.take_silenced()
    }

    /// Makes a definition from a network's configuration, on the calling thread.
    ///
    /// # Errors
    /// As [`Policy::define`](tenure_engine::ports::Policy::define).
    pub fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        self.define_watched(configuration(network, config), None)
    }

    /// Proposes addresses, on the calling thread.
    ///
    /// # Errors
    /// As [`Policy::propose`](tenure_engine::ports::Policy::propose).
    pub fn propose(&self, request: &Request, book: &Arc<Book>) -> Result<Proposal, Error> {
        self.propose_watched(&question(request), Arc::clone(book), None)
    }

    pub(super) fn define_watched(
        &self,
        config: types::Config,
        watch: Option<&Arc<Watch>>,
    ) -> Result<Definition, Error> {
        let _place = self.sandbox.gate().enter();
        let config = Arc::new(config);
        let sight = Sight::Configuration(Arc::clone(&config));
        let mut store = self.store(sight, Patience::Long(watch.cloned()));
        let outcome = self.call_define(&mut store, &config);
        self.read(answer::definition(self.told(store.data(), outcome)?))
    }

    pub(super) fn propose_watched(
        &self,
        request: &types::Request,
        book: Arc<Book>,
        watch: Option<&Arc<Watch>>,
    ) -> Result<Proposal, Error> {
        let _place = self.sandbox.gate().enter();
        let mut store = self.store(Sight::Book(book), Patience::Long(watch.cloned()));
        let outcome = self.call_propose(&mut store, request);
        self.proposal(store.data(), outcome)
    }

    /// Proposes on a thread that has other work, and never waits. `start` is the thread's processor time at the
    /// start.
    ///
    /// `None` if no place is free or the call takes too long: then the policy might as well not have been called.
    pub(super) fn propose_briefly(
        &self,
        request: &types::Request,
        book: Arc<Book>,
        start: Duration,
    ) -> Option<Result<Proposal, Error>> {
        let _place = self.sandbox.gate().try_enter()?;
        let mut store = self.store(Sight::Book(book), Patience::Brief(start));
        let outcome = self.call_propose(&mut store, request);
        if outcome.as_ref().is_err_and(is_interrupted) {
            return None;
        }
        store.data_mut().log.release();
        Some(self.proposal(store.data(), outcome))
    }
}

impl std::fmt::Debug for WasmPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("WasmPolicy").field(&self.stamp).finish()
    }
}
