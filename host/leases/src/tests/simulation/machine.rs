//! A node: its ledger, its pods, and its agent, which decides by the tables. The runtime's pods are the truth, whatever the ledger says.

mod reading;
mod saying;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::Planted;
use super::kinds::{KINDS, POOLS, addresses, block_of, kind_of};
use super::server::{Exclusions, Said, Server, Store, Watch};
use crate::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use crate::agent::lost::{rebuild, settle};
use crate::agent::mark::{MarkCase, MarkVerdict, answer};
use crate::agent::settings::{SettingsVerdict, take_settings};
use crate::agent::tombstones::LeaseTombstones;
use crate::{
    BlockHint, FetchedBlock, HolderIdentity, LeaseRule, LeaseRules, MarkAck, MarkAnswer, NodeIpamSpec, Uid,
};

/// Seconds for which a freed address cools down.
pub(super) const COOLDOWN: u64 = 60;

/// What an agent has read and not yet recorded; a crash forgets it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pending {
    /// The block was read for an acceptance, and the space was not.
    Accept(BlockHint, FetchedBlock),
    /// The block was read for a comparison.
    Compare(IpNet, FetchedBlock),
    /// A planted fault: a freeze that was decided and not recorded.
    Freeze(IpNet, crate::MarkId),
}

/// A machine.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) me: HolderIdentity,
    rules: LeaseRules,
    planted: Option<Planted>,
    /// The kinds of addresses that its pods have.
    kinds: Vec<usize>,
    /// The advance of its clock over others, in seconds.
    pub(super) skew: u64,
    /// Whether it is on.
    pub(super) is_on: bool,
    /// Whether it cannot reach the API server.
    pub(super) is_cut: bool,
    /// Why the referee excuses what becomes of its addresses.
    pub(super) excused: Option<&'static str>,
    // Durable: the ledger.
    pub(super) rows: BTreeMap<IpNet, (Uid, LeaseHold)>,
    stones: LeaseTombstones,
    cooling: BTreeMap<IpAddr, u64>,
    idle_since: BTreeMap<IpNet, u64>,
    pub(super) exclusions: Vec<Exclusions>,
    // The runtime.
    pub(super) pods: BTreeSet<IpAddr>,
    // Volatile: the agent.
    pub(super) told: Option<Said>,
    watch: Watch,
    is_listed: bool,
    written: Option<NodeIpamSpec>,
    /// The ledger was lost and has not been read back.
    pub(super) must_rebuild: bool,
    /// The ledger was read back, and the pods are not known.
    pub(super) is_unsure: bool,
    /// Blocks that a reboot left to be checked before the first address.
    pub(super) unchecked: BTreeSet<IpNet>,
    answers: BTreeMap<Uid, MarkAck>,
    to_compare: BTreeSet<IpNet>,
    pending: Option<Pending>,
    /// Blocks of the ledger of which it has read that another holder has them.
    others: BTreeSet<IpNet>,
    /// Pods that wait for an address of each kind.
    pub(super) waiting: [u32; KINDS.len()],
    /// Pools of which a lower generation is told than is in force.
    doubted_pools: BTreeSet<usize>,
    /// Whether it has spoken since the store was restored.
    pub(super) is_silent: bool,
}

impl Machine {
    pub(super) fn new(
        rules: LeaseRules,
        planted: Option<Planted>,
        me: HolderIdentity,
        kinds: Vec<usize>,
        skew: u64,
    ) -> Self {
        Self {
            me,
            rules,
            planted,
            kinds,
            skew,
            is_on: true,
            is_cut: false,
            excused: None,
            rows: BTreeMap::new(),
            stones: LeaseTombstones::default(),
            cooling: BTreeMap::new(),
            idle_since: BTreeMap::new(),
            exclusions: vec![Exclusions::default(); POOLS],
            pods: BTreeSet::new(),
            told: None,
            watch: Watch::default(),
            is_listed: false,
            written: None,
            must_rebuild: false,
            is_unsure: false,
            unchecked: BTreeSet::new(),
            answers: BTreeMap::new(),
            to_compare: BTreeSet::new(),
            pending: None,
            others: BTreeSet::new(),
            waiting: [0; KINDS.len()],
            doubted_pools: BTreeSet::new(),
            is_silent: false,
        }
    }

