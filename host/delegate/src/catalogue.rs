//! The node's policies together with those that stand for delegates.

use std::sync::Arc;

use tenure_engine::ports::{
    Again, Answer, Catalogue, CatalogueEntry, Delegate, Details, Offered, Policy, TakenIn,
};
use tenure_ledger::Component;
use tenure_types::{
    DelegateName, Error, ErrorCode, Meter, NetworkName, PolicyName, PolicySelector, PolicyStamp, Result,
};

use crate::allowed::Allowed;

/// A catalogue that knows the delegates as well.
pub struct WithDelegates {
    policies: Arc<dyn Catalogue>,
    allowed: Arc<Allowed>,
}

impl WithDelegates {
    /// The policies of another catalogue, and the delegates.
    #[must_use]
    pub fn new(policies: Arc<dyn Catalogue>, allowed: Arc<Allowed>) -> Self {
        Self { policies, allowed }
    }

    /// The policy that stands for a delegate; `None` if the name is that of another policy.
    fn proposer(&self, name: &PolicyName) -> Option<Result<Arc<dyn Policy>>> {
        let delegate = name.delegate()?;
        Some(self.allowed.policy(&delegate).ok_or_else(|| {
            let cause = format_args!("delegates.{delegate} is not in the daemon's configuration");
            Error::new(ErrorCode::DelegateUnavailable, cause)
        }))
    }
}

impl Catalogue for WithDelegates {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>> {
        self.proposer(name).unwrap_or_else(|| self.policies.find(name))
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>> {
        self.proposer(&stamp.name).unwrap_or_else(|| self.policies.find_pinned(stamp))
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp> {
        match self.proposer(&selector.name) {
            Some(proposer) => Ok(proposer?.stamp().as_ref().clone()),
            None => self.policies.resolve(selector),
        }
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        match self.proposer(&stamp.name) {
            Some(proposer) => Box::pin(std::future::ready(proposer)),
            None => self.policies.load(stamp),
        }
    }

    fn take_in(&self, offered: Offered) -> Answer<'_, TakenIn> {
        if offered.name.delegate().is_some() {
            let cause = format_args!("{} is the name of a delegate", offered.name);
            return Box::pin(std::future::ready(Err(Error::new(ErrorCode::OutOfBounds, cause))));
        }
        self.policies.take_in(offered)
    }

    fn decide_again<'a>(&'a self, policy: &'a PolicyStamp, network: &'a NetworkName) -> Answer<'a, Again> {
        match policy.name.delegate() {
            Some(_) => Box::pin(std::future::ready(Ok(Again::default()))),
            None => self.policies.decide_again(policy, network),
        }
    }

    fn set_loaded(&self, loaded: &[Component]) {
        self.policies.set_loaded(loaded);
    }

    fn is_watched(&self, name: &PolicyName) -> bool {
        self.policies.is_watched(name)
    }

    fn needs_vetting(&self, policy: &PolicyStamp) -> bool {
        policy.name.delegate().is_none() && self.policies.needs_vetting(policy)
    }

    fn delegate(&self, name: &DelegateName) -> Option<Arc<dyn Delegate>> {
        self.allowed.get(name)
    }

    fn free(&self, used: &[PolicyStamp], kept: &[PolicyStamp]) {
        self.policies.free(used, kept);
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        self.policies.list()
    }

    fn details(&self, policy: &PolicyStamp) -> Option<Details> {
        self.policies.details(policy)
    }

    fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        self.policies.meters()
    }

    fn awaited(&self) -> Option<String> {
        self.policies.awaited()
    }
}
