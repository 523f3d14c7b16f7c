//! Making sure that an agent has a claim.

use tenure_ledger::{ClaimKey, Fact};
use tenure_types::{Error, ErrorCode, Result};

use super::asking::{Held, check_number, unknown};
use super::delegated::DelegatedClaim;
use super::facts::beginning;
use super::question::ClaimQuestion;
use super::view::Claimed;
use super::{Agent, AgentClaims, Ask};
use crate::network::slot::no_book;
use crate::ports::Ticket;

impl AgentClaims {
    /// Serves [`Engine::ensure`](crate::Engine::ensure).
    pub(crate) async fn ensure(&self, agent: &Agent, ask: &Ask) -> Result<Claimed> {
        let key = ask.key(&agent.name);
        self.core
            .observed("ensure", &ask.network, Some(&key.owner()), self.serve_ensure(agent, &key, ask))
            .await
    }

    async fn serve_ensure(&self, agent: &Agent, key: &ClaimKey, ask: &Ask) -> Result<Claimed> {
        let _asking = self.asking_for(agent, std::slice::from_ref(ask));
        let _turn = self.core.turns.enter(&agent.name).await?;
        self.core.has_state()?;
        let ticket = self.make_or_keep(agent, key, ask).await?;
        ticket.durable().await?;
        self.claimed(key).ok_or_else(|| {
            Error::new(ErrorCode::Superseded, format_args!("{key} was released while it was made"))
        })
    }

    async fn make_or_keep(&self, agent: &Agent, key: &ClaimKey, ask: &Ask) -> Result<Ticket> {
        let slot = self.core.networks.known(&ask.network).ok_or_else(|| unknown(&ask.network))?;
        let alone = slot.alone().await;
        let now = self.core.now();
        self.restore_claims(&alone, &ask.network, now)?;
        self.check_scope(agent, key)?;
        let held = match alone.state().as_mut() {
            Some(served) => {
                // The answer says which of its families have a free address by now.
                self.core.expire(served, now);
                self.held(&served.book, key, &ask.wish, now)
            }
            None => return Err(unknown(&ask.network)),
        };
        let facts: Vec<Fact> = match held {
            Held::Differs(cause) => return Err(Error::new(ErrorCode::ClaimDiffers, cause)),
            // The allocation may not be durable yet.
            Held::Agrees(None) => return Ok(self.core.ports.journal.barrier()),
            Held::Agrees(Some(fact)) => {
                self.core.ports.journal.health()?;
                vec![fact.into()]
            }
            Held::Nothing => {
                let number = self.core.committer.node().claims.count(&agent.name);
                check_number(agent, number + 1)?;
                self.imports.admits_beside_others(&ask.network, None).await?;
                let (policy, book) = self.deciding(&alone, &ask.network, now)?;
                if let Some(delegate) = policy.delegate() {
                    drop((book, alone));
                    let claim = DelegatedClaim { key, wish: &ask.wish, policy: policy.as_ref() };
                    return self.claim_delegated(&slot, claim, delegate.clone()).await;
                }
                let mut remembered = self.core.remembered(&ask.network, policy.as_ref());
                let question = ClaimQuestion { policy: policy.as_ref(), book, key, wish: &ask.wish, now };
                let (decided, _, kept) = self.decide(&alone, &question, &mut remembered).await?;
                // The book is changed next, and copied if it is shared.
                drop(question);
                let begun = beginning(key, &ask.wish, decided, now, now);
                begun.into_iter().chain(kept.map(Fact::from)).collect()
            }
        };
        let mut state = alone.hold();
        let served = state.as_mut().ok_or_else(no_book)?;
        self.core.committer.commit(&mut served.book, &facts).map(|(_, ticket)| ticket)
    }
}
