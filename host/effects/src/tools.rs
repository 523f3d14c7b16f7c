//! The tools shared by an executor and its wing: one network of the engine, the time, and hints that the outside has changed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_engine::ports::Clock;
use tenure_ledger::{Book, Intent};
use tenure_types::NetworkName;
use tokio::sync::Notify;

/// Waits. Virtual time needs a port for it.
pub trait Timer: Send + Sync + 'static {
    /// Waits so long.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The tools shared by an executor and its wing. Clones share them, too.
#[derive(Clone)]
pub struct Tools {
    /// The engine, whose plans are carried out.
    pub engine: Arc<Engine>,
    /// The network whose plans are carried out.
    pub network: NetworkName,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Waits by that clock.
    pub timer: Arc<dyn Timer>,
    look_again: Arc<Notify>,
}

impl Tools {
    /// The tools for one network.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        network: NetworkName,
        clock: Arc<dyn Clock>,
        timer: Arc<dyn Timer>,
    ) -> Self {
        Self { engine, network, clock, timer, look_again: Arc::default() }
    }

    /// The boot clock's reading.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now().boot_ns)
    }

    /// Waits so long.
    pub async fn sleep(&self, time: Duration) {
        self.timer.sleep(time).await;
    }

    /// The open intents of the network.
    #[must_use]
    pub fn open(&self) -> Vec<Arc<Intent>> {
        let mut open = self.engine.intents();
        open.retain(|intent| intent.network == self.network);
        open
    }

    /// The network's book.
    pub async fn book(&self) -> Option<Arc<Book>> {
        self.engine.book(&self.network).await
    }

    /// How many requests wait for the network's supply.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        let demands = self.engine.demands();
        let own = demands.iter().find(|demand| demand.network == self.network);
        own.map_or(0, |demand| demand.waiting)
    }

    /// Has the executor look at the outside now.
    pub fn look_again(&self) {
        self.look_again.notify_one();
    }

    /// Waits until somebody wants the outside looked at.
    pub(crate) async fn hinted(&self) {
        self.look_again.notified().await;
    }
}
