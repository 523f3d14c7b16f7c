//! Beginning effects: each is checked and recorded in one critical section, for any requester.

use std::sync::Arc;

use tenure_ledger::{EffectFact, Fact, Intent, IntentOrigin, Taken};
use tenure_types::{Attributes, Effect, Error, ErrorCode, Moment, NetworkName, Result};

use super::refusal::Refusal;
use super::{HostEffects, guard};
use crate::network::networks::unknown_network;
use crate::network::slot::{Alone, no_book};
use crate::ports::{Outside, Ticket};

/// The outcome of a request to begin effects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Begun {
    /// Intents that have begun.
    pub intents: Vec<Arc<Intent>>,
    /// Refused effects, with the reason.
    pub refused: Vec<(Effect, Refusal)>,
}

impl HostEffects {
    /// Serves [`Engine::begin_effects`](crate::Engine::begin_effects).
    pub(crate) async fn begin_effects(
        &self,
        network: &NetworkName,
        effects: Vec<Effect>,
        outside: &dyn Outside,
    ) -> Result<Begun> {
        self.core.observed("begin", network, None, self.serve_begin(network, effects, outside)).await
    }

    async fn serve_begin(
        &self,
        name: &NetworkName,
        effects: Vec<Effect>,
        outside: &dyn Outside,
    ) -> Result<Begun> {
        let slot = self.core.networks.known(name).ok_or_else(|| unknown_network(name))?;
        let alone = slot.alone().await;
        let now = self.core.now();
        // As for a plan: the ledger must know of every owner, and what has cooled down is not cooling any more.
        self.core.admits()?;
        self.imports.admits_beside_moves(alone.state().as_ref())?;
        self.claims.restore_claims(&alone, name, now)?;
        if let Some(served) = alone.state().as_mut() {
            self.core.expire(served, now);
        }
        let begun = self.judge_effects(&alone, name, effects, &IntentOrigin::Host, outside, now)?;
        if let Some(recorded) = self.record_effects(alone, &begun, now)? {
            recorded.durable().await?;
        }
        Ok(begun)
    }

    /// Sorts effects into intents, of which none has begun yet, and refusals.
    pub(super) fn judge_effects(
        &self,
        alone: &Alone<'_>,
        name: &NetworkName,
        effects: Vec<Effect>,
        origin: &IntentOrigin,
        outside: &dyn Outside,
        since: Moment,
    ) -> Result<Begun> {
        let mut open = self.core.committer.node().effects.of(name);
        let state = alone.state();
        let book = &state.as_ref().ok_or_else(no_book)?.book;
        let mut begun = Begun::default();
        for effect in effects {
            let checked = guard::check(book, &open, &effect);
            let pool = book.pools().get(effect.pool);
            let allowed = checked.and_then(|taken| {
                outside.check(&effect, book).map_err(Refusal::Outside)?;
                let pool = pool.ok_or_else(|| Refusal::Unknown("there is no such pool".to_owned()))?;
                Ok((taken, pool))
            });
            match allowed {
                Ok((taken, pool)) => {
                    let intent = Arc::new(Intent {
                        id: outside.new_id(),
                        network: name.clone(),
                        pool: pool.name.clone(),
                        kind: effect.kind,
                        attributes: effect.attributes.clone(),
                        takes: taken,
                        origin: origin.clone(),
                        since,
                        reached: Attributes::default(),
                    });
                    open.push(Arc::clone(&intent));
                    begun.intents.push(intent);
                }
                Err(why) => begun.refused.push((effect, why)),
            }
        }
        Ok(begun)
    }

    /// Stages what has been judged, with the drain of what it takes, and gives the turn back; `None` if it is nothing.
    pub(super) fn record_effects(
        &self,
        alone: Alone<'_>,
        begun: &Begun,
        now: Moment,
    ) -> Result<Option<Ticket>> {
        if begun.intents.is_empty() {
            return Ok(None);
        }
        let mut held = alone.hold();
        let served = held.as_mut().ok_or_else(no_book)?;
        self.core.ports.journal.health()?;
        let mut facts = Vec::new();
        for intent in &begun.intents {
            for Taken { pool, range, .. } in &intent.takes {
                let drained = served.book.drain(pool, range, true, now);
                let drained = drained.map_err(|invalid| Error::new(ErrorCode::Internal, invalid))?;
                facts.extend(drained.map(Fact::from));
            }
            facts.push(EffectFact::Intended((**intent).clone()).into());
        }
        Ok(Some(self.core.committer.commit(&mut served.book, &facts)?.1))
    }
}
