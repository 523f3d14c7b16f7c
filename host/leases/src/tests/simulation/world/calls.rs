//! Calls of the API server, which may be lost, late or repeated.

use super::super::server::{Change, Refused, Write};
use super::super::{Planted, referee};
use super::{GONE, World};
use crate::IpBlock;

/// The fate of a call.
enum Fate {
    Answered,
    /// It does not reach the server.
    Lost,
    /// The request is carried out, and the answer is lost.
    Unanswered,
    /// The request is carried out, and once more later.
    Repeated,
    /// The request is carried out later, and its sender gets no answer.
    Late,
}

impl World {
    fn fate(&mut self, write: &Write) -> Fate {
        // A late grant or deletion does the most harm.
        let late = if self.focus.late || self.focus.ranges { 75 } else { 30 };
        let is_late = match self.focus.ranges {
            true => matches!(write, Write::Space { .. }),
            false => write.is_grave(),
        };
        match self.random.below(100) {
            _ if self.is_calm => Fate::Answered,
            percent if (15..late).contains(&percent) && is_late => Fate::Late,
            0..4 => Fate::Lost,
            4..8 => Fate::Unanswered,
            8..12 => Fate::Repeated,
            12..15 => Fate::Late,
            _ => Fate::Answered,
        }
    }

    /// Carries out a write, and shows the referee what it ended.
    pub(super) fn apply(&mut self, write: &Write) -> Result<Result<Option<IpBlock>, Refused>, String> {
        let before = write.block().and_then(|cidr| self.server.store.blocks.get(&cidr).cloned());
        let answer = match write {
            Write::Space { space, version } => {
                let before = self.server.store.space.clone();
                let version = match self.planted {
                    Some(Planted::SpaceOfAnyVersion) => self.server.store.space_version,
                    _ => *version,
                };
                let answer = self.server.apply(&Write::Space { version, space: space.clone() });
                self.tally.reopened += referee::reopened(&before, &self.server.store.space);
                referee::removed(&before, &self.server, &self.machines)?;
                answer
            }
            _ => self.server.apply(write),
        };
        if answer.is_ok() {
            referee::written(write, before.as_ref())?;
        }
        if let (Write::Change(lease, Change::Delete), Ok(_)) = (write, &answer) {
            // The Node may be back before the deletion's second half.
            self.excuse_gone(lease);
        }
        self.tally.leases += u64::from(matches!((write, &answer), (Write::Create(_), Ok(_))));
        for lease in std::mem::take(&mut self.server.ended) {
            self.tally.ended += 1;
            self.excuse_gone(&lease);
            referee::ended(&self.machines, &lease, &mut self.tally.excuses)?;
        }
        Ok(answer)
    }

    /// A Node that was deleted while its machine lives: after the quarantine, the machine is excused.
    fn excuse_gone(&mut self, lease: &IpBlock) {
        let host = self.server.store.hosts.get(&lease.holder.name);
        let is_gone = host.is_none_or(|host| host.machine != lease.holder.machine);
        let is_over = lease.elapsed_seconds >= GONE;
        let holder =
            self.machines.iter_mut().find(|machine| lease.is_held_by(&machine.me.name, machine.me.machine));
        if let Some(holder) = holder.filter(|_| is_gone && is_over) {
            holder.excused = Some("its Node was deleted for longer than the quarantine");
        }
    }

    /// Sends a write. `None` if there was no answer.
    pub(super) fn send(&mut self, write: &Write) -> Result<Option<Result<Option<IpBlock>, Refused>>, String> {
        match self.fate(write) {
            Fate::Lost => return Ok(None),
            Fate::Answered => {}
            Fate::Repeated => self.late.push(write.clone()),
            Fate::Late => {
                self.late.push(write.clone());
                return Ok(None);
            }
            Fate::Unanswered => {
                let _ = self.apply(write)?;
                return Ok(None);
            }
        }
        self.apply(write).map(Some)
    }
}
