//! An agent's identity and rights.

use std::pin::Pin;

use tenure_engine::{Agent, Ask};
use tenure_types::{AgentName, Error, ErrorCode, NamePattern, Result};

use crate::peer::Peer;

/// The next change of the configuration.
pub type Reload = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Knows the agents of this node.
#[tonic::async_trait]
pub trait Agents: Send + Sync + 'static {
    /// Returns the agent that made a connection, and its rights.
    ///
    /// # Errors
    /// `AgentUnknown` if no agent made it.
    async fn rights(&self, peer: &Peer) -> Result<Rights>;

    /// Resolves once the agents may have changed after this call.
    fn next_reload(&self) -> Reload;
}

/// The rights of an agent, from its table in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// The agent.
    pub name: AgentName,
    /// The networks.
    pub networks: Vec<NamePattern>,
    /// The names of claims.
    pub names: Vec<NamePattern>,
    /// The most claims.
    pub claims: usize,
    /// Whether it may ask for particular addresses.
    pub addresses: bool,
    /// Whether it may use the CNI plugin.
    pub cni: bool,
}

impl Rights {
    /// The agent as the engine knows it.
    pub(super) fn agent(&self) -> Agent {
        Agent::new(self.name.clone(), self.claims)
    }

    /// Refuses what the agent may not ask for, and says which rule does.
    ///
    /// # Errors
    /// `ClaimDenied`.
    pub fn check(&self, ask: &Ask) -> Result<()> {
        let any = |patterns: &[NamePattern], text: &str| patterns.iter().any(|pattern| pattern.matches(text));
        let (rule, what) = if !any(&self.networks, ask.network.as_str()) {
            ("networks", format!("network {}", ask.network))
        } else if !any(&self.names, ask.name.as_str()) {
            ("names", format!("the name {}", ask.name))
        } else if !self.addresses && !ask.wish.addresses.is_empty() {
            ("addresses", "asking for particular addresses".to_owned())
        } else {
            return Ok(());
        };
        let cause = format_args!("agents.{}.{rule} does not allow {what}", self.name);
        Err(Error::new(ErrorCode::ClaimDenied, cause))
    }
}

#[cfg(test)]
mod tests {
    use tenure_ledger::Wish;
    use tenure_types::{ClaimName, NetworkName};

    use super::*;

    #[test]
    fn a_denial_names_the_rule() {
        let rights = Rights {
            name: AgentName::new("cilium").unwrap(),
            networks: ["pods", "lan-*"].map(NamePattern::new).to_vec(),
            names: ["router", "ingress-*"].map(NamePattern::new).to_vec(),
            claims: 4,
            addresses: false,
            cni: false,
        };
        let check = |network: &str, name: &str, address: Option<&str>| {
            let addresses = address.iter().map(|address| address.parse().unwrap()).collect();
            let (network, name) = (NetworkName::new(network).unwrap(), ClaimName::new(name).unwrap());
            rights.check(&Ask { network, name, wish: Wish { addresses, ..Wish::default() } })
        };
        assert_eq!(check("pods", "router", None), Ok(()));
        assert_eq!(check("lan-7", "ingress-v4", None), Ok(()));
        for (network, name, address, told) in [
            ("other", "router", None, "agents.cilium.networks does not allow network other"),
            ("pods", "health", None, "agents.cilium.names does not allow the name health"),
            (
                "pods",
                "router",
                Some("10.0.0.1"),
                "agents.cilium.addresses does not allow asking for particular addresses",
            ),
        ] {
            let denial = check(network, name, address).unwrap_err();
            assert_eq!((denial.code, denial.cause.as_str()), (ErrorCode::ClaimDenied, told));
        }
    }
}
