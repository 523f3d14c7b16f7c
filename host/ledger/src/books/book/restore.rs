//! A book from and to data.

use std::sync::Arc;

use tenure_types::{Allocation, AssignedAddress, Generation};

use super::Book;
use super::owners::OwnerIndex;
use crate::books::Conflict;
use crate::books::cooling::CoolingAddress;
use crate::books::image::{Image, Supplied};
use crate::books::stock::Change;

impl Book {
    /// Restores a book from its image.
    ///
    /// # Errors
    /// [`Conflict`] when the image contradicts itself.
    pub fn restore(image: Image) -> Result<Self, Conflict> {
        let mut book = Self::new(image.network);
        for Supplied { pool, range, draining } in image.ranges {
            book.add_range(&pool, range, draining)?;
        }
        book.take_all(image.allocations)?;
        image.quarantined.into_iter().for_each(|(subject, mark)| book.mark(subject, mark));
        let asked = book.network.cooldown_seconds();
        let seconds =
            image.cooldowns.into_iter().flat_map(|(seconds, count)| std::iter::repeat_n(seconds, count));
        let seconds = seconds.chain(std::iter::repeat(asked));
        for ((address, since), seconds) in image.cooling.into_iter().zip(seconds) {
            if book.holder(address).is_none() && !book.quarantine.bars(address) {
                book.cool(CoolingAddress { address, since, seconds });
            }
        }
        book.through = image.through;
        book.importing = image.importing;
        book.next_generation = book.next_generation.max(image.next_generation);
        book.stock.forget_last();
        book.set_last(image.last);
        book.takeover.restore(image.settled);
        image.remembered.into_iter().for_each(|remembrance| book.remembered.remember(remembrance));
        Ok(book)
    }

    /// Takes the allocations of an image into an empty book. Maps that are built in order take the least memory.
    pub(super) fn take_all(&mut self, allocations: Vec<Arc<Allocation>>) -> Result<(), Conflict> {
        self.by_owner = OwnerIndex::of(&allocations)
            .map_err(|twice| Conflict::Owner(twice.owner.clone(), twice.generation))?;
        let mut holders = Vec::with_capacity(allocations.len());
        for allocation in allocations {
            let generation = allocation.generation;
            if generation < self.next_generation {
                return Err(Conflict::Generation(generation));
            }
            self.counts.add(&allocation);
            self.next_generation = Generation(generation.0 + 1);
            let addresses = allocation.addresses.iter().map(AssignedAddress::ip);
            holders.extend(addresses.map(|address| (address, generation)));
            self.allocations.insert(generation, allocation);
        }
        // Of several claims to an address, the first holds it and the others wait.
        holders.sort_unstable();
        let mut waiting = Vec::new();
        holders.dedup_by(|(address, later), (held, holder)| {
            let is_same = address == held;
            if is_same {
                waiting.push((*address, *holder, *later));
            }
            is_same
        });
        for (address, _) in &holders {
            self.taken.insert(*address);
            self.stock.change(*address, Change::Hold);
        }
        self.by_address = holders.into_iter().collect();
        self.occupy_all();
        for (address, holder, later) in waiting {
            let may_wait = self
                .allocation(later)
                .zip(self.allocation(holder))
                .is_some_and(|(claim, holder)| self.may_wait(claim, holder));
            if !may_wait {
                return Err(Conflict::Address(address, holder, later));
            }
            self.takeover.wait(address, later);
        }
        Ok(())
    }

    fn occupy_all(&mut self) {
        let held = self.allocations.values().flat_map(|held| &held.addresses);
        let prefixes: Vec<AssignedAddress> = held.filter(|assigned| assigned.is_prefix()).cloned().collect();
        prefixes.iter().for_each(|prefix| self.occupy(prefix));
    }

    /// Returns the book as data.
    #[must_use]
    pub fn image(&self) -> Image {
        Image {
            through: self.through,
            network: Arc::clone(&self.network),
            importing: self.importing,
            ranges: self.supplied(),
            next_generation: self.next_generation,
            last: self.handed_out_last(),
            cooling: self.cooling_addresses().collect(),
            cooldowns: self.cooldowns(),
            allocations: self.allocations.values().cloned().collect(),
            settled: self.takeover.settled(),
            remembered: self.remembered.iter().cloned().collect(),
            quarantined: self.quarantine.all().collect(),
        }
    }

    /// The cooldowns that were asked for when the cooling addresses were freed, in their order, each with the number of addresses
    /// in a row; empty if they are all as the network asks now.
    fn cooldowns(&self) -> Vec<(u32, usize)> {
        let asked = self.network.cooldown_seconds();
        let mut runs: Vec<(u32, usize)> = Vec::new();
        for cooling in self.cooling.iter() {
            match runs.last_mut() {
                Some((seconds, count)) if *seconds == cooling.seconds => *count += 1,
                _ => runs.push((cooling.seconds, 1)),
            }
        }
        if runs.iter().all(|(seconds, _)| *seconds == asked) { Vec::new() } else { runs }
    }
}
