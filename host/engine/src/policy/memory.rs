//! The state that a policy is asked with.

use tenure_ledger::PolicyState;
use tenure_types::{Moment, NetworkName};

use super::states::{nothing, present};
use crate::core::EngineCore;
use crate::ports::Policy;

impl EngineCore {
    /// The state that a serving policy is asked with: empty if it has kept none, or keeps none at all. The caller has the
    /// network's turn.
    pub(crate) fn remembered(&self, network: &NetworkName, policy: &dyn Policy) -> PolicyState {
        match policy.keeps_state() {
            true => present(&self.committer.node().states, network, policy.stamp(), self.now()),
            false => nothing(0, policy.stamp(), Moment::default()),
        }
    }
}
