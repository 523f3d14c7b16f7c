//! The links of allocations: made once the allocation is durable, removed once it has ended.
//!
//! The ledger says which links must exist; the kernel shows which do. Nothing else is recorded, so a crash at any point is
//! repaired from the two:
//!
//! ```text
//!             durable             connected
//! (no link) ──────────▶ recorded ───────────▶ up        recorded or up, and a crash: restore_links makes it whole
//!     ▲                     │                  │
//!     └─────────────────────┴──────────────────┘        ended, and still there: sweep_links removes it
//!        DEL, undo; GC and all others by the sweep
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use futures_util::StreamExt as _;
use tenure_types::{
    Allocation, Attributes, Error, ErrorCode, Grant, Link, NetworkName, Owner, PodIdentity, Request, Result,
};
use tokio::sync::Notify;

use crate::core::EngineCore;
use crate::ports::LinkKey;

/// Owns when the links of pods are made and removed.
pub(crate) struct PodLinks {
    core: Arc<EngineCore>,
    /// Notified when links of ended allocations may be left.
    unlinked: Notify,
}

impl PodLinks {
    pub(crate) fn new(core: Arc<EngineCore>) -> Self {
        Self { core, unlinked: Notify::new() }
    }

    /// Allocations have ended, whose links may be left.
    pub(crate) fn may_be_left(&self) {
        self.unlinked.notify_one();
    }
}

/// How many links are looked at at once.
const AT_ONCE: usize = 32;

impl PodLinks {
    /// Serves [`Engine::link`](crate::Engine::link).
    pub(crate) fn link(
        &self,
        network: &NetworkName,
        owner: &Owner,
        pod: Option<&PodIdentity>,
        mtu: Option<u32>,
    ) -> Link {
        let slot = self.core.networks.get(network);
        let state = slot.as_ref().map(|slot| slot.state());
        let served = state.as_ref().and_then(|state| state.as_ref());
        let defined = served.map(|served| Arc::clone(served.book.network()));
        let attributes = defined.as_ref().map(|network| &network.attributes);
        self.core.ports.links.link(owner, pod, mtu, attributes.unwrap_or(&Attributes::default()))
    }

    /// Serves [`Engine::status_of_links`](crate::Engine::status_of_links).
    pub(crate) fn status_of_links(&self) -> Result<()> {
        let unavailable =
            |error: Error| Error::new(ErrorCode::Unavailable, format_args!("{}: {error}", error.code));
        self.core.ports.links.health().map_err(unavailable)
    }

    /// Serves [`Engine::linked`](crate::Engine::linked).
    pub(crate) fn linked(&self) -> Vec<Arc<Allocation>> {
        let mut all: Vec<Arc<Allocation>> = Vec::new();
        for name in self.core.networks.names() {
            let Some(slot) = self.core.networks.get(&name) else { continue };
            let state = slot.state();
            let allocations = state.iter().flat_map(|served| served.book.allocations());
            all.extend(allocations.filter(|held| held.link().is_some()).cloned());
        }
        let age = |held: &Arc<Allocation>| (held.allocated_at.boot_ns, held.generation);
        all.sort_by_key(age);
        let mut linked: HashMap<Box<str>, Arc<Allocation>> = HashMap::new();
        for held in all {
            let Some(host) = held.link().map(|link| link.host.clone()) else { continue };
            match linked.entry(host) {
                Entry::Vacant(free) => drop(free.insert(held)),
                Entry::Occupied(mut other) if is_same_pod(attached(other.get()), attached(&held)) => {
                    drop(other.insert(held));
                }
                Entry::Occupied(_) => {}
            }
        }
        let mut linked: Vec<_> = linked.into_values().collect();
        linked.sort_by_key(age);
        linked
    }

    /// Serves [`Engine::restore_links`](crate::Engine::restore_links).
    pub(crate) async fn restore_links(&self) {
        let restore = |allocation: Arc<Allocation>| async move {
            let Ok(_turn) = self.core.admission.enter(&allocation.network, &allocation.owner).await else {
                return;
            };
            let (owner, network) = (&allocation.owner, &allocation.network);
            if self
                .core
                .allocation_of(network, owner)
                .is_none_or(|held| held.generation != allocation.generation)
            {
                return;
            }
            if let Err(error) = self.core.ports.links.restore(&allocation).await {
                let (code, cause) = (error.code.name(), error.cause);
                tracing::warn!(%owner, %network, code, cause, "cannot restore a link");
            }
        };
        futures_util::stream::iter(self.linked()).for_each_concurrent(AT_ONCE, restore).await;
    }

