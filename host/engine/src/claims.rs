//! Agents' own addresses: claims that are made, kept and released by name, and whose allocations no runtime ends.
//!
//! ```text
//! agent's turn ─▶ network's turn ─▶ policy (proposes) ─▶ ledger check ─▶ one group of facts ─▶ reply
//! ```
//!
//! A claim is lasting: unlike an ADD, one whose caller has gone away is not undone. The caller asks again and gets the same
//! answer.

mod asking;
mod changes;
mod confirm;
mod consult;
mod declare;
mod ensure;
mod feed;
mod filter;
mod gradual;
mod heard;
mod lacking;
mod lapse;
mod optional;
mod pieces;
mod plan;
mod release;
mod restore;
mod scope;
mod standing;
mod together;
mod turns;
mod view;
mod witnessed;

use tenure_ledger::{ClaimKey, Wish};
use tenure_types::{AgentName, ClaimName, NetworkName, ScopeName};

pub(crate) use self::asking::{check_families, claimed_fact};
pub use self::changes::Changes;
pub use self::declare::Declared;
pub(crate) use self::feed::Feed;
pub use self::filter::ClaimFilter;
pub(crate) use self::heard::Heard;
pub use self::heard::Watching;
pub use self::optional::{MissingFamily, WhyMissing};
pub use self::release::Precondition;
pub use self::standing::{AgentStanding, ClaimFigures};
pub(crate) use self::turns::Turns;
pub use self::view::{Claimed, Place};
pub(crate) use self::witnessed::Witnessed;
pub use self::witnessed::WitnessedClaim;

/// An agent, as the caller's credentials and the configuration identify it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Name of the agent.
    pub name: AgentName,
    /// The most claims that it may have, in all of its scopes.
    pub most: usize,
    /// The component that calls, as it names itself; `None` for an agent that is one.
    pub scope: Option<ScopeName>,
    /// A scope whose claims the component takes over as far as it asks for them.
    pub from_scope: Option<Option<ScopeName>>,
}

impl Agent {
    /// An agent that is one component.
    #[must_use]
    pub fn new(name: AgentName, most: usize) -> Self {
        Self { name, most, scope: None, from_scope: None }
    }
}

/// A claim as an agent asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The network.
    pub network: NetworkName,
    /// The agent's name for the claim.
    pub name: ClaimName,
    /// Requested addresses, lease and scope.
    pub wish: Wish,
}

impl Ask {
    /// Returns the claim's key, if this agent makes it.
    fn key(&self, agent: &AgentName) -> ClaimKey {
        ClaimKey { agent: agent.clone(), network: self.network.clone(), name: self.name.clone() }
    }
}
