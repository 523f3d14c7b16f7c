//! The definition that a policy derives from a configuration, and who may change it.

use std::sync::Arc;

use tenure_ledger::check_definition;
use tenure_types::{
    ConditionName, Definer, Definition, Error, ErrorCode, Network, NetworkName, PolicyName, Result,
};

use super::bounds::Bounds;
use super::redefine::{Redefined, Wanted};
use crate::core::EngineCore;
use crate::policy::calls::DEFINITION;
use crate::ports::Policy;

impl EngineCore {
    /// The policy that a name stands for. If loading it has failed before, it is tried again; a compilation that is under way is not
    /// waited for, since it may take minutes in which a caller would be told nothing.
    ///
    /// # Errors
    /// `Preparing` while it is being compiled.
    pub(crate) async fn loaded_by_now(&self, policy: &PolicyName) -> Result<Arc<dyn Policy>> {
        match self.ports.catalogue.find(policy) {
            Err(error) if error.code != ErrorCode::Preparing => self.load_named(policy).await,
            found => found,
        }
    }

    /// Loads the policy that a name stands for, and waits for it.
    pub(crate) async fn load_named(&self, policy: &PolicyName) -> Result<Arc<dyn Policy>> {
        let stamp = self.ports.catalogue.resolve(&policy.clone().into())?;
        self.ports.catalogue.load(&stamp).await
    }

    /// Whether a network is fixed: the daemon's configuration or an operator defines it, so a request's configuration
    /// cannot change it.
    ///
    /// # Errors
    /// When the daemon's configuration names the network but has not defined it yet: `Preparing` while that is under way, and `NotReady` once it has failed.
    pub(crate) fn is_fixed(
        &self,
        bounds: &Bounds,
        name: &NetworkName,
        network: Option<&Arc<Network>>,
    ) -> Result<bool> {
        let Some(network) = network else {
            if !bounds.is_configured(name) {
                return Ok(false);
            }
            let failed = self.conditions.message(ConditionName::NetworkUndefined, name.as_str());
            let being_defined =
                || Error::new(ErrorCode::Preparing, format_args!("networks.{name} is being defined"));
            return Err(failed.map_or_else(being_defined, |why| Error::new(ErrorCode::NotReady, why)));
        };
        Ok(network.defined_by != Definer::Request || bounds.is_configured(name))
    }

    /// Refuses to change the ranges of an existing network unless `change_ranges` is set.
    pub(crate) fn check_change(
        &self,
        name: &NetworkName,
        redefined: &Redefined,
        exists: bool,
        change_ranges: bool,
    ) -> Result<()> {
        let changes = !redefined.added.is_empty() || !redefined.removed.is_empty();
        if !exists || change_ranges || !changes {
            return Ok(());
        }
        let list = |ranges: &[String]| if ranges.is_empty() { "none".to_owned() } else { ranges.join(", ") };
        let cause = format_args!(
            "policy {} would change the ranges of network {name}: added: {}; removed: {}",
            redefined.after,
            list(&redefined.added),
            list(&redefined.removed)
        );
        Err(Error::new(ErrorCode::RangesWouldChange, cause))
    }

    /// Asks a policy to derive a definition from a configuration, and checks it.
    pub(crate) async fn defined(&self, name: &NetworkName, wanted: &Wanted) -> Result<Definition> {
        let policy = wanted.policy.as_ref();
        let bounds = self.bounds();
        bounds.check_policy(name, &policy.stamp().name)?;
        let define = || policy.define(name, &wanted.config);
        let definition = self.ask_for(&wanted.requester, name, policy, define).await?;
        check_definition(&definition).map_err(|invalid| {
            self.rejected(
                policy,
                DEFINITION,
                format_args!("returned an invalid definition for network {name}: {invalid}"),
            )
        })?;
        bounds.check_settings(name, &policy.stamp().name, &definition.attributes)?;
        bounds.check_ranges(name, &policy.stamp().name, &definition)?;
        Ok(definition)
    }
}
