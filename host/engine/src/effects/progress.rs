//! The progress and the end of intents, and what is known of the outside.

use std::sync::Arc;

use tenure_ledger::{EffectFact, Fact, Intent, Taken};
use tenure_types::{Attributes, Error, ErrorCode, IntentId, Object, Result};

use super::supply::Supply;
use crate::engine::Engine;

impl Engine {
    /// The open intents, by id.
    #[must_use]
    pub fn intents(&self) -> Vec<Arc<Intent>> {
        self.committer.node().effects.open().cloned().collect()
    }

    /// Lists the known objects outside, by kind and name.
    #[must_use]
    pub fn objects(&self) -> Vec<Arc<Object>> {
        self.committer.node().effects.objects().cloned().collect()
    }

    /// Keeps what the outside has answered to a step of an intent; durable when this returns.
    ///
    /// # Errors
    /// `Internal` if no such intent is open.
    pub async fn effect_reached(&self, id: &IntentId, reached: Attributes) -> Result<()> {
        self.ports.journal.health()?;
        let at = self.now();
        let ticket = self.committer.commit_node(|node| {
            let network = node.effects.get(id)?.network.clone();
            Some(EffectFact::Reached { id: id.clone(), network, reached, at })
        });
        ticket.ok_or_else(|| unknown(id))?.durable().await
    }

    /// Keeps what has been seen of the outside; durable when this returns. What is known already is not kept again. All is staged before
    /// any of it is waited for, so that one sync serves it.
    ///
    /// # Errors
    /// Those of the journal.
    pub async fn objects_seen(&self, objects: &[Object], gone: &[(String, String)]) -> Result<()> {
        let at = self.now();
        let mut tickets = Vec::new();
        for object in objects {
            tickets.extend(self.committer.commit_node(|node| {
                let is_known = node.effects.objects().any(|known| **known == *object);
                (!is_known).then(|| EffectFact::Seen { object: object.clone(), at })
            }));
        }
        for (kind, name) in gone {
            tickets.extend(self.committer.commit_node(|node| {
                let is_known = node.effects.objects().any(|known| known.kind == *kind && known.name == *name);
                is_known.then(|| EffectFact::Gone { kind: kind.clone(), name: name.clone(), at })
            }));
        }
        for ticket in tickets {
            ticket.durable().await?;
        }
        Ok(())
    }

    /// Ends an intent that was done, together with the ranges that it brought or took: both or neither, and durable when
    /// this returns. Whoever waits for supply looks again.
    ///
    /// # Errors
    /// `Internal` if no such intent is open, `InvalidConfig` if a pool cannot take a range.
    pub async fn effect_done(&self, id: &IntentId, changes: &[Supply]) -> Result<()> {
        let intent = self.open_intent(id)?;
        let network = &intent.network;
        self.observed("done", network, None, self.end_effect(&intent, None, changes.to_vec())).await
    }

    /// Ends an intent of which nothing is left outside. The ranges that it was to take are handed out again.
    ///
    /// # Errors
    /// `Internal` if no such intent is open.
    pub async fn effect_undone(&self, id: &IntentId, why: &str) -> Result<()> {
        let intent = self.open_intent(id)?;
        self.observed("undone", &intent.network, None, self.end_effect(&intent, Some(why), reopened(&intent)))
            .await
    }

    fn open_intent(&self, id: &IntentId) -> Result<Arc<Intent>> {
        self.committer.node().effects.get(id).cloned().ok_or_else(|| unknown(id))
    }

    async fn end_effect(&self, intent: &Intent, undone: Option<&str>, changes: Vec<Supply>) -> Result<()> {
        let (id, network, at) = (intent.id.clone(), intent.network.clone(), self.now());
        let ended = match undone {
            None => EffectFact::Done { id, network, at },
            Some(why) => EffectFact::Undone { id, network, why: why.into(), at },
        };
        let slot = self.networks.known(&intent.network);
        let alone = match &slot {
            Some(slot) => Some(slot.alone().await),
            None => None,
        };
        // Another caller may have ended it meanwhile.
        self.open_intent(&intent.id)?;
        let ticket = {
            let defining = self.defining();
            let mut held = alone.map(crate::network::slot::Alone::hold);
            match held.as_mut().and_then(|held| held.as_mut()) {
                Some(served) => {
                    let ended = Some(Fact::from(ended));
                    self.change_supply(&defining, &intent.network, &mut served.book, &changes, ended)?
                }
                // Its network was removed: nobody's supply changes.
                None => self.committer.commit_node(|_| Some(ended)).ok_or_else(|| unknown(&intent.id))?,
            }
        };
        ticket.durable().await?;
        self.demands.supplied(&intent.network);
        Ok(())
    }
}

/// The ranges that an intent has taken out of use.
fn reopened(intent: &Intent) -> Vec<Supply> {
    let taken = intent.takes.iter().filter(|taken| taken.was_open);
    let open = |Taken { pool, range, .. }: &Taken| Supply::Drain {
        pool: pool.clone(),
        range: range.clone(),
        draining: false,
    };
    taken.map(open).collect()
}

fn unknown(id: &IntentId) -> Error {
    Error::new(ErrorCode::Internal, format_args!("no intent {id} is open"))
}
