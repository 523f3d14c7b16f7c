//! A pass: snapshot, decisions, writes. It runs after each event, and at least once a minute.

mod share;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams};
use tenure_cluster::IPBlock;
use tenure_cluster::client::{ApiCallError, call};
use tenure_cluster::convert::list_version;
use tenure_leases::MarkAnswer;
use tenure_supervise::{Gate, Interruptible};
use tenure_types::Clock;
use tokio::time::{sleep, timeout};

use self::share::ClaimShares;
use crate::clock::{since_boot, time_of_day};
use crate::decide::decide;
use crate::leadership::StoreDoubt;
use crate::memory::OperatorMemory;
use crate::reports::{Complaints, Reports, WriteCause};
use crate::view::{ClusterView, WatchStores, Watches, view};
use crate::writes::{OperatorWrite, WriteContext, WriteTime, perform};
use crate::{definitions, fencing};

/// The longest time between two passes: delays end without an event.
const PERIOD: Duration = Duration::from_secs(60);

/// The time to gather events before a pass.
const GATHER: Duration = Duration::from_millis(50);

/// The pause after a pass in which a write failed, or that had no view. It doubles up to [`PERIOD`] while this stays so: a refused write makes no event.
const RETRY: Duration = Duration::from_secs(1);

/// The most doublings of that pause.
const MOST_DOUBLINGS: u32 = 6;

/// The outcome of a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassResult {
    /// Writes that the API server confirmed.
    pub written: usize,
    /// Writes that it refused, or did not answer.
    pub failed: usize,
    /// Whether writes about claims were left for the next pass.
    pub leaves: bool,
}

/// The longest wait for an event after a pass, by the result and by how many passes failed one after the other.
fn wait_after(result: Option<PassResult>, failures: u32) -> Duration {
    match result {
        Some(PassResult { failed: 0, leaves: false, .. }) => PERIOD,
        Some(PassResult { failed: 0, leaves: true, .. }) => RETRY,
        _ => RETRY.saturating_mul(1 << failures.min(MOST_DOUBLINGS)).min(PERIOD),
    }
}

/// The loop of passes.
pub struct Operator {
    client: Client,
    stores: WatchStores,
    clock: Arc<dyn Clock>,
    leading: Gate,
    memory: OperatorMemory,
    reports: Reports,
    startup_taint: String,
    doubt: StoreDoubt,
    /// Whether everything was listed again since the last view.
    relisted: bool,
    complaints: Complaints,
}

impl Operator {
    /// Prepares the loop, which begins when the gate opens.
    #[must_use]
    pub fn new(client: Client, watches: &Watches, clock: Arc<dyn Clock>, leading: Gate) -> Self {
        Self {
            client,
            stores: watches.stores(),
            clock,
            leading,
            memory: OperatorMemory::default(),
            reports: Reports::default(),
            startup_taint: tenure_cluster::NOT_READY_TAINT.to_owned(),
            doubt: StoreDoubt::default(),
            relisted: false,
            complaints: Complaints::default(),
        }
    }

    /// Reports by these events and metrics.
    #[must_use]
    pub fn with_reports(self, reports: Reports) -> Self {
        Self { reports, ..self }
    }

    /// Removes another taint from Nodes that have their blocks.
    #[must_use]
    pub fn with_startup_taint(self, key: &str) -> Self {
        Self { startup_taint: key.to_owned(), ..self }
    }

    /// The operator's doubt about the store, for the election.
    #[must_use]
    pub fn doubt(&self) -> StoreDoubt {
        self.doubt.clone()
    }

    /// Makes one pass; `None` while the watches have not listed everything.
    pub async fn pass(&mut self) -> Option<PassResult> {
        let (view, decided) = self.decide().await?;
        let mut result = PassResult::default();
        let mut shares = ClaimShares::default();
        for write in decided {
            let now = self.now().elapsed;
            if shares.admit(&write, &view, &mut self.memory.claims_left, now) {
                self.write(write, &mut result).await;
            }
        }
        let now = self.now();
        for block in fencing::suspects(&view) {
            let mut context = context(&self.client, &mut self.memory, &self.reports, now);
            if let Some(write) = fencing::judge(&mut context, &view, block).await {
                self.write(write, &mut result).await;
            }
        }
        for block in fencing::suspect_alternates(&view) {
            let mut context = context(&self.client, &mut self.memory, &self.reports, now);
            if let Some(write) = fencing::judge_alternate(&mut context, &view, block).await {
                self.write(write, &mut result).await;
            }
        }
        for said in fencing::forgotten(&view, &self.memory) {
            let mut context = context(&self.client, &mut self.memory, &self.reports, now);
            if let Some(write) = fencing::forget(&mut context, said).await {
                self.write(write, &mut result).await;
            }
        }
        result.leaves = self.memory.claims_left.is_any();
        Some(result)
    }

