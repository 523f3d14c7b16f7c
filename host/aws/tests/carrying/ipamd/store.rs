//! ipamd's data store and its formulas. Pure: times are passed, nothing is called.
//!
//! From `pkg/ipamd/ipamd.go` and `pkg/ipamd/datastore` of amazon-vpc-cni-k8s v1.23; each method names its rule there.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use tenure_fixtures::random::Random;

/// How long a freed address is not handed out, in milliseconds: `IP_COOLDOWN_PERIOD`, 30 s.
const COOLDOWN_MS: u64 = 30_000;

/// How old an interface must be to be freed, in milliseconds: `isTooYoung`.
const YOUNG_MS: u64 = 60_000;

/// ipamd's settings and the limits of its node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    pub(crate) warm_eni: i64,
    pub(crate) warm_ip: i64,
    pub(crate) minimum_ip: i64,
    pub(crate) warm_prefix: i64,
    pub(crate) prefixes: bool,
    /// Addresses, or prefixes, of an interface besides its own address.
    pub(crate) slots: i64,
    pub(crate) interfaces: usize,
    pub(crate) pods: i64,
}

impl Rules {
    /// WARM_IP_TARGET or MINIMUM_IP_TARGET turns the other targets off.
    fn has_targets(&self) -> bool {
        self.warm_ip > 0 || self.minimum_ip > 0
    }

    fn unit(&self) -> i64 {
        if self.prefixes { 16 } else { 1 }
    }
}

/// An interface in the store.
#[derive(Debug, Clone)]
pub(crate) struct Eni {
    pub(crate) id: String,
    pub(crate) is_primary: bool,
    /// When it came to the store, in milliseconds.
    pub(crate) since: u64,
    pub(crate) nets: BTreeSet<Ipv4Net>,
}

/// The store.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) rules: Rules,
    pub(crate) enis: Vec<Eni>,
    /// The addresses of pods, by container: the rows of the checkpoint.
    pods: BTreeMap<String, Ipv4Addr>,
    taken: BTreeSet<Ipv4Addr>,
    /// When each cooling address was freed. Only memory: a restart forgets it.
    freed: BTreeMap<Ipv4Addr, u64>,
    random: Random,
}

impl Store {
    pub(crate) fn new(rules: Rules, seed: u64) -> Self {
        let (pods, taken, freed) = Default::default();
        Self { rules, enis: Vec::new(), pods, taken, freed, random: Random::new(seed) }
    }

    /// A restart: the checkpoint's rows stay, the rest is read again.
    pub(crate) fn restart(&mut self) {
        self.enis.clear();
        self.freed.clear();
    }

    fn total(&self) -> i64 {
        self.ranges() * self.rules.unit()
    }

    fn ranges(&self) -> i64 {
        self.enis.iter().map(|eni| count(eni.nets.len())).sum()
    }

    /// Cooling addresses count as available.
    fn available(&self) -> i64 {
        self.total() - count(self.taken.len())
    }

    fn used(&self, net: &Ipv4Net) -> usize {
        self.taken.range(net.network()..=net.broadcast()).count()
    }

    fn free_ranges(&self, eni: &Eni) -> i64 {
        count(eni.nets.iter().filter(|net| self.used(net) == 0).count())
    }

    fn free_prefixes(&self) -> i64 {
        self.enis.iter().map(|eni| self.free_ranges(eni)).sum()
    }

    /// `datastoreTargetState`: what is short and what is over, in addresses or prefixes.
    fn short_and_over(&self) -> (i64, i64) {
        let Rules { warm_ip, minimum_ip, .. } = self.rules;
        let (total, available) = (self.total(), self.available());
        let short = (warm_ip - available).max(minimum_ip - total).max(0);
        let over = (available - warm_ip).min(total - minimum_ip).max(0);
        if !self.rules.prefixes {
            return (short, over);
        }
        let ceil = |addresses: i64| (addresses + 15).div_euclid(16);
        let prefixes = self.ranges();
        let over = self
            .free_prefixes()
            .min(prefixes - ceil(total - available + warm_ip))
            .min(prefixes - ceil(minimum_ip));
        (ceil(short), over.max(0))
    }

    /// `isDatastorePoolTooLow`.
    pub(crate) fn is_low(&self) -> bool {
        if self.total() >= self.rules.pods {
            return false;
        }
        if self.rules.has_targets() {
            return self.short_and_over().0 > 0;
        }
        let (unit, target) = match self.rules.prefixes {
            true => (16, self.rules.warm_prefix),
            false => (self.rules.slots, self.rules.warm_eni),
        };
        let available = self.available();
        available < unit * target || (target == 0 && available == 0)
    }

    /// What is over: `isDatastorePoolTooHigh` and `tryUnassignCidrsFromAll`.
    pub(crate) fn over(&self) -> i64 {
        match (self.rules.has_targets(), self.rules.prefixes) {
            (true, _) => self.short_and_over().1,
            (false, true) => (self.free_prefixes() - self.rules.warm_prefix).max(0),
            (false, false) => 0,
        }
    }

    /// `shouldRemoveExtraENIs`.
    pub(crate) fn may_remove_extra(&self) -> bool {
        let Rules { warm_eni, warm_prefix, prefixes, slots, .. } = self.rules;
        let target = if prefixes { warm_prefix } else { warm_eni };
        let unused = |eni: &Eni| !eni.is_primary && self.free_ranges(eni) == count(eni.nets.len());
        self.rules.has_targets()
            || self.available() >= (target + 1) * slots
            || (prefixes && self.enis.iter().any(unused))
    }

