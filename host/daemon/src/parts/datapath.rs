//! Keeps the kernel as the node's interfaces and pods want it: rules, routes, addresses and the nftables table.
//!
//! The pods are the engine's allocations that have a link. What the node's interfaces are is for somebody else to say, through a
//! channel; as long as somebody is about to, nothing is touched. A node without pods and interfaces is not touched either.
//!
//! ```text
//! interfaces (watch) ─┐
//!                     ├─▶ Wanted ─▶ tenure_netlink::keep ─▶ Kept: who waits for a pod's route is answered
//! allocations ────────┘               │
//!                                     └─▶ metrics, the log, the condition
//! ```

mod kept;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_conditions::{Conditions, Report};
use tenure_engine::Engine;
use tenure_netlink::{DesiredState, Event, NodeNetwork, Operation, Pod};
use tenure_observe::Metrics;
use tenure_supervise::Part;
use tenure_types::{AssignedAddress, ConditionName, NetworkName, hold};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub(crate) use self::kept::DatapathResult;
use self::kept::Done;

/// How often links of ended allocations are looked for, even if none is known to be left.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// The most pods whose link fails that the condition names.
const MOST_REPORTED: usize = 8;

/// The label of ranges that names the interface that their addresses are on.
const INTERFACE: &str = "interface";

/// The inputs of the part.
pub(crate) struct DatapathInputs {
    pub(crate) engine: Arc<Engine>,
    pub(crate) kept: Arc<DatapathResult>,
    /// The node without its pods; nothing, as long as that is not known.
    pub(crate) node: watch::Receiver<Option<Arc<NodeNetwork>>>,
    /// The network whose addresses are on the node's interfaces.
    pub(crate) network: Option<NetworkName>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Keeps the kernel, and the links in it.
pub(crate) struct DatapathPart {
    given: DatapathInputs,
    report: Report,
}

/// The desired state that the keeper was given last, and the request that it answers.
type Latest = Arc<Mutex<(Arc<DesiredState>, Done)>>;

impl DatapathPart {
    pub(crate) fn build(given: DatapathInputs, conditions: &Arc<Conditions>) -> Self {
        Self { given, report: Report::new(conditions, ConditionName::DatapathFailed) }
    }

    /// Makes whole what a crash has left, and removes what ends without its link. Neither waits for the other: a pod can make its
    /// own link's repair as slow as its limit.
    async fn tend(&self) -> anyhow::Result<()> {
        tokio::join!(self.given.engine.restore_links(), self.sweep()).1
    }

    /// Removes what ends without its link.
    async fn sweep(&self) -> anyhow::Result<()> {
        loop {
            match self.given.engine.sweep_links().await {
                Ok(0) => {}
                Ok(removed) => tracing::info!(removed, "removed links of allocations that have ended"),
                Err(error) if self.given.engine.linked().is_empty() => {
                    tracing::debug!(cause = error.cause, "cannot look for links");
                }
                Err(error) => tracing::warn!(cause = error.cause, "cannot remove links of ended allocations"),
            }
            // A node that has no links is looked at once, for those of an earlier daemon.
            while timeout(LOOK_AGAIN, self.given.engine.unlinked()).await.is_err()
                && self.given.engine.linked().is_empty()
            {}
        }
    }

    /// Keeps the kernel, from the first link or interface on.
    async fn keep(&self) -> anyhow::Result<()> {
        let (mut questions, mut node) = (self.given.kept.questions(), self.given.node.clone());
        // A node whose interfaces are not known yet may have rules of theirs from before.
        if node.wait_for(Option::is_some).await.is_err() {
            return std::future::pending().await;
        }
        let latest = loop {
            let latest = self.describe(&mut questions, &mut node, None);
            if !latest.0.rules.is_empty() {
                break latest;
            }
            match &latest.1.failure {
                None => self.report.well(),
                Some(why) => self.report.wrong(why.clone()),
            }
            self.given.kept.answer(latest.1);
            changed(&mut questions, &mut node).await?;
        };
        let (wish, wishes) = watch::channel(Arc::clone(&latest.0));
        let latest: Latest = Arc::new(Mutex::new(latest));
        let follow = async {
            loop {
                changed(&mut questions, &mut node).await?;
                let before = Arc::clone(&wish.borrow());
                let now = self.describe(&mut questions, &mut node, Some(&before));
                let wanted = Arc::clone(&now.0);
                *hold(&latest) = now;
                wish.send_replace(wanted);
            }
        };
        let mut failure = None;
        let report = |event| self.heard(event, &latest, &mut failure);
        tokio::select! {
            kept = tenure_netlink::keep(wishes, report) => Ok(kept.map(|never| match never {})?),
            never = follow => never,
        }
    }

    /// Describes the desired state of the kernel. A contradictory description changes nothing, and is reported to the tasks that wait.
    fn describe(
        &self,
        questions: &mut watch::Receiver<u64>,
        node: &mut watch::Receiver<Option<Arc<NodeNetwork>>>,
        before: Option<&Arc<DesiredState>>,
    ) -> (Arc<DesiredState>, Done) {
        // The number first: what is allocated after that has a question of its own.
        let through = *questions.borrow_and_update();
        let mut node = node.borrow_and_update().as_deref().cloned().unwrap_or_default();
        let (left_out, coming);
        (node.pods, left_out) = self.pods(&node);
        coming = self.coming(&node);
        let (wanted, failure) = match DesiredState::of(&node) {
            // Always a new one: by this, the keeper's answer is known.
            Ok(wanted) => (wanted, None),
            Err(invalid) => {
                (before.map(|before| before.as_ref().clone()).unwrap_or_default(), Some(invalid.to_string()))
            }
        };
        (Arc::new(wanted), Done { through, failure, left_out: Arc::new(left_out), coming: Arc::new(coming) })
    }