    /// The agent starts again: what is not in the ledger is forgotten.
    pub(super) fn restart(&mut self) {
        (self.told, self.written, self.pending) = (None, None, None);
        (self.watch, self.is_listed) = (Watch::default(), false);
        self.answers.clear();
        self.to_compare.clear();
        self.others.clear();
        self.doubted_pools.clear();
    }

    /// The machine gets another name or other ids, and keeps its ledger. Its agent starts again.
    pub(super) fn rename(&mut self, me: HolderIdentity) {
        self.restart();
        self.me = me;
        self.excused = Some("has another identity");
    }

    /// The machine is switched off: no container of before lives.
    pub(super) fn switch_off(&mut self) {
        self.is_on = false;
        self.pods.clear();
        self.waiting = [0; KINDS.len()];
        self.restart();
    }

    /// The machine boots: leases are checked before the first address, since it may have been fenced meanwhile.
    pub(super) fn boot(&mut self, boot: Uid) {
        self.switch_off();
        (self.is_on, self.me.boot) = (true, boot);
        self.cooling.clear();
        self.unchecked = self.rows.keys().copied().collect();
    }

    /// The ledger is lost, and pods live on.
    pub(super) fn lose_ledger(&mut self) {
        self.restart();
        self.rows.clear();
        self.stones = LeaseTombstones::default();
        self.cooling.clear();
        self.idle_since.clear();
        self.unchecked.clear();
        self.exclusions = vec![Exclusions::default(); POOLS];
        (self.must_rebuild, self.is_unsure) = (true, false);
    }

    /// Whether addresses of a block may be handed out, or are.
    pub(super) fn uses(&self, cidr: IpNet) -> bool {
        let open = self.rows.get(&cidr).is_some_and(|(_, hold)| *hold == LeaseHold::Open);
        let usable = open && !self.must_rebuild && !self.is_unsure && !self.unchecked.contains(&cidr);
        self.is_on && (usable || self.pods.iter().any(|pod| cidr.contains(pod)))
    }

    /// Whether the ledger has the lease in a state in which its end may not come.
    pub(super) fn relies_on(&self, cidr: IpNet, uid: Uid) -> bool {
        let recorded = self.rows.get(&cidr).is_some_and(|(held, hold)| {
            *held == uid && !matches!(hold, LeaseHold::Frozen(_)) && !self.unchecked.contains(&cidr)
        });
        self.is_on && (recorded || self.pods.iter().any(|pod| cidr.contains(pod)))
    }

    /// Whether it has pods in a block that it answered for with ready. A ledger that was lost may not know them yet.
    pub(super) fn uses_frozen(&self) -> bool {
        let frozen = |cidr: &IpNet| matches!(self.rows.get(cidr), Some((_, LeaseHold::Frozen(_))));
        !self.is_unsure && self.pods.iter().any(|pod| frozen(&block_of(*pod)))
    }

    /// Whether every lease is open, and nothing is left to do.
    pub(super) fn is_settled(&self) -> bool {
        let open = self.rows.values().all(|(_, hold)| *hold == LeaseHold::Open);
        open && !self.must_rebuild && !self.is_unsure && self.unchecked.is_empty() && self.pending.is_none()
    }

    fn usage(&self, cidr: IpNet, now: u64) -> BlockUsage {
        let count = |addresses: usize| u32::try_from(addresses).unwrap_or(u32::MAX);
        let cooling = self.cooling.iter().filter(|(at, until)| cidr.contains(*at) && **until > now);
        let known = !self.must_rebuild && !self.is_unsure;
        let in_use = self.pods.iter().filter(|pod| known && cidr.contains(*pod)).count();
        BlockUsage { in_use: count(in_use), cooling: count(cooling.count()), ..BlockUsage::default() }
    }

    fn row(&self, cidr: IpNet, now: u64) -> Option<LedgerBlock> {
        let (uid, hold) = *self.rows.get(&cidr)?;
        Some(LedgerBlock { cidr, uid, hold, usage: self.usage(cidr, now) })
    }

