//! The parts of a snapshot: the state of every chapter, in pages taken one after another while facts keep being
//! applied.

use tenure_types::NetworkName;

use crate::{Choices, Claims, Components, Delegations, Effects, Image, Moves, States};

/// A part of the whole state, current as of a place in the log that it records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// A network's book.
    Book(Box<Image>),
    /// A removed network and the place of its removal in the log; facts about it up to that place are obsolete.
    Gone {
        /// The network.
        network: NetworkName,
        /// The place of the fact that removed it.
        through: u64,
    },
    /// Which policy serves each network.
    Choices(Choices),
    /// Which policies were loaded into the node.
    Components(Components),
    /// What agents have claimed.
    Claims(Claims),
    /// What policies remember on each network.
    States(States),
    /// What delegates were asked for.
    Delegations(Delegations),
    /// What the host does outside the ledger.
    Effects(Effects),
    /// What moves over from other IPAMs.
    Moves(Moves),
}