    /// The pods that have a link, and those that packets cannot be routed to: two networks may have the same address, or one that is an
    /// interface's own.
    fn pods(&self, node: &NodeNetwork) -> (Vec<Pod>, BTreeMap<String, String>) {
        let (mut pods, mut left_out) = (Vec::new(), BTreeMap::new());
        let mut taken: BTreeMap<IpAddr, String> = BTreeMap::new();
        for interface in node.primary.iter().chain(&node.secondary) {
            let own =
                interface.addresses.iter().map(|net| (net.addr(), format!("interface {}", interface.name)));
            taken.extend(own);
        }
        for allocation in self.given.engine.linked() {
            let Some(link) = allocation.link().map(|link| link.host.to_string()) else { continue };
            let addresses: Vec<IpAddr> = allocation.addresses.iter().map(AssignedAddress::ip).collect();
            if let Some((address, other)) = addresses.iter().find_map(|address| taken.get_key_value(address))
            {
                left_out.insert(link, format!("{address} is already the address of {other}"));
                continue;
            }
            taken.extend(addresses.iter().map(|address| (*address, format!("the pod at {link}"))));
            pods.push(Pod { addresses, link });
        }
        (pods, left_out)
    }

    /// The host ends of pods whose addresses are those of an interface that is not described yet: its link is about to come.
    fn coming(&self, node: &NodeNetwork) -> BTreeSet<String> {
        let carried = |address: &IpAddr| {
            let interfaces = node.primary.iter().chain(&node.secondary);
            interfaces.flat_map(|interface| &interface.carries).any(|net| net.contains(address))
        };
        let waits = |assigned: &AssignedAddress| {
            assigned.source.range_attributes.get(INTERFACE).is_some() && !carried(&assigned.ip())
        };
        // A range of another network may have an attribute of this name, too.
        let linked = self.given.engine.linked().into_iter();
        let of_interfaces = linked.filter(|held| self.given.network.as_ref() == Some(&held.network));
        let waiting = of_interfaces.filter(|held| held.addresses.iter().any(waits));
        waiting.filter_map(|allocation| Some(allocation.link()?.host.to_string())).collect()
    }

    /// Counts and logs what the keeper reports, and answers those who wait for it.
    fn heard(&self, event: Event, latest: &Latest, failure: &mut Option<String>) {
        let count = |operations: &[Operation], outcome| {
            operations.iter().for_each(|operation| self.given.metrics.datapath(operation.subject(), outcome));
        };
        match event {
            Event::Noticed(change) => tracing::debug!(?change, "the kernel has changed"),
            Event::Applied(operations) => {
                count(&operations, "applied");
                tracing::debug!(operations = listed(&operations), "changed the kernel");
            }
            Event::Repaired(operations) => {
                count(&operations, "repaired");
                tracing::warn!(
                    operations = listed(&operations),
                    "repaired what somebody changed in the kernel"
                );
            }
            Event::Failed(operation, error) => {
                count(std::slice::from_ref(&operation), "failed");
                tracing::warn!(%operation, %error, "cannot change the kernel; trying again");
                // One pod's failure is told to that pod alone.
                if operation.pod().is_none() {
                    failure.get_or_insert(error.to_string());
                }
            }
            Event::Blind(error) => {
                tracing::warn!(%error, "cannot look at the kernel; trying again");
                failure.get_or_insert(error.to_string());
            }
            Event::Waiting(links) => tracing::debug!(links = links.join(", "), "waiting for links"),
            Event::Settled(wanted, left_out) => {
                failure.take();
                self.answer(&wanted, latest, None, left_out);
            }
            Event::Unsettled(wanted) => {
                let why = failure.take().unwrap_or_else(|| "somebody works against it".to_owned());
                self.answer(&wanted, latest, Some(why), BTreeMap::new());
            }
        }
    }

    /// Answers the request for this desired state; if there is a later request by now, that one is answered later.
    fn answer(
        &self,
        wanted: &Arc<DesiredState>,
        latest: &Latest,
        why: Option<String>,
        failed: BTreeMap<String, String>,
    ) {
        let latest = hold(latest);
        if !Arc::ptr_eq(wanted, &latest.0) {
            return;
        }
        let mut done = latest.1.clone();
        done.failure = why.or(done.failure);
        let whole = done.failure.iter().map(|why| (String::new(), why.clone()));
        let pods = failed.iter().map(|(host, why)| (host.clone(), why.clone()));
        self.report.wrong_with(whole.chain(pods.take(MOST_REPORTED)));
        if !failed.is_empty() {
            Arc::make_mut(&mut done.left_out).extend(failed);
        }
        self.given.kept.answer(done);
    }
}

/// Waits for a question, or for other interfaces. Nobody may be there who says what the interfaces are.
async fn changed(
    questions: &mut watch::Receiver<u64>,
    node: &mut watch::Receiver<Option<Arc<NodeNetwork>>>,
) -> anyhow::Result<()> {
    let other_interfaces = async {
        if node.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        asked = questions.changed() => Ok(asked?),
        () = other_interfaces => Ok(()),
    }
}

fn listed(operations: &[Operation]) -> String {
    operations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Part for DatapathPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let work = async {
            tokio::select! {
                ended = self.keep() => ended,
                ended = self.tend() => ended,
            }
        };
        let ended = stop.run_until_cancelled(work).await.unwrap_or(Ok(()));
        if let Err(error) = &ended {
            self.given.kept.fail(format!("{error:#}"));
        }
        ended
    }
}
