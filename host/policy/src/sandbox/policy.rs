//! A loaded policy.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{
    Definition, Error, ErrorCode, Meter, NetworkConfig, NetworkName, Outcome, PolicyFailure, PolicyStamp,
    Request,
};
use wasmtime::Store;
use wasmtime::component::{Component, InstancePre};

use super::abilities::Abilities;
use super::answer::{self, Nonsense};
use super::bindings::exports::tenure::ipam::network;
use super::bindings::stateful::StatefulPre;
use super::bindings::tenure::ipam::types::{self, Refusal};
use super::call::{CallContext, Patience, is_interrupted};
use super::engine::PolicySandbox;
use super::grants::{Granted, Grants};
use super::limits::CallLimits;
use super::lines::LineCounts;
use super::meters::PolicyMeters;
use super::question::{configuration, question};
use super::recording::NotRecorded;
use super::sight::CallView;
use super::verdict::CallVerdict;
use super::watch::CallWatch;
use crate::decisions::{Function, RecordedLimits, Tape};

/// The reason why a policy that must keep a state and may not cannot propose.
const STATE_ONLY: &str = "it proposes only with a state, which it may not keep: add \"stateful\" to `worlds` in the policy's table of tenured.toml";

/// A policy that is a component. Each call runs in a fresh instance.
pub struct WasmPolicy {
    sandbox: Arc<PolicySandbox>,
    stamp: Arc<PolicyStamp>,
    lines: Arc<LineCounts>,
    meters: Arc<PolicyMeters>,
    /// Imports are linked and exports found once, not per call; a call looks only at the types of its own function.
    instance: InstancePre<CallContext>,
    network: Arc<network::GuestIndices>,
    pub(super) abilities: Arc<Abilities>,
    granted: Arc<Granted>,
}

impl WasmPolicy {
    /// Makes a policy of a component; an error is wasmtime's about one that does not fit the interface.
    pub(crate) fn new(
        sandbox: Arc<PolicySandbox>,
        stamp: PolicyStamp,
        component: &Component,
        granted: Arc<Granted>,
    ) -> wasmtime::Result<Self> {
        let instance = sandbox.linker().instantiate_pre(component)?;
        let abilities = Arc::new(Abilities::of(&instance));
        let network = Arc::new(network::GuestIndices::new(&instance)?);
        let (stamp, lines, meters) = (Arc::new(stamp), Arc::default(), Arc::default());
        Ok(Self { sandbox, stamp, lines, meters, instance, network, abilities, granted })
    }

    /// The same policy with meters of its own, which begin at zero.
    pub(super) fn metered_apart(&self) -> Self {
        Self {
            sandbox: Arc::clone(&self.sandbox),
            stamp: Arc::clone(&self.stamp),
            lines: Arc::clone(&self.lines),
            meters: Arc::default(),
            instance: self.instance.clone(),
            network: Arc::clone(&self.network),
            abilities: Arc::clone(&self.abilities),
            granted: Arc::clone(&self.granted),
        }
    }

    pub(super) fn store(&self, sight: CallView, patience: Patience) -> Store<CallContext> {
        let limits = self.limits();
        CallContext::store(self.sandbox.engine(), &limits, &self.stamp, &self.lines, sight, patience)
    }

    /// The policy's present grants.
    #[must_use]
    pub fn grants(&self) -> Arc<Grants> {
        self.granted.get()
    }

    /// Grants it something else, and all other versions of its name that the same runtime has loaded.
    pub fn grant(&self, grants: Grants) {
        self.granted.set(grants);
    }

    /// Whether the policy keeps state, and may.
    #[must_use]
    pub fn keeps_state(&self) -> bool {
        self.stateful().is_some()
    }

    /// The exports of a policy that keeps state, and may.
    pub(super) fn stateful(&self) -> Option<&StatefulPre<CallContext>> {
        self.abilities.stateful.as_ref().filter(|_| self.grants().stateful)
    }

    /// The limits of its calls.
    #[must_use]
    pub fn limits(&self) -> CallLimits {
        self.grants().narrow(self.sandbox.limits())
    }

    /// Why a call failed, with the setting that a grant has narrowed in place of the sandbox's. It is not recorded: where a decision is
    /// made again, nothing is granted.
    fn with_setting(&self, failure: PolicyFailure, cause: String) -> String {
        let (grants, own) = (self.grants(), self.sandbox.limits());
        let narrowed = match failure {
            PolicyFailure::Deadline if grants.deadline.is_some_and(|deadline| deadline < own.deadline) => {
                "deadline_ms"
            }
            PolicyFailure::Memory if grants.memory.is_some_and(|memory| memory < own.memory) => "memory_mib",
            _ => return cause,
        };
        let (from, to) = (format!("sandbox.{narrowed}"), format!("policies.{}.{narrowed}", self.stamp.name));
        cause.replacen(&from, &to, 1)
    }

