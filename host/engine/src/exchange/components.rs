//! Policies that operators load into the node, and unload.

use tenure_ledger::{Component, ComponentFact};
use tenure_types::{Error, ErrorCode, PolicySelector, PolicyStamp, Result};

use super::PolicyExchange;
use crate::policy::words::shortened;
use crate::ports::{CatalogueEntry, Offered};

impl PolicyExchange {
    /// Serves [`Engine::policies`](crate::Engine::policies).
    pub(crate) fn policies(&self) -> Vec<CatalogueEntry> {
        let mut policies = self.core.ports.catalogue.list();
        self.add_verdicts(&mut policies);
        policies
    }
}

/// How many policies can be loaded at once.
const MOST: usize = 256;

/// A policy that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The policy.
    pub policy: PolicyStamp,
    /// The key that signed it; empty if no signature was checked.
    pub signer: String,
}

impl PolicyExchange {
    /// Serves [`Engine::load_policy`](crate::Engine::load_policy).
    pub(crate) async fn load_policy(&self, offered: Offered) -> Result<Loaded> {
        let _one_at_a_time = self.loading.lock().await;
        let source = shortened(&offered.source);
        if self.core.committer.node().components.all().len() >= MOST {
            let cause =
                format_args!("cannot load policy {}: the limit is {MOST} loaded policies", offered.name);
            return Err(Error::new(ErrorCode::TooManyPolicies, cause));
        }
        let taken = self.core.ports.catalogue.take_in(offered).await?;
        self.core.ports.journal.health()?;
        let policy = taken.policy.stamp().as_ref().clone();
        let component =
            Component { policy: policy.clone(), source, signer: taken.signer.clone(), at: self.core.now() };
        self.change_components(&policy, ComponentFact::Loaded(component)).await?;
        // Its verdict is shown, and is there when the first request names it.
        if let Err(error) = self.vet_in_general(&taken.policy).await {
            tracing::warn!(%error, "only an operator can activate this policy");
        }
        tracing::info!(%policy, signer = taken.signer, "loaded a policy");
        Ok(Loaded { policy, signer: taken.signer })
    }

    /// Serves [`Engine::unload_policy`](crate::Engine::unload_policy).
    pub(crate) async fn unload_policy(&self, selector: &PolicySelector) -> Result<PolicyStamp> {
        let _one_at_a_time = self.loading.lock().await;
        let component = {
            let node = self.core.committer.node();
            let found = node.components.all().iter().rfind(|component| selector.matches(&component.policy));
            let found = found.ok_or_else(|| self.not_loaded(selector))?.clone();
            let uses = node.choices.all().filter_map(|(network, served)| {
                let shadows = served.shadow.as_ref().is_some_and(|shadow| shadow.policy == found.policy);
                (served.now.policy == found.policy || shadows).then(|| network.to_string())
            });
            let uses: Vec<_> = uses.collect();
            if !uses.is_empty() {
                let cause = format_args!("policy {} is in use on {}", found.policy, uses.join(", "));
                return Err(Error::new(ErrorCode::PolicyInUse, cause));
            }
            found
        };
        self.core.ports.journal.health()?;
        let policy = component.policy.clone();
        let unloaded = ComponentFact::Unloaded { policy: policy.clone(), at: self.core.now() };
        self.change_components(&policy, unloaded).await?;
        self.free_policies();
        tracing::info!(%policy, "unloaded a policy");
        Ok(policy)
    }

    /// The error for a policy that no operator has loaded: it may be built in, or be tenured.toml's.
    fn not_loaded(&self, selector: &PolicySelector) -> Error {
        let entry = self.core.ports.catalogue.list().into_iter().find(|entry| selector.matches(&entry.stamp));
        match entry.as_ref().map(|entry| entry.source.as_str()) {
            Some("embedded") => {
                let cause = format_args!("policy {selector} is built in, and cannot be unloaded");
                let next_step = "activate another policy where it is not to serve; only a policy that an operator has loaded can be unloaded";
                Error::new(ErrorCode::OutOfBounds, cause).to_be_solved_by(next_step)
            }
            Some(path) if path.starts_with('/') => {
                let cause = format_args!(
                    "policy {selector} was not loaded by an operator: tenured.toml names {path}"
                );
                let next_step =
                    format!("remove `[policies.{}]` from tenured.toml, and reload", selector.name);
                Error::new(ErrorCode::OutOfBounds, cause).to_be_solved_by(next_step)
            }
            _ => Error::new(ErrorCode::UnknownPolicy, format_args!("no policy {selector} on this node")),
        }
    }

    /// Serves [`Engine::free_policies`](crate::Engine::free_policies).
    pub(crate) fn free_policies(&self) {
        let (used, kept): (Vec<PolicyStamp>, Vec<PolicyStamp>) = {
            let node = self.core.committer.node();
            let used = node.choices.all().flat_map(|(_, served)| {
                let choices = [&served.now].into_iter().chain(served.before.front());
                choices.map(|choice| &choice.policy).chain(served.shadow.iter().map(|shadow| &shadow.policy))
            });
            // All versions that a network may be rolled back to have to stay on the disk.
            let kept = node.choices.all().flat_map(|(_, served)| served.policies());
            (used.cloned().collect(), kept.cloned().collect())
        };
        self.core.ports.catalogue.free(&used, &kept);
    }

    /// Serves [`Engine::components`](crate::Engine::components).
    pub(crate) fn components(&self) -> Vec<Component> {
        self.core.committer.node().components.all().to_vec()
    }

    /// Commits a change of the loaded policies. If it cannot be made durable, the policies are again those of before, in their order, since a name
    /// stands for the last one that was loaded under it.
    async fn change_components(&self, policy: &PolicyStamp, fact: ComponentFact) -> Result<()> {
        let before = self.components();
        let ticket = self.core.committer.commit_node(|_| Some(fact));
        let durable = match ticket {
            Some(ticket) => ticket.durable().await,
            None => Ok(()),
        };
        if durable.is_err() {
            for fact in self.restoring(&before, policy) {
                self.core.committer.commit_node(|_| Some(fact));
            }
        }
        let loaded = self.components();
        self.core.ports.catalogue.set_loaded(&loaded);
        durable
    }

    /// The facts that bring a policy back to where it was: each one that is loaded moves to the end.
    fn restoring(&self, before: &[Component], policy: &PolicyStamp) -> Vec<ComponentFact> {
        let from = before.iter().position(|component| component.policy == *policy);
        match from.and_then(|from| before.get(from..)) {
            Some(moved) => moved.iter().cloned().map(ComponentFact::Loaded).collect(),
            None => vec![ComponentFact::Unloaded { policy: policy.clone(), at: self.core.now() }],
        }
    }
}
