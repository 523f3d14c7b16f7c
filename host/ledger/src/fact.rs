//! All durable facts: the closed set of chapters.

use std::fmt;

use tenure_types::{Moment, NetworkName};

use crate::LedgerFact;

macro_rules! facts {
    ($($(#[$doc:meta])* $field:ident: $state:ident($fact:ident),)*) => {
        /// One durable fact. Durable state changes only by applying facts.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Fact {
            /// The networks, their ranges, and who owns which address.
            Ledger(LedgerFact),
            $($(#[$doc])* $state(crate::$fact),)*
        }

        impl Fact {
            /// The network that the fact is about; `None` if it is about the whole node.
            #[must_use]
            pub fn network(&self) -> Option<&NetworkName> {
                match self {
                    Self::Ledger(fact) => Some(fact.network()),
                    $(Self::$state(fact) => fact.network().into(),)*
                }
            }

            /// The time of the fact and its description for people, which may contain text of others unescaped; `None` for a fact
            /// of a book, which only its book can describe.
            #[must_use]
            pub fn described(&self) -> Option<(Moment, &dyn fmt::Display)> {
                match self {
                    Self::Ledger(_) => None,
                    $(Self::$state(fact) => Some((fact.at(), fact)),)*
                }
            }
        }

        $(impl From<crate::$fact> for Fact {
            fn from(fact: crate::$fact) -> Self {
                Self::$state(fact)
            }
        })*
    };
}

crate::chapters!(facts);

impl From<LedgerFact> for Fact {
    fn from(fact: LedgerFact) -> Self {
        Self::Ledger(fact)
    }
}

#[cfg(test)]
mod tests;
