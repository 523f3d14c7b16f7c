//! Ending a move whose source is gone, at an operator's word.

use std::sync::Arc;

use tenure_ledger::{Fact, LedgerFact, Move, MoveEnd, MoveFact};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use super::{NetworkImports, unknown};

/// Which moves to abandon.
#[derive(Debug, Clone)]
pub struct Abandon {
    /// The network.
    pub network: NetworkName,
    /// The source; all that were cut off if there is none.
    pub source: Option<String>,
    /// The operator's reason, for the log.
    pub reason: String,
    /// Whether to make the changes; false for a dry run.
    pub apply: bool,
}

impl NetworkImports {
    /// Serves [`Engine::abandon_moves`](crate::Engine::abandon_moves).
    pub(crate) async fn abandon_moves(&self, abandon: &Abandon) -> Result<Vec<Move>> {
        self.core.observed("import", &abandon.network, None, self.serve_abandon(abandon)).await
    }

    async fn serve_abandon(&self, abandon: &Abandon) -> Result<Vec<Move>> {
        let Abandon { network, source, reason, apply } = abandon;
        let slot = self.core.networks.known(network).ok_or_else(|| unknown(network))?;
        let (ended, ticket) = {
            let mut state = slot.lock().await;
            let served = state.as_mut().ok_or_else(|| unknown(network))?;
            if !served.book.is_importing() {
                return Ok(Vec::new());
            }
            let mut open: Vec<Move> = self.core.committer.node().moves.open(network).cloned().collect();
            if open.is_empty() {
                open.push(super::gate::by_an_older_program(network));
            }
            let all = open.len();
            let meant = |open: &Move| source.as_ref().is_none_or(|source| **source == *open.source);
            let ended: Vec<Move> = open.into_iter().filter(meant).collect();
            if let Some(busy) = ended.iter().find(|open| served.is_importing_from(&open.source)) {
                let cause =
                    format_args!("an import of network {network} from {} is in progress", busy.source);
                return Err(Error::new(ErrorCode::NetworkInUse, cause));
            }
            if !apply || ended.is_empty() {
                return Ok(ended);
            }
            self.core.ports.journal.health()?;
            let at = self.core.now();
            let abandoned = |open: &Move| {
                let (network, source) = (network.clone(), Arc::clone(&open.source));
                let (end, why) = (MoveEnd::Abandoned, reason.as_str().into());
                Fact::from(MoveFact::Ended { network, source, end, why, at })
            };
            let mut facts: Vec<Fact> = ended.iter().map(abandoned).collect();
            if ended.len() == all && !served.has_imports() {
                let network = network.clone();
                facts.push(LedgerFact::Importing { network, under_way: false, at }.into());
            }
            let (_, ticket) = self.core.committer.commit(&mut served.book, &facts)?;
            tracing::info!(%network, moves = ended.len(), reason, "an operator abandoned what was not imported");
            (ended, ticket)
        };
        ticket.durable().await?;
        Ok(ended)
    }
}
