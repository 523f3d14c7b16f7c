//! The world: who takes the next step, what people do, and what breaks.

mod calls;
mod faults;
mod people;

pub(super) use self::faults::{DELETED_NODE, NEW_LEADER, OTHER_IDENTITY, RESTORE};

use std::sync::Arc;

use ipnet::IpNet;
use tenure_fixtures::random::Random;

use super::Planted;
use super::kinds::{KINDS, POOLS, key};
use super::leader::{Leader, range};
use super::machine::Machine;
use super::referee::{self, Excuses};
use super::server::{Exclusions, Pool, Server, Store, Write};
use crate::operator::barrier::RESTORE_PAUSE_SECONDS;
use crate::operator::fence::NodeEvidence;
use crate::{AddressSpace, HolderIdentity, LeasePool, LeaseRules, MachineHash, MarkAnswer, ObjectVersion};

/// Nodes at the start. Machines that replace others come on top.
const NODES: usize = 3;

/// The most by which clocks differ, in seconds: a day.
const SKEW: u64 = 24 * 3600;

/// Seconds of quarantine of the blocks of a deleted Node.
const GONE: u64 = 1200;

/// Steps after the faults in which everything has to settle.
const SETTLING: u64 = 6000;

/// The counts of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) steps: u64,
    pub(super) pods: u64,
    pub(super) leases: u64,
    pub(super) ended: u64,
    pub(super) restores: u64,
    /// Ranges that were closed and opened again.
    pub(super) reopened: u64,
    pub(super) excuses: Excuses,
}

/// The events that a history has more of than chance would bring.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Focus {
    /// The numbers of faults; none, if all come alike.
    pub(super) faults: &'static [u64],
    /// Whether most grants and deletions are late, and by a long time.
    pub(super) late: bool,
    /// Whether a restore cuts one machine off for a while.
    pub(super) stragglers: bool,
    /// Whether ranges are taken out of pools and put back all the time, and writes of spaces are late.
    pub(super) ranges: bool,
}

/// One run.
pub(super) struct World {
    rules: LeaseRules,
    planted: Option<Planted>,
    random: Random,
    now: u64,
    server: Server,
    machines: Vec<Machine>,
    leaders: [Leader; 2],
    /// The kinds of addresses that pods have.
    kinds: Vec<usize>,
    /// Writes that arrive late.
    late: Vec<Write>,
    snapshot: Option<Store>,
    restored: Option<u64>,
    ids: u64,
    is_calm: bool,
    may_excuse: bool,
    focus: Focus,
    /// The machine that a restore cut off and that has not spoken since, and until when it is cut off.
    straggler: Option<(usize, u64)>,
    tally: Tally,
}

impl World {
    pub(super) fn new(rules: LeaseRules, planted: Option<Planted>, focus: Focus, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let kinds = match random.below(5) {
            0 | 1 => vec![0],
            2 => vec![0, 1],
            3 => vec![0, 2],
            _ => vec![0, 1, 2],
        };
        // Then nodes and leaders meet at the last free block.
        let is_scarce = random.below(4) == 0;
        let mut space = AddressSpace::default();
        let all = kinds.iter().flat_map(|kind| ranges(*kind, is_scarce));
        for (id, cidr) in (1..).zip(all) {
            space.add(rules, range(id, cidr)).expect("the ranges do not overlap");
        }
        let pools = (0..POOLS).map(|pool| Pool {
            lease: LeasePool { node_gone_quarantine_seconds: Some(GONE), ..LeasePool::new(key(pool)) },
            ranges: kinds
                .iter()
                .filter(|kind| KINDS[**kind].pool == pool)
                .flat_map(|kind| ranges(*kind, is_scarce))
                .collect(),
            exclusions: Exclusions::default(),
            unmatched: Default::default(),
        });
        let version = ObjectVersion(1);
        let store = Store {
            version,
            blocks: Default::default(),
            said: Default::default(),
            hosts: Default::default(),
            pools: pools.collect(),
            renewals: [None; 2],
            space,
            space_version: version,
        };
        let may_excuse = random.below(4) == 0 || focus.faults.contains(&DELETED_NODE);
        let mut world = Self {
            rules,
            planted,
            random,
            now: 0,
            server: Server::new(rules, store),
            machines: Vec::new(),
            leaders: [0, 0].map(|_| Leader::new(rules, planted, 0, 0)),
            kinds,
            late: Vec::new(),
            snapshot: None,
            restored: None,
            ids: 100,
            is_calm: false,
            may_excuse,
            focus,
            straggler: None,
            tally: Tally::default(),
        };
        for leader in 0..2 {
            world.replace_leader(leader);
        }
        for node in 0..NODES {
            world.join(format!("n{node}").into());
        }
        world
    }

    /// A new machine registers under a name.
    fn join(&mut self, name: Arc<str>) {
        let machine = MachineHash(100 + self.machines.len() as u128);
        let me = HolderIdentity { name, uid: self.server.uid(), machine, boot: self.server.uid() };
        self.server.set_host(&me.name, Some(evidence(&me)));
        let skew = self.random.below(SKEW);
        self.machines.push(Machine::new(self.rules, self.planted, me, self.kinds.clone(), skew));
    }

