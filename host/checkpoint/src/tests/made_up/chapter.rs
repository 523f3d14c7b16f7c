//! A made-up chapter: what would be its module in the ledger, and what would be its stored form here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure_ledger::Chapter;
use tenure_types::Moment;

use crate::v1::form::form;
use crate::v1::stored::Stored;

/// A fact of the chapter: a note about a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Is { network: String, what: String },
    IsGone { network: String },
}

/// The chapter's state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MadeUp {
    pub(super) through: u64,
    pub(super) said: BTreeMap<String, String>,
    /// How often a boot ended.
    pub(super) boots: usize,
}

impl Chapter for MadeUp {
    type Fact = Said;

    fn through(&self) -> u64 {
        self.through
    }

    fn apply(&mut self, place: u64, said: &Said) {
        if place <= self.through {
            return;
        }
        self.through = place;
        match said {
            Said::Is { network, what } => _ = self.said.insert(network.clone(), what.clone()),
            Said::IsGone { network } => _ = self.said.remove(network),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Said", rename_all = "kebab-case")]
pub(crate) enum StoredSaid {
    Is {
        network: String,
        what: String,
    },
    IsGone {
        #[serde(rename = "of")]
        network: String,
    },
}

form!(StoredSaid of Said);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem {
    Said { network: String, what: String },
}

impl Stored for MadeUp {
    const NAME: &'static str = "made-up";

    type Facts = StoredSaid;
    type Item<'a> = StoredItem;
    type Parts = BTreeMap<String, String>;

    fn items(&self) -> impl Iterator<Item = StoredItem> {
        self.said.clone().into_iter().map(|(network, what)| StoredItem::Said { network, what })
    }

    fn add(all: &mut Self::Parts, StoredItem::Said { network, what }: StoredItem) -> Result<(), String> {
        match all.insert(network, what) {
            None => Ok(()),
            Some(twice) => Err(format!("two notes: {twice}")),
        }
    }

    fn restore(through: u64, all: &mut Self::Parts) -> Self {
        Self { through, said: std::mem::take(all), boots: 0 }
    }

    fn enter_boot(&mut self, _: Moment) {
        self.boots += 1;
    }
}
