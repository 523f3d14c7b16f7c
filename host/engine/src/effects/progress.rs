//! The progress and the end of intents, and what is known of the outside.

use std::sync::Arc;

use tenure_ledger::{Book, EffectFact, Fact, Intent, Taken};
use tenure_types::{Attributes, Error, ErrorCode, IntentId, Object, PoolName, Result};

use super::HostEffects;
use super::supply::Supply;

impl HostEffects {
    /// Serves [`Engine::intents`](crate::Engine::intents).
    pub(crate) fn intents(&self) -> Vec<Arc<Intent>> {
        self.core.committer.node().effects.open().cloned().collect()
    }

    /// Serves [`Engine::objects`](crate::Engine::objects).
    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        self.core.committer.node().effects.objects().cloned().collect()
    }

    /// Serves [`Engine::effect_reached`](crate::Engine::effect_reached).
    pub(crate) async fn effect_reached(&self, id: &IntentId, reached: Attributes) -> Result<()> {
        self.core.ports.journal.health()?;
        let at = self.core.now();
        let ticket = self.core.committer.commit_node(|node| {
            let network = node.effects.get(id)?.network.clone();
            Some(EffectFact::Reached { id: id.clone(), network, reached, at })
        });
        ticket.ok_or_else(|| unknown(id))?.durable().await
    }

    /// Serves [`Engine::objects_seen`](crate::Engine::objects_seen).
    pub(crate) async fn objects_seen(&self, objects: &[Object], gone: &[(String, String)]) -> Result<()> {
        let at = self.core.now();
        let mut tickets = Vec::new();
        for object in objects {
            tickets.extend(self.core.committer.commit_node(|node| {
                let is_known = node.effects.objects().any(|known| **known == *object);
                (!is_known).then(|| EffectFact::Seen { object: object.clone(), at })
            }));
        }
        for (kind, name) in gone {
            tickets.extend(self.core.committer.commit_node(|node| {
                let is_known = node.effects.objects().any(|known| known.kind == *kind && known.name == *name);
                is_known.then(|| EffectFact::Gone { kind: kind.clone(), name: name.clone(), at })
            }));
        }
        for ticket in tickets {
            ticket.durable().await?;
        }
        Ok(())
    }

    /// Serves [`Engine::effect_done`](crate::Engine::effect_done).
    pub(crate) async fn effect_done(&self, id: &IntentId, changes: &[Supply]) -> Result<()> {
        let intent = self.open_intent(id)?;
        let network = &intent.network;
        self.core.observed("done", network, None, self.end_effect(&intent, None, |_| changes.to_vec())).await
    }

    /// Serves [`Engine::effect_undone`](crate::Engine::effect_undone).
    pub(crate) async fn effect_undone(&self, id: &IntentId, why: &str) -> Result<()> {
        let intent = self.open_intent(id)?;
        self.core
            .observed(
                "undone",
                &intent.network,
                None,
                self.end_effect(&intent, Some(why), |book| reopened(&intent, book)),
            )
            .await
    }

    fn open_intent(&self, id: &IntentId) -> Result<Arc<Intent>> {
        self.core.committer.node().effects.get(id).cloned().ok_or_else(|| unknown(id))
    }

    /// Ends an intent, in one group with the changes that its network's book then needs.
    async fn end_effect(
        &self,
        intent: &Intent,
        undone: Option<&str>,
        changes: impl FnOnce(&Book) -> Vec<Supply>,
    ) -> Result<()> {
        let (id, network, at) = (intent.id.clone(), intent.network.clone(), self.core.now());
        let ended = match undone {
            None => EffectFact::Done { id, network, at },
            Some(why) => EffectFact::Undone { id, network, why: why.into(), at },
        };
        let slot = self.core.networks.known(&intent.network);
        let alone = match &slot {
            Some(slot) => Some(slot.alone().await),
            None => None,
        };
        // Another caller may have ended it meanwhile.
        self.open_intent(&intent.id)?;
        let ticket = {
            let defining = self.core.defining();
            let mut held = alone.map(crate::network::slot::Alone::hold);
            match held.as_mut().and_then(|held| held.as_mut()) {
                Some(served) => {
                    let (ended, changes) = (Some(Fact::from(ended)), changes(&served.book));
                    self.change_supply(&defining, &intent.network, &mut served.book, &changes, ended)?
                }
                // Its network was removed: nobody's supply changes.
                None => {
                    self.core.committer.commit_node(|_| Some(ended)).ok_or_else(|| unknown(&intent.id))?
                }
            }
        };
        ticket.durable().await?;
        self.demands.supplied(&intent.network);
        Ok(())
    }
}

/// Opens the ranges that an intent has taken out of use. A pool may have gone meanwhile, with its ranges: nothing of it is opened.
fn reopened(intent: &Intent, book: &Book) -> Vec<Supply> {
    let is_supplied = |pool: &PoolName| {
        book.pools().iter().any(|known| known.name == *pool && known.supply == tenure_types::Supply::Host)
    };
    let taken = intent.takes.iter().filter(|taken| taken.was_open && is_supplied(&taken.pool));
    let open = |taken: &Taken| Supply::Drain {
        pool: taken.pool.clone(),
        range: taken.range.clone(),
        draining: false,
    };
    taken.map(open).collect()
}

fn unknown(id: &IntentId) -> Error {
    Error::new(ErrorCode::Internal, format_args!("no intent {id} is open"))
}
