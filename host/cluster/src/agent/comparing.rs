//! Comparing blocks of the ledger with the API server, by the table of `tenure_leases::agent::compare`.

use tenure_leases::agent::compare::{CompareVerdict, compare};
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::{HolderIdentity, LeaseRules};
use tenure_types::{Attributes, agreed};

use crate::agent::accepting::AgentError;
use crate::agent::core::{AgentCore, internal};
use crate::agent::fetch;
use crate::agent::records::{LeaseRecord, MARK};
use crate::agent::state::FrozenOutcome;

impl AgentCore {
    /// Compares a block with a quorum GET of its name, and does what follows.
    pub(crate) async fn compare(&self, me: &HolderIdentity, lease: &LeaseRecord) -> Result<(), AgentError> {
        let cidr = lease.cidr();
        let fetched = fetch::block(&self.client, &lease.name).await?;
        self.state().compared.insert(cidr, self.now());
        let book = self.book_of(&lease.pool.name).await;
        let row = self.row(lease, book.as_deref());
        let intent = self.giving_back(cidr);
        let verdict = compare(LeaseRules::ALL, me, &row, &fetched);
        match verdict {
            CompareVerdict::Keep => {}
            CompareVerdict::Reassert => {
                tracing::warn!(block = %cidr, "the API server has no IPBlock of a held block; saying again that the node holds it");
                self.state().written = None;
            }
            CompareVerdict::Open if intent.is_some() => self.ends(lease, FrozenOutcome::Reopened),
            CompareVerdict::Open => self.set_hold(lease, LeaseHold::Open).await?,
            CompareVerdict::Rebind(uid) => {
                tracing::warn!(block = %cidr, %uid, "the lease of a held block was made again");
                self.rebind(lease, uid).await?;
            }
            CompareVerdict::Refreeze(mark) => match intent {
                Some(intent) => {
                    self.state().frozen.insert(cidr, mark);
                    let reached = Attributes::new([(MARK, mark.to_string())]).map_err(internal)?;
                    self.engine.effect_reached(&intent.id, reached).await?;
                }
                None => self.set_hold(lease, LeaseHold::Frozen(mark)).await?,
            },
            CompareVerdict::Contest => {
                tracing::error!(block = %cidr, "the API server names another holder of a block that this node holds");
                self.set_hold(lease, LeaseHold::Contested).await?;
            }
            CompareVerdict::Drop => {
                // Durable before the block is out of the ledger: a restored store may bring the lease back.
                self.bury(lease.uid).await?;
                match intent {
                    Some(_) => self.ends(lease, FrozenOutcome::Released),
                    None => self.forget(&lease.name).await?,
                }
                tracing::info!(block = %cidr, "gave a block back");
            }
        }
        Ok(())
    }

    /// Records how far a block may be used.
    pub(crate) async fn set_hold(&self, lease: &LeaseRecord, hold: LeaseHold) -> Result<(), AgentError> {
        if lease.hold != hold {
            self.record(&LeaseRecord { hold, ..lease.clone() }).await?;
        }
        Ok(())
    }

    /// Tells the intent of a frozen block how it ends.
    fn ends(&self, lease: &LeaseRecord, outcome: FrozenOutcome) {
        self.state().outcomes.insert(lease.cidr(), outcome);
    }

    /// The attributes of an effect that gives a block back for a mark.
    pub(crate) fn give_back(lease: &LeaseRecord, mark: tenure_leases::MarkId) -> Result<Attributes, AgentError> {
        let facts = [(agreed::BLOCK, lease.cidr().to_string()), (MARK, mark.to_string())];
        Ok(Attributes::new(facts).map_err(internal)?)
    }
}
