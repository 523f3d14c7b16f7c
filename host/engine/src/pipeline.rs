//! The whole way of an ADD, in one function.

use std::sync::Arc;

use tenure_ledger::{Book, Repeat, check_definition};
use tenure_types::{
    Allocation, AssignedAddress, Error, ErrorCode, Grant, Moment, Network, NetworkConfig, NetworkName,
    PolicyName, Record, Request, Result,
};

use crate::engine::{Engine, defect};
use crate::import;
use crate::networks::{Alone, Served};
use crate::ports::{Policy, Ticket};
use crate::undo::Undo;

/// An ADD: the request and the network's configuration that came with it.
#[derive(Debug, Clone)]
pub struct Add {
    /// Who asks for what.
    pub request: Request,
    /// The policy that the configuration names.
    pub policy: PolicyName,
    /// The configuration, as the policy gets it.
    pub config: NetworkConfig,
}

impl Engine {
    /// Gives an owner its addresses. A repeated ADD answers the same.
    ///
    /// `fits` has the caller's last word before anything is kept: whether it can use the addresses at all.
    /// Dropping the future before it is done undoes whatever it had begun.
    ///
    /// # Errors
    /// See [`ErrorCode`]; nothing was handed out.
    pub async fn add(&self, add: Add, fits: impl Fn(&[AssignedAddress]) -> Result<()>) -> Result<Grant> {
        let (network, owner) = (add.request.network.clone(), add.request.owner.clone());
        self.observed("add", &network, Some(&owner), self.serve_add(add, fits)).await
    }

    async fn serve_add(
        &self,
        mut add: Add,
        fits: impl Fn(&[AssignedAddress]) -> Result<()>,
    ) -> Result<Grant> {
        // Admission: in order by key, with a bound on what waits.
        let mut turn = self.admission.enter(&add.request.network, &add.request.owner).await?;
        let now = self.now();
        add.request.requested_at = Self::not_in_future(add.request.requested_at, now);
        turn.check_alive(add.request.requested_at, now)?;

        // The network: one request after the other until the decision is staged. Other networks do not wait for it.
        let slot = self.networks.get_or_create(&add.request.network)?;
        let alone = slot.alone().await;
        turn.place().await?;
        let repeated = self.repeat(alone.state().as_mut(), &add.request)?;
        if let Some((granted, ticket)) = repeated {
            drop(alone);
            ticket.durable().await?;
            return Ok(granted);
        }
        self.admits()?;
        import::admits(alone.state().as_ref())?;
        let (policy, book) = self.define(&alone, &add, now).await?;

        // The policy proposes, the ledger disposes.
        let name = &add.request.network;
        let proposal = self.ask(name, policy.as_ref(), || policy.propose(&add.request, book)).await?;
        let (granted, ticket) = {
            let mut state = alone.hold();
            let served = state.as_mut().ok_or_else(no_book)?;
            let admitted = served.book.admit(&add.request, &proposal, policy.stamp(), now);
            let allocation = admitted.map_err(|violation| {
                let why = format_args!("proposed what network {name} forbids: {violation}");
                self.rejected(policy.as_ref(), why)
            })?;
            fits(&allocation.addresses)?;
            let granted = grant(&allocation);

            // The checkpoint: staged with the book held, so that the log has the book's order; durable before anyone hears.
            let record = Record::Allocate(Arc::new(allocation));
            let ticket = self.stage(served, &record)?;
            (granted, ticket)
        };
        let undo = Undo::new(&self.undo, Arc::clone(&slot.slot), add.request.owner, granted.generation, turn);
        ticket.durable().await?;
        undo.disarm();
        Ok(granted)
    }

    /// Answers an owner that has its addresses already. A repeat that began later counts from then on, and is told so durably.
    fn repeat(&self, served: Option<&mut Served>, request: &Request) -> Result<Option<(Grant, Ticket)>> {
        let Some(served) = served else { return Ok(None) };
        let Some(held) = served.book.owned_by(&request.owner) else { return Ok(None) };
        let granted = grant(held);
        let ticket = match served.book.repeat(request) {
            Some(Repeat::Renews(record)) => {
                self.ports.journal.health()?;
                self.stage(served, &record)?
            }
            Some(Repeat::Outdated) => {
                let (owner, network) = (&request.owner, &request.network);
                let cause = format_args!(
                    "ADD of {owner} on {network} began before another ADD of the same attachment, which named another network namespace"
                );
                return Err(Error::new(ErrorCode::Superseded, cause));
            }
            // What it has may have come by an import that is not durable yet.
            Some(Repeat::Same) | None => self.ports.journal.barrier(),
        };
        Ok(Some((granted, ticket)))
    }

