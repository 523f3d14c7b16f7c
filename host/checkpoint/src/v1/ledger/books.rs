//! The books during recovery.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_ledger::{Book, Conflict, Image, LedgerFact};
use tenure_types::{Generation, Moment, NetworkName};

use super::item::{self, StoredItem};
use super::{CHAPTER, fact};
use crate::chapters::{Chapter, Refused};
use crate::v1::VERSION;
use crate::v1::shared::Shared;

/// The books during recovery.
#[derive(Debug, Default)]
pub(crate) struct Books {
    books: BTreeMap<NetworkName, Book>,
    /// Removed networks, and the places of their removal in the log.
    gone: BTreeMap<NetworkName, u64>,
    /// The network whose items are being restored.
    image: Option<Image>,
    shared: Shared,
}

impl Books {
    /// The books, sorted by name.
    pub(crate) fn into_books(self) -> Vec<Book> {
        self.books.into_values().collect()
    }

    fn take(&mut self, place: u64, fact: &LedgerFact) -> Result<(), Conflict> {
        let name = fact.network();
        if self.gone.get(name).is_some_and(|through| place <= *through) {
            return Ok(());
        }
        match (self.books.get_mut(name), fact) {
            (Some(book), LedgerFact::Removed { .. }) if place > book.through() => {
                book.apply(place, fact)?;
                self.books.remove(name);
                self.gone.insert(name.clone(), place);
                Ok(())
            }
            (Some(book), _) => book.apply(place, fact),
            (None, LedgerFact::Defined(network)) => {
                let mut book = Book::new(Arc::clone(network));
                book.apply(place, fact)?;
                self.books.insert(name.clone(), book);
                Ok(())
            }
            (None, _) => Err(Conflict::NoNetwork(name.clone())),
        }
    }

    /// Makes a book of the network whose items have all been restored.
    fn finish_network(&mut self) -> Result<(), Refused> {
        let Some(image) = self.image.take() else { return Ok(()) };
        let name = image.network.name.clone();
        self.books.insert(name, Book::restore(image).map_err(Refused::conflict)?);
        Ok(())
    }

    fn restore_item(&mut self, item: StoredItem<'_>) -> Result<(), Refused> {
        let malformed = Refused::Malformed;
        let item = match item {
            StoredItem::Network { through, importing, next_generation, network } => {
                self.finish_network()?;
                self.image = Some(Image {
                    through,
                    network: Arc::new(network.try_into().map_err(malformed)?),
                    importing,
                    ranges: Vec::new(),
                    next_generation: Generation(next_generation),
                    last: Vec::new(),
                    cooling: Vec::new(),
                    allocations: Vec::new(),
                    settled: Vec::new(),
                    remembered: Vec::new(),
                });
                return Ok(());
            }
            StoredItem::Gone { network, through } => {
                self.gone.insert(self.shared.network(&network).map_err(malformed)?, through);
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

impl Chapter for Books {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        let fact = fact::decode_sharing(json, &mut self.shared).map_err(Refused::Malformed)?;
        self.take(place, &fact).map_err(Refused::conflict)
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        let item = serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string()))?;
        self.restore_item(item)
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.finish_network()
    }

    /// Ends all attachments and restarts all cooling: moments of two boots cannot be compared.
    fn enter_boot(&mut self, now: Moment) -> Result<usize, Refused> {
        let mut ended = 0;
        for book in self.books.values_mut() {
            ended += book.enter_boot(now).map_err(Refused::conflict)?;
        }
        Ok(ended)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
impl Books {
    /// The image that the items of one network make.
    pub(in crate::v1) fn image_of(&mut self, items: impl Iterator<Item = crate::Line>) -> Option<Image> {
        for item in items {
            let item = serde_json::from_slice(&item.json).unwrap();
            self.restore_item(item).unwrap();
        }
        self.image.take()
    }

    /// The place up to which a network is known to be gone.
    pub(in crate::v1) fn gone_through(&self, network: &NetworkName) -> Option<u64> {
        self.gone.get(network).copied()
    }
}
