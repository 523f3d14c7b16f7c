//! Calls to the optional exports of a policy.

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Effect, Error, ErrorCode, PlanState, PolicyStamp};
use wasmtime::Store;

use super::answer;
use super::bindings::stateful::StatefulPre;
use super::bindings::tenure::ipam::types::{Attribute, Refusal};
use super::call::{CallContext, Patience};
use super::plan;
use super::policy::WasmPolicy;
use super::sight::CallView;
use super::to_wit::attribute;
use super::watch::CallWatch;

impl WasmPolicy {
    /// Whether the policy plans, and may.
    #[must_use]
    pub fn plans(&self) -> bool {
        self.abilities.planner.is_some() && self.grants().planner
    }

    /// The policy's optional worlds, and whether each is granted.
    #[must_use]
    pub fn worlds(&self) -> Vec<(&'static str, bool)> {
        let grants = self.grants();
        let worlds = [
            ("planner", self.abilities.planner.is_some(), grants.planner),
            ("stateful", self.abilities.stateful.is_some(), grants.stateful),
        ];
        worlds
            .into_iter()
            .filter(|(_, exports, _)| *exports)
            .map(|(world, _, granted)| (world, granted))
            .collect()
    }

    /// Plans changes of a network's supply, on the calling thread.
    ///
    /// # Errors
    /// As [`propose`](Self::propose); `Internal` if the policy does not plan.
    pub fn plan(&self, state: &PlanState, book: &Arc<Book>) -> Result<Vec<Effect>, Error> {
        self.plan_watched(state, book, None)
    }

    /// Plans as [`plan`](Self::plan); also returns what the policy logs meanwhile, at any level.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn explain(&self, state: &PlanState, book: &Arc<Book>) -> Result<(Vec<Effect>, Vec<String>), Error> {
        self.explain_watched(state, book, None)
    }

    pub(super) fn plan_watched(
        &self,
        state: &PlanState,
        book: &Arc<Book>,
        watch: Option<&Arc<CallWatch>>,
    ) -> Result<Vec<Effect>, Error> {
        Ok(self.plan_keeping(state, book, watch, false)?.0)
    }

    pub(super) fn explain_watched(
        &self,
        state: &PlanState,
        book: &Arc<Book>,
        watch: Option<&Arc<CallWatch>>,
    ) -> Result<(Vec<Effect>, Vec<String>), Error> {
        self.plan_keeping(state, book, watch, true)
    }

    /// Plans, and returns the policy's lines if it keeps them.
    fn plan_keeping(
        &self,
        state: &PlanState,
        book: &Arc<Book>,
        watch: Option<&Arc<CallWatch>>,
        keeps: bool,
    ) -> Result<(Vec<Effect>, Vec<String>), Error> {
        let planner = self.abilities.planner.as_ref().ok_or_else(|| self.lacks("does not plan"))?;
        if !self.plans() {
            return Err(self.lacks("may not plan: it is not granted the world planner"));
        }
        let situation = plan::situation(state);
        let mut lines = Vec::new();
        let effects = self.call(book, watch, |store| {
            if keeps {
                store.data_mut().log.keep();
            }
            let planner = planner.instantiate(&mut *store)?;
            let planned = planner.tenure_supply_planning().call_plan(&mut *store, &situation);
            lines = store.data_mut().log.take_kept();
            planned
        })?;
        Ok((self.read(plan::plan(&effects, book, &self.grants().effects))?, lines))
    }

    /// Converts another policy's state to this policy's, on the calling thread.
    ///
    /// # Errors
    /// As [`propose`](Self::propose), `PolicyRefused` if the policy cannot read that state; `Internal` if it keeps no
    /// state.
    pub fn migrate(&self, state: &[u8], from: &PolicyStamp, book: &Arc<Book>) -> Result<Arc<[u8]>, Error> {
        self.migrate_watched(state, from, book, None)
    }

    pub(super) fn migrate_watched(
        &self,
        state: &[u8],
        from: &PolicyStamp,
        book: &Arc<Book>,
        watch: Option<&Arc<CallWatch>>,
    ) -> Result<Arc<[u8]>, Error> {
        let stateful = self.stateful().ok_or_else(|| match self.abilities.stateful {
            Some(_) => self.lacks("may keep no state: it is not granted the world stateful"),
            None => self.lacks("keeps no state"),
        })?;
        let from = writer(from.name.as_str(), &from.digest);
        let state = self.call(book, watch, |store| call_migrate(stateful, store, state, &from))?;
        self.read(answer::state(&state))
    }

    /// Makes one call about a network, in a fresh instance.
    fn call<A>(
        &self,
        book: &Arc<Book>,
        watch: Option<&Arc<CallWatch>>,
        call: impl FnOnce(&mut Store<CallContext>) -> wasmtime::Result<Result<A, Refusal>>,
    ) -> Result<A, Error> {
        let _place = self.sandbox().gate().enter();
        let mut store = self.store(CallView::Book(Arc::clone(book)), Patience::Long(watch.cloned()));
        let outcome = call(&mut store);
        self.told(store.data(), outcome)
    }

    fn lacks(&self, ability: &str) -> Error {
        Error::new(ErrorCode::Internal, format_args!("policy {} {ability}", self.stamp()))
    }
}

/// The policy that wrote a state, as another one is told.
pub(super) fn writer(name: &str, digest: &str) -> [Attribute; 2] {
    [attribute("policy.name", name), attribute("policy.digest", digest)]
}

pub(super) fn call_migrate(
    stateful: &StatefulPre<CallContext>,
    store: &mut Store<CallContext>,
    state: &[u8],
    from: &[Attribute],
) -> wasmtime::Result<Result<Vec<u8>, Refusal>> {
    let policy = stateful.instantiate(&mut *store)?;
    policy.tenure_ipam_stateful_allocation().call_migrate(store, state, from)
}
