//! A network's turn in bounded pieces, between which others have theirs.

use std::time::Duration;

use super::AgentClaims;
use crate::give_way::give_way;
use crate::network::networks::Entered;
use crate::network::slot::Alone;

/// The most steps of a piece: claims that a policy is asked for, or that begin or end.
pub(super) const MOST_IN_A_PIECE: usize = 32;

/// How long the turn is kept for another step. A single step may take longer, as a pod's request may.
pub(super) const LONGEST_PIECE: Duration = Duration::from_micros(500);

/// A piece of work in a network's turn.
pub(super) struct TurnPiece<'slot> {
    pub(super) alone: Alone<'slot>,
    steps: usize,
    began: Duration,
}

impl AgentClaims {
    /// Waits for the turn, and begins a piece.
    pub(super) async fn piece<'slot>(&self, slot: &'slot Entered<'_>) -> TurnPiece<'slot> {
        let alone = slot.alone().await;
        TurnPiece { alone, steps: 0, began: self.core.ports.clock.monotonic() }
    }

    /// The piece for the next step: this one, or if it has lasted long enough, another after those who wait for the turn.
    pub(super) async fn next_step<'slot>(
        &self,
        slot: &'slot Entered<'_>,
        piece: TurnPiece<'slot>,
    ) -> TurnPiece<'slot> {
        let mut piece = match self.is_over(&piece) {
            true => {
                drop(piece);
                give_way().await;
                self.piece(slot).await
            }
            false => piece,
        };
        piece.steps += 1;
        piece
    }

    /// Whether a piece has lasted long enough.
    pub(super) fn is_over(&self, piece: &TurnPiece<'_>) -> bool {
        let lasted = self.core.ports.clock.monotonic().saturating_sub(piece.began);
        piece.steps >= MOST_IN_A_PIECE || (piece.steps > 0 && lasted >= LONGEST_PIECE)
    }
}