    fn ledger(&self, now: u64) -> Vec<LedgerBlock> {
        self.rows.keys().filter_map(|cidr| self.row(*cidr, now)).collect()
    }

    fn set(&mut self, cidr: IpNet, hold: LeaseHold) {
        if let Some((_, held)) = self.rows.get_mut(&cidr) {
            *held = hold;
        }
    }

    /// The other open blocks of a block's kind.
    fn open_blocks(&self, except: IpNet) -> Vec<IpNet> {
        self.open_of(kind_of(except)).filter(|cidr| *cidr != except).collect()
    }

    fn open_of(&self, kind: usize) -> impl Iterator<Item = IpNet> {
        let open = self.rows.iter().filter(|(_, (_, hold))| *hold == LeaseHold::Open);
        open.map(|(cidr, _)| *cidr).filter(move |cidr| kind_of(*cidr) == kind)
    }

    fn free(&self, cidr: IpNet, now: u64) -> Vec<IpAddr> {
        let is_free = |address: &IpAddr| {
            let cooling = self.cooling.get(address).is_some_and(|until| *until > now);
            !self.pods.contains(address) && !cooling && !self.is_excluded(*address)
        };
        addresses(cidr).filter(is_free).collect()
    }

    /// Whether an address is excluded, as far as the node knows.
    pub(super) fn is_excluded(&self, address: IpAddr) -> bool {
        self.exclusions.iter().any(|of_pool| of_pool.addresses.contains(&address))
    }

    /// Whether another holder has the block of an address, as far as the node has read.
    pub(super) fn is_others(&self, address: IpAddr) -> bool {
        self.others.contains(&block_of(address))
    }

    /// A pod asks for an address of one of the kinds. `None` if there is none now.
    pub(super) fn add(&mut self, pick: usize, now: u64) -> Option<IpAddr> {
        if !self.is_on || self.must_rebuild || self.is_unsure || !self.unchecked.is_empty() {
            return None;
        }
        let kind = self.kinds[pick % self.kinds.len()];
        let address = self.open_of(kind).find_map(|cidr| self.free(cidr, now).first().copied());
        let waiting = &mut self.waiting[kind];
        match address {
            Some(_) => *waiting = waiting.saturating_sub(1),
            None => *waiting = (*waiting + 1).min(4),
        }
        self.pods.extend(address);
        address
    }

    /// A pod ends.
    pub(super) fn delete(&mut self, address: IpAddr, now: u64) {
        if self.pods.remove(&address) {
            self.cooling.insert(address, now + COOLDOWN);
        }
    }

    /// Takes in what the watch of its own object shows. An interruption lists again, by a quorum read.
    pub(super) fn see(&mut self, server: &Server, most: usize) {
        let mut cache = Store { said: BTreeMap::new(), ..server.store.clone() };
        cache.said.extend(self.told.clone().map(|told| (std::sync::Arc::clone(&self.me.name), told)));
        if !self.is_listed || !server.deliver(&mut self.watch, &mut cache, most) {
            (cache, self.watch) = server.list();
            self.is_listed = true;
            self.to_compare = self.rows.keys().copied().collect();
            self.written = None;
        }
        let told = cache.said.remove(&self.me.name);
        if told.as_ref().map(|told| &told.spec) != self.written.as_ref() {
            self.written = None;
        }
        self.told = told;
        for pool in 0..POOLS {
            self.settings(pool, None);
        }
    }

    /// Takes the exclusions that are told, or notes that the pool is to be read first.
    fn settings(&mut self, pool: usize, stored: Option<u64>) {
        let Some(told) = self.told.as_ref().and_then(|told| told.exclusions.get(pool)) else { return };
        let known = self.exclusions[pool].generation;
        let verdict = match self.planted {
            Some(Planted::LowerGeneration) => SettingsVerdict::Take,
            Some(Planted::NeverLower) if told.generation < known => SettingsVerdict::Keep,
            _ => take_settings(Some(known), told.generation, stored),
        };
        self.doubted_pools.remove(&pool);
        match verdict {
            SettingsVerdict::Take => self.exclusions[pool] = told.clone(),
            SettingsVerdict::Keep => {}
            SettingsVerdict::Look => drop(self.doubted_pools.insert(pool)),
        }
    }

