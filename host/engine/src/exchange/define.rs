//! Networks that the daemon's configuration or an operator defines, and not a request.

use std::sync::Arc;

use tenure_ledger::{Choice, Chooser, LedgerFact};
use tenure_types::{Definer, NetworkConfig, NetworkName, PolicyName, Result};

use crate::core::strikes::Requester;
use crate::engine::Engine;
use crate::network::redefine::{Redefined, Wanted};

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
}
