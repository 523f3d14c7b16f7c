//! Calls of what a policy may export beside what it must. The engine makes none of them yet.

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

/// The most bytes that a policy may keep. They are written with each proposal that changes them.
const LONGEST_STATE: usize = 16 << 10;

/// What a policy that keeps a state answers a request with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The proposal.
    pub proposal: Proposal,
    /// What to keep from now on, if the proposal is accepted; without it, what was kept stays.
    pub state: Option<Vec<u8>>,
}

impl WasmPolicy {
    /// Whether it plans.
    #[must_use]
    pub fn plans(&self) -> bool {
        self.abilities.planner.is_some()
    }

    /// Says what should be done about a network's supply, on the calling thread.
    ///
    /// # Errors
    /// As [`propose`](Self::propose); `Internal` when it does not plan.
    pub fn plan(&self, state: &PlanState, book: &Arc<Book>) -> Result<Vec<Effect>, Error> {
        let planner = self.abilities.planner.as_ref().ok_or_else(|| self.lacks("does not plan"))?;
        let state = plan::state(state);
        let effects = self.call(book, |store| {
            planner.instantiate(&mut *store)?.tenure_ipam_planning().call_plan(store, &state)
        })?;
        self.read(plan::plan(&effects, book))
    }

    /// Whether it keeps a state.
    #[must_use]
    pub fn keeps_state(&self) -> bool {
        self.abilities.stateful.is_some()
    }

    /// Proposes addresses and says what to keep, on the calling thread. The state is empty until one was kept.
    ///
    /// # Errors
    /// As [`propose`](Self::propose); `Internal` when it keeps no state.
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

    /// Makes its state of one that another policy kept, on the calling thread.
    ///
    /// # Errors
    /// As [`propose`](Self::propose), `PolicyRefused` when it cannot read that state; `Internal` when it keeps no state.
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

    /// Runs one call about a network, in a fresh instance.
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

/// A state that is not too long to be kept.
fn short(state: Vec<u8>) -> Result<Vec<u8>, Nonsense> {
    match state.len() {
        ..=LONGEST_STATE => Ok(state),
        length => Err(Nonsense::LongState(length, LONGEST_STATE)),
    }
}
