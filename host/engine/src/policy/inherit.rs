//! The state that a policy begins with when it takes over a network.
//!
//! | the new policy | begins with |
//! |---|---|
//! | keeps no state | none; the old state stays stored, with the policy that wrote it |
//! | wrote the present state | that state |
//! | any other | what its `migrate` makes of the present state; if that fails, there is no exchange |
//!
//! Nothing prevents a roll-back by the daemon itself: if `migrate` fails there, the policy gets the state that it wrote
//! last, or an empty one.

use std::sync::Arc;

use tenure_ledger::states::Memory;
use tenure_ledger::{Book, Chooser, PolicyState, StateFact};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use super::words::shortened;
use crate::core::EngineCore;
use crate::network::networks::unknown_network;
use crate::network::redefine::Wanted;
use crate::network::slot::Alone;

impl EngineCore {
    /// Finds out what the policy that is wanted begins with, and adds it to the reason of the exchange. `None` if the
    /// network's state stays as it is. The caller has the network's turn.
    pub(crate) async fn inherited(
        &self,
        alone: &Alone<'_>,
        name: &NetworkName,
        wanted: &mut Wanted,
    ) -> Result<Option<StateFact>> {
        let book = alone.state().as_ref().map(|served| Arc::clone(&served.book));
        let inherited = self.would_inherit(book, name, wanted).await?;
        if inherited.is_some() {
            tracing::info!(network = %name, policy = %wanted.policy.stamp(), why = wanted.why, "state of a network");
        }
        Ok(inherited)
    }

    /// As [`inherited`](Self::inherited), for a caller that may not change anything.
    pub(crate) async fn would_inherit(
        &self,
        book: Option<Arc<Book>>,
        name: &NetworkName,
        wanted: &mut Wanted,
    ) -> Result<Option<StateFact>> {
        let policy = Arc::clone(&wanted.policy);
        let memory = if policy.keeps_state() { self.committer.node().states.of(name).cloned() } else { None };
        let Some(Memory { now, .. }) = &memory else { return Ok(None) };
        let is_own = now.policy.digest == policy.stamp().digest;
        if now.bytes.is_empty() || is_own && !wanted.empty_state {
            return Ok(None);
        }
        let (bytes, how) = match self.migrated(book, name, wanted, now).await {
            Ok(migrated) => migrated,
            Err(error) if wanted.by == Chooser::RollBack => fallback(memory.as_ref(), wanted, &error),
            Err(error) => {
                let (writer, version) = (&now.policy, now.version);
                let cause = format_args!(
                    "policy {} cannot take over the state of network {name}, version {version} of policy {writer}: {}",
                    policy.stamp(),
                    error.cause
                );
                return Err(Error::new(ErrorCode::StateNotMigrated, cause));
            }
        };
        wanted.why = match wanted.why.is_empty() {
            true => how,
            false => shortened(&format!("{}; {how}", wanted.why)),
        };
        let (policy, version) = (policy.stamp().as_ref().clone(), now.version + 1);
        let state = PolicyState { policy, version, bytes, at: self.now() };
        Ok(Some(StateFact::Kept { network: name.clone(), state }))
    }

    /// Has the new policy make its state of the present one; also returns that in words.
    async fn migrated(
        &self,
        book: Option<Arc<Book>>,
        name: &NetworkName,
        wanted: &Wanted,
        now: &PolicyState,
    ) -> Result<(Arc<[u8]>, String)> {
        if wanted.empty_state {
            return Ok((Arc::default(), "with an empty state".to_owned()));
        }
        let book = book.ok_or_else(|| unknown_network(name))?;
        let policy = wanted.policy.as_ref();
        let migrate = || policy.migrate(Arc::clone(&now.bytes), &now.policy, book);
        let bytes = self.ask_for(&wanted.requester, name, policy, migrate).await?;
        Ok((bytes, format!("with the state of {}, version {}, migrated", now.policy, now.version)))
    }
}

/// Returns the state of a policy that has to take over and cannot.
fn fallback(memory: Option<&Memory>, wanted: &Wanted, error: &Error) -> (Arc<[u8]>, String) {
    let own = memory.and_then(|memory| memory.of(wanted.policy.stamp()));
    let (bytes, which) = match own {
        Some(own) => {
            (Arc::clone(&own.bytes), format!("the state that it wrote last, version {}", own.version))
        }
        None => (Arc::default(), "an empty state".to_owned()),
    };
    (bytes, format!("with {which}, since it cannot migrate the present one: {}", error.cause))
}
