//! The reads that a hint or a comparison needs, and what follows from them: two steps each, between which anything may happen.

use ipnet::IpNet;

use super::{Machine, Pending};
use crate::agent::accept::{AcceptCase, accept};
use crate::agent::compare::{CompareVerdict, compare, is_settled};
use crate::agent::ledger::{LeaseHold, LedgerBlock};
use crate::tests::simulation::server::Server;
use crate::{BlockHint, FetchedBlock, LeaseRule};

impl Machine {
    /// Makes the next read that a hint or a comparison needs, or records what was read.
    pub(in crate::tests::simulation) fn look(&mut self, server: Option<&Server>, pick: usize, now: u64) {
        match self.pending.take() {
            Some(Pending::Freeze(cidr, mark)) => return self.set(cidr, LeaseHold::Frozen(mark)),
            Some(Pending::Compare(cidr, fetched)) => return self.compared(cidr, &fetched, now),
            Some(Pending::Accept(hint, block)) => return self.accepted(server, hint, &block, now),
            None => {}
        }
        let hints = self.hints();
        let fetch = |cidr| server.map_or(FetchedBlock::Unreachable, |server| server.store.fetched(cidr));
        let due: Vec<_> = self.ledger(now).into_iter().filter(|row| self.is_due(row, &hints)).collect();
        let new: Vec<_> = hints
            .iter()
            .filter(|hint| hint.mark.is_none() && !self.rows.contains_key(&hint.cidr) && !self.is_lost())
            .filter(|hint| !self.stones.contains(hint.uid) || !self.rules.has(LeaseRule::Tombstones))
            .collect();
        if !due.is_empty() && (new.is_empty() || pick.is_multiple_of(2)) {
            let row = due[pick / 2 % due.len()];
            if !self.rules.has(LeaseRule::UnfreezeByGet) && matches!(row.hold, LeaseHold::Frozen(_)) {
                return self.set(row.cidr, LeaseHold::Open);
            }
            self.pending = Some(Pending::Compare(row.cidr, fetch(row.cidr)));
        } else if let Some(hint) = new.get(pick / 2 % new.len().max(1)) {
            self.pending = Some(Pending::Accept(**hint, fetch(hint.cidr)));
        }
    }

    fn is_lost(&self) -> bool {
        (self.must_rebuild && self.rules.has(LeaseRule::LostReadsFirst)) || self.is_unsure
    }

    fn is_due(&self, row: &LedgerBlock, hints: &[BlockHint]) -> bool {
        let hint = hints.iter().find(|hint| hint.cidr == row.cidr);
        let hint = hint.map(|hint| (hint.uid, hint.mark.map(|mark| mark.id)));
        self.to_compare.contains(&row.cidr)
            || self.unchecked.contains(&row.cidr)
            || (self.is_listed && is_settled(row, hint))
    }

    fn accepted(&mut self, server: Option<&Server>, hint: BlockHint, block: &FetchedBlock, now: u64) {
        let case = AcceptCase {
            me: &self.me,
            hint,
            block,
            space: server.map(|server| &server.store.space),
            dropped: self.stones.contains(hint.uid),
            ledger: &self.ledger(now),
            is_full: false,
        };
        if accept(self.rules, &case).is_ok() {
            self.rows.insert(hint.cidr, (hint.uid, LeaseHold::Open));
            self.others.remove(&hint.cidr);
        }
    }

    fn compared(&mut self, cidr: IpNet, fetched: &FetchedBlock, now: u64) {
        let Some(row) = self.row(cidr, now) else { return };
        if *fetched == FetchedBlock::Unreachable {
            return;
        }
        self.to_compare.remove(&cidr);
        match fetched {
            FetchedBlock::Found(block) if !block.is_held_by(&self.me.name, self.me.machine) => {
                // One in doubt is compared again once the pods are known.
                self.others.extend((row.hold != LeaseHold::Doubted).then_some(cidr));
            }
            _ => drop(self.others.remove(&cidr)),
        }
        match compare(self.rules, &self.me, &row, fetched) {
            CompareVerdict::Keep => {}
            CompareVerdict::Reassert => self.written = None,
            CompareVerdict::Open => self.set(cidr, LeaseHold::Open),
            CompareVerdict::Refreeze(mark) => self.set(cidr, LeaseHold::Frozen(mark)),
            CompareVerdict::Contest => self.set(cidr, LeaseHold::Contested),
            CompareVerdict::Rebind(uid) => {
                self.stones.add(row.uid, now);
                self.stones.remove(uid);
                self.rows.insert(cidr, (uid, LeaseHold::Open));
            }
            CompareVerdict::Drop => {
                self.stones.add(row.uid, now);
                self.rows.remove(&cidr);
            }
        }
        self.unchecked.remove(&cidr);
    }
}