    /// A successor takes the place of a leader, by a clock of its own.
    fn replace_leader(&mut self, leader: usize) {
        // A program that starts again on its machine reads the same clock.
        let skew = match self.random.below(2) {
            0 => self.leaders[leader].skew,
            _ => self.random.below(SKEW),
        };
        self.ids += 1_000_000;
        self.leaders[leader] = Leader::new(self.rules, self.planted, skew, self.ids);
    }

    /// A machine's own clock.
    fn clock(&self, machine: usize) -> u64 {
        self.now + self.machines[machine].skew
    }

    /// Runs the history of the seed, and lets it settle.
    pub(super) fn run(mut self, steps: u64) -> Result<Tally, String> {
        for _ in 0..steps {
            self.step()?;
        }
        self.calm_down();
        let mut left = None;
        for _ in 0..SETTLING {
            self.step()?;
            // Delays end.
            self.now += if self.random.below(400) == 0 { 2000 } else { 0 };
            left = referee::unsettled(&self.server, &self.machines);
            if left.is_none() {
                break;
            }
        }
        match left {
            Some(left)
                if self.tally.excuses.0.is_empty()
                    && !referee::is_disbelieved(&self.server, &self.machines) =>
            {
                Err(format!("a mark or a lease does not settle: {left}"))
            }
            _ => Ok(self.tally),
        }
    }

    /// Ends the faults: what is off for good is deleted, everything else is on and reachable.
    fn calm_down(&mut self) {
        self.is_calm = true;
        // With room for replacements, nothing waits for one.
        for index in 0..POOLS {
            let mut pool = self.server.store.pools[index].clone();
            let own = self.kinds.iter().filter(|kind| KINDS[**kind].pool == index);
            pool.ranges.extend(own.map(|kind| parsed(KINDS[*kind].room)));
            pool.unmatched.clear();
            self.server.set_pool(index, pool);
        }
        for index in 0..self.machines.len() {
            self.machines[index].is_cut = false;
            let name = Arc::clone(&self.machines[index].me.name);
            let host = self.server.store.hosts.get(&name).copied();
            let me = self.machines[index].me.clone();
            match host.filter(|host| host.machine == me.machine) {
                Some(host) if self.machines[index].is_on => {
                    self.server
                        .set_host(&name, Some(NodeEvidence { out_of_service: false, fenced: None, ..host }));
                }
                Some(_) => self.server.set_host(&name, None),
                None if self.machines[index].is_on && host.is_none() => self.register(index),
                None => {}
            }
            if self.server.store.hosts.get(&name).is_none_or(|host| host.machine != me.machine) {
                self.machines[index].switch_off();
            }
        }
        // A restore may have brought back the Node of an identity that no machine has any more.
        let is_left = |(name, host): &(&Arc<str>, &NodeEvidence)| {
            !self.machines.iter().any(|machine| machine.me.is_machine(name, host.machine))
        };
        let left = self.server.store.hosts.iter().filter(is_left).map(|(name, _)| Arc::clone(name));
        for name in left.collect::<Vec<_>>() {
            self.server.set_host(&name, None);
        }
    }

    /// The kubelet of a machine registers its Node again.
    fn register(&mut self, index: usize) {
        let uid = self.server.uid();
        let me = HolderIdentity { uid, ..self.machines[index].me.clone() };
        self.server.set_host(&me.name, Some(evidence(&me)));
    }

    fn step(&mut self) -> Result<(), String> {
        self.tally.steps += 1;
        // The others have time to speak while a machine is cut off, and so has the machine after that.
        self.now += if self.straggler.is_some() { self.random.below(3) / 2 } else { self.random.below(3) };
        match self.random.below(100) {
            0..45 => self.agent()?,
            45..75 => self.leader()?,
            75..95 => self.pods()?,
            _ if self.is_calm => {}
            95..98 => self.people(),
            _ => self.fault(),
        }
        if let Some((index, until)) = self.straggler {
            let machine = &mut self.machines[index];
            // Once it is over it ends for good: nothing else would reach the machine again.
            let is_over = !machine.is_silent || !machine.is_on;
            machine.is_cut = self.now < until && !is_over;
            if is_over {
                self.straggler = None;
            }
        }
        let wait = if self.focus.late { 100 } else { 20 };
        if !self.late.is_empty() && self.random.below(wait) == 0 {
            let index = self.pick(self.late.len());
            let late = self.late.remove(index);
            let _ = self.apply(&late)?;
        }
        self.excuse_silent();
        referee::check(&self.server, &self.machines, &mut self.tally.excuses)
    }

