//! A policy that is called as a plain function.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_sdk::native::call;
use tenure_sdk::{Config, ConfigError, Effect, Planner, Policy, Refusal, Stateful, SupplySituation};
use tenure_types::{
    Definition, Error, ErrorCode, LONGEST_STATE, NetworkConfig, NetworkName, Outcome, PlanState, Request,
};

use crate::host::{DefiningNetwork, Serving};
use crate::{Subject, convert, situation};

/// The function that makes a definition.
type Define = fn(&Config) -> Result<tenure_sdk::Definition, ConfigError>;

/// The function that answers a request, with the state that the policy keeps.
type Propose = fn(&tenure_sdk::Request, &[u8]) -> Result<tenure_sdk::Outcome, Refusal>;

/// The function that plans.
type Plan = fn(&SupplySituation) -> Result<Vec<Effect>, Refusal>;

/// A policy, called as a plain function on this thread.
#[derive(Debug)]
pub struct Native<P> {
    define: Define,
    propose: Propose,
    /// `None` if the policy does not plan, or is not to be asked for plans.
    plan: Option<Plan>,
    _policy: PhantomData<P>,
}

impl<P: Policy> Native<P> {
    /// The policy, without a state.
    #[must_use]
    pub const fn new() -> Self {
        let propose: Propose =
            |request, _| P::propose(request).map(|proposal| tenure_sdk::Outcome { proposal, state: None });
        Self { define: P::define, propose, plan: None, _policy: PhantomData }
    }
}

impl<P: Stateful> Native<P> {
    /// The policy with its state.
    #[must_use]
    pub const fn stateful() -> Self {
        Self { define: P::define, propose: P::propose, plan: None, _policy: PhantomData }
    }
}

impl<P: Policy> Default for Native<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> Subject for Native<P> {
    fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        let attributes: Vec<_> =
            config.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let config = Config::new(network.as_str(), &config.ipam, &attributes);
        let host = Rc::new(DefiningNetwork(config.clone()));
        convert::definition(answer(|| call(host, || Ok((self.define)(&config)?)))?)
    }

    fn propose(&self, request: &Request, state: &[u8], book: &Arc<Book>) -> Result<Outcome, Error> {
        let (host, request) = (Rc::new(Serving(Arc::clone(book))), convert::request(request));
        let outcome = answer(|| call(host, || (self.propose)(&request, state)))?;
        if let Some(long) = outcome.state.as_ref().filter(|state| state.len() > LONGEST_STATE) {
            let cause = format_args!("its state is {} bytes, and the limit is {LONGEST_STATE}", long.len());
            return Err(Error::new(ErrorCode::PolicyFailed, cause));
        }
        let state = outcome.state.map(Arc::from);
        Ok(Outcome { proposal: convert::proposal(outcome.proposal)?, state })
    }

    fn plan(&self, state: &PlanState, book: &Arc<Book>) -> Result<Vec<tenure_types::Effect>, Error> {
        let plan = self.plan.ok_or_else(|| {
            let cause = "it is not asked for plans here: pass `planner` to `cases!`, or call `planning()`";
            Error::new(ErrorCode::Internal, cause)
        })?;
        let effects = planned(plan, &situation::of(state), book)?;
        effects.iter().map(situation::effect).collect()
    }
}

impl<P: Planner> Native<P> {
    /// The policy, which is also asked for plans: by the step `plan` of case files.
    #[must_use]
    pub const fn planning(self) -> Self {
        Self { plan: Some(P::plan), ..self }
    }

    /// Asks for a plan, and checks its form as the host does.
    pub(crate) fn planned(
        &self,
        situation: &SupplySituation,
        book: &Arc<Book>,
    ) -> Result<Vec<Effect>, Error> {
        planned(P::plan, situation, book)
    }
}

fn planned(plan: Plan, situation: &SupplySituation, book: &Arc<Book>) -> Result<Vec<Effect>, Error> {
    let host = Rc::new(Serving(Arc::clone(book)));
    convert::plan(answer(|| call(host, || plan(situation)))?, book.pools().len())
}

/// A policy's answer. A panic fails the call, as a trap does in the sandbox.
fn answer<T>(function: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(answer) => answer.map_err(convert::refusal),
        Err(panic) => {
            Err(Error::new(ErrorCode::PolicyFailed, format_args!("it panicked: {}", message(&*panic))))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