    /// Meters a call; its answer, or the host's error for a refusal or failure.
    pub(super) fn told<A>(
        &self,
        call: &CallContext,
        outcome: wasmtime::Result<Result<A, Refusal>>,
    ) -> Result<A, Error> {
        self.meter(call);
        match outcome {
            Ok(answer) => answer.map_err(|refusal| self.refused(&refusal)),
            Err(error) => {
                let (failure, cause) = call.failure(&error, &self.limits());
                Err(self.failed(failure, self.with_setting(failure, cause)))
            }
        }
    }

    /// Meters a call and reads its answer; returns the outcome as it is recorded, and as the host sees it.
    pub(super) fn judge<'a, A, R>(
        &self,
        call: &CallContext,
        outcome: &'a wasmtime::Result<Result<A, Refusal>>,
        read: impl FnOnce(&A) -> Result<R, Nonsense>,
        verdict: impl FnOnce(&'a A) -> CallVerdict<'a>,
    ) -> (CallVerdict<'a>, Result<R, Error>) {
        self.meter(call);
        let (failure, cause) = match outcome {
            Ok(Ok(answer)) => match read(answer) {
                Ok(read) => return (verdict(answer), Ok(read)),
                Err(nonsense) => (PolicyFailure::Nonsense, nonsense.to_string()),
            },
            Ok(Err(refusal)) => return (CallVerdict::Refusal(refusal), Err(self.refused(refusal))),
            Err(error) => match error.downcast_ref::<NotRecorded>() {
                Some(missing) => {
                    let error = Error::new(ErrorCode::Internal, missing);
                    return (CallVerdict::NotRecorded(missing.0.clone()), Err(error));
                }
                None => call.failure(error, &self.limits()),
            },
        };
        let error = self.failed(failure, self.with_setting(failure, cause.clone()));
        (CallVerdict::Failure { kind: failure.name(), cause: cause.into() }, Err(error))
    }

    fn meter(&self, call: &CallContext) {
        let (host_calls, memory) = call.used();
        self.meters.called(host_calls, memory);
    }

    fn refused(&self, refusal: &Refusal) -> Error {
        self.meters.refused(refusal);
        answer::refusal(&self.stamp, refusal)
    }

    pub(super) fn call_define(
        &self,
        store: &mut Store<CallContext>,
        config: &types::Config,
    ) -> wasmtime::Result<Result<types::Definition, Refusal>> {
        let instance = self.instance.instantiate(&mut *store)?;
        let defined = self.network.load(&mut *store, &instance)?.call_define(store, config)?;
        Ok(defined.map_err(Refusal::InvalidConfig))
    }

    /// Calls the `propose` of the policy: with its state, if it keeps one.
    pub(super) fn call_propose(
        &self,
        store: &mut Store<CallContext>,
        request: &types::Request,
        state: &[u8],
    ) -> wasmtime::Result<Result<types::Outcome, Refusal>> {
        if let Some(stateful) = self.stateful() {
            let policy = stateful.instantiate(&mut *store)?;
            return policy.tenure_ipam_stateful_allocation().call_propose(store, request, state);
        }
        let Some(allocation) = &self.abilities.allocation else {
            return Err(wasmtime::Error::msg(STATE_ONLY));
        };
        let instance = self.instance.instantiate(&mut *store)?;
        let answer = allocation.load(&mut *store, &instance)?.call_propose(store, request)?;
        Ok(answer.map(|proposal| types::Outcome { proposal, state: None, attributes: Vec::new() }))
    }

    /// Ends a call: reads its answer, and hands the recorded call to the writer.
    fn end<A, R>(
        &self,
        store: &mut Store<CallContext>,
        outcome: &wasmtime::Result<Result<A, Refusal>>,
        read: impl FnOnce(&A) -> Result<R, Nonsense>,
        verdict: impl for<'a> FnOnce(&'a A) -> CallVerdict<'a>,
    ) -> Result<R, Error> {
        let tape = store.data_mut().tape.take();
        let (verdict, answer) = self.judge(store.data(), outcome, read, verdict);
        if let Some(tape) = tape {
            tape.ended(&verdict, store.data().book());
        }
        answer
    }

    /// An answer that has been read, or the failure of the policy.
    pub(super) fn read<A>(&self, answer: Result<A, Nonsense>) -> Result<A, Error> {
        answer.map_err(|nonsense| self.failed(PolicyFailure::Nonsense, nonsense))
    }

    fn failed(&self, failure: PolicyFailure, cause: impl std::fmt::Display) -> Error {
        self.meters.failed(failure);
        Error::new(ErrorCode::PolicyFailed, format_args!("policy {} failed: {cause}", self.stamp))
            .failed_by(failure)
    }
}