    /// Takes a snapshot and decides, without a write: a test holds the writes back. `None` while the view is not known to be complete.
    pub async fn decide(&mut self) -> Option<(ClusterView, Vec<OperatorWrite>)> {
        if self.doubt.take() {
            self.memory.doubt_store();
        }
        if self.stores.take_interruption() {
            self.stores.relist();
            return None;
        }
        let (listings, now) = (self.stores.listings(), self.now());
        if listings == 0 {
            return None;
        }
        self.memory.tick(now.elapsed);
        let interrupted = self.memory.listed(listings);
        if interrupted {
            self.memory.doubt_version();
        }
        self.relisted |= interrupted;
        if self.memory.must_compare(now.elapsed) {
            self.compare_version(now).await?;
        }
        let sources = self.memory.over(self.stores.sources(), now.elapsed);
        let mut view = view(sources);
        self.complaints.tell(view.unreadable.iter().chain(&view.left_out));
        let versions = std::mem::take(&mut view.versions);
        self.memory.compare_objects(versions, std::mem::take(&mut self.relisted));
        self.memory.saw(view.highest);
        self.memory.forget(&view);
        self.memory.heard(&view);
        definitions::look(&self.client, &self.reports.metrics, &view, &mut self.memory).await;
        let decisions = decide(&view, &mut self.memory, &self.startup_taint, now);
        self.doubt.pauses(self.memory.barrier.is_doubtful());
        for (mark, answer) in decisions.answers {
            if self.memory.answered(mark, answer) {
                self.reports.metrics.mark(answer_word(answer));
            }
        }
        for notice in decisions.notices {
            self.reports.events.tell(notice, now.elapsed);
        }
        self.reports.metrics.blocks(decisions.counts);
        self.reports.metrics.viewed(now.elapsed, view.unreadable.len() + view.left_out.len());
        Some((view, decisions.writes))
    }

    /// Makes one write.
    ///
    /// # Errors
    /// If the API server refuses it or does not answer.
    pub async fn perform(&mut self, write: OperatorWrite) -> Result<(), ApiCallError> {
        let now = self.now();
        perform(&mut context(&self.client, &mut self.memory, &self.reports, now), write).await
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

    /// Asks which version the store has now. `None` if that is not known, or if the store is not the one that was read.
    async fn compare_version(&mut self, now: WriteTime) -> Option<()> {
        let api: Api<IPBlock> = Api::all(self.client.clone());
        let parameters = ListParams::default().limit(1);
        let list = self.reports.metrics.counted("list", WriteCause::Version, call(api.list(&parameters)));
        match list.await {
            Ok(list) => {
                let version = list_version(&list.metadata)?;
                if self.memory.compare_version(version, now.elapsed) {
                    self.stores.relist();
                    return None;
                }
                Some(())
            }
            Err(error) => {
                tracing::warn!("cannot read the store's version: {error}");
                None
            }
        }
    }

    fn now(&self) -> WriteTime {
        WriteTime { elapsed: since_boot(&*self.clock), day: time_of_day(&*self.clock) }
    }
}

/// Everything that a write needs, of the parts of an operator.
fn context<'a>(
    client: &'a Client,
    memory: &'a mut OperatorMemory,
    reports: &'a Reports,
    now: WriteTime,
) -> WriteContext<'a> {
    WriteContext { client, memory, reports, now }
}

/// The answer to a mark, as the metrics say it.
fn answer_word(answer: MarkAnswer) -> &'static str {
    match answer {
        MarkAnswer::Ready => "ready",
        MarkAnswer::Cordoned => "cordoned",
        MarkAnswer::Refused(_) => "refused",
    }
}

impl Interruptible for Operator {
    async fn work(&mut self) {
        self.leading.passed().await;
        self.reports.metrics.leads(true);
        let mut failures = 0_u32;
        loop {
            let result = self.pass().await;
            let mut wait = wait_after(result, failures);
            failures = match result {
                Some(PassResult { failed: 0, .. }) => 0,
                _ => {
                    // Not even an event makes this shorter.
                    sleep(RETRY).await;
                    wait = wait.saturating_sub(RETRY);
                    failures.saturating_add(1)
                }
            };
            // Whether it was an event or the time does not matter.
            let _ = timeout(wait, self.stores.changed()).await;
            sleep(GATHER).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_that_failed_is_made_again_without_an_event() {
        let result = |failed, leaves| Some(PassResult { written: 1, failed, leaves });
        let failed: Vec<u64> =
            [0, 1, 2, 5, 6, 100].map(|failures| wait_after(result(1, false), failures).as_secs()).to_vec();
        assert_eq!(failed, [1, 2, 4, 32, 60, 60]);
        assert_eq!(wait_after(None, 0), RETRY);
        assert_eq!([false, true].map(|leaves| wait_after(result(0, leaves), 0)), [PERIOD, RETRY]);
    }
}
