//! The half of NodeIPAM that a node writes.

use std::collections::BTreeSet;

use super::Machine;
use crate::agent::demand::{EmptyBlock, PoolNeed, spare_blocks};
use crate::agent::ledger::{LeaseHold, LedgerBlock};
use crate::agent::lost::may_write;
use crate::node::PoolEcho;
use crate::tests::simulation::Planted;
use crate::tests::simulation::server::Write;
use crate::{BlockHint, HeldBlock, MarkAck, NodeIpamSpec, PoolDemand, Uid};

/// Seconds for which a block must have been empty before it is idle.
const IDLE: u64 = 60;

impl Machine {
    pub(super) fn hints(&self) -> Vec<BlockHint> {
        self.told.iter().flat_map(|told| told.status.blocks.iter().copied()).collect()
    }

    /// Its half of NodeIPAM, if that is not what was written last.
    pub(in crate::tests::simulation) fn unsaid(&mut self, now: u64) -> Option<Write> {
        if !self.is_listed || !may_write(self.rules, self.must_rebuild) {
            return None;
        }
        let spec = self.spec(now);
        (self.written.as_ref() != Some(&spec)).then_some(Write::Say(spec))
    }

    /// Notes that the API server confirmed what it said.
    pub(in crate::tests::simulation) fn said(&mut self, spec: &NodeIpamSpec) {
        self.written = Some(spec.clone());
        self.is_silent = false;
    }

    fn spec(&mut self, now: u64) -> NodeIpamSpec {
        let (ledger, hints) = (self.ledger(now), self.hints());
        let held = ledger.iter().map(|row| HeldBlock { cidr: row.cidr, uid: row.uid }).collect();
        let mut acks: Vec<MarkAck> = ledger.iter().filter_map(LedgerBlock::standing_ack).collect();
        let asked = |ack: &MarkAck| {
            hints.iter().any(|hint| hint.uid == ack.uid && hint.mark.is_some_and(|mark| mark.id == ack.mark))
        };
        self.answers.retain(|_, ack| asked(ack));
        let stands: BTreeSet<Uid> = acks.iter().map(|ack| ack.uid).collect();
        acks.extend(self.answers.values().filter(|ack| !stands.contains(&ack.uid)));
        let returned = hints.iter().filter(|hint| {
            let is_held = ledger.iter().any(|row| row.uid == hint.uid);
            self.stones.contains(hint.uid) && !is_held
        });
        let returned = returned.map(|hint| hint.uid).collect();
        let pools =
            vec![PoolEcho { uid: self.pool.uid, generation: self.exclusions.generation, excluded_in_use: 0 }];
        let (idle, want) = (self.idle(now), self.want(now));
        let demand =
            vec![PoolDemand { pool: self.pool.clone(), is_ipv6: false, in_use: 0, cooling: 0, want }];
        NodeIpamSpec { identity: self.me.clone(), held, demand, idle, returned, acks, pools, claims: vec![] }
    }

    fn want(&self, now: u64) -> u32 {
        let stays = self
            .rows
            .values()
            .filter(|(_, hold)| !matches!(hold, LeaseHold::Cordoned(_) | LeaseHold::Frozen(_)));
        let open = self.rows.iter().filter(|(_, (_, hold))| *hold == LeaseHold::Open);
        let free: usize = open.map(|(cidr, _)| self.free(*cidr, now).len()).sum();
        let need = PoolNeed {
            blocks: u32::try_from(stays.count()).unwrap_or(u32::MAX),
            free: u32::try_from(free).unwrap_or(u32::MAX),
            waiting: self.waiting,
            preallocation: 1,
            adds_per_hour: 0,
            slowest_lease_seconds: 0,
            block_addresses: 4,
        };
        need.want().min(3)
    }

    fn idle(&mut self, now: u64) -> Vec<Uid> {
        let ledger = self.ledger(now);
        let open: Vec<_> = ledger.iter().filter(|row| row.hold == LeaseHold::Open).collect();
        let in_use = self.planted == Some(Planted::IdleInUse);
        let empty = |row: &LedgerBlock| row.usage.is_empty() || in_use;
        self.idle_since.retain(|cidr, _| open.iter().any(|row| row.cidr == *cidr && empty(row)));
        let mut idle = Vec::new();
        for row in open.iter().filter(|row| empty(row)) {
            let since = *self.idle_since.entry(row.cidr).or_insert(now);
            idle.push(EmptyBlock { cidr: row.cidr, uid: row.uid, addresses: 4, idle_seconds: now - since });
        }
        let free = open.iter().map(|row| self.free(row.cidr, now).len()).sum::<usize>();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let mut spare = spare_blocks(idle, IDLE, count(free), 1, count(open.len()));
        // What is frozen for a mark stays idle for as long as it is not needed: else the operator takes the mark back.
        let is_needed = free < 1 || self.waiting > 0;
        let frozen = ledger.iter().filter(|row| matches!(row.hold, LeaseHold::Frozen(_)) && !is_needed);
        spare.extend(frozen.map(|row| row.uid));
        spare
    }

    /// The blocks of a spec's `idle` that are in use.
    pub(in crate::tests::simulation) fn idle_in_use(&self, spec: &NodeIpamSpec, now: u64) -> bool {
        let in_use = |row: &LedgerBlock| spec.idle.contains(&row.uid) && !row.usage.is_empty();
        self.ledger(now).iter().any(in_use)
    }
}
