//! The chapter `moves` as it is stored. Its lines are optional: a program that does not know the chapter skips them, and judges
//! an import by the book's own fact, as it always did.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_ledger::{Move, MoveEnd, MoveFact, Moves};
use tenure_types::{Moment, NetworkName, Owner};

use super::allocation::StoredOwner;
use super::form::{As, form};
use super::range::StoredMoment;
use super::stored::Stored;

#[derive(Serialize, Deserialize)]
#[serde(remote = "MoveFact", rename_all = "kebab-case")]
pub(crate) enum StoredFact {
    Begun(#[serde(with = "StoredMove")] Move),
    Reached {
        network: NetworkName,
        source: Arc<str>,
        reached: u64,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Ended {
        network: NetworkName,
        source: Arc<str>,
        #[serde(with = "StoredEnd")]
        end: MoveEnd,
        #[serde(default, skip_serializing_if = "str::is_empty")]
        why: Box<str>,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Deleted {
        network: NetworkName,
        #[serde(with = "As::<StoredOwner<'_>>")]
        owner: Owner,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Forgotten {
        network: NetworkName,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
}

form!(StoredFact of MoveFact);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Move")]
struct StoredMove {
    network: NetworkName,
    source: Arc<str>,
    #[serde(rename = "begun_by", default, skip_serializing_if = "str::is_empty")]
    by: Box<str>,
    #[serde(default, skip_serializing_if = "is_zero")]
    entries: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    reached: u64,
    #[serde(with = "As::<StoredMoment>")]
    at: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "MoveEnd", rename_all = "kebab-case")]
enum StoredEnd {
    Finished,
    Abandoned,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem {
    /// A fact that makes a part of the state.
    Fact(#[serde(with = "StoredFact")] MoveFact),
}

/// Whether a number is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Stored for Moves {
    const NAME: &'static str = "moves";
    const OPTIONAL: bool = true;

    type Facts = StoredFact;
    type Item<'a> = StoredItem;
    type Parts = Vec<MoveFact>;

    fn items(&self) -> impl Iterator<Item = StoredItem> {
        self.facts().into_iter().map(StoredItem::Fact)
    }

    fn add(facts: &mut Vec<MoveFact>, StoredItem::Fact(fact): StoredItem) -> Result<(), String> {
        facts.push(fact);
        Ok(())
    }

    fn restore(through: u64, facts: &mut Vec<MoveFact>) -> Self {
        Self::restore(through, std::mem::take(facts))
    }
}