    /// Serves [`Engine::sweep_links`](crate::Engine::sweep_links).
    pub(crate) async fn sweep_links(&self) -> Result<usize> {
        if self.core.has_state().is_err() {
            return Ok(0);
        }
        // An allocation is made before its link: what is shown now and has none has had one.
        let mut shown = self.core.ports.links.list().await?;
        shown.retain(|link| !self.is_linked(link));
        let remove = |link: LinkKey| async move { self.core.ports.links.disconnect(&link).await };
        let outcomes: Vec<Result<()>> =
            futures_util::stream::iter(shown).map(remove).buffer_unordered(AT_ONCE).collect().await;
        let removed = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        outcomes.into_iter().collect::<Result<()>>().map(|()| removed)
    }

    /// Serves [`Engine::unlinked`](crate::Engine::unlinked).
    pub(crate) async fn unlinked(&self) {
        self.unlinked.notified().await;
    }

    /// Connects what has been allocated, durably, and returns the grant.
    pub(crate) async fn connected(&self, allocation: &Allocation) -> Result<Grant> {
        if allocation.link().is_some() {
            // Two that came at the same time, on two networks.
            self.has_a_name_of_its_own(allocation.link(), attached(allocation))?;
            self.core.ports.links.connect(allocation).await?;
        }
        Ok(self.grant(allocation))
    }

    /// Refuses a link whose name another pod's has: that pod came first, and would lose its own.
    pub(crate) fn has_a_name_of_its_own(&self, link: Option<&Link>, attached: Attached<'_>) -> Result<()> {
        let Some(link) = link else { return Ok(()) };
        let is_named_so = |held: &Allocation| held.link().is_some_and(|other| other.host == link.host);
        let is_anothers =
            |held: &Arc<Allocation>| is_named_so(held) && !is_same_pod(self::attached(held), attached);
        let is_shared =
            self.core.networks.names().iter().filter_map(|name| self.core.networks.get(name)).any(|slot| {
                slot.state().iter().flat_map(|served| served.book.allocations()).any(is_anothers)
            });
        if is_shared && self.linked().iter().any(is_anothers) {
            // Not whose: that is not this pod's business.
            let (owner, host) = (attached.0, &link.host);
            let cause = format_args!("{owner} needs a link of the name {host}, which another pod's has");
            return Err(Error::new(ErrorCode::LinkNameShared, cause));
        }
        Ok(())
    }

    /// Returns the grant of an allocation.
    pub(crate) fn grant(&self, allocation: &Allocation) -> Grant {
        Grant {
            generation: allocation.generation,
            addresses: allocation.addresses.to_vec(),
            link: self.core.ports.links.describe(allocation),
        }
    }

    /// Removes the link of an allocation that has ended; what fails is tried again by the sweep, and delays no DEL.
    pub(crate) async fn disconnect(&self, ended: Option<&Allocation>) {
        let Some(link) = ended.and_then(LinkKey::of) else { return };
        if let Err(error) = self.core.ports.links.disconnect(&link).await {
            let (code, cause) = (error.code.name(), error.cause);
            tracing::warn!(link = %link.host, code, cause, "cannot remove a link; trying again later");
        }
    }
}

/// Refuses a repeated ADD by another plugin than the first: what the runtime was told about the link would be wrong.
pub(crate) fn same_link(held: &Allocation, request: &Request) -> Result<()> {
    let (network, owner) = (&held.network, &held.owner);
    match (held.link(), &request.sandbox.link) {
        (Some(_), Some(_)) | (None, None) => Ok(()),
        (Some(link), None) => Err(Error::new(
            ErrorCode::LinkDiffers,
            format_args!(
                "{owner} on {network} has link {}, and another plugin now wants to make one",
                link.host
            ),
        )),
        (None, Some(_)) => Err(Error::new(
            ErrorCode::LinkDiffers,
            format_args!(
                "{owner} on {network} got its address through another plugin, without a link of ours"
            ),
        )),
    }
}

impl PodLinks {
    fn is_linked(&self, link: &LinkKey) -> bool {
        let Some(slot) = self.core.networks.get(&link.network) else { return false };
        let before = tenure_types::Generation(link.generation.0.saturating_sub(1));
        let state = slot.state();
        let held = state.as_ref().and_then(|served| served.book.allocations_after(before).next());
        held.and_then(|held| LinkKey::of(held)).as_ref() == Some(link)
    }
}

/// An attachment, and the pod that the runtime named for it.
pub(crate) type Attached<'a> = (&'a Owner, Option<&'a PodIdentity>);

fn attached(allocation: &Allocation) -> Attached<'_> {
    (&allocation.owner, allocation.pod())
}

/// Whether two attachments are the same interface of the same pod: a new sandbox of a pod takes its link over.
fn is_same_pod((owner, pod): Attached<'_>, (other, of_other): Attached<'_>) -> bool {
    let interface = |owner: &Owner| owner.attachment().map(|(_, interface)| interface.clone());
    match (pod, of_other) {
        (Some(pod), Some(of_other)) => {
            (&pod.namespace, &pod.name) == (&of_other.namespace, &of_other.name)
                && interface(owner) == interface(other)
        }
        (None, None) => owner == other,
        _ => false,
    }
}
