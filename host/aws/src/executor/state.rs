//! The state of an executor.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::PoolName;

use crate::budget::Budget;
use crate::leaked::Leaked;
use crate::limits::Lesson;
use crate::port::{Ec2Interface, Ec2Subnet, InstanceLimits};
use crate::ranges::net_of;
use crate::reconcile::Quarantined;
use crate::seen::{SeenNode, SeenStanding};
use crate::settings::Ec2Settings;
use crate::situation::{NodeFacts, ranges};

use super::agreement::MetadataAgreement;
use super::groups::{self, NamedGroups};
use super::questions::Questions;
use super::trouble::Silences;

/// For how long EC2 is believed that no other interface fits, although the type has room for more than it shows.
const BELIEVED: Duration = Duration::from_secs(900);

/// The state of an executor.
#[derive(Debug)]
pub(super) struct ExecutorState {
    pub(super) seen: SeenNode,
    pub(super) subnets: Vec<Ec2Subnet>,
    /// The reason for which the subnets are unknown or out of date.
    pub(super) subnets_trouble: Option<String>,
    /// Whether EC2 does not let the node describe the subnets.
    pub(super) are_subnets_denied: bool,
    /// Security groups that the metadata service has named.
    pub(super) named_groups: NamedGroups,
    /// How far the metadata service agrees with what EC2 has shown.
    pub(super) agreement: MetadataAgreement,
    pub(super) questions: Questions,
    /// The limits in force: those that were told, and what EC2 has taught since.
    pub(super) limits: Option<InstanceLimits>,
    /// The limits that were told.
    told: Option<InstanceLimits>,
    /// Whether EC2 taught something while it showed less than there may be.
    is_doubtful_lesson: bool,
    pub(super) settings: Ec2Settings,
    /// The pools of the network, by name.
    pools: Vec<PoolName>,
    /// Whether the network was redefined since the ledger's supply was compared with what EC2 shows.
    pub(super) is_redefined: bool,
    pub(super) node: NodeFacts,
    pub(super) budget: Budget,
    pub(super) silences: Silences,
    pub(super) leaked: Leaked,
    pub(super) quarantine: Vec<Quarantined>,
    pub(super) odd: Vec<String>,
    /// The device indexes that intents are about to use, by intent.
    pub(super) devices: BTreeMap<String, u32>,
    /// Intents that have brought what could not be a range.
    pub(super) unranged: BTreeSet<String>,
    /// Since when unused ranges have been unused, by name.
    unused: BTreeMap<String, Duration>,
    /// Calls by action and outcome.
    pub(super) calls: BTreeMap<(&'static str, &'static str), u64>,
    /// EC2 says that this interface is full, although it seems to have room for so many.
    pub(super) full: Option<(String, u32)>,
    /// EC2 says that the instance has no room for an interface.
    pub(super) is_full: bool,
    /// Since when EC2 refuses another interface although the type has room for more than it shows.
    refused_since: Option<Duration>,
}

impl ExecutorState {
    pub(super) fn new(seen: SeenNode, limits: Option<InstanceLimits>, seed: u64, now: Duration) -> Self {
        Self {
            seen,
            subnets: Vec::new(),
            subnets_trouble: None,
            are_subnets_denied: false,
            named_groups: NamedGroups::default(),
            agreement: MetadataAgreement::default(),
            questions: Questions::new(now),
            limits,
            told: limits,
            is_doubtful_lesson: false,
            settings: Ec2Settings::default(),
            pools: Vec::new(),
            is_redefined: false,
            node: NodeFacts::default(),
            budget: Budget::new(seed),
            silences: Silences::default(),
            leaked: Leaked::default(),
            quarantine: Vec::new(),
            odd: Vec::new(),
            devices: BTreeMap::new(),
            unranged: BTreeSet::new(),
            unused: BTreeMap::new(),
            calls: BTreeMap::new(),
            full: None,
            is_full: false,
            refused_since: None,
        }
    }

