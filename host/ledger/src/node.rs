//! The state of the chapters in the table.

use crate::{Chapter, Fact};

macro_rules! state {
    ($($(#[$doc:meta])* $field:ident: $state:ident($fact:ident),)*) => {
        /// The durable state that belongs to no single network's book: the state of each chapter but the ledger.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct NodeChapters {
            $($(#[$doc])* pub $field: crate::$state,)*
        }

        impl NodeChapters {
            /// The last place in the log that any of the chapters is current as of.
            #[must_use]
            pub fn through(&self) -> u64 {
                [$(self.$field.through()),*].into_iter().max().unwrap_or_default()
            }

            /// Applies a fact to its chapter. Facts of books change nothing here.
            pub fn apply(&mut self, place: u64, fact: &Fact) {
                match fact {
                    Fact::Ledger(_) => {}
                    $(Fact::$state(fact) => self.$field.apply(place, fact),)*
                }
            }
        }

        $(impl Chapter for crate::$state {
            type Fact = crate::$fact;

            fn through(&self) -> u64 {
                Self::through(self)
            }

            fn apply(&mut self, place: u64, fact: &crate::$fact) {
                Self::apply(self, place, fact);
            }
        })*
    };
}

crate::chapters!(state);
