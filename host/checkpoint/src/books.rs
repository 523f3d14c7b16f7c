//! The books while they are rebuilt: images and records in, books out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_ledger::{Book, Conflict, Image};
use tenure_types::{Allocation, BootId, InterfaceName, Moment, NetworkName, Owner, PolicyName, Record};

/// Every network's book, and the boot that their moments are of.
#[derive(Default)]
pub(crate) struct Books {
    books: BTreeMap<NetworkName, Book>,
    boot: Option<BootId>,
    names: Names,
}

impl Books {
    /// Takes a network over from a snapshot.
    pub(crate) fn restore(&mut self, mut image: Image) -> Result<(), Conflict> {
        for allocation in &mut image.allocations {
            if let Some(allocation) = Arc::get_mut(allocation) {
                self.names.share(allocation);
            }
        }
        let name = image.network.name.clone();
        self.books.insert(name, Book::restore(image)?);
        Ok(())
    }

    /// Applies a record, making the book of a network that is not known yet.
    pub(crate) fn apply(&mut self, place: u64, mut record: Record) -> Result<(), Conflict> {
        if let Record::Allocate(allocation) = &mut record
            && let Some(allocation) = Arc::get_mut(allocation)
        {
            self.names.share(allocation);
        }
        match self.books.get_mut(record.network()) {
            Some(book) => book.apply(place, &record),
            None => {
                let name = record.network().clone();
                let Record::Network(network) = &record else {
                    return Err(unknown(&record));
                };
                let mut book = Book::new(network.as_ref().clone());
                book.apply(place, &record)?;
                self.books.insert(name, book);
                Ok(())
            }
        }
    }

    /// Goes on in a boot; where it is another one, every attachment has ended and all cooling begins anew.
    ///
    /// Moments of two boots cannot be compared, so an address cools its whole time again. Returns how many have ended.
    pub(crate) fn enter(&mut self, boot: &BootId, now: Moment) -> Result<usize, Conflict> {
        let mut ended_now = 0;
        if self.boot.as_ref().is_some_and(|before| before != boot) {
            for book in self.books.values_mut() {
                ended_now += book.enter_boot(now)?;
            }
        }
        self.boot = Some(boot.clone());
        Ok(ended_now)
    }

    /// The last place that any book has seen; a snapshot may be ahead of the log that it was taken beside.
    pub(crate) fn through(&self) -> u64 {
        self.books.values().map(Book::through).max().unwrap_or(0)
    }

    /// Whether the last boot that wrote is this one.
    pub(crate) fn is_of(&self, boot: &BootId) -> bool {
        self.boot.as_ref() == Some(boot)
    }

    /// The books, by name.
    pub(crate) fn into_books(self) -> Vec<Book> {
        self.books.into_values().collect()
    }
}

/// A record of a network that nothing was told about.
fn unknown(record: &Record) -> Conflict {
    match record {
        Record::Renew { generation, .. } | Record::Release { generation, .. } => {
            Conflict::Unknown(*generation)
        }
        Record::Allocate(allocation) => Conflict::Generation(allocation.generation),
        Record::Network(network) => Conflict::Network(network.name.clone(), network.name.clone()),
    }
}

/// Names that many allocations have in common, kept once.
#[derive(Default)]
struct Names {
    networks: BTreeSet<NetworkName>,
    policies: BTreeSet<PolicyName>,
    digests: BTreeSet<Arc<str>>,
    interfaces: BTreeSet<InterfaceName>,
}

impl Names {
    fn share(&mut self, allocation: &mut Allocation) {
        share(&mut self.networks, &mut allocation.network);
        share(&mut self.policies, &mut allocation.policy.name);
        share(&mut self.digests, &mut allocation.policy.digest);
        if let Owner::Attachment { interface, .. } = &mut allocation.owner {
            share(&mut self.interfaces, interface);
        }
        // What was read has room for more addresses than an allocation ever gets.
        allocation.addresses.shrink_to_fit();
    }
}

fn share<T: Ord + Clone>(known: &mut BTreeSet<T>, name: &mut T) {
    match known.get(name) {
        Some(same) => *name = same.clone(),
        None => {
            known.insert(name.clone());
        }
    }
}
