//! Policies that operators load into the node, and unload.

use tenure_ledger::{Component, ComponentFact};
use tenure_types::{Error, ErrorCode, PolicySelector, PolicyStamp, Result};

use crate::engine::Engine;
use crate::policy::words::shortened;
use crate::ports::{CatalogueEntry, Offered};

impl Engine {
    /// The catalogue's policies and their state.
    #[must_use]
    pub fn policies(&self) -> Vec<CatalogueEntry> {
        let mut policies = self.ports.catalogue.list();
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

impl Engine {
    /// Takes in a component: checks its digest and signature, keeps a copy, compiles it and gives it a name; durable when
    /// this returns. No network is exchanged: one that another version serves keeps it until an operator activates this one.
    ///
    /// # Errors
    /// `PolicyUntrusted`, `PolicyUnloadable`, `TooManyPolicies`, `OutOfBounds` for a name that the daemon's configuration
    /// has, and the checkpoint's.
    pub async fn load_policy(&self, offered: Offered) -> Result<Loaded> {
        let _one_at_a_time = self.loading.lock().await;
        let source = shortened(&offered.source);
        if self.committer.node().components.all().len() >= MOST {
            let cause =
                format_args!("cannot load policy {}: the limit is {MOST} loaded policies", offered.name);
            return Err(Error::new(ErrorCode::TooManyPolicies, cause));
        }
        let taken = self.ports.catalogue.take_in(offered).await?;
        self.ports.journal.health()?;
        let policy = taken.policy.stamp().as_ref().clone();
        let component =
            Component { policy: policy.clone(), source, signer: taken.signer.clone(), at: self.now() };
        self.change_components(ComponentFact::Loaded(component), || ComponentFact::Unloaded {
            policy: policy.clone(),
            at: self.now(),
        })
        .await?;
        // Its verdict is shown, and is there when the first request names it.
        if let Err(error) = self.vet_in_general(&taken.policy).await {
            tracing::warn!(%error, "only an operator can activate this policy");
        }
        tracing::info!(%policy, signer = taken.signer, "loaded a policy");
        Ok(Loaded { policy, signer: taken.signer })
    }

    /// Unloads a policy: its name no longer stands for it. Durable when this returns.
    ///
    /// # Errors
    /// `UnknownPolicy` when nothing like it was loaded, `PolicyInUse` when it serves or shadows a network, and the
    /// checkpoint's.
    pub async fn unload_policy(&self, selector: &PolicySelector) -> Result<PolicyStamp> {
        let _one_at_a_time = self.loading.lock().await;
        let component = {
            let node = self.committer.node();
            let found = node.components.all().iter().rfind(|component| selector.matches(&component.policy));
            let unknown = || {
                Error::new(
                    ErrorCode::UnknownPolicy,
                    format_args!("policy {selector} was not loaded into this node"),
                )
            };
            let found = found.ok_or_else(unknown)?.clone();
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
        self.ports.journal.health()?;
        let policy = component.policy.clone();
        let unloaded = ComponentFact::Unloaded { policy: policy.clone(), at: self.now() };
        self.change_components(unloaded, || ComponentFact::Loaded(component)).await?;
        self.free_policies();
        tracing::info!(%policy, "unloaded a policy");
        Ok(policy)
    }

    /// Frees the loaded policies that no network uses, has used just before, or can name.
    pub fn free_policies(&self) {
        let (used, kept): (Vec<PolicyStamp>, Vec<PolicyStamp>) = {
            let node = self.committer.node();
            let used = node.choices.all().flat_map(|(_, served)| {
                let choices = [&served.now].into_iter().chain(served.before.front());
                choices.map(|choice| &choice.policy).chain(served.shadow.iter().map(|shadow| &shadow.policy))
            });
            // All versions that a network may be rolled back to have to stay on the disk.
            let kept = node.choices.all().flat_map(|(_, served)| served.policies());
            (used.cloned().collect(), kept.cloned().collect())
        };
        self.ports.catalogue.free(&used, &kept);
    }

    /// The loaded policies, in the order in which they were loaded.
    #[must_use]
    pub fn components(&self) -> Vec<Component> {
        self.committer.node().components.all().to_vec()
    }

    /// Commits a change of the loaded policies, and its opposite if it cannot be made durable.
    async fn change_components(
        &self,
        fact: ComponentFact,
        opposite: impl FnOnce() -> ComponentFact,
    ) -> Result<()> {
        let ticket = self.committer.commit_node(|_| Some(fact));
        let durable = match ticket {
            Some(ticket) => ticket.durable().await,
            None => Ok(()),
        };
        if durable.is_err() {
            self.committer.commit_node(|_| Some(opposite()));
        }
        let loaded = self.components();
        self.ports.catalogue.set_loaded(&loaded);
        durable
    }
}
