//! The passing of time, and reboots: changes of a book that are not facts.

use std::sync::Arc;
use std::time::Duration;

use tenure_types::{Allocation, End, Moment};

use super::Book;
use crate::books::Conflict;
use crate::books::changes::BookChange;
use crate::books::cooling::CoolingAddress;
use crate::books::removed::ends;

impl Book {
    /// How long the network's freed addresses cool down: as long as on the node, or longer if the definition asks for it. Those
    /// that were freed under a definition that asked for longer cool for as long as it asked.
    #[must_use]
    pub fn cooldown(&self, of_node: Duration) -> Duration {
        of_node.max(Duration::from_secs(self.network.cooldown_seconds().into()))
    }

    /// Whether [`expire`](Self::expire) would change anything.
    #[must_use]
    pub fn has_expired(&self, now: Moment, of_node: Duration) -> bool {
        let cooldown = self.cooldown(of_node);
        self.cooling.cooled_down(now, cooldown).is_some() || self.remembered.has_expired(now)
    }

    /// Frees addresses whose cooldown is over, and forgets the last addresses of owners that have been gone for long.
    ///
    /// This is not a fact: the passing of time need not be recorded, and expiring later frees the same addresses.
    pub fn expire(&mut self, now: Moment, of_node: Duration) {
        if !self.has_expired(now, of_node) {
            return;
        }
        self.changes.push(|| BookChange::Passed { now, of_node });
        let cooldown = self.cooldown(of_node);
        while let Some(address) = self.cooling.cooled_down(now, cooldown) {
            self.warm(address);
            self.taken.remove(address);
        }
        self.remembered.expire(now);
    }

    /// Lets an address that cools down elsewhere cool down here, unless it is held, in quarantine, or cools for longer already.
    pub(in crate::books) fn go_on_cooling(&mut self, cooling: CoolingAddress) {
        let is_longer = |known: &CoolingAddress| ends(&cooling) > ends(known);
        let is_used = self.holder(cooling.address).is_some() || self.quarantine.bars(cooling.address);
        if !is_used && self.cooling.get(cooling.address).is_none_or(is_longer) {
            self.cool(cooling);
            self.changes.reset();
        }
    }

    /// Brings the book into a new boot: ends the allocations that end at reboot, and sets every time that is compared
    /// to `now`, because times of different boots cannot be compared. Returns how many allocations ended.
    ///
    /// # Errors
    /// [`Conflict`] when the book contradicts itself.
    pub fn enter_boot(&mut self, now: Moment) -> Result<usize, Conflict> {
        self.cooling.restart(now);
        self.remembered.restart(now);
        let (mut ended, mut staying) = (Vec::new(), Vec::new());
        for held in self.allocations.values() {
            let of = if End::Reboot.ends(&held.owner) { &mut ended } else { &mut staying };
            of.push(held.generation);
        }
        for generation in &ended {
            self.end(*generation, now)?;
        }
        for generation in staying {
            let Some(held) = self.allocations.get(&generation) else { continue };
            let again = Arc::new(Allocation { requested_at: now, ..held.as_ref().clone() });
            self.allocations.insert(generation, again);
        }
        self.changes.reset();
        Ok(ended.len())
    }
}
