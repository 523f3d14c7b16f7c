//! The state of an executor.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_ledger::Book;

use crate::budget::Budget;
use crate::leaked::Leaked;
use crate::port::{Ec2Subnet, InstanceLimits};
use crate::ranges::net_of;
use crate::reconcile::Quarantined;
use crate::seen::SeenNode;
use crate::settings::Ec2Settings;
use crate::situation::{NodeFacts, ranges};

/// The state of an executor.
#[derive(Debug)]
pub(super) struct ExecutorState {
    pub(super) seen: SeenNode,
    pub(super) subnets: Vec<Ec2Subnet>,
    pub(super) subnets_at: Option<Duration>,
    pub(super) swept_at: Option<Duration>,
    /// The sweeps since the start, or since an interface was undone.
    pub(super) sweeps: u32,
    /// The looks in succession that found nothing new.
    pub(super) quiet: u32,
    pub(super) limits: Option<InstanceLimits>,
    pub(super) settings: Ec2Settings,
    pub(super) node: NodeFacts,
    pub(super) budget: Budget,
    pub(super) leaked: Leaked,
    pub(super) quarantine: Vec<Quarantined>,
    pub(super) odd: Vec<String>,
    /// The device indexes that intents are about to use, by intent.
    pub(super) devices: BTreeMap<String, u32>,
    /// Since when unused ranges have been unused, by name.
    unused: BTreeMap<String, Duration>,
    /// Whether the last plan could not reach its target.
    pub(super) lacks: bool,
    /// Calls by action and outcome.
    pub(super) calls: BTreeMap<(&'static str, &'static str), u64>,
    /// EC2 says that this interface is full, although it seems to have room for so many.
    pub(super) full: Option<(String, u32)>,
    /// EC2 says that the instance has no room for an interface.
    pub(super) is_full: bool,
}

impl ExecutorState {
    pub(super) fn new(seen: SeenNode, limits: Option<InstanceLimits>, seed: u64) -> Self {
        Self {
            seen,
            subnets: Vec::new(),
            subnets_at: None,
            swept_at: None,
            sweeps: 0,
            quiet: 0,
            limits,
            settings: Ec2Settings::default(),
            node: NodeFacts::default(),
            budget: Budget::new(seed),
            leaked: Leaked::default(),
            quarantine: Vec::new(),
            odd: Vec::new(),
            devices: BTreeMap::new(),
            unused: BTreeMap::new(),
            lacks: false,
            calls: BTreeMap::new(),
            full: None,
            is_full: false,
        }
    }

    /// Takes in what the ledger says: the settings, and which ranges are unused.
    pub(super) fn read(&mut self, book: &Book, now: Duration) {
        match Ec2Settings::of(&book.network().attributes) {
            Ok(settings) => {
                self.seen.manage_untagged(settings.manage_untagged);
                self.settings = settings;
            }
            Err(error) => tracing::warn!(%error, "the settings stay as they were"),
        }
        let is_unused = |view: &tenure_ledger::RangeView<'_>| view.held == 0 && view.cooling == 0;
        let unused = ranges(book).filter(|(_, view)| is_unused(view) && net_of(view.range).is_some());
        let mut before = std::mem::take(&mut self.unused);
        self.unused = unused
            .map(|(_, view)| {
                let name = view.range.name().to_string();
                let since = before.remove(&name).unwrap_or(now);
                (name, since)
            })
            .collect();
    }

    /// For how long unused ranges have been unused.
    pub(super) fn idle(&self, now: Duration) -> BTreeMap<String, Duration> {
        self.unused.iter().map(|(name, since)| (name.clone(), now.saturating_sub(*since))).collect()
    }

    /// EC2 refused what should fit: once it has said what there is, the limits are lowered to that.
    pub(super) fn learn(&mut self) {
        let Some(limits) = &mut self.limits else { return };
        if let Some((interface, asked)) = self.full.take()
            && let Some(known) = self.seen.get(&interface)
        {
            let used = known.carries.keys().filter(|net| net.addr().is_ipv4()).count();
            // So many more than these do not fit beside the interface's own.
            let most = u32::try_from(used).unwrap_or(u32::MAX).saturating_add(asked);
            if most < limits.addresses {
                tracing::warn!(
                    interface,
                    was = limits.addresses,
                    most,
                    "EC2 allows fewer addresses than were known"
                );
                limits.addresses = most;
            }
        }
        if std::mem::take(&mut self.is_full) {
            let places =
                self.seen.interfaces().filter_map(|(_, known)| known.facts.as_ref()?.attachment.as_ref());
            let attached = places.filter(|attachment| attachment.card == 0).count();
            let most = u32::try_from(attached).unwrap_or(u32::MAX);
            if most < limits.interfaces {
                tracing::warn!(was = limits.interfaces, most, "EC2 allows fewer interfaces than were known");
                limits.interfaces = most;
            }
        }
    }
}
