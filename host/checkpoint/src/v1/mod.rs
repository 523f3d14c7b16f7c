//! The first stored form of each chapter. It is frozen: state directories contain it, however the types in memory
//! change.
//!
//! Each module has the serde types of one chapter; [`stored`] has what is the same for all of them but the `ledger`. A
//! released type never changes: a chapter that needs another form gets a new version next to this one, and can still
//! read this one.

mod allocation;
mod choices;
mod claims;
mod components;
mod delegations;
mod effects;
pub(crate) mod form;
mod ledger;
mod moves;
mod range;
mod shared;
mod states;
pub(crate) mod stored;

use tenure_ledger::{Fact, LedgerState, NodeChapters, Page};

use crate::chapters::RecoverChapter;
use crate::line::ChapterLine;

pub(crate) use self::ledger::Books;
use self::stored::{Recovering, Stored};

/// The version of all forms in this folder.
const VERSION: u32 = 1;

/// Finds the stored form of each chapter in the ledger's table.
macro_rules! stored {
    ($($(#[$doc:meta])* $field:ident: $state:ident($fact:ident),)*) => {
        /// Encodes a fact as its line.
        impl From<&Fact> for ChapterLine {
            fn from(fact: &Fact) -> Self {
                match fact {
                    Fact::Ledger(fact) => line(ledger::CHAPTER, ledger::encode(fact)),
                    $(Fact::$state(fact) => stored::encoded::<tenure_ledger::$state>(fact),)*
                }
            }
        }

        /// Decodes the fact of a line; `None` if this program does not know its chapter or version.
        pub(crate) fn decode(chapter: &str, version: u32, json: &str) -> Option<Result<Fact, String>> {
            if version != VERSION {
                return None;
            }
            match chapter {
                ledger::CHAPTER => Some(ledger::decode(json).map(Fact::Ledger)),
                $(<tenure_ledger::$state as Stored>::NAME => {
                    Some(stored::decode::<tenure_ledger::$state>(json).map(Fact::$state))
                })*
                _ => None,
            }
        }

        /// The items of the node's chapters for a snapshot.
        fn items_of(node: NodeChapters) -> impl Iterator<Item = ChapterLine> + Send {
            let NodeChapters { $($field),* } = node;
            std::iter::empty()$(.chain(std::iter::once_with(move || stored::items(&$field)).flatten()))*
        }

        /// All chapters during recovery.
        #[derive(Debug, Default)]
        pub(crate) struct RecoveringChapters {
            books: Books,
            $($field: Recovering<tenure_ledger::$state>,)*
        }

        impl RecoveringChapters {
            /// Each of the chapters.
            pub(crate) fn each(&mut self) -> Vec<&mut dyn RecoverChapter> {
                vec![&mut self.books, $(&mut self.$field),*]
            }

            /// The recovered state.
            pub(crate) fn into_state(self) -> LedgerState {
                let (books, removed) = self.books.into_parts();
                LedgerState { books, removed, node: NodeChapters { $($field: self.$field.into_state()),* } }
            }
        }
    };
}

tenure_ledger::chapters!(stored);

/// The items of a page for a snapshot.
pub(crate) fn items(page: Page) -> Box<dyn Iterator<Item = ChapterLine> + Send> {
    match page {
        Page::Book(image) => Box::new(ledger::items(*image)),
        Page::Gone { network, removed } => Box::new(ledger::gone(&network, removed).into_iter()),
        Page::Node(node) => Box::new(items_of(*node)),
    }
}

fn line(chapter: &'static str, json: Vec<u8>) -> ChapterLine {
    ChapterLine { chapter: chapter.into(), version: VERSION, optional: false, json }
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
