//! Which policy serves a network whose configuration names one: the version that the name stands for, once it may.

use std::sync::Arc;

use tenure_ledger::Choice;
use tenure_types::{ErrorCode, NetworkConfig, NetworkName, PolicyName, PolicyStamp, Result};

use super::PolicyExchange;
use crate::ports::Policy;

impl PolicyExchange {
    /// The policy that a network's configuration names. Until another version of it is loaded and has passed the
    /// conformance suite, the version that serves the network keeps serving; for a watched file, until the change is
    /// applied; and if an operator loaded the other version, until one activates it: a load is not an exchange.
    ///
    /// # Errors
    /// `UnknownPolicy`; if no version of it serves the network, `Preparing`, `PolicyUnloadable`, `PolicyUntrusted` and
    /// `PolicyNonconforming`.
    pub(crate) fn named(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
        config: &Arc<NetworkConfig>,
        choice: Option<&Choice>,
    ) -> Result<Arc<dyn Policy>> {
        let catalogue = self.core.ports.catalogue.as_ref();
        let found = catalogue.find(policy);
        let kept = choice.filter(|choice| choice.policy.name == *policy);
        let Some(Choice { policy: kept, .. }) = kept else {
            let found = found?;
            self.vetted(network, &found, config)?;
            return Ok(found);
        };
        match found {
            Ok(found) if **found.stamp() == *kept => Ok(found),
            Ok(found) if self.was_loaded(found.stamp()) => catalogue.find_pinned(kept),
            Ok(found) if !catalogue.is_watched(policy) => match self.vetted(network, &found, config) {
                Ok(()) => Ok(found),
                Err(error) => catalogue.find_pinned(kept).map_err(|_| error),
            },
            Ok(_) => catalogue.find_pinned(kept),
            Err(error) if error.code == ErrorCode::UnknownPolicy => Err(error),
            Err(error) => catalogue.find_pinned(kept).map_err(|_| error),
        }
    }

    /// Whether an operator loaded a policy into the node.
    fn was_loaded(&self, policy: &PolicyStamp) -> bool {
        self.core.committer.node().components.all().iter().any(|component| component.policy == *policy)
    }
}
