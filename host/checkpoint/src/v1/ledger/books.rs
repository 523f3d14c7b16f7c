//! The books during recovery.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{
    Book, Conflict, CoolingAddress, Image, LedgerFact, QuarantineMark, QuarantineSubject, RemovedNetwork,
    RemovedNetworks,
};
use tenure_types::{Generation, Moment, NetworkName};

use super::item::{self, StoredItem};
use super::quarantine::StoredQuarantine;
use super::{CHAPTER, fact};
use crate::chapters::{ChapterRefusal, RecoverChapter};
use crate::v1::VERSION;
use crate::v1::shared::Shared;

/// The books during recovery.
#[derive(Debug, Default)]
pub(crate) struct Books {
    books: BTreeMap<NetworkName, Book>,
    removed: RemovedNetworks,
    /// The network whose items are being restored.
    image: Option<Image>,
    shared: Shared,
}

impl Books {
    /// The books, sorted by name, and the removed networks.
    pub(crate) fn into_parts(self) -> (Vec<Book>, RemovedNetworks) {
        (self.books.into_values().collect(), self.removed)
    }

    fn take(&mut self, place: u64, fact: &LedgerFact) -> Result<(), Conflict> {
        let name = fact.network();
        // A network's page in the snapshot may be older than those of the others.
        self.removed.lift(place, fact);
        if self.removed.through(name).is_some_and(|through| place <= through) {
            return Ok(());
        }
        match (self.books.get_mut(name), fact) {
            (Some(book), _) if place > book.through() => {
                book.apply(place, fact)?;
                self.removed.follow(place, fact, book);
                if let LedgerFact::Removed { .. } = fact {
                    self.books.remove(name);
                }
                Ok(())
            }
            (Some(_), _) => Ok(()),
            (None, LedgerFact::Defined(network)) => {
                let mut book = Book::new(Arc::clone(network));
                book.apply(place, fact)?;
                self.removed.follow(place, fact, &mut book);
                self.books.insert(name.clone(), book);
                Ok(())
            }
            (None, _) => Err(Conflict::NoNetwork(name.clone())),
        }
    }

    /// Makes a book of the network whose items have all been restored.
    fn finish_network(&mut self) -> Result<(), ChapterRefusal> {
        let Some(image) = self.image.take() else { return Ok(()) };
        let name = image.network.name.clone();
        self.books.insert(name, Book::restore(image).map_err(ChapterRefusal::conflict)?);
        Ok(())
    }

    fn restore_item(&mut self, item: StoredItem<'_>) -> Result<(), ChapterRefusal> {
        let malformed = ChapterRefusal::Malformed;
        let item = match item {
            StoredItem::Network { through, importing, next_generation, cooldowns, network } => {
                self.finish_network()?;
                self.image = Some(Image {
                    through,
                    network: Arc::new(network.try_into().map_err(malformed)?),
                    importing,
                    ranges: Vec::new(),
                    next_generation: Generation(next_generation),
                    last: Vec::new(),
                    cooling: Vec::new(),
                    cooldowns,
                    allocations: Vec::new(),
                    settled: Vec::new(),
                    remembered: Vec::new(),
                    quarantined: Vec::new(),
                });
                return Ok(());
            }
            StoredItem::Gone { network, through, seconds, cooling, settled, quarantined } => {
                let network = self.shared.network(&network).map_err(malformed)?;
                let cooling = cooling.into_iter().map(|(address, since)| CoolingAddress {
                    address,
                    since: since.into(),
                    seconds,
                });
                let cooling = cooling.collect();
                let quarantined = quarantined.into_iter().map(marked_address);
                let quarantined = quarantined.collect::<Result<_, _>>().map_err(malformed)?;
                self.removed.restore(network, RemovedNetwork { through, cooling, settled, quarantined });
                return Ok(());
            }
            item => item,
        };
        let Some(image) = &mut self.image else {
            return Err(malformed("the item belongs to no network".to_owned()));
        };
        item::add(image, item, &mut self.shared).map_err(malformed)
    }
}

/// An address that was in quarantine in a network that was removed; allocations ended before.
fn marked_address(stored: StoredQuarantine<'_>) -> Result<(IpAddr, QuarantineMark), String> {
    match stored.try_into()? {
        (QuarantineSubject::Address(address), mark) => Ok((address, mark)),
        (QuarantineSubject::Allocation(_), _) => Err("a removed network has no allocations".to_owned()),
    }
}

impl RecoverChapter for Books {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), ChapterRefusal> {
        if version != VERSION {
            return Err(ChapterRefusal::Version);
        }
        let fact = fact::decode_sharing(json, &mut self.shared).map_err(ChapterRefusal::Malformed)?;
        self.take(place, &fact).map_err(ChapterRefusal::conflict)
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), ChapterRefusal> {
        if version != VERSION {
            return Err(ChapterRefusal::Version);
        }
        let item =
            serde_json::from_str(json).map_err(|error| ChapterRefusal::Malformed(error.to_string()))?;
        self.restore_item(item)
    }

    fn restored(&mut self) -> Result<(), ChapterRefusal> {
        self.finish_network()
    }

    /// Ends all attachments and restarts all cooling: moments of two boots cannot be compared.
    fn enter_boot(&mut self, now: Moment) -> Result<usize, ChapterRefusal> {
        let mut ended = 0;
        for book in self.books.values_mut() {
            ended += book.enter_boot(now).map_err(ChapterRefusal::conflict)?;
        }
        self.removed.enter_boot(now);
        Ok(ended)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
impl Books {
    /// The image that the items of one network make.
    pub(in crate::v1) fn image_of(
        &mut self,
        items: impl Iterator<Item = crate::ChapterLine>,
    ) -> Option<Image> {
        for item in items {
            let item = serde_json::from_slice(&item.json).unwrap();
            self.restore_item(item).unwrap();
        }
        self.image.take()
    }

    /// The place up to which a network is known to be gone.
    pub(in crate::v1) fn gone_through(&self, network: &NetworkName) -> Option<u64> {
        self.removed.through(network)
    }
}
