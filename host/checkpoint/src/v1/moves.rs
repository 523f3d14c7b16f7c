//! The chapter `moves` as it is stored. Its lines are optional: a program that does not know the chapter skips them, and judges
//! an import by the book's own fact, as it always did.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tenure_ledger::{Move, MoveEnd, MoveFact, Moves};
use tenure_types::{NetworkName, Owner};

use super::allocation::StoredOwner;
use super::range::StoredMoment;
use super::shared::Shared;
use super::{VERSION, json};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "moves";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    Begun {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        source: Cow<'a, str>,
        #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
        begun_by: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "is_zero")]
        entries: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        reached: u64,
        at: StoredMoment,
    },
    Reached {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        source: Cow<'a, str>,
        reached: u64,
        at: StoredMoment,
    },
    Ended {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        source: Cow<'a, str>,
        end: StoredEnd,
        #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
        why: Cow<'a, str>,
        at: StoredMoment,
    },
    Deleted {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        owner: StoredOwner<'a>,
        at: StoredMoment,
    },
    Forgotten {
        #[serde(borrow)]
        network: Cow<'a, str>,
        at: StoredMoment,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredEnd {
    Finished,
    Abandoned,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    /// A fact that makes a part of the state.
    #[serde(borrow)]
    Fact(StoredFact<'a>),
}

/// Whether a number is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<'a> From<&'a MoveFact> for StoredFact<'a> {
    fn from(fact: &'a MoveFact) -> Self {
        match fact {
            MoveFact::Begun(Move { network, source, by, entries, reached, at }) => Self::Begun {
                network: network.as_str().into(),
                source: (&**source).into(),
                begun_by: (&**by).into(),
                entries: *entries,
                reached: *reached,
                at: (*at).into(),
            },
            MoveFact::Reached { network, source, reached, at } => Self::Reached {
                network: network.as_str().into(),
                source: (&**source).into(),
                reached: *reached,
                at: (*at).into(),
            },
            MoveFact::Ended { network, source, end, why, at } => Self::Ended {
                network: network.as_str().into(),
                source: (&**source).into(),
                end: match end {
                    MoveEnd::Finished => StoredEnd::Finished,
                    MoveEnd::Abandoned => StoredEnd::Abandoned,
                },
                why: (&**why).into(),
                at: (*at).into(),
            },
            MoveFact::Deleted { network, owner, at } => {
                Self::Deleted { network: network.as_str().into(), owner: owner.into(), at: (*at).into() }
            }
            MoveFact::Forgotten { network, at } => {
                Self::Forgotten { network: network.as_str().into(), at: (*at).into() }
            }
        }
    }
}

impl TryFrom<StoredFact<'_>> for MoveFact {
    type Error = String;

    fn try_from(stored: StoredFact<'_>) -> Result<Self, String> {
        let name = |text: &str| NetworkName::new(text).map_err(|error| error.to_string());
        Ok(match stored {
            StoredFact::Begun { network, source, begun_by, entries, reached, at } => Self::Begun(Move {
                network: name(&network)?,
                source: source.into(),
                by: begun_by.into(),
                entries,
                reached,
                at: at.into(),
            }),
            StoredFact::Reached { network, source, reached, at } => {
                Self::Reached { network: name(&network)?, source: source.into(), reached, at: at.into() }
            }
            StoredFact::Ended { network, source, end, why, at } => Self::Ended {
                network: name(&network)?,
                source: source.into(),
                end: match end {
                    StoredEnd::Finished => MoveEnd::Finished,
                    StoredEnd::Abandoned => MoveEnd::Abandoned,
                },
                why: why.into(),
                at: at.into(),
            },
            StoredFact::Deleted { network, owner, at } => {
                Self::Deleted { network: name(&network)?, owner: read(owner)?, at: at.into() }
            }
            StoredFact::Forgotten { network, at } => {
                Self::Forgotten { network: name(&network)?, at: at.into() }
            }
        })
    }
}

fn read(stored: StoredOwner<'_>) -> Result<Owner, String> {
    stored.read(&mut Shared::default())
}

fn line(json: Vec<u8>) -> Line {
    Line { optional: true, ..super::line(CHAPTER, json) }
}

/// Encodes a fact as its line.
pub(super) fn encoded(fact: &MoveFact) -> Line {
    line(json(&StoredFact::from(fact)))
}

pub(super) fn decode(text: &str) -> Result<MoveFact, String> {
    serde_json::from_str::<StoredFact<'_>>(text).map_err(|error| error.to_string())?.try_into()
}

/// The items of a snapshot; none if no network ever moved over and no DEL is remembered.
pub(super) fn items(moves: &Moves) -> Vec<Line> {
    if *moves == Moves::default() {
        return Vec::new();
    }
    let through = line(json(&StoredItem::Through(moves.through())));
    let facts = moves.facts();
    let facts = facts.iter().map(|fact| line(json(&StoredItem::Fact(fact.into()))));
    [through].into_iter().chain(facts).collect()
}

/// The moves during recovery.
#[derive(Debug, Default)]
pub(crate) struct Moving {
    moves: Moves,
    through: u64,
    facts: Vec<MoveFact>,
}

impl Moving {
    pub(crate) fn into_moves(self) -> Moves {
        self.moves
    }
}

impl Chapter for Moving {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        self.moves.apply(place, &decode(json).map_err(Refused::Malformed)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        match serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string()))? {
            StoredItem::Through(through) => self.through = through,
            StoredItem::Fact(fact) => self.facts.push(fact.try_into().map_err(Refused::Malformed)?),
        }
        Ok(())
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.moves = Moves::restore(self.through, std::mem::take(&mut self.facts));
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