    /// Excuses the machines that have not spoken when a pause is over: those without a Node, and in the end all others.
    fn excuse_silent(&mut self) {
        let Some(restored) = self.restored else { return };
        let is_over = self.now >= restored + RESTORE_PAUSE_SECONDS;
        if is_over {
            self.restored = None;
        } else if !self.leaders.iter().any(|leader| leader.barrier.may_grant()) {
            return;
        }
        for index in 0..self.machines.len() {
            if self.machines[index].is_silent && (is_over || !self.has_host(index)) {
                self.machines[index].excused = Some("could not speak during the barrier after a restore");
            }
        }
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap_or_default()
    }

    fn agent(&mut self) -> Result<(), String> {
        let index = self.pick(self.machines.len());
        let (pick, now) = (self.pick(64), self.clock(index));
        let is_reachable = !self.machines[index].is_cut && (self.is_calm || self.random.below(20) > 0);
        let has_node = self.server.store.hosts.get(&self.machines[index].me.name).copied();
        // The token of a deleted Node is dead.
        let is_known = has_node.is_some_and(|host| host.machine == self.machines[index].me.machine);
        let most = if self.is_calm { usize::MAX } else { 1 + self.pick(20) };
        let server = (is_reachable && is_known).then_some(&self.server);
        let machine = &mut self.machines[index];
        if !machine.is_on {
            return Ok(());
        }
        match (self.random.below(10), server) {
            (0 | 1, Some(server)) => {
                let before = machine.exclusions.clone();
                machine.see(server, most);
                referee::generations(&before, machine, server)?;
            }
            (2, Some(server)) => {
                let before = machine.exclusions.clone();
                machine.look_up(server);
                referee::generations(&before, machine, server)?;
                machine.read_back(server);
            }
            (3, _) => machine.learn_pods(now),
            (4 | 5, _) => machine.answer_mark(pick, now),
            (6, _) => machine.freeze_drained(now),
            (7 | 8, server) => machine.look(server, pick, now),
            (_, Some(_)) => {
                if let Some(write @ Write::Say(_)) = machine.unsaid(now) {
                    let Write::Say(spec) = &write else { return Ok(()) };
                    if machine.idle_in_use(spec, now) {
                        return Err("a block in use is offered as idle".to_owned());
                    }
                    if let Some(Ok(_)) = self.send(&write)? {
                        self.machines[index].said(spec);
                    }
                    // A backup that has an answer is the one that may do harm.
                    let is_ready = spec.acks.iter().any(|ack| ack.answer == MarkAnswer::Ready);
                    if is_ready && self.snapshot.is_none() && !self.is_calm {
                        self.snapshot = Some(self.server.store.clone());
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn leader(&mut self) -> Result<(), String> {
        // Two leaders mark each other's marks again; in the end there is one.
        let index = if self.is_calm { 0 } else { self.pick(2) };
        let now = self.now + self.leaders[index].skew;
        let is_reachable = self.is_calm || self.random.below(20) > 0;
        let most = if self.is_calm { usize::MAX } else { self.pick(30) };
        let leader = &mut self.leaders[index];
        let Some(planned) = leader.plans.pop_front() else {
            if is_reachable {
                leader.elect(&mut self.server.store.renewals[index], self.server.epoch, now);
                leader.see(&self.server, most);
                leader.pass(&self.server, &mut self.ids, now);
                if leader.keeps_refused_mark() {
                    return Err("a refused mark is not taken back".to_owned());
                }
            }
            return Ok(());
        };
        let Some(write) = leader.write(is_reachable.then_some(&self.server), planned, now) else {
            return Ok(());
        };
        if let Some(answer) = self.send(&write)? {
            self.leaders[index].wrote(&write, answer, now);
        }
        Ok(())
    }

    fn pods(&mut self) -> Result<(), String> {
        let index = self.pick(self.machines.len());
        let (pick, now) = (self.pick(64), self.clock(index));
        let machine = &mut self.machines[index];
        let pods: Vec<_> = machine.pods.iter().copied().collect();
        let ends = self.is_calm || pods.len() >= 9 || self.random.below(100) < 45;
        if ends {
            if let Some(pod) = pods.get(pick % pods.len().max(1)) {
                machine.delete(*pod, now);
            }
            machine.waiting = if self.is_calm { [0; KINDS.len()] } else { machine.waiting };
            return Ok(());
        }
        let Some(address) = machine.add(pick, now) else { return Ok(()) };
        self.tally.pods += 1;
        referee::given(&self.machines[index], address)
    }
}

/// The ranges that a kind begins with.
fn ranges(kind: usize, is_scarce: bool) -> impl Iterator<Item = IpNet> {
    let all = KINDS[kind].ranges.into_iter().map(parsed);
    all.take(if is_scarce { 1 } else { 2 })
}

fn parsed(cidr: &str) -> IpNet {
    cidr.parse().unwrap_or_else(|_| unreachable!("a CIDR"))
}

fn evidence(me: &HolderIdentity) -> NodeEvidence {
    NodeEvidence {
        uid: me.uid,
        machine: me.machine,
        boot: me.boot,
        out_of_service: false,
        fenced: None,
        ready: true,
    }
}