    /// What is asked for at once, in addresses or prefixes: `tryAssignIPs`, `getPrefixesNeeded`.
    pub(crate) fn needed(&self) -> i64 {
        match (self.rules.has_targets(), self.rules.prefixes) {
            (true, false) => self.short_and_over().0,
            (true, true) => self.short_and_over().0.max(1),
            (false, true) => (self.rules.warm_prefix - self.free_prefixes()).max(1),
            (false, false) => self.rules.slots,
        }
    }

    /// The interfaces with room, each with how much: `GetAllocatableENIs`, in a Go map's order.
    pub(crate) fn allocatable(&mut self) -> Vec<(String, i64)> {
        let slots = self.rules.slots;
        let room = |eni: &Eni| (eni.id.clone(), slots - count(eni.nets.len()));
        let found = self.enis.iter().map(room).filter(|(_, room)| *room > 0).collect();
        self.shuffled(found)
    }

    /// What no pod uses on an interface, cooling or not: `FindFreeableCidrs`.
    pub(crate) fn freeable(&self, id: &str) -> Vec<Ipv4Net> {
        let eni = self.enis.iter().find(|eni| eni.id == id);
        let nets = eni.into_iter().flat_map(|eni| eni.nets.iter().copied());
        nets.filter(|net| self.used(net) == 0).collect()
    }

    /// The ids of the interfaces, in a Go map's order.
    pub(crate) fn ids(&mut self) -> Vec<String> {
        let ids = self.enis.iter().map(|eni| eni.id.clone()).collect();
        self.shuffled(ids)
    }

    /// Takes an interface out that may be deleted: `RemoveUnusedENIFromStore` with the guards of `getDeletableENI`.
    pub(crate) fn remove_unused(&mut self, now: u64) -> Option<String> {
        let Rules { warm_ip, minimum_ip, warm_prefix, prefixes, .. } = self.rules;
        let (total, taken, unit) = (self.total(), count(self.taken.len()), self.rules.unit());
        let may_go = |eni: &Eni| {
            let own = count(eni.nets.len());
            let is_cooling = |at: (&Ipv4Addr, &u64)| {
                now < at.1 + COOLDOWN_MS && eni.nets.iter().any(|net| net.contains(at.0))
            };
            let others = total - own * unit;
            !eni.is_primary
                && now >= eni.since + YOUNG_MS
                && self.free_ranges(eni) == own
                && !self.freed.iter().any(is_cooling)
                && !(warm_ip > 0 && others - taken < warm_ip)
                && !(minimum_ip > 0 && others < minimum_ip)
                && !(prefixes && warm_prefix > 0 && self.free_prefixes() - own < warm_prefix)
        };
        let found = self.enis.iter().filter(|eni| may_go(eni)).map(|eni| eni.id.clone()).collect();
        let id = self.shuffled::<String>(found).pop()?;
        self.enis.retain(|eni| eni.id != id);
        Some(id)
    }

    /// `AssignPodIPv4Address`: any address that no pod has and that does not cool.
    pub(crate) fn assign(&mut self, container: &str, now: u64) -> Option<IpAddr> {
        for id in self.ids() {
            let nets = self.enis.iter().find(|eni| eni.id == id).map(|eni| eni.nets.clone());
            let nets = self.shuffled(nets.unwrap_or_default().into_iter().collect());
            let all = nets.iter().flat_map(|net| u32::from(net.network())..=u32::from(net.broadcast()));
            let is_free = |address: &Ipv4Addr| {
                let is_cooling = self.freed.get(address).is_some_and(|freed| now < freed + COOLDOWN_MS);
                !self.taken.contains(address) && !is_cooling
            };
            if let Some(address) = all.map(Ipv4Addr::from).find(is_free) {
                self.freed.remove(&address);
                self.taken.insert(address);
                self.pods.insert(container.to_owned(), address);
                return Some(address.into());
            }
        }
        None
    }

    /// `UnassignPodIPAddress`.
    pub(crate) fn unassign(&mut self, container: &str, now: u64) {
        if let Some(address) = self.pods.remove(container)
            && self.taken.remove(&address)
        {
            self.freed.insert(address, now);
        }
    }

    /// An interface with what it has: new, or known already.
    pub(crate) fn set(&mut self, id: &str, is_primary: bool, nets: BTreeSet<Ipv4Net>, now: u64) {
        match self.enis.iter_mut().find(|eni| eni.id == id) {
            Some(eni) => eni.nets = nets,
            None => self.enis.push(Eni { id: id.to_owned(), is_primary, since: now, nets }),
        }
    }

    /// More came to an interface.
    pub(crate) fn add(&mut self, id: &str, new: &[IpNet]) {
        if let Some(eni) = self.enis.iter_mut().find(|eni| eni.id == id) {
            eni.nets.extend(
                new.iter().filter_map(|net| if let IpNet::V4(net) = net { Some(*net) } else { None }),
            );
        }
    }

    /// What is taken off an interface.
    pub(crate) fn take(&mut self, id: &str, nets: &[Ipv4Net]) {
        if let Some(eni) = self.enis.iter_mut().find(|eni| eni.id == id) {
            nets.iter().for_each(|net| _ = eni.nets.remove(net));
        }
    }

    /// Pods whose address is on no interface are forgotten: a reconcile, and the restore of the checkpoint, drop their rows.
    pub(crate) fn drop_strangers(&mut self) {
        let enis = &self.enis;
        let is_known =
            |address: &Ipv4Addr| enis.iter().any(|eni| eni.nets.iter().any(|net| net.contains(address)));
        self.pods.retain(|_, address| is_known(address));
        self.taken = self.pods.values().copied().collect();
    }

    fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for last in (1..all.len()).rev() {
            let other = usize::try_from(self.random.below(last as u64 + 1)).unwrap();
            all.swap(last, other);
        }
        all
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap()
}
