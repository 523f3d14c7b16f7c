//! The part that is the same for the stored form of each of the node's chapters: its lines in the log and in a snapshot, and its
//! state during recovery.
//!
//! In a snapshot, the first item of a chapter is the place in the log up to which the others are true:
//!
//! ```text
//! {"chapter":"claims","version":1,"item":{"through":41}}
//! {"chapter":"claims","version":1,"item":{"claim":{...}}}
//! ```

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use tenure_types::Moment;

use super::form::{self, Form, WrittenForm};
use super::{VERSION, json};
use crate::chapters::{ChapterRefusal, RecoverChapter};
use crate::line::ChapterLine;

/// A chapter of the node with its stored form.
pub(crate) trait Stored: tenure_ledger::Chapter {
    /// The chapter's name in its lines.
    const NAME: &'static str;

    /// Whether programs that do not know the chapter may skip its lines.
    const OPTIONAL: bool = false;

    /// Whether a snapshot has a line of the chapter even if it has no facts yet.
    const ALWAYS: bool = false;

    /// The form of its facts.
    type Facts: Form<Of = <Self as tenure_ledger::Chapter>::Fact>;

    /// An item of a snapshot.
    type Item<'a>: Serialize + Deserialize<'a>;

    /// The items that have been read.
    type Parts: Debug + Default;

    /// The items from which the state can be restored.
    fn items(&self) -> impl Iterator<Item = Self::Item<'_>>;

    /// Adds an item that was read.
    fn add(parts: &mut Self::Parts, item: Self::Item<'_>) -> Result<(), String>;

    /// Restores the state from all of its items.
    fn restore(through: u64, parts: &mut Self::Parts) -> Self;

    /// Makes a fact that was read share memory with what was read before.
    fn share(_parts: &mut Self::Parts, _fact: &mut <Self as tenure_ledger::Chapter>::Fact) {}

    /// Enters another boot, which ends nothing in a chapter.
    fn enter_boot(&mut self, _now: Moment) {}
}

/// The first item of a chapter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FirstItem {
    /// The place in the log up to which the following items are true.
    Through(u64),
}

fn line<C: Stored>(json: Vec<u8>) -> ChapterLine {
    ChapterLine { chapter: C::NAME.into(), version: VERSION, optional: C::OPTIONAL, json }
}

/// Encodes a fact as its line.
pub(crate) fn encoded<C: Stored>(fact: &C::Fact) -> ChapterLine {
    line::<C>(json(&WrittenForm::<C::Facts>(fact)))
}

pub(crate) fn decode<C: Stored>(text: &str) -> Result<C::Fact, String> {
    form::from_json::<C::Facts>(text).map_err(|error| error.to_string())
}

/// The items of a snapshot; none if the chapter has no facts yet.
pub(crate) fn items<C: Stored>(state: &C) -> Vec<ChapterLine> {
    if !C::ALWAYS && *state == C::default() {
        return Vec::new();
    }
    let first = json(&FirstItem::Through(state.through()));
    let items = state.items().map(|item| json(&item));
    [first].into_iter().chain(items).map(line::<C>).collect()
}

/// A chapter during recovery.
#[derive(Debug, Default)]
pub(crate) struct Recovering<C: Stored> {
    state: C,
    through: u64,
    parts: C::Parts,
}

impl<C: Stored> Recovering<C> {
    pub(crate) fn into_state(self) -> C {
        self.state
    }
}

impl<C: Stored> RecoverChapter for Recovering<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), ChapterRefusal> {
        if version != VERSION {
            return Err(ChapterRefusal::Version);
        }
        let mut fact = decode::<C>(json).map_err(ChapterRefusal::Malformed)?;
        C::share(&mut self.parts, &mut fact);
        self.state.apply(place, &fact);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), ChapterRefusal> {
        if version != VERSION {
            return Err(ChapterRefusal::Version);
        }
        if let Ok(FirstItem::Through(through)) = serde_json::from_str(json) {
            self.through = through;
            return Ok(());
        }
        let item =
            serde_json::from_str(json).map_err(|error| ChapterRefusal::Malformed(error.to_string()))?;
        C::add(&mut self.parts, item).map_err(ChapterRefusal::Malformed)
    }

    fn restored(&mut self) -> Result<(), ChapterRefusal> {
        self.state = C::restore(self.through, &mut self.parts);
        Ok(())
    }

    fn enter_boot(&mut self, now: Moment) -> Result<usize, ChapterRefusal> {
        self.state.enter_boot(now);
        Ok(0)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
