//! The complete path of an ADD, in one function.

use std::sync::Arc;

use tenure_ledger::{Fact, LedgerFact, Repeat};
use tenure_types::{
    Allocation, AssignedAddress, Error, ErrorCode, Grant, NetworkConfig, Outcome, PolicyName, Request,
    Result, Sandbox,
};

use super::define::CallerConfig;
use super::delegated::DelegatedAdd;
use crate::core::admission::not_in_future;
use crate::core::undo::{Changed, Undo};
use crate::delegates::identity::check_owner;
use crate::engine::Engine;
use crate::links::same_link;
use crate::network::slot::{Served, no_book};
use crate::policy::states::kept;
use crate::ports::Ticket;

/// An ADD: the request and the network's configuration that came with it.
#[derive(Debug, Clone)]
pub struct Add {
    /// The request.
    pub request: Request,
    /// The policy named in the configuration.
    pub policy: PolicyName,
    /// The configuration, as it is passed to the policy.
    pub config: Arc<NetworkConfig>,
}

impl Engine {
    /// Assigns addresses to an owner. A repeated ADD returns the same grant.
    ///
    /// `fits` lets the caller reject the addresses before anything is staged. Dropping the future before it completes
    /// undoes the ADD.
    ///
    /// # Errors
    /// See [`ErrorCode`]. On error, nothing stays assigned.
    pub async fn add(&self, add: Add, fits: impl Fn(&[AssignedAddress]) -> Result<()>) -> Result<Grant> {
        let (network, owner) = (add.request.network.clone(), add.request.owner.clone());
        let mut add = add;
        let answer = async {
            loop {
                let supply = self.effects.demands.seen(&network);
                add.request.supply_full = self.effects.demands.is_full(&network);
                let served = self.serve_add(&mut add, &fits).await;
                let is_full = served.as_ref().is_err_and(|error| {
                    matches!(
                        error.code,
                        ErrorCode::NotYet | ErrorCode::PoolExhausted | ErrorCode::AddressUnavailable
                    )
                });
                if is_full && self.frees_predecessors(&add.request).await {
                    continue;
                }
                match served {
                    // It holds nothing while it waits, and starts again from the beginning, so that a DEL meanwhile is told from one before.
                    Err(error) if error.code == ErrorCode::NotYet => {
                        self.effects.demands.wait(&network, supply, error).await?;
                    }
                    answer => return answer.map_err(|error| self.effects.demands.told(&network, error)),
                }
            }
        };
        self.core.observed("add", &network, Some(&owner), answer).await
    }

    async fn serve_add(
        &self,
        add: &mut Add,
        fits: impl Fn(&[AssignedAddress]) -> Result<()>,
    ) -> Result<Grant> {
        // Admission: FIFO per key, with a bounded queue.
        let mut turn = self.core.admission.enter(&add.request.network, &add.request.owner).await?;
        let now = self.core.now();
        add.request.requested_at = not_in_future(add.request.requested_at, now);
        turn.check_alive(add.request.requested_at, now)?;

        // The network: one request at a time until the decision is staged. Other networks do not wait.
        let slot = self.core.networks.get_or_create(&add.request.network)?;
        let alone = slot.alone().await;
        turn.place().await?;
        // An older state may say that the caller has what another has by now.
        self.core.has_state()?;
        let repeated = self.repeat(alone.state().as_mut(), &add.request)?;
        if let Some((held, ticket)) = repeated {
            drop(alone);
            ticket.durable().await?;
            return self.links.connected(&held).await;
        }
        check_owner(&add.request.owner)?;
        self.core.admits()?;
        let Sandbox { pod, link, .. } = &add.request.sandbox;
        self.links.has_a_name_of_its_own(link.as_deref(), (&add.request.owner, pod.as_ref()))?;
        self.imports.admits_beside_moves(alone.state().as_ref())?;
        let caller = CallerConfig { network: &add.request.network, policy: &add.policy, config: &add.config };
        self.admits_beside_others(caller).await?;
        let (policy, book) = self.define(&alone, caller, now).await?;
        if let Some(delegate) = policy.delegate() {
            // It proposes in the policy's stead.
            drop(book);
            let (policy, delegate, request) = (policy.as_ref(), delegate.clone(), add.request.clone());
            let delegated = DelegatedAdd { turn, slot: &slot, alone, policy, delegate, request };
            return self.add_delegated(delegated, fits).await;
        }

        // The policy proposes, the ledger disposes.
        let name = &add.request.network;
        let remembered = self.core.remembered(name, policy.as_ref());
        let request = self.core.for_everybody(&add.request, &book);
        let began = self.core.ports.clock.monotonic();
        let outcome = self
            .core
            .ask(name, policy.as_ref(), || {
                policy.propose(&request, Arc::clone(&book), Arc::clone(&remembered.bytes))
            })
            .await;
        let Outcome { proposal, state } =
            self.exchange.judged(&alone, &request, book, began, outcome).await?;
        let (allocation, ticket, changed) = {
            let mut held = alone.hold();
            let served = held.as_mut().ok_or_else(no_book)?;
            let admitted = served.book.admit(&request, &proposal, policy.stamp(), now);
            let allocation = admitted.map_err(|violation| {
                let why = format_args!("made an invalid proposal for network {name}: {violation}");
                self.core.rejected(policy.as_ref(), violation.rule(), why)
            })?;
            fits(&allocation.addresses)?;
            let allocation = Arc::new(allocation);

            // The checkpoint: staged with the book locked, so that log order equals book order; durable before the
            // reply. A new state is kept together with the allocation, or neither is.
            let allocated = Fact::from(LedgerFact::Allocated(Arc::clone(&allocation)));
            let kept = kept(name, &remembered, state, now);
            let is_changed = kept.is_some();
            let facts: Vec<Fact> = [allocated].into_iter().chain(kept.map(Fact::from)).collect();
            let (_, ticket) = self.core.committer.commit(&mut served.book, &facts)?;
            let changed = is_changed.then(|| Changed { before: remembered, turn: held.look().into_turn() });
            (allocation, ticket, changed)
        };
        let (owner, generation) = (add.request.owner.clone(), allocation.generation);
        let mut undo = Undo::new(&self.core.undo, Arc::clone(&slot.slot), owner, generation, turn, changed);
        ticket.durable().await?;

        // The kernel: only what is durable is connected, so that after a crash the ledger knows each link.
        undo.durable();
        let granted = self.links.connected(&allocation).await?;
        undo.disarm();
        Ok(granted)
    }

    /// Returns an owner's existing allocation. A repeat that began later renews the allocation, durably.
    fn repeat(
        &self,
        served: Option<&mut Served>,
        request: &Request,
    ) -> Result<Option<(Arc<Allocation>, Ticket)>> {
        let Some(served) = served else { return Ok(None) };
        let Some(held) = served.book.owned_by(&request.owner) else { return Ok(None) };
        same_link(held, request)?;
        let ticket = match served.book.repeat(request) {
            Some(Repeat::Renews(fact)) => {
                self.core.ports.journal.health()?;
                self.core.committer.commit_one(&mut served.book, fact)?
            }
            Some(Repeat::Outdated) => {
                let (owner, network) = (&request.owner, &request.network);
                let cause = format_args!(
                    "ADD of {owner} on {network} began before another ADD of the same attachment, which named another network namespace"
                );
                return Err(Error::new(ErrorCode::Superseded, cause));
            }
            // The allocation may come from an import that is not durable yet.
            Some(Repeat::Same) | None => self.core.ports.journal.barrier(),
        };
        Ok(served.book.owned_by(&request.owner).map(|held| (Arc::clone(held), ticket)))
    }
}
