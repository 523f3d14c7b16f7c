//! Defining networks. A request, the daemon's configuration or an operator defines a network.

use std::sync::Arc;

use tenure_ledger::{Choice, Chooser, LedgerFact, check_definition};
use tenure_types::{
    ConditionName, Definer, Definition, Error, ErrorCode, Network, NetworkConfig, NetworkName, PolicyName,
    Result,
};

use crate::asking::DEFINITION;
use crate::bounds::Bounds;
use crate::engine::Engine;
use crate::ports::Policy;
use crate::redefine::{Redefined, Wanted};
use crate::strikes::Requester;

/// A network to define without a request.
#[derive(Debug, Clone)]
pub struct Define {
    /// The network.
    pub network: NetworkName,
    /// The policy to serve it, unless an operator has chosen one.
    pub policy: PolicyName,
    /// The configuration that the policy derives the definition from.
    pub config: Arc<NetworkConfig>,
    /// Origin of the definition: an operator or the daemon's configuration.
    pub by: Definer,
    /// Whether to make the changes; false for a dry run.
    pub apply: bool,
    /// Whether the ranges of an existing network may change.
    pub change_ranges: bool,
}

impl Engine {
    /// Defines or redefines a network for an operator or for the daemon's configuration; durable when this returns. A
    /// dry run returns what would change.
    ///
    /// # Errors
    /// `UnknownPolicy`, `PolicyUnloadable`, `OutOfBounds`, `RangesWouldChange` and the policy's own errors about the
    /// configuration; `NotReady` while an operator's policy is being compiled.
    pub async fn define_network(&self, define: &Define) -> Result<Redefined> {
        self.observed("define", &define.network, None, self.serve_define(define)).await
    }

    async fn serve_define(&self, define: &Define) -> Result<Redefined> {
        let name = &define.network;
        if define.by == Definer::Operator {
            self.bounds().check_operator(name)?;
        }
        let slot = self.networks.get_or_create(name)?;
        // Loading may compile, so it happens before the network's turn: the network keeps serving meanwhile.
        let loaded = match define.by {
            Definer::Configuration => self.load_named(&define.policy).await,
            Definer::Operator | Definer::Request => self.loaded_by_now(&define.policy).await,
        };
        let alone = slot.alone().await;
        let chosen = self.committer.choice(name);
        let watched = self.ports.catalogue.is_watched(&define.policy);
        let stays =
            |choice: &&Choice| choice.by.overrides() || (watched && choice.policy.name == define.policy);
        let policy = match chosen.as_ref().filter(stays) {
            Some(choice) => self.ports.catalogue.find_pinned(&choice.policy)?,
            None => {
                let loaded = loaded?;
                self.vet(name, &loaded, &define.config).await?;
                loaded
            }
        };
        let by = chosen.as_ref().map_or(Chooser::Configuration, |choice| choice.by);
        let (config, why) = (Arc::clone(&define.config), String::new());
        let requester = match define.by {
            Definer::Operator => Requester::Operator,
            Definer::Configuration | Definer::Request => Requester::Node,
        };
        let mut wanted =
            Wanted { policy, by, why, empty_state: false, config, definer: define.by, requester };
        if define.apply {
            return self.exchange(alone, name, wanted, define.change_ranges).await;
        }
        let definition = self.defined(name, &wanted).await?;
        self.inherited(&alone, name, &mut wanted).await?;
        let state = alone.hold();
        let redefined = self.compare(state.as_ref(), name, &wanted, &definition)?;
        self.check_change(name, &redefined, state.is_some(), define.change_ranges)?;
        Ok(redefined)
    }

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
    async fn load_named(&self, policy: &PolicyName) -> Result<Arc<dyn Policy>> {
        let stamp = self.ports.catalogue.resolve(&policy.clone().into())?;
        self.ports.catalogue.load(&stamp).await
    }

    /// Hands a network over to the operator unchanged, after it was dropped from the daemon's configuration; durable
    /// when this returns. Does nothing to a network that the configuration has not defined.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`.
    pub async fn leave_to_operator(&self, name: &NetworkName) -> Result<()> {
        let Some(slot) = self.networks.known(name) else { return Ok(()) };
        let ticket = {
            let mut state = slot.lock().await;
            let Some(served) = state.as_mut() else { return Ok(()) };
            let network = served.book.network();
            if network.defined_by != Definer::Configuration {
                return Ok(());
            }
            self.ports.journal.health()?;
            let mut network = network.as_ref().clone();
            (network.defined_by, network.changed_at) = (Definer::Operator, self.now());
            tracing::info!(network = %name, "network is no longer in the configuration; left unchanged");
            self.committer.commit_one(&mut served.book, LedgerFact::Defined(Arc::new(network)))?
        };
        ticket.durable().await
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
        bounds.check_ranges(name, &policy.stamp().name, &definition)?;
        Ok(definition)
    }
}