    /// Stages a record and applies it, with its book held, so that the log has the book's order.
    pub(crate) fn stage(&self, served: &mut Served, record: &Record) -> Result<Ticket> {
        let (place, ticket) = self.ports.journal.stage(record);
        Arc::make_mut(&mut served.book).apply(place, record).map_err(defect)?;
        Ok(ticket)
    }

    /// Brings a network to what the request's configuration says: made on first use, defined anew when something changed.
    ///
    /// Gives the policy that serves it and the book that it is asked about.
    async fn define(
        &self,
        alone: &Alone<'_>,
        add: &Add,
        now: Moment,
    ) -> Result<(Arc<dyn Policy>, Arc<Book>)> {
        let (policy, activated, up_to_date) = {
            let state = alone.state();
            let network = state.as_ref().map(|served| served.book.network());
            let activated = network.is_some_and(|network| network.activated);
            let policy = match &*state {
                Some(served) if activated => self.policy_of(served)?,
                _ => self.ports.catalogue.find(&add.policy)?,
            };
            let is_same =
                |network: &Network| network.policy == *policy.stamp() && network.config == add.config;
            let up_to_date = network.is_some_and(|network| is_same(network));
            (policy, activated, up_to_date)
        };
        let name = &add.request.network;
        let defined = match up_to_date {
            true => None,
            false => Some(self.defined(policy.as_ref(), name, &add.config, activated).await?),
        };
        let mut state = alone.state();
        if let Some(network) = defined {
            self.redefine(&mut state, network)?;
        }
        let served = state.as_mut().ok_or_else(no_book)?;
        served.policy = Some(Arc::clone(&policy));
        self.expire(served, now);
        Ok((policy, Arc::clone(&served.book)))
    }

    /// Asks a policy to make pools of a configuration, and checks them.
    pub(crate) async fn defined(
        &self,
        policy: &dyn Policy,
        name: &NetworkName,
        config: &NetworkConfig,
        activated: bool,
    ) -> Result<Network> {
        let definition = self.ask(name, policy, || policy.define(name, config)).await?;
        check_definition(&definition).map_err(|invalid| {
            self.rejected(policy, format_args!("defined network {name} as what it cannot be: {invalid}"))
        })?;
        let (name, config) = (name.clone(), config.clone());
        Ok(Network {
            name,
            policy: policy.stamp().clone(),
            activated,
            config,
            definition,
            changed_at: None,
            importing: false,
        })
    }

    /// Stages and applies a network's new definition. Nobody waits for it: whatever is granted under it is staged behind it.
    pub(crate) fn redefine(&self, slot: &mut Option<Served>, mut network: Network) -> Result<Ticket> {
        network.changed_at = Some(self.now());
        network.importing |= slot.as_ref().is_some_and(|served| served.book.network().importing);
        tell(slot.as_ref().map(|served| served.book.network().as_ref()), &network);
        let record = Record::Network(Box::new(network.clone()));
        let served = slot.get_or_insert_with(|| Served::new(Book::new(network)));
        self.stage(served, &record)
    }

    /// The policy that a network is served by, loaded again after a restart to the byte.
    pub(crate) fn policy_of(&self, served: &Served) -> Result<Arc<dyn Policy>> {
        match &served.policy {
            Some(policy) => Ok(Arc::clone(policy)),
            None => self.ports.catalogue.find_pinned(&served.book.network().policy),
        }
    }
}

fn no_book() -> Error {
    defect("a defined network has no book")
}

fn grant(allocation: &Allocation) -> Grant {
    Grant { generation: allocation.generation, addresses: allocation.addresses.clone() }
}

/// Says in the daemon's log what a network has become, as the checkpoint says it in its own.
fn tell(before: Option<&Network>, after: &Network) {
    let (network, policy) = (&after.name, &after.policy);
    let ranges = |network: &Network| {
        let ranges = network.definition.pools.iter().flat_map(|pool| &pool.ranges).map(ToString::to_string);
        ranges.collect::<Vec<_>>().join(", ")
    };
    let now = ranges(after);
    let Some(before) = before else {
        tracing::info!(%network, %policy, ranges = now, "defined a network");
        return;
    };
    if before.policy != after.policy || before.activated != after.activated {
        let (was, activated) = (&before.policy, after.activated);
        tracing::info!(%network, %policy, %was, activated, "changed a network's policy");
    }
    if before.definition != after.definition {
        let was = ranges(before);
        tracing::info!(%network, %policy, ranges = now, was, "changed what a network hands out");
    }
}
