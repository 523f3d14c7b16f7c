//! A claim as data.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tenure_types::{AgentName, ClaimName, Generation, HolderName, Moment, NetworkName, Owner, ScopeName};

/// The key of a claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// The agent.
    pub agent: AgentName,
    /// The network.
    pub network: NetworkName,
    /// The agent's name for the claim.
    pub name: ClaimName,
}

impl ClaimKey {
    /// The owner of the claim's addresses in the book of its network.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner::Claim { agent: self.agent.clone(), name: self.name.clone() }
    }

    /// The key of an owner's claim on a network; `None` if the owner is not an agent.
    #[must_use]
    pub fn of(network: &NetworkName, owner: &Owner) -> Option<Self> {
        let (agent, name) = owner.claim()?;
        Some(Self { agent: agent.clone(), network: network.clone(), name: name.clone() })
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "claim {} of {} on network {}", self.name, self.agent, self.network)
    }
}

/// The address families that a claim must have an address of; with neither, any address of the network is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Families {
    /// IPv4.
    pub ipv4: bool,
    /// IPv6.
    pub ipv6: bool,
}

/// The part of an agent that asks for a claim, as it names itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimant {
    /// The component, which has claims of its own; `None` for an agent that is one.
    pub scope: Option<ScopeName>,
    /// The component's run that asked last; `None` if it did not say.
    pub holder: Option<HolderName>,
}

/// An agent's request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wish {
    /// The addresses that it must have; empty if any will do.
    pub addresses: Vec<IpAddr>,
    /// The families that it must have an address of.
    pub families: Families,
    /// The families that it would like to have an address of, and can do without.
    pub optional: Families,
    /// For how long the claim stays after the agent was last heard of, in whole seconds; `None` if it stays until it is
    /// released.
    pub lease: Option<Duration>,
    /// The part of the agent that asks.
    pub claimant: Claimant,
}

/// Whether the agent has been heard of since the node booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The agent asked for the claim in this boot, for the first time at this moment.
    Here(Moment),
    /// The agent has not asked yet; the claim is reserved for it since the boot was entered.
    Reserved(Moment),
}

/// A claim. The book of its network has the addresses, in the allocation of this generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Key of the claim.
    pub key: ClaimKey,
    /// Latest request of the agent.
    pub wish: Wish,
    /// The allocation that it holds.
    pub generation: Generation,
    /// Time at which the claim was first made.
    pub made_at: Moment,
    /// Whether the agent has been heard of since the node booted.
    pub presence: Presence,
}
