//! Planning: the policy says what it wants done, and what may be done becomes an intent.

use std::sync::Arc;

use tenure_ledger::{Book, EffectFact, Fact, Intent, Taken};
use tenure_types::{
    Attributes, Demand, Effect, Error, ErrorCode, Moment, NetworkName, Object, PlanState, PolicyStamp, Pool,
    Result, Supply,
};

use super::guard;
use crate::engine::Engine;
use crate::pipeline::no_book;
use crate::ports::Outside;
use crate::slot::Alone;

/// What a plan is made from besides the ledger and the open intents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outlook {
    /// The objects outside the ledger, as they are now.
    pub objects: Vec<Object>,
    /// Facts about the whole node, such as its limits.
    pub attributes: Attributes,
}

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The policy that made it.
    pub policy: Arc<PolicyStamp>,
    /// What has begun, or, if it was only to be explained, would begin.
    pub intents: Vec<Arc<Intent>>,
    /// What must not be done, and why.
    pub refused: Vec<(Effect, String)>,
    /// What the policy logged meanwhile, if the plan was only to be explained.
    pub lines: Vec<String>,
}

impl Engine {
    /// Has a network's policy plan, and begins what it may: each intent is durable when this returns, together with the
    /// drain of the ranges that it takes.
    ///
    /// # Errors
    /// `UnknownNetwork`, and whatever the policy fails with.
    pub async fn plan_effects(
        &self,
        network: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
    ) -> Result<Planned> {
        self.observed("plan", network, None, self.serve_plan(network, outlook, outside, true)).await
    }

    /// Has a network's policy plan, and begins nothing.
    ///
    /// # Errors
    /// As [`plan_effects`](Self::plan_effects).
    pub async fn explain_effects(
        &self,
        network: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
    ) -> Result<Planned> {
        self.observed("explain", network, None, self.serve_plan(network, outlook, outside, false)).await
    }

    /// Whether a network's policy plans. A policy that is not loaded yet does not.
    pub async fn plans(&self, network: &NetworkName) -> bool {
        let Some(slot) = self.networks.known(network) else { return false };
        let alone = slot.alone().await;
        self.deciding(&alone, network, self.now()).is_ok_and(|(policy, _)| policy.plans())
    }

    async fn serve_plan(
        &self,
        name: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
        begins: bool,
    ) -> Result<Planned> {
        let slot = self.networks.known(name).ok_or_else(|| Self::unknown_network(name))?;
        let alone = slot.alone().await;
        let now = self.now();
        let (policy, book) = self.deciding(&alone, name, now)?;
        let open = self.committer.node().effects.of(name);
        let state = Arc::new(self.plan_state(name, &book, &open, outlook));
        let (effects, lines) = if begins {
            let effects = self.ask(name, policy.as_ref(), || policy.plan(state, book)).await;
            (effects.inspect_err(|error| self.demands.found(name, Some(error)))?, Vec::new())
        } else {
            self.ask(name, policy.as_ref(), || policy.explain(state, book)).await?
        };

        let policy_of = Arc::clone(policy.stamp());
        let mut planned = Planned { policy: policy_of, intents: Vec::new(), refused: Vec::new(), lines };
        self.sort(&alone, name, (open, effects), outside, &mut planned, now)?;
        if begins {
            let refused = planned.refused.first().filter(|_| planned.intents.is_empty());
            let lack = refused.map(|(effect, why)| {
                Error::new(ErrorCode::NotYet, format_args!("{} is refused: {why}", effect.kind.name()))
            });
            self.demands.found(name, lack.as_ref());
        }
        let ticket = {
            let mut held = alone.hold();
            let served = held.as_mut().ok_or_else(no_book)?;
            // Cooling may have ended by now: whoever waits looks again.
            if self.demands.of(name) > 0 && has_room(&served.book) {
                self.demands.supplied();
            }
            if !begins || planned.intents.is_empty() {
                return Ok(planned);
            }
            self.ports.journal.health()?;
            let mut facts = Vec::new();
            for intent in &planned.intents {
                for Taken { pool, range, .. } in &intent.takes {
                    let drained = served.book.drain(pool, range, true, now);
                    let drained = drained.map_err(|invalid| Error::new(ErrorCode::Internal, invalid))?;
                    facts.extend(drained.map(Fact::from));
                }
                facts.push(EffectFact::Intended((**intent).clone()).into());
            }
            self.committer.commit(&mut served.book, &facts)?.1
        };
        ticket.durable().await?;
        Ok(planned)
    }

    /// Sorts a plan's effects into intents and refusals.
    fn sort(
        &self,
        alone: &Alone<'_>,
        name: &NetworkName,
        (mut open, effects): (Vec<Arc<Intent>>, Vec<Effect>),
        outside: &dyn Outside,
        planned: &mut Planned,
        now: Moment,
    ) -> Result<()> {
        let state = alone.state();
        let book = &state.as_ref().ok_or_else(no_book)?.book;
        for effect in effects {
            let checked = guard::check(book, &open, &effect);
            let pool = book.pools().get(effect.pool).ok_or_else(|| "there is no such pool".to_owned());
            let allowed = checked.and_then(|taken| outside.check(&effect, book).map(|()| taken));
            match (allowed, pool) {
                (Ok(taken), Ok(pool)) => {
                    let intent =
                        Arc::new(intent(name, pool, (&effect, taken), &planned.policy, outside, now));
                    open.push(Arc::clone(&intent));
                    planned.intents.push(intent);
                }
                (Err(why), _) | (_, Err(why)) => planned.refused.push((effect, why)),
            }
        }
        Ok(())
    }

    fn plan_state(
        &self,
        name: &NetworkName,
        book: &Book,
        open: &[Arc<Intent>],
        outlook: Outlook,
    ) -> PlanState {
        let waiting = self.demands.of(name);
        let supplied = book.pools().iter().enumerate().filter(|(_, pool)| pool.supply == Supply::Host);
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

fn intent(
    network: &NetworkName,
    pool: &Pool,
    (effect, takes): (&Effect, Vec<Taken>),
    policy: &PolicyStamp,
    outside: &dyn Outside,
    since: Moment,
) -> Intent {
    Intent {
        id: outside.new_id(),
        network: network.clone(),
        pool: pool.name.clone(),
        kind: effect.kind,
        attributes: effect.attributes.clone(),
        takes,
        policy: policy.clone(),
        since,
        reached: Attributes::default(),
    }
}

/// Whether a pool that the host supplies has an address to hand out.
fn has_room(book: &Book) -> bool {
    let pools = book.pools().iter().enumerate();
    pools.filter(|(_, pool)| pool.supply == Supply::Host).any(|(index, _)| !book.is_exhausted(index))
}