    /// Learns its Node's uid, if that is there, and reads the pools in doubt. A kubelet that registered again has another uid.
    pub(super) fn look_up(&mut self, server: &Server) {
        let host = server.store.hosts.get(&self.me.name).filter(|host| host.machine == self.me.machine);
        if let Some(host) = host {
            self.me.uid = host.uid;
        }
        for pool in std::mem::take(&mut self.doubted_pools) {
            self.settings(pool, Some(server.store.pools[pool].exclusions.generation));
        }
    }

    /// Reads back what the API server knows after the ledger was lost.
    pub(super) fn read_back(&mut self, server: &Server) {
        if !self.must_rebuild {
            return;
        }
        let said = server.store.said.get(&self.me.name).map(|said| &said.spec);
        for block in server.store.blocks.values() {
            let is_new = !self.rows.contains_key(&block.cidr) && !self.stones.contains(block.uid);
            if let Some(row) = rebuild(self.rules, &self.me, block, said).filter(|_| is_new) {
                self.rows.insert(row.cidr, (row.uid, row.hold));
            }
        }
        (self.must_rebuild, self.is_unsure) = (false, true);
    }

    /// Learns which pods the runtime has.
    pub(super) fn learn_pods(&mut self, now: u64) {
        if !std::mem::take(&mut self.is_unsure) {
            return;
        }
        for row in self.ledger(now) {
            self.set(row.cidr, settle(row, row.usage).hold);
        }
    }

    /// Answers the mark of a hint: checked, frozen and recorded in one step.
    pub(super) fn answer_mark(&mut self, pick: usize, now: u64) {
        let hints = self.hints();
        let marked: Vec<_> = hints.iter().filter_map(|hint| Some((*hint, hint.mark?))).collect();
        if marked.is_empty() || (self.must_rebuild && self.rules.has(LeaseRule::LostReadsFirst)) {
            return;
        }
        let (hint, mark) = marked[pick % marked.len()];
        let left: usize = self.open_blocks(hint.cidr).iter().map(|cidr| self.free(*cidr, now).len()).sum();
        let accepting = match &self.pending {
            Some(Pending::Accept(pending, _)) => pending.cidr == hint.cidr,
            Some(Pending::Compare(cidr, _)) => *cidr == hint.cidr,
            _ => false,
        };
        let case = MarkCase {
            uid: hint.uid,
            mark,
            row: self.row(hint.cidr, now),
            dropped: self.stones.contains(hint.uid),
            accepting,
            lost: self.must_rebuild || self.is_unsure || self.unchecked.contains(&hint.cidr),
            other_open: u32::try_from(self.open_blocks(hint.cidr).len()).unwrap_or(u32::MAX),
            keeps_reserve: left >= 1,
        };
        let said = match answer(self.rules, &case) {
            MarkVerdict::Freeze if !self.rules.has(LeaseRule::AtomicFreeze) && self.pending.is_none() => {
                self.pending = Some(Pending::Freeze(hint.cidr, mark.id));
                return;
            }
            MarkVerdict::Freeze if !self.rules.has(LeaseRule::FreezeFirst) && self.pending.is_none() => {
                self.pending = Some(Pending::Freeze(hint.cidr, mark.id));
                MarkAnswer::Ready
            }
            MarkVerdict::Freeze => {
                self.set(hint.cidr, LeaseHold::Frozen(mark.id));
                return;
            }
            MarkVerdict::Cordon => {
                self.set(hint.cidr, LeaseHold::Cordoned(mark.id));
                return;
            }
            MarkVerdict::Look => {
                self.to_compare.insert(hint.cidr);
                return;
            }
            MarkVerdict::Bury => {
                self.stones.add(hint.uid, now);
                MarkAnswer::Ready
            }
            MarkVerdict::Answer(said) => said,
        };
        self.answers.insert(hint.uid, MarkAck { uid: hint.uid, mark: mark.id, answer: said });
    }

    /// Freezes cordoned blocks that have become empty.
    pub(super) fn freeze_drained(&mut self, now: u64) {
        for row in self.ledger(now) {
            if let Some(mark) = row.drained() {
                self.set(row.cidr, LeaseHold::Frozen(mark));
            }
        }
    }
}
