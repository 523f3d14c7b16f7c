//! Networks that the daemon's configuration or an operator defines, and not a request.

use std::sync::Arc;

use tenure_ledger::{Choice, Chooser, LedgerFact};
use tenure_types::{Definer, NetworkConfig, NetworkName, PolicyName, Result};

use super::PolicyExchange;
use crate::core::strikes::Requester;
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

impl PolicyExchange {
    /// Serves [`Engine::define_network`](crate::Engine::define_network).
    pub(crate) async fn define_network(&self, define: &Define) -> Result<Redefined> {
        self.core.observed("define", &define.network, None, self.serve_define(define)).await
    }

    async fn serve_define(&self, define: &Define) -> Result<Redefined> {
        let name = &define.network;
        if define.by == Definer::Operator {
            self.core.bounds().check_operator(name)?;
        }
        let slot = self.core.networks.get_or_create(name)?;
        // Loading may compile, so it happens before the network's turn: the network keeps serving meanwhile.
        let loaded = match define.by {
            Definer::Configuration => self.core.load_named(&define.policy).await,
            Definer::Operator | Definer::Request => self.core.loaded_by_now(&define.policy).await,
        };
        let alone = slot.alone().await;
        let chosen = self.core.committer.choice(name);
        let watched = self.core.ports.catalogue.is_watched(&define.policy);
        let stays =
            |choice: &&Choice| choice.by.overrides() || (watched && choice.policy.name == define.policy);
        let policy = match chosen.as_ref().filter(stays) {
            Some(choice) => self.core.ports.catalogue.find_pinned(&choice.policy)?,
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
        let mut wanted = Wanted {
            policy,
            by,
            why,
            watch: true,
            empty_state: false,
            config,
            definer: define.by,
            requester,
        };
        if define.apply {
            return self.exchange(alone, name, wanted, define.change_ranges).await;
        }
        let definition = self.core.defined(name, &wanted).await?;
        self.core.inherited(&alone, name, &mut wanted).await?;
        let state = alone.hold();
        let redefined = self.core.compare(state.as_ref(), name, &wanted, &definition)?;
        self.core.check_change(name, &redefined, state.is_some(), define.change_ranges)?;
        Ok(redefined)
    }

    /// Serves [`Engine::leave_to_operator`](crate::Engine::leave_to_operator).
    pub(crate) async fn leave_to_operator(&self, name: &NetworkName) -> Result<()> {
        let Some(slot) = self.core.networks.known(name) else { return Ok(()) };
        let ticket = {
            let mut state = slot.lock().await;
            let Some(served) = state.as_mut() else { return Ok(()) };
            let network = served.book.network();
            if network.defined_by != Definer::Configuration {
                return Ok(());
            }
            self.core.ports.journal.health()?;
            let mut network = network.as_ref().clone();
            (network.defined_by, network.changed_at) = (Definer::Operator, self.core.now());
            tracing::info!(network = %name, "network is no longer in the configuration; left unchanged");
            self.core.committer.commit_one(&mut served.book, LedgerFact::Defined(Arc::new(network)))?
        };
        ticket.durable().await
    }
}
