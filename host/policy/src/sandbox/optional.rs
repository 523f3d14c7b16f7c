//! Calls to the optional exports of a policy. The engine makes none of them yet.

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode, PolicyStamp, Proposal, Request};
use wasmtime::Store;

use super::answer::{self, Nonsense};
use super::bindings::stateful::StatefulPre;
use super::bindings::tenure::ipam::types::Refusal;
use super::call::{Call, Patience};
use super::plan::{self, Effect, PlanState};
use super::policy::WasmPolicy;
use super::question::question;
use super::sight::Sight;
use super::to_wit::attribute;

/// The most bytes of state that a policy may keep. They are written with each proposal that changes them.
const LONGEST_STATE: usize = 16 << 10;

/// The answer of a policy that keeps state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The proposal.
    pub proposal: Proposal,
    /// The new state, which is kept if the proposal is accepted; `None` keeps the old one.
    pub state: Option<Vec<u8>>,
}

impl WasmPolicy {
    /// Whether the policy plans.
    #[must_use]
    pub fn plans(&self) -> bool {
        self.abilities.planner.is_some()
    }

    /// Plans changes of a network's supply, on the calling thread.
    ///
    /// # Errors
    /// As [`propose`](Self::propose); `Internal` if the policy does not plan.
    pub fn plan(&self, state: &PlanState, book: &Arc<Book>) -> Result<Vec<Effect>, Error> {
        let planner = self.abilities.planner.as_ref().ok_or_else(|| self.lacks("does not plan"))?;
        let state = plan::state(state);
        let effects = self.call(book, |store| {
            planner.instantiate(&mut *store)?.tenure_ipam_planning().call_plan(store, &state)
        })?;
        self.read(plan::plan(&effects, book))
    }

    /// Whether the policy keeps state.
    #[must_use]
    pub fn keeps_state(&self) -> bool {
        self.abilities.stateful.is_some()
    }

    /// Proposes addresses and a new state, on the calling thread. The state is empty until one was kept.
    ///
    /// # Errors
    /// As [`propose`](Self::propose); `Internal` if the policy keeps no state.
    pub fn propose_with(&self, request: &Request, state: &[u8], book: &Arc<Book>) -> Result<Outcome, Error> {
        let stateful = self.stateful()?;
        let request = question(request);
        let outcome = self.call(book, |store| {
            let policy = stateful.instantiate(&mut *store)?;
            policy.tenure_ipam_stateful_allocation().call_propose(store, &request, state)
        })?;
        let proposal = self.read(answer::proposal(&outcome.proposal))?;
        let state = outcome.state.map(|state| self.read(short(state))).transpose()?;
        Ok(Outcome { proposal, state })
    }

    /// Converts another policy's state to this policy's, on the calling thread.
    ///
    /// # Errors
    /// As [`propose`](Self::propose), `PolicyRefused` if the policy cannot read that state; `Internal` if it keeps no
    /// state.
    pub fn migrate(&self, state: &[u8], from: &PolicyStamp, book: &Arc<Book>) -> Result<Vec<u8>, Error> {
        let stateful = self.stateful()?;
        let from = [attribute("policy.name", from.name.as_str()), attribute("policy.digest", &from.digest)];
        let state = self.call(book, |store| {
            let policy = stateful.instantiate(&mut *store)?;
            policy.tenure_ipam_stateful_allocation().call_migrate(store, state, &from)
        })?;
        self.read(short(state))
    }

    fn stateful(&self) -> Result<&StatefulPre<Call>, Error> {
        self.abilities.stateful.as_ref().ok_or_else(|| self.lacks("keeps no state"))
    }

    /// Makes one call about a network, in a fresh instance.
    fn call<A>(
        &self,
        book: &Arc<Book>,
        call: impl FnOnce(&mut Store<Call>) -> wasmtime::Result<Result<A, Refusal>>,
    ) -> Result<A, Error> {
        let _place = self.sandbox().gate().enter();
        let mut store = self.store(Sight::Book(Arc::clone(book)), Patience::Long(None));
        let outcome = call(&mut store);
        self.told(store.data(), outcome)
    }

    fn lacks(&self, ability: &str) -> Error {
        Error::new(ErrorCode::Internal, format_args!("policy {} {ability}", self.stamp()))
    }
}

/// Refuses a state that is too long to keep.
fn short(state: Vec<u8>) -> Result<Vec<u8>, Nonsense> {
    match state.len() {
        ..=LONGEST_STATE => Ok(state),
        length => Err(Nonsense::LongState(length, LONGEST_STATE)),
    }
}
