//! The half of NodeIPAM that a node writes.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use super::{Machine, Pending};
use crate::agent::demand::{EmptyBlock, PoolNeed, spare_blocks};
use crate::agent::ledger::{LeaseHold, LedgerBlock};
use crate::agent::lost::may_write;
use crate::agent::words::{AgentFacts, PoolWish, compose, is_known};
use crate::node::PoolEcho;
use crate::tests::simulation::Planted;
use crate::tests::simulation::kinds::{KINDS, POOLS, PoolKind, key, kind_of, pool_of};
use crate::tests::simulation::server::Write;
use crate::{BlockHint, MarkAck, NodeIpamSpec, Uid};

/// Seconds for which a block must have been empty before it is idle.
const IDLE: u64 = 60;

impl Machine {
    pub(super) fn hints(&self) -> Vec<BlockHint> {
        self.told.iter().flat_map(|told| told.status.blocks.iter().copied()).collect()
    }

    /// The node's half of NodeIPAM, if that is not what was written last.
    pub(in crate::tests::simulation) fn unsaid(&mut self, now: u64) -> Option<Write> {
        // An agent does one thing after the other: it says nothing between the reads and the record of an acceptance.
        let is_accepting = matches!(self.pending, Some(Pending::Accept(..)));
        if !self.is_listed || is_accepting || !may_write(self.rules, self.must_rebuild) {
            return None;
        }
        let spec = self.spec(now);
        let known = self.written.as_ref().is_some_and(|written| is_known(written, &spec));
        (!known).then_some(Write::Say(spec))
    }

    /// Notes that the API server confirmed what it said.
    pub(in crate::tests::simulation) fn said(&mut self, spec: &NodeIpamSpec) {
        self.written = Some(spec.clone());
        self.is_silent = false;
    }

    fn spec(&mut self, now: u64) -> NodeIpamSpec {
        let (ledger, hints) = (self.ledger(now), self.hints());
        let asked = |ack: &MarkAck| {
            hints.iter().any(|hint| hint.uid == ack.uid && hint.mark.is_some_and(|mark| mark.id == ack.mark))
        };
        self.answers.retain(|_, ack| asked(ack));
        let answers: Vec<MarkAck> = self.answers.values().copied().collect();
        let spare = self.spare(&ledger, now);
        let echo = |pool: usize| {
            let generation = self.exclusions[pool].generation;
            PoolEcho { uid: key(pool).uid, generation, excluded_in_use: 0 }
        };
        let blocks: Vec<_> = ledger.iter().map(|row| (key(pool_of(row.cidr)), *row)).collect();
        let facts = AgentFacts {
            me: &self.me,
            blocks: &blocks,
            groups: &BTreeMap::new(),
            hints: &hints,
            answers: &answers,
            dropped: &hints.iter().map(|hint| hint.uid).filter(|uid| self.stones.contains(*uid)).collect(),
            spare: &spare,
            wishes: self.kinds.iter().map(|kind| self.wish(*kind, now)).collect(),
            pools: (0..POOLS).map(echo).collect(),
            claims: vec![],
            call: self.told.as_ref().and_then(|told| told.status.call),
        };
        let mut spec = compose(facts);
        let in_use = |row: &&LedgerBlock| row.hold == LeaseHold::Open && !row.usage.is_empty();
        match self.planted {
            Some(Planted::IdleInUse) => spec.idle.extend(ledger.iter().filter(in_use).map(|row| row.uid)),
            Some(Planted::FrozenNotIdle) => {
                let frozen = |uid: &Uid| {
                    ledger.iter().any(|row| row.uid == *uid && matches!(row.hold, LeaseHold::Frozen(_)))
                };
                spec.idle.retain(|uid| !frozen(uid));
            }
            _ => {}
        }
        spec
    }

    fn wish(&self, kind: usize, now: u64) -> PoolWish {
        let of_kind = self.rows.iter().filter(|(cidr, _)| kind_of(**cidr) == kind);
        let stays = of_kind.filter(|(_, (_, hold))| hold.stays());
        let free: usize = self.open_of(kind).map(|cidr| self.free(cidr, now).len()).sum();
        let need = PoolNeed {
            blocks: count(stays.count()),
            free: count(free),
            waiting: self.waiting[kind],
            preallocation: 1,
            adds_per_hour: 0,
            slowest_lease_seconds: 0,
            block_addresses: 4,
        };
        let PoolKind { pool, is_ipv6, .. } = KINDS[kind];
        PoolWish { pool: key(pool), is_ipv6, want: need.want().min(3) }
    }

    /// The blocks beyond the reserve of each kind.
    fn spare(&mut self, ledger: &[LedgerBlock], now: u64) -> BTreeSet<IpNet> {
        let empty: Vec<_> =
            ledger.iter().filter(|row| row.hold == LeaseHold::Open && row.usage.is_empty()).collect();
        self.idle_since.retain(|cidr, _| empty.iter().any(|row| row.cidr == *cidr));
        let mut spare = BTreeSet::new();
        for kind in &self.kinds {
            let mut idle = Vec::new();
            for row in empty.iter().filter(|row| kind_of(row.cidr) == *kind) {
                let since = *self.idle_since.entry(row.cidr).or_insert(now);
                let addresses = count(self.free(row.cidr, now).len());
                idle.push(EmptyBlock { cidr: row.cidr, uid: row.uid, addresses, idle_seconds: now - since });
            }
            let open: Vec<IpNet> = self.open_of(*kind).collect();
            let free = open.iter().map(|cidr| self.free(*cidr, now).len()).sum::<usize>();
            let uids = spare_blocks(idle, IDLE, count(free), 1, count(open.len()));
            spare.extend(empty.iter().filter(|row| uids.contains(&row.uid)).map(|row| row.cidr));
        }
        spare
    }

    /// The blocks of a spec's `idle` that are in use.
    pub(in crate::tests::simulation) fn idle_in_use(&self, spec: &NodeIpamSpec, now: u64) -> bool {
        let in_use = |row: &LedgerBlock| spec.idle.contains(&row.uid) && !row.usage.is_empty();
        self.ledger(now).iter().any(in_use)
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
