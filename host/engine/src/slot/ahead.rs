//! A network's turn beside an exchange that has given it up before it is durable.
//!
//! ```text
//!           staged, in the turn      gives up the turn              durable
//! alone ──────────────────────▶ ahead ─────────────────▶ unsettled ────────▶ settled
//!                                                            │ not durable      ▲
//!                                                            └──▶ the turn again, and undone
//! ```

use tenure_types::Result;

use super::{Alone, Slot};
use crate::ports::Ticket;
use crate::unsettled::{Settling, Unsettled};

/// An exchange that is staged and has given up the network's turn. Dropping it settles it.
pub(crate) struct Ahead<'slot> {
    slot: &'slot Slot,
    exchange: Unsettled,
    _settling: Settling,
}

impl Slot {
    /// Waits for the network's turn at a time when no exchange is unsettled. None begins during it.
    pub(crate) async fn alone(&self) -> Alone<'_> {
        loop {
            let alone = self.alone_behind().await;
            let Some(exchange) = alone.unsettled() else { return alone };
            drop(alone);
            exchange.settled().await;
        }
    }
}

impl<'slot> Alone<'slot> {
    /// The exchange that this turn is behind.
    pub(crate) fn unsettled(&self) -> Option<Unsettled> {
        self.state().as_ref().and_then(|served| served.unsettled.clone())
    }

    /// Gives up the turn, in which an exchange was staged. Until that is settled, others come behind it.
    pub(crate) fn go_ahead(self, ticket: Ticket) -> Ahead<'slot> {
        let (settling, exchange) = Unsettled::new(ticket);
        if let Some(served) = self.state().as_mut() {
            served.unsettled = Some(exchange.clone());
        }
        Ahead { slot: self.slot, exchange, _settling: settling }
    }
}

impl<'slot> Ahead<'slot> {
    /// Waits until the exchange is durable.
    ///
    /// # Errors
    /// Those of its ticket.
    pub(crate) async fn durable(&self) -> Result<()> {
        self.exchange.durable().await
    }

    /// Takes the turn again, to undo the exchange. Nothing comes behind it any more.
    pub(crate) async fn back(self) -> Alone<'slot> {
        self.slot.alone_behind().await
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        if let Some(served) = self.slot.state().as_mut() {
            served.unsettled = None;
        }
    }
}
