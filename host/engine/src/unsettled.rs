//! An exchange that is staged and neither durable nor undone yet, as those see it that come behind it.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tenure_types::Result;
use tokio::sync::watch;

use crate::ports::Ticket;

/// What is known about the exchange; all clones know the same.
#[derive(Clone)]
pub(crate) struct Unsettled {
    durable: Shared<BoxFuture<'static, Result<()>>>,
    /// Nothing is ever sent: the sender is dropped when the exchange is durable or undone.
    settled: watch::Receiver<()>,
}

/// Settles an exchange when dropped.
pub(crate) struct Settling {
    _settled: watch::Sender<()>,
}

impl Unsettled {
    pub(crate) fn new(ticket: Ticket) -> (Settling, Self) {
        let (sender, settled) = watch::channel(());
        (Settling { _settled: sender }, Self { durable: ticket.durable().boxed().shared(), settled })
    }

    /// Waits until the exchange is durable.
    ///
    /// # Errors
    /// Those of its ticket. It is going to be undone then.
    pub(crate) async fn durable(&self) -> Result<()> {
        self.durable.clone().await
    }

    /// Whether it is known that it could not be made durable.
    pub(crate) fn has_failed(&self) -> bool {
        self.durable.peek().is_some_and(Result::is_err)
    }

    /// Waits until the exchange is durable or undone.
    pub(crate) async fn settled(mut self) {
        // An error says that the sender is gone.
        let _ = self.settled.changed().await;
    }
}
