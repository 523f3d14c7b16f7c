//! Claims of agents on networks with a delegate.

use std::collections::BTreeMap;

use tenure_ledger::{ClaimKey, Fact, Wish};
use tenure_types::{
    Allocation, DelegateName, Error, ErrorCode, Moment, Request, RequestContext, Result, Sandbox,
};

use super::AgentClaims;
use super::asking::check_families;
use super::facts::claimed_fact;
use crate::delegates::obtain::{Obtained, Wanting};
use crate::network::networks::Entered;
use crate::network::slot::no_book;
use crate::ports::{Policy, Ticket};

/// A claim on a network that a delegate serves.
#[derive(Clone, Copy)]
pub(super) struct DelegatedClaim<'a> {
    pub(super) key: &'a ClaimKey,
    pub(super) wish: &'a Wish,
    /// The policy that stands for the delegate.
    pub(super) policy: &'a dyn Policy,
}

impl AgentClaims {
    /// Makes a claim from what a delegate gives. The caller has the agent's turn, and not the network's.
    pub(super) async fn claim_delegated(
        &self,
        slot: &Entered<'_>,
        claim: DelegatedClaim<'_>,
        delegate: DelegateName,
    ) -> Result<Ticket> {
        let DelegatedClaim { key, wish, policy } = claim;
        let obtained = self.obtain_claim(slot, key, wish, delegate).await?;
        let now = self.core.now();
        let request = request(key, wish, now);
        let alone = slot.alone().await;
        let recorded = self.delegates.record(alone, &request, &obtained, policy, |allocation| {
            check_wish(key, wish, allocation)?;
            Ok(vec![claimed_fact(key, wish, allocation, now, now)])
        });
        match recorded {
            Ok((_, ticket)) => Ok(ticket),
            Err(error) => {
                drop(obtained);
                self.delegates.settle_quietly(&key.network, &key.owner()).await;
                Err(error)
            }
        }
    }

    /// Has a delegate give what a claim needs.
    pub(super) async fn obtain_claim(
        &self,
        slot: &Entered<'_>,
        key: &ClaimKey,
        wish: &Wish,
        delegate: DelegateName,
    ) -> Result<Obtained> {
        let ipam = slot.state().as_ref().map(|served| served.book.network().config.ipam.as_str().into());
        let wanting = Wanting {
            network: key.network.clone(),
            owner: key.owner(),
            delegate,
            ipam: ipam.ok_or_else(no_book)?,
            netns: "".into(),
            pod: None,
            requested: wish.addresses.clone(),
        };
        self.delegates.obtain(slot, wanting).await
    }

    /// The facts of a claim that a declaration makes from what a delegate gave.
    pub(super) fn declared_delegated(
        &self,
        book: &tenure_ledger::Book,
        claim: DelegatedClaim<'_>,
        obtained: &Obtained,
        made_at: Moment,
        now: Moment,
    ) -> Result<Vec<Fact>> {
        let DelegatedClaim { key, wish, policy } = claim;
        let (allocation, mut facts) =
            self.delegates.accepted(book, &request(key, wish, now), obtained, policy)?;
        check_wish(key, wish, &allocation)?;
        facts.push(claimed_fact(key, wish, &allocation, made_at, now));
        Ok(facts)
    }
}

/// The addresses from delegates for the claims of a declaration.
pub(crate) type ForClaims = BTreeMap<ClaimKey, Obtained>;

fn request(key: &ClaimKey, wish: &Wish, now: Moment) -> Request {
    Request {
        network: key.network.clone(),
        owner: key.owner(),
        requested: wish.addresses.clone(),
        sandbox: Sandbox::default(),
        supply_full: false,
        context: RequestContext::default(),
        requested_at: now,
    }
}

fn check_wish(key: &ClaimKey, wish: &Wish, allocation: &Allocation) -> Result<()> {
    check_families(wish, &allocation.addresses)
        .map_err(|missing| Error::new(ErrorCode::AddressUnavailable, format_args!("{key}: {missing}")))
}
