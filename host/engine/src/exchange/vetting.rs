//! The conformance suite for policies that a configuration names, and no operator: each passes it once, under its name and
//! by its digest, before it first serves. It runs beside the requests; an ADD that needs its verdict is told to try again.
//!
//! ```text
//! unknown ──listed, or named by a request──▶ waiting ──passes──▶ passed
//!    │ has served a network                     │ ├──fails───▶ failed
//!    └──────────────────────▶ passed            │ └──refuses the configuration──▶ tried with each network's own
//! ```

use std::sync::Arc;

use tenure_types::{Error, ErrorCode, NetworkConfig, NetworkName, PolicyStamp, Result};

use super::PolicyExchange;
use super::conformance::conformance;
use super::vetted::{Check, Standing};
use crate::ports::{CatalogueEntry, Policy, on_trial};

/// The configuration with which a policy is tried before any network names it.
const GENERAL: &str = r#"{ "ranges": [[{ "subnet": "10.1.0.0/24" }]] }"#;

/// The name of the network made up for that.
const MADE_UP: &str = "check";

impl PolicyExchange {
    /// Whether a policy that a network's configuration names may begin to serve it.
    ///
    /// # Errors
    /// `PolicyNonconforming`, and `Preparing` as long as that is being found out.
    pub(crate) fn vetted(
        &self,
        network: &NetworkName,
        policy: &Arc<dyn Policy>,
        config: &Arc<NetworkConfig>,
    ) -> Result<()> {
        match self.known_with(policy.stamp(), config) {
            Some(Standing::Passed) => Ok(()),
            Some(Standing::Failed(why)) => Err(nonconforming(policy.stamp(), &why)),
            Some(Standing::Waiting) => Err(being_checked(policy.stamp())),
            Some(Standing::Odd) | None => {
                let (policy, config) = (Arc::clone(policy), Arc::clone(config));
                let error = being_checked(policy.stamp());
                self.vetting.begin(Check { policy, network: network.clone(), config });
                Err(error)
            }
        }
    }

    /// As [`vetted`](Self::vetted), for a caller that can wait.
    pub(crate) async fn vet(
        &self,
        network: &NetworkName,
        policy: &Arc<dyn Policy>,
        config: &Arc<NetworkConfig>,
    ) -> Result<()> {
        match self.known_with(policy.stamp(), config) {
            Some(Standing::Passed) => return Ok(()),
            Some(Standing::Failed(why)) => return Err(nonconforming(policy.stamp(), &why)),
            Some(Standing::Waiting | Standing::Odd) | None => {}
        }
        let check =
            Check { policy: Arc::clone(policy), network: network.clone(), config: Arc::clone(config) };
        match self.make(&check).await {
            Some(why) => Err(nonconforming(policy.stamp(), &why)),
            None => Ok(()),
        }
    }

    /// As [`vet`](Self::vet), on a network made up for it.
    pub(super) async fn vet_in_general(&self, policy: &Arc<dyn Policy>) -> Result<()> {
        match in_general(policy) {
            Some(Check { policy, network, config }) => self.vet(&network, &policy, &config).await,
            None => Ok(()),
        }
    }

    /// Serves [`Engine::make_check`](crate::Engine::make_check).
    pub(crate) async fn make_check(&self) -> bool {
        let Some(check) = self.vetting.next() else { return false };
        self.make(&check).await;
        true
    }

    /// Serves [`Engine::check_again`](crate::Engine::check_again).
    pub(crate) fn check_again(&self) {
        self.vetting.forget();
    }

    /// Serves [`Engine::check_due`](crate::Engine::check_due).
    pub(crate) async fn check_due(&self) {
        self.vetting.due().await;
    }

    /// Adds to the catalogue's entries what the suite says, and queues the checks of those that it has not seen.
    pub(crate) fn add_verdicts(&self, entries: &mut [CatalogueEntry]) {
        for entry in entries.iter_mut().filter(|entry| entry.problem.is_none()) {
            match self.known(&entry.stamp) {
                Some(Standing::Passed | Standing::Odd) => {}
                Some(Standing::Failed(why)) => {
                    entry.problem = Some(format!("it does not pass the conformance suite: {why}"));
                }
                Some(Standing::Waiting) => be_checked(entry),
                None => {
                    if let Some(check) =
                        self.core.ports.catalogue.find_pinned(&entry.stamp).ok().as_ref().and_then(in_general)
                    {
                        self.vetting.begin(check);
                        be_checked(entry);
                    }
                }
            }
        }
    }

    /// Returns a policy's standing; a policy that has served a network, or needs no check, has passed.
    fn known(&self, policy: &PolicyStamp) -> Option<Standing> {
        if !self.core.ports.catalogue.needs_vetting(policy) {
            return Some(Standing::Passed);
        }
        let known = self.vetting.standing(policy);
        if known.is_none() && self.has_served(policy) {
            self.vetting.set(policy, Standing::Passed);
            return Some(Standing::Passed);
        }
        known
    }

    /// The same with a network's configuration: with one that it does not accept, it serves nobody anyway.
    fn known_with(&self, policy: &PolicyStamp, config: &NetworkConfig) -> Option<Standing> {
        match self.known(policy) {
            Some(Standing::Odd | Standing::Waiting) if self.vetting.is_odd(policy, config) => {
                Some(Standing::Passed)
            }
            known => known,
        }
    }

    /// Whether a policy serves a network, or has served one.
    fn has_served(&self, policy: &PolicyStamp) -> bool {
        let node = self.core.committer.node();
        node.choices.all().any(|(_, served)| {
            let mut choices = [&served.now].into_iter().chain(&served.before);
            choices.any(|choice| choice.policy == *policy)
        })
    }

    /// Makes a check, and returns why it failed, if it did.
    async fn make(&self, check: &Check) -> Option<String> {
        let policy = on_trial(Arc::clone(&check.policy));
        let outcome = conformance(policy.as_ref(), &check.network, &check.config).await;
        self.vetting.end(check, outcome.failure.clone(), outcome.skipped.is_some());
        outcome.failure
    }
}

/// A check on a network made up for it.
fn in_general(policy: &Arc<dyn Policy>) -> Option<Check> {
    // The name is valid.
    let network = NetworkName::new(MADE_UP).ok()?;
    let config = Arc::new(NetworkConfig { ipam: GENERAL.to_owned(), attributes: Vec::new() });
    Some(Check { policy: Arc::clone(policy), network, config })
}

fn be_checked(entry: &mut CatalogueEntry) {
    entry.problem = Some("the conformance suite is running".to_owned());
    entry.loading = true;
}

fn being_checked(policy: &PolicyStamp) -> Error {
    let cause = format_args!("policy {policy} is still being checked by the conformance suite");
    Error::new(ErrorCode::Preparing, cause)
}

fn nonconforming(policy: &PolicyStamp, why: &str) -> Error {
    let cause = format_args!("policy {policy} does not pass the conformance suite: {why}");
    Error::new(ErrorCode::PolicyNonconforming, cause)
}
