//! A pass: snapshot, decisions, writes. It runs after each event, and at least once a minute.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams};
use tenure_cluster::IPBlock;
use tenure_cluster::client::{ApiCallError, call};
use tenure_cluster::convert::list_version;
use tenure_supervise::{Gate, Interruptible};
use tenure_types::Clock;
use tokio::time::{sleep, timeout};

use crate::clock::{since_boot, time_of_day};
use crate::decide::decide;
use crate::fencing;
use crate::memory::OperatorMemory;
use crate::view::{ClusterView, WatchStores, Watches, view};
use crate::writes::{OperatorWrite, WriteTime, perform};

/// The longest time between two passes: delays end without an event.
const PERIOD: Duration = Duration::from_secs(60);

/// The time to gather events before a pass.
const GATHER: Duration = Duration::from_millis(50);

/// The pause after a pass in which a write failed.
const RETRY: Duration = Duration::from_secs(1);

/// The outcome of a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassResult {
    /// Writes that the API server confirmed.
    pub written: usize,
    /// Writes that it refused, or did not answer.
    pub failed: usize,
}

/// The loop of passes.
pub struct Operator {
    client: Client,
    stores: WatchStores,
    clock: Arc<dyn Clock>,
    leading: Gate,
    memory: OperatorMemory,
}

impl Operator {
    /// Prepares the loop, which begins when the gate opens.
    #[must_use]
    pub fn new(client: Client, watches: &Watches, clock: Arc<dyn Clock>, leading: Gate) -> Self {
        Self { client, stores: watches.stores(), clock, leading, memory: OperatorMemory::default() }
    }

    /// Makes one pass; `None` while the watches have not listed everything.
    pub async fn pass(&mut self) -> Option<PassResult> {
        let (view, decided) = self.decide().await?;
        let mut result = PassResult::default();
        for write in decided {
            self.write(write, &mut result).await;
        }
        for block in fencing::suspects(&view) {
            let now = self.now();
            if let Some(write) = fencing::judge(&self.client, &view, &mut self.memory, block, now).await {
                self.write(write, &mut result).await;
            }
        }
        for said in fencing::forgotten(&view) {
            if let Some(write) = fencing::forget(&self.client, said).await {
                self.write(write, &mut result).await;
            }
        }
        Some(result)
    }

    /// Takes a snapshot and decides, without a write: a test holds the writes back.
    pub async fn decide(&mut self) -> Option<(ClusterView, Vec<OperatorWrite>)> {
        let listings = self.stores.listings();
        if listings == 0 {
            return None;
        }
        let now = self.now();
        self.memory.tick(now.elapsed);
        if self.memory.listed(listings) {
            self.compare_version().await;
        }
        let sources = self.memory.over(self.stores.sources(), now.elapsed);
        let view = view(sources);
        for complaint in &view.unreadable {
            tracing::error!("cannot be read: {complaint}");
        }
        self.memory.saw(view.highest);
        self.memory.forget(&view);
        let writes = decide(&view, &mut self.memory, now);
        Some((view, writes))
    }

    /// Makes one write.
    ///
    /// # Errors
    /// If the API server refuses it or does not answer.
    pub async fn perform(&mut self, write: OperatorWrite) -> Result<(), ApiCallError> {
        let now = self.now();
        perform(&self.client, &mut self.memory, write, now).await
    }

    async fn write(&mut self, write: OperatorWrite, result: &mut PassResult) {
        match self.perform(write).await {
            Ok(()) => result.written += 1,
            Err(error) if error.is_conflict() || error.is_not_found() => {
                tracing::debug!("somebody else was faster: {error}");
                result.failed += 1;
            }
            Err(error) => {
                tracing::warn!("a write failed: {error}");
                result.failed += 1;
            }
        }
    }

    /// Asks which version the store has now.
    async fn compare_version(&mut self) {
        let api: Api<IPBlock> = Api::all(self.client.clone());
        match call(api.list(&ListParams::default().limit(1))).await {
            Ok(list) => {
                if let Some(version) = list_version(&list.metadata) {
                    self.memory.compare_version(version);
                }
            }
            Err(error) => tracing::warn!("cannot read the store's version: {error}"),
        }
    }

    fn now(&self) -> WriteTime {
        WriteTime { elapsed: since_boot(&*self.clock), day: time_of_day(&*self.clock) }
    }
}

impl Interruptible for Operator {
    async fn work(&mut self) {
        self.leading.passed().await;
        loop {
            match self.pass().await {
                Some(PassResult { failed: 0, .. }) => {}
                _ => sleep(RETRY).await,
            }
            // Whether it was an event or the time does not matter.
            let _ = timeout(PERIOD, self.stores.changed()).await;
            sleep(GATHER).await;
        }
    }
}
