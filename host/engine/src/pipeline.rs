//! The whole way of an ADD, in one function.

use std::sync::Arc;

use tenure_ledger::{Book, Choice, Chooser, LedgerFact, Repeat};
use tenure_types::{
    Allocation, AssignedAddress, Definer, Error, ErrorCode, Grant, Moment, NetworkConfig, PolicyName,
    Request, Result,
};

use crate::define::Wanted;
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
    pub config: Arc<NetworkConfig>,
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
            let fact = LedgerFact::Allocated(Arc::new(allocation));
            let ticket = self.committer.commit_one(&mut served.book, fact)?;
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
            Some(Repeat::Renews(fact)) => {
                self.ports.journal.health()?;
                self.committer.commit_one(&mut served.book, fact)?
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

    /// Brings a network to what the request's configuration says: made on first use, defined anew when something changed.
    ///
    /// Gives the policy that serves it and the book that it is asked about.
    async fn define(
        &self,
        alone: &Alone<'_>,
        add: &Add,
        now: Moment,
    ) -> Result<(Arc<dyn Policy>, Arc<Book>)> {
        let name = &add.request.network;
        let bounds = self.bounds();
        let (policy, by, up_to_date) = {
            let state = alone.state();
            let choice = self.committer.choice(name).filter(|_| state.is_some());
            let network = state.as_ref().map(|served| served.book.network());
            // What the node's own configuration or an operator has defined, no caller's configuration changes.
            let is_fixed = self.is_fixed(&bounds, name, network)?;
            let by = choice.as_ref().map_or(Chooser::Configuration, |choice| choice.by);
            let policy = match (&*state, &choice) {
                (Some(served), Some(choice)) if is_fixed || by == Chooser::Operator => {
                    self.policy_of(served, choice)?
                }
                _ => self.ports.catalogue.find(&add.policy)?,
            };
            let is_same = network.is_some_and(|network| is_fixed || network.config == add.config)
                && choice.is_some_and(|choice| choice.policy == **policy.stamp());
            (policy, by, is_same)
        };
        let wanted = Wanted {
            policy: Arc::clone(&policy),
            by,
            config: Arc::clone(&add.config),
            definer: Definer::Request,
        };
        if up_to_date {
            self.check_within(alone, &bounds)?;
        } else {
            let definition = self.defined(name, &wanted).await?;
            let defining = self.defining();
            // Nobody waits for it: whatever is granted under it is staged behind it.
            drop(self.redefine(&defining, &mut alone.state(), name, &wanted, &definition)?);
        }
        let mut state = alone.state();
        let served = state.as_mut().ok_or_else(no_book)?;
        served.policy = Some(Arc::clone(&policy));
        self.expire(served, now);
        Ok((policy, Arc::clone(&served.book)))
    }

    /// The policy that a network is served by, loaded again after a restart to the byte.
    pub(crate) fn policy_of(&self, served: &Served, choice: &Choice) -> Result<Arc<dyn Policy>> {
        match served.policy.as_ref().filter(|policy| **policy.stamp() == choice.policy) {
            Some(policy) => Ok(Arc::clone(policy)),
            None => self.ports.catalogue.find_pinned(&choice.policy),
        }
    }
}

pub(crate) fn no_book() -> Error {
    defect("a defined network has no book")
}

fn grant(allocation: &Allocation) -> Grant {
    Grant { generation: allocation.generation, addresses: allocation.addresses.to_vec() }
}