impl WasmPolicy {
    /// The policy's name and digest.
    #[must_use]
    pub fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    /// The usage of the policy's calls so far.
    #[must_use]
    pub fn metered(&self) -> Meter {
        self.meters.read()
    }

    pub(super) fn sandbox(&self) -> &PolicySandbox {
        &self.sandbox
    }

    pub(super) fn silenced(&self) -> u64 {
        self.lines.take_silenced()
    }

    pub(super) fn meters(&self) -> &PolicyMeters {
        &self.meters
    }

    /// Begins to record a definition, if its network is recorded.
    pub(super) fn tape_of_define(&self, config: &types::Config) -> Option<Box<Tape>> {
        let (recorder, limits) = (self.sandbox.recorder(), self.narrowed());
        Tape::begin(recorder, &config.name, &self.stamp, Function::Define, config, None, limits.as_ref())
    }

    /// Begins to record a proposal, if its network is recorded.
    pub(super) fn tape_of_propose(&self, request: &types::Request, state: &[u8]) -> Option<Box<Tape>> {
        let (function, state) = match self.keeps_state() {
            true => (Function::ProposeWithState, Some(state)),
            false => (Function::Propose, None),
        };
        let (recorder, limits) = (self.sandbox.recorder(), self.narrowed());
        Tape::begin(recorder, &request.network, &self.stamp, function, request, state, limits.as_ref())
    }

    /// The limits of its calls, if a grant makes them other than the sandbox's.
    fn narrowed(&self) -> Option<RecordedLimits> {
        let narrowed = self.grants().narrows().then(|| self.limits().recorded());
        narrowed.filter(|limits| *limits != self.sandbox.limits().recorded())
    }

    /// Makes a definition from a network's configuration, on the calling thread. It is not recorded.
    ///
    /// # Errors
    /// As [`Policy::define`](tenure_engine::ports::Policy::define).
    pub fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        self.define_watched(configuration(network, config), None, None)
    }

    /// Proposes addresses, on the calling thread. It is not recorded.
    ///
    /// # Errors
    /// As [`Policy::propose`](tenure_engine::ports::Policy::propose).
    pub fn propose(&self, request: &Request, state: &[u8], book: &Arc<Book>) -> Result<Outcome, Error> {
        self.propose_watched(&question(request, &self.grants()), state, Arc::clone(book), None, None)
    }

    pub(super) fn define_watched(
        &self,
        config: types::Config,
        watch: Option<&Arc<CallWatch>>,
        tape: Option<Box<Tape>>,
    ) -> Result<Definition, Error> {
        let _place = self.sandbox.gate().enter();
        let config = Arc::new(config);
        let sight = CallView::Configuration(Arc::clone(&config));
        let mut store = self.store(sight, Patience::Long(watch.cloned()));
        store.data_mut().tape = tape;
        let outcome = self.call_define(&mut store, &config);
        self.end(&mut store, &outcome, answer::definition, |definition| CallVerdict::Definition(definition))
    }

    pub(super) fn propose_watched(
        &self,
        request: &types::Request,
        state: &[u8],
        book: Arc<Book>,
        watch: Option<&Arc<CallWatch>>,
        tape: Option<Box<Tape>>,
    ) -> Result<Outcome, Error> {
        let _place = self.sandbox.gate().enter();
        let mut store = self.store(CallView::Book(book), Patience::Long(watch.cloned()));
        store.data_mut().tape = tape;
        let outcome = self.call_propose(&mut store, request, state);
        self.end(&mut store, &outcome, answer::outcome, |outcome| self.proposed(outcome))
    }

    /// A proposal, as it is recorded.
    pub(super) fn proposed<'a>(&self, outcome: &'a types::Outcome) -> CallVerdict<'a> {
        match self.keeps_state() {
            true => CallVerdict::of(outcome),
            false => CallVerdict::Proposal(&outcome.proposal),
        }
    }

    /// Proposes on a thread that has other work, and never waits. `start` is the thread's processor time at the
    /// start.
    ///
    /// `None` if no place is free or the call takes too long: then the policy might as well not have been called.
    pub(super) fn propose_briefly(
        &self,
        request: &types::Request,
        state: &[u8],
        book: Arc<Book>,
        start: Duration,
        tape: Option<Box<Tape>>,
    ) -> Option<Result<Outcome, Error>> {
        let _place = self.sandbox.gate().try_enter()?;
        let mut store = self.store(CallView::Book(book), Patience::Brief(start));
        store.data_mut().tape = tape;
        let outcome = self.call_propose(&mut store, request, state);
        if outcome.as_ref().is_err_and(is_interrupted) {
            return None;
        }
        store.data_mut().log.release();
        Some(self.end(&mut store, &outcome, answer::outcome, |outcome| self.proposed(outcome)))
    }
}

impl std::fmt::Debug for WasmPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("WasmPolicy").field(&self.stamp).finish()
    }
}
