//! The history of a network's policies.

use tenure_ledger::choices::Served;
use tenure_ledger::{Choice, ChoiceFact, Step, StepKind};
use tenure_types::{NetworkName, PolicyStamp, Result};

use super::words::shortened;
use crate::core::EngineCore;
use crate::network::networks::unknown_network;
use crate::ports::Ticket;

impl EngineCore {
    /// The policies of a network: the present one, the earlier ones, the one in its shadow, and its history.
    pub(crate) fn policies_of(&self, network: &NetworkName) -> Option<Served> {
        self.committer.node().choices.of(network).cloned()
    }

    /// Records a step of a network's history. Returns the ticket of the fact, which few need to wait for.
    pub(crate) fn note(
        &self,
        network: &NetworkName,
        kind: StepKind,
        policy: &PolicyStamp,
        why: &str,
    ) -> Option<Ticket> {
        let step = Step { kind, policy: policy.clone(), at: self.now(), why: shortened(why) };
        tracing::info!(%network, %policy, step = kind.name(), why, "policy step");
        self.ports.observer.policy_step(network, kind);
        self.committer.commit_node(|node| {
            // A network that was removed meanwhile has no history.
            node.choices.of(network)?;
            Some(ChoiceFact::Noted { network: network.clone(), step })
        })
    }

    /// Records that a policy was refused; `asked` says what was asked for, and by whom.
    pub(crate) fn note_refused(&self, network: &NetworkName, policy: &PolicyStamp, asked: &str, cause: &str) {
        self.note(network, StepKind::Refused, policy, &format!("{asked}: {cause}"));
    }

    /// The fact of a step, for a group of facts.
    pub(crate) fn step(
        &self,
        network: &NetworkName,
        policy: &PolicyStamp,
        kind: StepKind,
        why: String,
    ) -> ChoiceFact {
        self.ports.observer.policy_step(network, kind);
        let step = Step { kind, policy: policy.clone(), at: self.now(), why };
        ChoiceFact::Noted { network: network.clone(), step }
    }

    /// Notes that a choice stays, and ends its watch, unless another has been made since.
    pub(crate) fn note_kept(&self, network: &NetworkName, choice: &Choice, why: &str) {
        let step =
            Step { kind: StepKind::Kept, policy: choice.policy.clone(), at: self.now(), why: shortened(why) };
        let noted = self.committer.commit_node(|node| {
            let still = node.choices.of(network).is_some_and(|served| served.now == *choice);
            still.then(|| ChoiceFact::Noted { network: network.clone(), step })
        });
        if noted.is_some() {
            let (policy, step) = (&choice.policy, StepKind::Kept.name());
            tracing::info!(%network, %policy, step, why, "policy step");
            self.ports.observer.policy_step(network, StepKind::Kept);
        }
    }

    /// The policies of a network.
    ///
    /// # Errors
    /// `UnknownNetwork`.
    pub(crate) fn served(&self, network: &NetworkName) -> Result<Served> {
        self.policies_of(network).ok_or_else(|| unknown_network(network))
    }
}
