//! The first stored form of each chapter, frozen: what state directories have, whatever becomes of the types in memory.
//!
//! Each module has the serde types of one chapter, with one conversion each way, and rebuilds the chapter's state. A type here
//! never changes once it was released: a chapter that needs another form gets a new version beside this one, and goes on
//! reading this.

mod allocation;
mod choices;
mod ledger;
mod range;
mod shared;

use tenure_ledger::{Fact, Page};

use crate::line::Line;

pub(crate) use self::choices::Choosing;
pub(crate) use self::ledger::Books;

/// The version of every form in this folder.
const VERSION: u32 = 1;

/// A fact as its line has it.
impl From<&Fact> for Line {
    fn from(fact: &Fact) -> Self {
        match fact {
            Fact::Ledger(fact) => line(ledger::CHAPTER, ledger::encode(fact)),
            Fact::Choices(fact) => line(choices::CHAPTER, choices::encode(fact)),
        }
    }
}

/// The fact of a line; `None` where this program does not know its chapter or its form.
pub(crate) fn decode(chapter: &str, version: u32, json: &str) -> Option<Result<Fact, String>> {
    match (chapter, version) {
        (ledger::CHAPTER, VERSION) => Some(ledger::decode(json).map(Fact::Ledger)),
        (choices::CHAPTER, VERSION) => Some(choices::decode(json).map(Fact::Choices)),
        _ => None,
    }
}

/// The items of a page in a snapshot.
pub(crate) fn items(page: Page) -> Box<dyn Iterator<Item = Line> + Send> {
    match page {
        Page::Book(image) => Box::new(ledger::items(*image)),
        Page::Gone { network, through } => Box::new(std::iter::once(ledger::gone(&network, through))),
        Page::Choices(choices) => Box::new(choices::items(&choices).into_iter()),
    }
}

fn line(chapter: &'static str, json: Vec<u8>) -> Line {
    Line { chapter: chapter.into(), version: VERSION, optional: false, json }
}

/// The JSON of a stored form, which has nothing that JSON cannot say.
fn json(stored: &impl serde::Serialize) -> Vec<u8> {
    let mut json = Vec::with_capacity(640);
    if let Err(error) = serde_json::to_writer(&mut json, stored) {
        tracing::error!(%error, "a stored form is no JSON");
    }
    json
}

#[cfg(test)]
mod tests;
