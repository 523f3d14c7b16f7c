//! Agents' own addresses: claims that are made, kept and released by name, and whose allocations no runtime ends.
//!
//! ```text
//! agent's turn ─▶ network's turn ─▶ policy (proposes) ─▶ ledger check ─▶ one group of facts ─▶ reply
//! ```
//!
//! A claim is lasting: unlike an ADD, one whose caller has gone away is not undone. The caller asks again and gets the same
//! answer.

pub(crate) mod asking;
pub(crate) mod changes;
pub(crate) mod confirm;
pub(crate) mod consult;
pub(crate) mod contact;
pub(crate) mod declare;
pub(crate) mod delegated;
pub(crate) mod ensure;
pub(crate) mod facts;
pub(crate) mod filter;
pub(crate) mod gradual;
pub(crate) mod heard;
pub(crate) mod lacking;
pub(crate) mod lapse;
pub(crate) mod optional;
pub(crate) mod outdated;
pub(crate) mod pieces;
pub(crate) mod plan;
pub(crate) mod question;
pub(crate) mod release;
pub(crate) mod restore;
pub(crate) mod scope;
pub(crate) mod standing;
pub(crate) mod together;
pub(crate) mod view;
pub(crate) mod witnessed;

use std::sync::Arc;

use tenure_ledger::{ClaimKey, Wish};
use tenure_types::{AgentName, ClaimName, Moment, NetworkName, ScopeName};

use self::heard::Heard;
use self::witnessed::Witnessed;
use crate::core::EngineCore;
use crate::delegates::DelegateClient;
use crate::exchange::PolicyExchange;
use crate::import::NetworkImports;
use crate::network::demand::Demands;

/// Owns the claims of agents.
pub(crate) struct AgentClaims {
    core: Arc<EngineCore>,
    exchange: Arc<PolicyExchange>,
    imports: Arc<NetworkImports>,
    delegates: Arc<DelegateClient>,
    /// Says whether a network's supply is full; the requests of agents do not wait for it.
    demands: Arc<Demands>,
    heard: Arc<Heard>,
    /// The claims of a lost state that are still to be restored.
    witnessed: Witnessed,
}

impl AgentClaims {
    pub(crate) fn new(
        core: Arc<EngineCore>,
        exchange: Arc<PolicyExchange>,
        imports: Arc<NetworkImports>,
        delegates: Arc<DelegateClient>,
        demands: Arc<Demands>,
        began: Moment,
    ) -> Self {
        let heard = Arc::new(Heard::new(began));
        Self { core, exchange, imports, delegates, demands, heard, witnessed: Witnessed::default() }
    }
}

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
