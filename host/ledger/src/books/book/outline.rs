//! A book from and to what a policy can ask of it.
//!
//! An address that is held has a made-up owner in such a book, until the outline's changes say who gave it up.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_types::{
    Allocation, AssignedAddress, Attributes, Generation, Moment, Owner, PolicyStamp, Sandbox, Source, agreed,
};

use super::Book;
use crate::books::Conflict;
use crate::books::changes::BookChange;
use crate::books::counts::Counts;
use crate::books::image::Supplied;
use crate::books::outline::Outline;
use crate::books::quarantine::{QuarantineMark, QuarantineSubject};
use crate::books::runs::successor;

/// The most addresses that an outline's runs may have together: a book has them one by one.
const MOST_HELD: u128 = 1 << 22;

impl Book {
    /// The position that the last change gave the book, which no other book of the process has.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.changes.position()
    }

    /// Lets the book remember its changes from now on.
    pub fn follow(&self) {
        self.changes.follow();
    }

    /// The changes since a position; `None` if they are not remembered, or it is not one of this book.
    #[must_use]
    pub fn changes_since(&self, position: u64) -> Option<Vec<BookChange>> {
        self.changes.since(position)
    }

    /// Returns what a policy can ask of the book.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let single = self.by_address.keys().filter(|address| !self.prefixes.contains_key(*address));
        let mut held: Vec<(IpAddr, IpAddr)> = Vec::new();
        for address in single.copied() {
            match held.last_mut() {
                Some((_, last)) if successor(*last) == Some(address) => *last = address,
                _ => held.push((address, address)),
            }
        }
        let prefixes = self.prefixes.keys().filter_map(|first| {
            let allocation = self.allocation(*self.by_address.get(first)?)?;
            Some(allocation.addresses.iter().find(|assigned| assigned.ip() == *first)?.address)
        });
        Outline {
            network: Arc::clone(&self.network),
            ranges: self.supplied(),
            held,
            prefixes: prefixes.collect(),
            cooling: self.cooling_entries().collect(),
            quarantined: self.marked_addresses().map(|(address, _)| address).collect(),
            counts: self
                .counts
                .all()
                .map(|(name, value, count)| (name.into(), value.into(), count))
                .collect(),
            last: self.handed_out_last(),
            remembered: self.remembered.iter().cloned().collect(),
        }
    }

    /// Makes a book that answers a policy as the one of which this is the outline. Its made-up allocations name `policy`.
    ///
    /// # Errors
    /// [`Conflict`] when the outline contradicts itself, or has too many addresses.
    pub fn of_outline(outline: Outline, policy: &Arc<PolicyStamp>) -> Result<Self, Conflict> {
        let mut book = Self::new(outline.network);
        for Supplied { pool, range, draining } in outline.ranges {
            book.add_range(&pool, range, draining)?;
        }
        let count = outline.held.iter().map(|(first, last)| length(*first, *last)).sum::<u128>();
        if count > MOST_HELD {
            return Err(Conflict::TooMany(count));
        }
        let mut owners = Vec::new();
        for (first, last) in outline.held {
            for address in std::iter::successors(Some(first), |at| successor(*at).filter(|at| *at <= last)) {
                owners.push(book.made_up(address.into(), false, owners.len(), policy));
            }
        }
        for prefix in outline.prefixes {
            owners.push(book.made_up(prefix, true, owners.len(), policy));
        }
        book.take_all(owners)?;
        book.counts = Counts::of_all(outline.counts);
        for address in outline.quarantined {
            let mark = QuarantineMark { since: Moment::default(), reason: "".into() };
            book.mark(QuarantineSubject::Address(address), mark);
        }
        for cooling in outline.cooling {
            if book.holder(cooling.address).is_none() && !book.quarantine.bars(cooling.address) {
                book.cool(cooling);
            }
        }
        book.stock.forget_last();
        book.set_last(outline.last);
        outline.remembered.into_iter().for_each(|remembrance| book.remembered.remember(remembrance));
        Ok(book)
    }

    /// An allocation for an address whose owner the outline does not know.
    fn made_up(
        &self,
        address: IpNet,
        is_prefix: bool,
        index: usize,
        policy: &Arc<PolicyStamp>,
    ) -> Arc<Allocation> {
        let assigns = is_prefix.then_some((agreed::ASSIGNS, agreed::PREFIXES));
        // The names are valid.
        let range_attributes = Attributes::new(assigns).unwrap_or_default();
        let source = Arc::new(Source { range_attributes, ..Source::default() });
        let assigned = AssignedAddress { address, source, attributes: Attributes::default() };
        Arc::new(Allocation {
            network: self.network.name.clone(),
            generation: Generation(index as u64 + 1),
            owner: Owner::Unknown { address: address.addr() },
            addresses: [assigned].into(),
            sandbox: Sandbox::default(),
            tags: Attributes::default(),
            policy: Arc::clone(policy),
            origin: None,
            requested_at: Moment::default(),
            allocated_at: Moment::default(),
        })
    }

    /// Takes over a change of the book of which this book has the outline.
    ///
    /// # Errors
    /// [`Conflict`] when the change contradicts the book.
    pub fn take_over(&mut self, change: &BookChange) -> Result<(), Conflict> {
        match change {
            BookChange::Held(made) => {
                let generation = self.next_generation;
                let made = Allocation { generation, ..made.as_ref().clone() };
                self.check_allocated(&made)?;
                self.insert(Arc::new(made));
                Ok(())
            }
            BookChange::Ended(ended, at) => self.take_over_end(ended, *at),
            BookChange::Passed { now, of_node } => {
                self.expire(*now, *of_node);
                Ok(())
            }
        }
    }

    /// Ends an allocation, whose addresses have made-up owners if it is older than the outline.
    fn take_over_end(&mut self, ended: &Allocation, at: Moment) -> Result<(), Conflict> {
        let unknown = || Conflict::Unknown(ended.generation);
        let first = ended.addresses.first().ok_or_else(unknown)?;
        let generation = *self.by_address.get(&first.ip()).ok_or_else(unknown)?;
        for assigned in &ended.addresses {
            let held = self.by_address.insert(assigned.ip(), generation).ok_or_else(unknown)?;
            if let Some(made_up) = self.allocations.remove(&held) {
                self.by_owner.remove(&made_up);
            }
        }
        let ended = Arc::new(Allocation { generation, ..ended.clone() });
        self.by_owner.insert(&ended);
        self.allocations.insert(generation, ended);
        self.end(generation, at)
    }
}

/// The number of addresses from `first` to `last`, or so many that no book has them.
fn length(first: IpAddr, last: IpAddr) -> u128 {
    let between = match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            u32::from(last).checked_sub(u32::from(first)).map(u128::from)
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => u128::from(last).checked_sub(u128::from(first)),
        _ => None,
    };
    between.map_or(MOST_HELD + 1, |between| between.min(MOST_HELD) + 1)
}
