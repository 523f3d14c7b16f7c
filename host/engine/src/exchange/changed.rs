//! A policy's file has changed: the new version is exchanged on the networks that the old one serves, as an operator's
//! `activate` would.

use std::sync::Arc;

use tenure_ledger::choices::Served;
use tenure_ledger::{Choice, Chooser};
use tenure_types::{Error, ErrorCode, NetworkName, PolicyName, PolicyStamp, Result};

use super::PolicyExchange;
use super::activate::Reason;
use crate::ports::Policy;

/// The reason, in a network's history, of an exchange by a changed file; behind it stands the state that the version took over. The reason of
/// an operator begins with the verb.
const FILE_CHANGED: &str = "file changed";

/// The outcome of a changed file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// The networks that the new version serves now.
    pub exchanged: Vec<NetworkName>,
    /// The networks that another version keeps serving, and why.
    pub kept: Vec<(NetworkName, Error)>,
    /// Whether the new version serves a network already.
    pub serves: bool,
}

impl Changed {
    /// Whether the policy's name should stand for the new version: it serves a network, or none was to be exchanged.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.serves || !self.exchanged.is_empty() || self.kept.is_empty()
    }
}

impl PolicyExchange {
    /// Serves [`Engine::apply_changed`](crate::Engine::apply_changed).
    pub(crate) async fn apply_changed(&self, policy: &PolicyStamp) -> Result<Changed> {
        let loaded = self.core.ports.catalogue.load(policy).await?;
        self.vet_in_general(&loaded).await?;
        let mut changed = Changed { serves: self.serves(policy), ..Changed::default() };
        for network in self.behind(policy) {
            let exchange = self.exchange_changed(&network, &loaded);
            match self.core.observed("activate", &network, None, exchange).await {
                Ok(()) => changed.exchanged.push(network),
                // It was removed meanwhile.
                Err(error) if error.code == ErrorCode::UnknownNetwork => {}
                Err(error) => changed.kept.push((network, error)),
            }
        }
        Ok(changed)
    }

    /// Serves [`Engine::last_version`](crate::Engine::last_version).
    pub(crate) fn last_version(&self, policy: &PolicyName) -> Option<PolicyStamp> {
        let node = self.core.committer.node();
        let choices = node.choices.all().flat_map(|(_, served)| {
            let before = served.before.iter().map(|choice| (false, choice));
            [(true, &served.now)].into_iter().chain(before)
        });
        let of_it = choices.filter(|(_, choice)| choice.policy.name == *policy);
        of_it
            .max_by_key(|(is_now, choice)| (*is_now, choice.at.wall_ms))
            .map(|(_, choice)| choice.policy.clone())
    }

    /// Serves [`Engine::behind`](crate::Engine::behind).
    pub(crate) fn behind(&self, policy: &PolicyStamp) -> Vec<NetworkName> {
        let node = self.core.committer.node();
        let behind = node.choices.all().filter(|(_, served)| {
            let now = &served.now.policy;
            now.name == policy.name && now.digest != policy.digest
        });
        behind.map(|(network, _)| network.clone()).collect()
    }

    /// Serves [`Engine::given_up_for`](crate::Engine::given_up_for).
    pub(crate) fn given_up_for(&self, policy: &PolicyStamp) -> Option<PolicyStamp> {
        if self.serves(policy) {
            return None;
        }
        let node = self.core.committer.node();
        let left = node.choices.all().map(|(_, served)| served).filter(|served| was_left(served, policy));
        let to = left.map(|served| &served.now.policy).find(|to| to.name == policy.name);
        to.cloned()
    }

    /// Whether a network is served by this version.
    fn serves(&self, policy: &PolicyStamp) -> bool {
        self.core.committer.node().choices.all().any(|(_, served)| served.now.policy == *policy)
    }

    async fn exchange_changed(&self, network: &NetworkName, policy: &Arc<dyn Policy>) -> Result<()> {
        let (served, stamp) = (self.core.served(network)?, policy.stamp());
        if was_left(&served, stamp) {
            let cause = format_args!(
                "network {network} was rolled back from policy {stamp}, which is not applied there again: \
                 `tenurectl policy activate {network} {}@{:.12}` does",
                stamp.name, stamp.digest
            );
            return Err(Error::new(ErrorCode::PolicyNonconforming, cause));
        }
        if self.core.ports.catalogue.needs_vetting(stamp) {
            self.check_conformance(network, policy, CHANGE).await?;
        }
        let (by, why) = (chooser(&served), FILE_CHANGED.to_owned());
        let reason = Reason { by, why, shadow: None, asked: CHANGE };
        self.put_into_service(network, Arc::clone(policy), reason, false, false).await.map(drop)
    }
}

/// The request and its author, for the history.
const CHANGE: &str = "change of the policy's file";

/// Whether somebody, or the daemon itself, returned from this version to the present one. One that a change of the file replaced was not
/// left: the file may return to it.
fn was_left(served: &Served, policy: &PolicyStamp) -> bool {
    let Choice { by, why, .. } = &served.now;
    by.overrides()
        && !why.starts_with(FILE_CHANGED)
        && served.before.front().is_some_and(|before| before.policy == *policy)
}

/// Returns the chooser of the new version: the one who chose the policy's name.
fn chooser(served: &Served) -> Chooser {
    let chosen = [&served.now].into_iter().chain(&served.before).map(|choice| choice.by);
    chosen.into_iter().find(|by| *by != Chooser::RollBack).unwrap_or(Chooser::Operator)
}