    /// Takes in what the ledger says: the settings and the pools, and which ranges are unused.
    pub(super) fn read(&mut self, book: &Book, now: Duration) {
        match Ec2Settings::of(&book.network().attributes) {
            Ok(settings) => {
                self.seen.manage_untagged(settings.manage_untagged);
                self.is_redefined |= settings != self.settings;
                self.settings = settings;
            }
            Err(error) => tracing::warn!(%error, "the settings stay as they were"),
        }
        if !book.pools().iter().map(|pool| &pool.name).eq(&self.pools) {
            self.pools = book.pools().iter().map(|pool| pool.name.clone()).collect();
            self.is_redefined = true;
            if self.seen.last().is_some() {
                // What a new pool may have, only a describe shows.
                self.questions.hint();
            }
        }
        if self.settings.imds_only {
            // No answer of EC2 will come that ends what is said of it.
            self.silences.ec2_is_not_asked();
            self.subnets_trouble = None;
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

    /// Takes in subnets that the metadata service has named. EC2's word about those that it has described stays.
    pub(super) fn know_subnets(&mut self, named: Vec<Ec2Subnet>) {
        for subnet in named {
            if self.subnets.iter().all(|known| known.id != subnet.id) {
                self.subnets.push(subnet);
            }
        }
    }

    /// Whether an interface of this host is there for sure, in a subnet that is not among those that are known.
    pub(super) fn is_in_unknown_subnet(&self) -> bool {
        let is_known = |id: &str| self.subnets.iter().any(|known| known.id == id);
        let is_sure = |id: &str| self.seen.standing(id) == Some(SeenStanding::Confirmed);
        let sure = self.seen.interfaces().filter(|(id, _)| is_sure(id));
        let mut own = sure.filter_map(|(_, known)| known.facts.as_ref());
        !self.subnets.is_empty()
            && own.any(|facts| self.seen.duty(facts).is_managed() && !is_known(&facts.subnet))
    }

    /// The interfaces that should get the groups of the primary one.
    pub(super) fn behind_in_groups(&self, instance: &str) -> Vec<String> {
        let may_change = !self.settings.fixed && !self.settings.custom_network && !self.node.terminating;
        let behind = groups::behind(&self.seen, instance).filter(|_| may_change);
        behind.map(str::to_owned).collect()
    }

    /// For how long unused ranges have been unused.
    pub(super) fn idle(&self, now: Duration) -> BTreeMap<String, Duration> {
        self.unused.iter().map(|(name, since)| (name.clone(), now.saturating_sub(*since))).collect()
    }

    /// Takes in limits from elsewhere, such as EC2's word about the instance type.
    pub(super) fn set_limits(&mut self, limits: InstanceLimits) {
        (self.limits, self.told, self.is_doubtful_lesson) = (Some(limits), Some(limits), false);
    }

    /// Takes in what a full look teaches of the limits. What EC2 refused although it should fit lowers them to what there is; what there
    /// is raises them. If the look `is_sure`, what was taught by a doubtful one is forgotten, and after a while also what contradicts the type:
    /// should it be true, EC2 refuses again.
    pub(super) fn learn(&mut self, is_sure: bool, now: Duration) {
        let (Some(limits), Some(told)) = (self.limits, self.told) else { return };
        let is_old = self.refused_since.is_some_and(|since| now.saturating_sub(since) >= BELIEVED);
        let before = if is_sure && (self.is_doubtful_lesson || is_old) { told } else { limits };
        self.refused_since = self.refused_since.filter(|_| !(is_sure && is_old));
        self.is_doubtful_lesson &= !is_sure;
        let mut lessons = vec![self.shown()];
        if let Some((interface, asked)) = self.full.take()
            && let Some(known) = self.seen.get(&interface)
        {
            let used = known.carries.keys().filter(|net| net.addr().is_ipv4()).count();
            lessons.push(Lesson::InterfaceFull { used: number(used).saturating_add(1), asked });
        }
        if std::mem::take(&mut self.is_full) {
            let places =
                self.seen.interfaces().filter_map(|(_, known)| known.facts.as_ref()?.attachment.as_ref());
            let attached = number(places.filter(|attachment| attachment.card == 0).count());
            self.refused_since = (attached < told.interfaces).then_some(now);
            lessons.push(Lesson::InstanceFull { attached });
        }
        let is_lowered = lessons.len() > 1;
        let after = lessons.into_iter().fold(before, InstanceLimits::learn);
        if after != limits {
            tracing::warn!(was = ?limits, now = ?after, is_sure, "EC2 has taught the limits of the instance");
        }
        self.is_doubtful_lesson |= is_lowered && !is_sure;
        self.limits = Some(after);
    }

    /// EC2 says that so many more prefixes of IPv6 do not fit on an interface, whose own addresses of IPv6 no answer counts.
    pub(super) fn ipv6_is_full(&mut self, interface: &str, asked: u32) {
        let carries = self.seen.get(interface).map(|known| known.carries.keys());
        let used = carries.into_iter().flatten().filter(|net| net.addr().is_ipv6()).count();
        if let Some(limits) = &mut self.limits {
            let most = number(used).saturating_add(asked).saturating_sub(1);
            limits.ipv6_addresses = limits.ipv6_addresses.min(most);
        }
    }

    /// Whether EC2 refuses another interface although the type has room for more than it shows: it may be hiding one.
    pub(super) fn is_hiding(&self) -> bool {
        let limits = self.limits.zip(self.told);
        self.refused_since.is_some() && limits.is_some_and(|(now, told)| now.interfaces < told.interfaces)
    }

    /// The interfaces and slots that EC2 shows.
    fn shown(&self) -> Lesson {
        let sure =
            self.seen.interfaces().filter(|(id, _)| self.seen.standing(id) == Some(SeenStanding::Confirmed));
        let facts = sure.filter_map(|(_, known)| known.facts.as_ref());
        let on_card = facts.filter(|facts| facts.attachment.as_ref().is_some_and(|place| place.card == 0));
        let all: Vec<&Ec2Interface> = on_card.collect();
        let most = |is_ipv4: bool| {
            let slots = all
                .iter()
                .map(|facts| facts.carries.iter().filter(|net| net.addr().is_ipv4() == is_ipv4).count());
            number(slots.max().unwrap_or_default())
        };
        let own = u32::from(!all.is_empty());
        Lesson::Seen {
            interfaces: number(all.len()),
            addresses: most(true).saturating_add(own),
            ipv6_addresses: most(false),
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
