//! The state of a network's policy, read and replaced by operators.

use tenure_ledger::states::Memory;
use tenure_ledger::{ChoiceFact, Fact, PolicyState, StateFact, StepKind};
use tenure_types::{Error, ErrorCode, LONGEST_STATE, NetworkName, Result};

use super::PolicyExchange;
use crate::network::networks::unknown_network;
use crate::network::slot::Alone;
use crate::policy::states::undone;
use crate::policy::words::explained;
use crate::ports::Ticket;

/// A state that replaces the present one.
#[derive(Debug, Clone)]
pub struct ReplaceState {
    /// The network.
    pub network: NetworkName,
    /// The state.
    pub bytes: Vec<u8>,
    /// The version that it replaces; `None` replaces any.
    pub if_version: Option<u64>,
    /// The operator's reason, for the history; may be empty.
    pub reason: String,
}

impl PolicyExchange {
    /// Serves [`Engine::states_of`](crate::Engine::states_of).
    pub(crate) async fn states_of(&self, network: &NetworkName) -> Result<Option<Memory>> {
        let slot = self.core.networks.known(network).ok_or_else(|| unknown_network(network))?;
        let alone = slot.alone().await;
        alone.state().as_ref().ok_or_else(|| unknown_network(network))?;
        Ok(self.core.committer.node().states.of(network).cloned())
    }

    /// Serves [`Engine::replace_state`](crate::Engine::replace_state).
    pub(crate) async fn replace_state(&self, replace: &ReplaceState) -> Result<PolicyState> {
        let network = &replace.network;
        self.core.observed("state", network, None, self.serve_replace_state(replace)).await
    }

    async fn serve_replace_state(&self, replace: &ReplaceState) -> Result<PolicyState> {
        let name = &replace.network;
        let not_kept = |why: std::fmt::Arguments<'_>| Error::new(ErrorCode::StateNotKept, why);
        if replace.bytes.len() > LONGEST_STATE {
            let length = replace.bytes.len();
            return Err(not_kept(format_args!(
                "the state has {length} bytes, and the limit is {LONGEST_STATE}"
            )));
        }
        let slot = self.core.networks.known(name).ok_or_else(|| unknown_network(name))?;
        // Loading may compile, so it happens before the network's turn.
        let chosen = self.core.served(name)?.now.policy;
        let policy = self.core.ports.catalogue.load(&chosen).await?;
        let alone = slot.alone().await;
        let serving = self.core.served(name)?.now.policy;
        if serving != chosen {
            return Err(Error::new(
                ErrorCode::StateChanged,
                format_args!("policy {serving} has just begun to serve network {name}"),
            ));
        }
        if !policy.keeps_state() {
            return Err(not_kept(format_args!(
                "policy {serving}, which serves network {name}, keeps no state"
            )));
        }
        let before = self.core.remembered(name, policy.as_ref());
        if let Some(version) = replace.if_version.filter(|version| *version != before.version) {
            let cause =
                format_args!("the state of network {name} has version {}, not {version}", before.version);
            return Err(Error::new(ErrorCode::StateChanged, cause));
        }
        self.core.ports.journal.health()?;
        let (at, version) = (self.core.now(), before.version + 1);
        let bytes = replace.bytes.clone().into();
        let state = PolicyState { policy: serving, version, bytes, at };
        let written = format!("version {version}, {} B", replace.bytes.len());
        let why = explained("by an operator", &[&written, &replace.reason]);
        let step = self.core.step(name, &state.policy, StepKind::StateReplaced, why);
        let kept = StateFact::Kept { network: name.clone(), state: state.clone() };
        let ticket = self.change_state(&alone, kept, step)?;
        if let Err(error) = ticket.durable().await {
            let why = "the state could not be made durable".to_owned();
            let step = self.core.step(name, &state.policy, StepKind::Undone, why);
            let undone = undone(&self.core.committer.node().states, name, before);
            // No need to wait for the ticket: later facts are staged after it.
            drop(self.change_state(&alone, undone, step)?);
            return Err(error);
        }
        tracing::info!(network = %name, policy = %state.policy, version, bytes = state.bytes.len(), "an operator replaced the state");
        Ok(state)
    }

    fn change_state(&self, alone: &Alone<'_>, fact: StateFact, step: ChoiceFact) -> Result<Ticket> {
        let mut state = alone.state();
        let served = state.as_mut().ok_or_else(|| unknown_network(fact.network()))?;
        let facts: [Fact; 2] = [fact.into(), step.into()];
        self.core.committer.commit(&mut served.book, &facts).map(|(_, ticket)| ticket)
    }
}
