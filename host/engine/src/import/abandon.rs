//! Ending a move whose source is gone, and letting go of the source of one that has ended, at an operator's word.

use std::sync::Arc;

use tenure_ledger::{Fact, LedgerFact, Move, MoveEnd, MoveFact};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use super::{NetworkImports, unknown};
use crate::network::slot::Served;
use crate::ports::Ticket;

/// Which moves to abandon.
#[derive(Debug, Clone)]
pub struct Abandon {
    /// The network.
    pub network: NetworkName,
    /// The source; all that were cut off if there is none. If no move from it is open, the network is compared with it no more.
    pub source: Option<String>,
    /// The operator's reason, for the log.
    pub reason: String,
    /// Whether to make the changes; false for a dry run.
    pub apply: bool,
}

/// The moves that were abandoned, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AbandonedMoves {
    /// The moves that were cut off.
    pub moves: Vec<Move>,
    /// The source of moves that had ended, with which the network is compared no more.
    pub source: Option<Arc<str>>,
}

impl NetworkImports {
    /// Serves [`Engine::abandon_moves`](crate::Engine::abandon_moves).
    pub(crate) async fn abandon_moves(&self, abandon: &Abandon) -> Result<AbandonedMoves> {
        self.core.observed("import", &abandon.network, None, self.serve_abandon(abandon)).await
    }

    async fn serve_abandon(&self, abandon: &Abandon) -> Result<AbandonedMoves> {
        let mut exists = false;
        if let Some(slot) = self.core.networks.known(&abandon.network) {
            let ended = match slot.lock().await.as_mut() {
                Some(served) => {
                    exists = true;
                    self.abandon_open(served, abandon)?
                }
                None => (Vec::new(), None),
            };
            let (moves, ticket) = ended;
            if let Some(ticket) = ticket {
                ticket.durable().await?;
            }
            if !moves.is_empty() {
                return Ok(AbandonedMoves { moves, source: None });
            }
        }
        // A source outlives its network.
        let (source, ticket) = self.let_go(abandon)?;
        if let Some(ticket) = ticket {
            ticket.durable().await?;
        }
        match exists || source.is_some() {
            true => Ok(AbandonedMoves { moves: Vec::new(), source }),
            false => Err(unknown(&abandon.network)),
        }
    }

    /// Ends moves that were cut off; returns them, and what to wait for.
    fn abandon_open(&self, served: &mut Served, abandon: &Abandon) -> Result<(Vec<Move>, Option<Ticket>)> {
        let Abandon { network, source, reason, apply } = abandon;
        if !served.book.is_importing() {
            return Ok((Vec::new(), None));
        }
        let mut open: Vec<Move> = self.core.committer.node().moves.open(network).cloned().collect();
        if open.is_empty() {
            open.push(super::gate::by_an_older_program(network));
        }
        let all = open.len();
        let meant = |open: &Move| source.as_ref().is_none_or(|source| **source == *open.source);
        let ended: Vec<Move> = open.into_iter().filter(meant).collect();
        if let Some(busy) = ended.iter().find(|open| served.is_importing_from(&open.source)) {
            let cause = format_args!("an import of network {network} from {} is in progress", busy.source);
            return Err(Error::new(ErrorCode::NetworkInUse, cause));
        }
        if !apply || ended.is_empty() {
            return Ok((ended, None));
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
        Ok((ended, Some(ticket)))
    }

    /// Lets go of the source, if moves from it have ended and none is open; returns it, and what to wait for.
    fn let_go(&self, abandon: &Abandon) -> Result<(Option<Arc<str>>, Option<Ticket>)> {
        let Abandon { network, source: Some(source), reason, apply } = abandon else {
            return Ok((None, None));
        };
        if *apply {
            self.core.ports.journal.health()?;
        }
        let (at, mut found) = (self.core.now(), None::<Arc<str>>);
        let ticket = self.core.committer.commit_node(|node| {
            let is_open = node.moves.open(network).any(|open| *open.source == **source);
            found = node.moves.sources(network).find(|known| ***known == **source && !is_open).cloned();
            let (end, why) = (MoveEnd::Abandoned, reason.as_str().into());
            let ended = |source| MoveFact::Ended { network: network.clone(), source, end, why, at };
            found.clone().filter(|_| *apply).map(ended)
        });
        if ticket.is_some() {
            tracing::info!(%network, source, reason, "an operator let go of a source");
        }
        Ok((found, ticket))
    }
}
