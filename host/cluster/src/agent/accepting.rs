//! Accepting a block: a quorum GET of it FIRST, then of its space, one durable record, and only then does the network grow.

use tenure_leases::agent::accept::{AcceptCase, AcceptRefusal, accept};
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::node::MAX_HELD;
use tenure_leases::{BlockHint, BlockName, FetchedBlock, HolderIdentity, LeaseRules};

use crate::agent::core::AgentCore;
use crate::agent::fetch::{self, FetchError};
use crate::agent::records::HeldLease;
use crate::agent::settings::PoolFamily;

/// A pass that could not be completed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    /// The API server.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The ledger.
    #[error("the ledger: {0}")]
    Ledger(#[from] tenure_types::Error),
}

impl AgentCore {
    /// An answer of the API server, or `otherwise` in the place of an object that this version cannot read. The rest of the pass does not wait for
    /// that one.
    pub(crate) fn readable<T>(&self, fetched: Result<T, FetchError>, otherwise: T) -> Result<T, FetchError> {
        match fetched {
            Err(FetchError::Object { what, source }) => {
                self.state().warn_unread(&what, &source);
                Ok(otherwise)
            }
            fetched => fetched,
        }
    }

    /// Accepts a block that the operator hints at, if it may be. One of which nothing could be used goes back at once.
    pub(crate) async fn accept(
        &self,
        me: &HolderIdentity,
        name: &BlockName,
        hint: BlockHint,
    ) -> Result<(), AgentError> {
        let (leases, dropped) = (self.leases(), self.dropped().contains_key(&hint.uid));
        if dropped {
            // The node has said so, and the operator will ask for it.
            return Ok(());
        }
        let ledger: Vec<_> = leases.values().map(|lease| self.row(lease, None)).collect();
        let block = self.readable(fetch::block(&self.client, name).await, FetchedBlock::Unreachable)?;
        let space = self.readable(fetch::space(&self.client, name.group()).await, None)?;
        let is_full = leases.values().filter(|lease| lease.turn.is_none()).count() >= MAX_HELD;
        let space = space.as_ref();
        let case = AcceptCase { me, hint, block: &block, space, dropped, ledger: &ledger, is_full };
        match (accept(LeaseRules::ALL, &case), block) {
            (Ok(()), FetchedBlock::Found(block)) => {
                if let Some(why) = self.unusable(hint.cidr, &block.pool).await {
                    tracing::warn!(block = %hint.cidr, why, "a block is given back, since no address could be handed out of it");
                    self.note_refused(hint.cidr, &block.pool, why);
                    return Ok(self.bury(hint.uid).await?);
                }
                self.state().refused.accepted(&block.pool, PoolFamily::of(hint.cidr));
                let lease = HeldLease {
                    name: name.clone(),
                    uid: hint.uid,
                    pool: block.pool,
                    hold: LeaseHold::Open,
                    boot: Some(self.settings.boot),
                    turn: None,
                };
                self.record(&lease).await?;
                tracing::info!(block = %hint.cidr, pool = %lease.pool.name, "accepted a block");
            }
            (Ok(()), _) => {}
            (Err(why @ (AcceptRefusal::Overlaps(_) | AcceptRefusal::Full)), _) => {
                tracing::warn!(block = %hint.cidr, %why, "a block is given back");
                self.bury(hint.uid).await?;
            }
            (Err(why), _) => {
                let now = self.now();
                let is_news = self.state().hesitations.note(hint.uid, why.to_string(), now);
                let is_usual = matches!(why, AcceptRefusal::Gone | AcceptRefusal::NoAnswer);
                if is_news && !is_usual {
                    tracing::warn!(block = %hint.cidr, %why, "a block is not accepted");
                }
            }
        }
        Ok(())
    }
}
