//! Planning: the policy proposes effects, and those that may be done begin.

use std::sync::Arc;

use tenure_ledger::{Book, Intent, IntentOrigin};
use tenure_types::{
    Attributes, Demand, Effect, Error, ErrorCode, Moment, NetworkName, Object, PlanState, PolicyStamp, Pool,
    Result, Supply,
};

use super::HostEffects;
use super::begin::Begun;
use super::refusal::Refusal;
use crate::core::strikes::Requester;
use crate::network::networks::unknown_network;
use crate::network::slot::Alone;
use crate::ports::Outside;

/// The input of a plan besides the ledger and the open intents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outlook {
    /// The objects outside the ledger, as they are now.
    pub objects: Vec<Object>,
    /// Facts about the whole node, such as its limits.
    pub attributes: Attributes,
}

/// The outcome of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The policy that made it.
    pub policy: Arc<PolicyStamp>,
    /// Intents that have begun, or, if the plan was only to be explained, would begin.
    pub intents: Vec<Arc<Intent>>,
    /// Refused effects, with the reason.
    pub refused: Vec<(Effect, Refusal)>,
    /// Log lines of the policy, if the plan was only to be explained.
    pub lines: Vec<String>,
}

impl HostEffects {
    /// Serves [`Engine::plan_effects`](crate::Engine::plan_effects).
    pub(crate) async fn plan_effects(
        &self,
        network: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
    ) -> Result<Planned> {
        self.core.observed("plan", network, None, self.serve_plan(network, outlook, outside, true)).await
    }

    /// Serves [`Engine::explain_effects`](crate::Engine::explain_effects).
    pub(crate) async fn explain_effects(
        &self,
        network: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
    ) -> Result<Planned> {
        self.core.observed("explain", network, None, self.serve_plan(network, outlook, outside, false)).await
    }

    /// Serves [`Engine::plans`](crate::Engine::plans).
    pub(crate) async fn plans(&self, network: &NetworkName) -> bool {
        let Some(slot) = self.core.networks.known(network) else { return false };
        let alone = slot.alone().await;
        self.claims.deciding(&alone, network, self.core.now()).is_ok_and(|(policy, _)| policy.plans())
    }

    async fn serve_plan(
        &self,
        name: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
        begins: bool,
    ) -> Result<Planned> {
        let slot = self.core.networks.known(name).ok_or_else(|| unknown_network(name))?;
        let alone = slot.alone().await;
        let now = self.core.now();
        // Cooling may have ended by now, and a plan that finds the node full says nothing about it: requests that wait look again.
        self.wake(&alone, name);
        let (stamp, effects, lines) = self.proposed(&alone, name, outlook, begins, now).await?;
        let origin = IntentOrigin::Policy((*stamp).clone());
        let judged = self.judge_effects(&alone, name, effects, &origin, outside, now)?;
        if begins {
            self.demands.found(name, lack(&judged).as_ref());
        }
        if begins && let Some(recorded) = self.record_effects(alone, &judged, now)? {
            recorded.durable().await?;
        }
        Ok(Planned { policy: stamp, intents: judged.intents, refused: judged.refused, lines })
    }

    /// Asks the policy what it wants done; returns its stamp and, unless that begins, what it logged.
    async fn proposed(
        &self,
        alone: &Alone<'_>,
        name: &NetworkName,
        outlook: Outlook,
        begins: bool,
        now: Moment,
    ) -> Result<(Arc<PolicyStamp>, Vec<Effect>, Vec<String>)> {
        let (policy, book) = self.claims.deciding(alone, name, now)?;
        let open = self.core.committer.node().effects.of(name);
        let state = Arc::new(self.plan_state(name, &book, &open, outlook));
        let executor = Requester::Executor;
        let (effects, lines) = if begins {
            let plan = || policy.plan(state, book);
            let effects = self.core.ask_for(&executor, name, policy.as_ref(), plan).await;
            (effects.inspect_err(|error| self.demands.found(name, Some(error)))?, Vec::new())
        } else {
            let explain = || policy.explain(state, book);
            self.core.ask_for(&executor, name, policy.as_ref(), explain).await?
        };
        Ok((Arc::clone(policy.stamp()), effects, lines))
    }

    fn plan_state(
        &self,
        name: &NetworkName,
        book: &Book,
        open: &[Arc<Intent>],
        outlook: Outlook,
    ) -> PlanState {
        let waiting = self.demands.of(name);
        // Nobody waits for an address of a pool that is kept for names: its supplier tells the name's owner.
        let kept = self.core.kept_pools();
        let is_wanted = |pool: &Pool| pool.supply == Supply::Host && !kept.has(pool);
        let supplied = book.pools().iter().enumerate().filter(|(_, pool)| is_wanted(pool));
        let demand = |(pool, _)| Demand { pool, waiting, attributes: Attributes::default() };
        let pending = |intent: &Arc<Intent>| {
            let pool = book.pools().iter().position(|pool| pool.name == intent.pool)?;
            Some(Effect { kind: intent.kind, pool, attributes: intent.attributes.clone() })
        };
        PlanState {
            demands: supplied.map(demand).collect(),
            objects: outlook.objects,
            pending: open.iter().filter_map(pending).collect(),
            attributes: outlook.attributes,
        }
    }
}

/// Returns the error of a plan of which nothing may begin.
fn lack(judged: &Begun) -> Option<Error> {
    let (effect, why) = judged.refused.first().filter(|_| judged.intents.is_empty())?;
    Some(Error::new(ErrorCode::NotYet, format_args!("{} is refused: {why}", effect.kind.name())))
}
