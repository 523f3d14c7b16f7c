//! The first stored form of each chapter. It is frozen: state directories contain it, however the types in memory
//! change.
//!
//! Each module has the serde types of one chapter, with one conversion each way, and rebuilds the chapter's state. A
//! released type never changes: a chapter that needs another form gets a new version next to this one, and can still
//! read this one.

mod allocation;
mod choices;
mod claims;
mod components;
mod delegations;
mod effects;
mod ledger;
mod moves;
mod range;
mod shared;
mod states;

use tenure_ledger::{Fact, Page};

use crate::line::Line;

pub(crate) use self::choices::Choosing;
pub(crate) use self::claims::Claiming;
pub(crate) use self::components::Loading;
pub(crate) use self::delegations::Delegating;
pub(crate) use self::effects::Intending;
pub(crate) use self::ledger::Books;
pub(crate) use self::moves::Moving;
pub(crate) use self::states::Remembering;

/// The version of all forms in this folder.
const VERSION: u32 = 1;

/// Encodes a fact as its line.
impl From<&Fact> for Line {
    fn from(fact: &Fact) -> Self {
        match fact {
            Fact::Ledger(fact) => line(ledger::CHAPTER, ledger::encode(fact)),
            Fact::Choices(fact) => line(choices::CHAPTER, choices::encode(fact)),
            Fact::Components(fact) => line(components::CHAPTER, components::encode(fact)),
            Fact::Claims(fact) => line(claims::CHAPTER, claims::encode(fact)),
            Fact::States(fact) => line(states::CHAPTER, states::encode(fact)),
            Fact::Delegations(fact) => line(delegations::CHAPTER, delegations::encode(fact)),
            Fact::Effects(fact) => line(effects::CHAPTER, effects::encode(fact)),
            Fact::Moves(fact) => moves::encoded(fact),
        }
    }
}

/// Decodes the fact of a line; `None` if this program does not know its chapter or version.
pub(crate) fn decode(chapter: &str, version: u32, json: &str) -> Option<Result<Fact, String>> {
    match (chapter, version) {
        (ledger::CHAPTER, VERSION) => Some(ledger::decode(json).map(Fact::Ledger)),
        (choices::CHAPTER, VERSION) => Some(choices::decode(json).map(Fact::Choices)),
        (components::CHAPTER, VERSION) => Some(components::decode(json).map(Fact::Components)),
        (claims::CHAPTER, VERSION) => Some(claims::decode(json).map(Fact::Claims)),
        (states::CHAPTER, VERSION) => Some(states::decode(json).map(Fact::States)),
        (delegations::CHAPTER, VERSION) => Some(delegations::decode(json).map(Fact::Delegations)),
        (effects::CHAPTER, VERSION) => Some(effects::decode(json).map(Fact::Effects)),
        (moves::CHAPTER, VERSION) => Some(moves::decode(json).map(Fact::Moves)),
        _ => None,
    }
}

/// The items of a page for a snapshot.
pub(crate) fn items(page: Page) -> Box<dyn Iterator<Item = Line> + Send> {
    match page {
        Page::Book(image) => Box::new(ledger::items(*image)),
        Page::Gone { network, through } => Box::new(std::iter::once(ledger::gone(&network, through))),
        Page::Choices(choices) => Box::new(choices::items(&choices).into_iter()),
        Page::Components(components) => Box::new(components::items(&components).into_iter()),
        Page::Claims(claims) => Box::new(claims::items(&claims).into_iter()),
        Page::States(states) => Box::new(states::items(&states).into_iter()),
        Page::Delegations(delegations) => Box::new(delegations::items(&delegations).into_iter()),
        Page::Effects(effects) => Box::new(effects::items(&effects).into_iter()),
        Page::Moves(moves) => Box::new(moves::items(&moves).into_iter()),
    }
}

fn line(chapter: &'static str, json: Vec<u8>) -> Line {
    Line { chapter: chapter.into(), version: VERSION, optional: false, json }
}

/// The JSON of a stored form, all of whose values JSON can express.
fn json(stored: &impl serde::Serialize) -> Vec<u8> {
    let mut json = Vec::with_capacity(640);
    if let Err(error) = serde_json::to_writer(&mut json, stored) {
        tracing::error!(%error, "cannot encode a stored form as JSON");
    }
    json
}

#[cfg(test)]
mod tests;
