//! Undoing an ADD whose caller went away or whose fact could not be made durable.
//!
//! The undo keeps the ADD's turn, so neither a DEL nor a repeated ADD of the same key sees it half done.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tenure_ledger::{Fact, PolicyState};
use tenure_types::{Allocation, End, Generation, Owner};
use tokio::sync::mpsc;

use super::admission::Turn;
use super::committer::Committer;
use crate::network::slot;
use crate::network::slot::Slot;
use crate::policy::states::undone;
use crate::ports::{Clock, LinkKey, Links};

pub(crate) type Sender = mpsc::UnboundedSender<Orphan>;

/// An allocation whose ADD was abandoned.
pub(crate) struct Orphan {
    slot: Arc<Slot>,
    owner: Owner,
    generation: Generation,
    /// Held until the allocation is released.
    turn: Turn,
    /// Change outside of the book.
    changed: Option<Changed>,
}

/// A state that an ADD has changed.
///
/// Until the ADD is durable, or undone, it keeps the network's turn: a policy never sees a state that may not stay.
pub(crate) struct Changed {
    /// The state before.
    pub(crate) before: PolicyState,
    pub(crate) turn: slot::Turn,
}

/// The task that undoes abandoned ADDs.
pub struct Abandoned {
    /// Unbounded, because a drop cannot wait. Each orphan holds an address, and addresses are limited.
    orphans: mpsc::UnboundedReceiver<Orphan>,
    desk: Desk,
}

/// The inputs of an undo.
#[derive(Clone)]
struct Desk {
    committer: Arc<Committer>,
    clock: Arc<dyn Clock>,
    links: Arc<dyn Links>,
}

pub(crate) fn channel(
    committer: Arc<Committer>,
    clock: Arc<dyn Clock>,
    links: Arc<dyn Links>,
) -> (Sender, Abandoned) {
    let (sender, orphans) = mpsc::unbounded_channel();
    (sender, Abandoned { orphans, desk: Desk { committer, clock, links } })
}

impl Abandoned {
    /// Undoes abandoned allocations, until the engine is dropped and none is left. Each waits only for its own
    /// network's turn, independently of the others.
    pub async fn run(mut self) {
        let mut undoing = FuturesUnordered::new();
        let mut is_open = true;
        poll_fn(|context| {
            while is_open && let Poll::Ready(orphan) = self.orphans.poll_recv(context) {
                match orphan {
                    Some(orphan) => undoing.push(undo(self.desk.clone(), orphan)),
                    None => is_open = false,
                }
            }
            while let Poll::Ready(Some(())) = undoing.poll_next_unpin(context) {}
            if is_open || !undoing.is_empty() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

/// Ends an abandoned allocation, and removes what there is of its link. The turn ends after that.
async fn undo(desk: Desk, orphan: Orphan) {
    let Orphan { slot, owner, generation, turn: _turn, changed } = orphan;
    let ended = release(&desk, &slot, &owner, generation, changed).await;
    let Some(link) = ended.and_then(|ended| LinkKey::of(&ended)) else { return };
    if let Err(error) = desk.links.disconnect(&link).await {
        tracing::warn!(link = %link.host, cause = error.cause, "cannot remove the link of an abandoned ADD");
    }
}

/// Ends an abandoned allocation, and returns it if its owner still had it.
async fn release(
    desk: &Desk,
    slot: &Slot,
    owner: &Owner,
    generation: Generation,
    changed: Option<Changed>,
) -> Option<Arc<Allocation>> {
    let (before, mut slot) = match changed {
        Some(Changed { before, turn }) => (Some(before), slot.resume(turn)),
        None => (None, slot.lock().await),
    };
    let served = slot.as_mut()?;
    let held = served.book.owned_by(owner).filter(|held| held.generation == generation).cloned()?;
    let fact = served.book.release(owner, desk.clock.now(), End::Undone.reason())?;
    let mut facts: Vec<Fact> = vec![fact.into()];
    if let Some(before) = before {
        facts.push(undone(&desk.committer.node().states, served.book.name(), before).into());
    }
    // No need to wait for the ticket: the next use of the address is staged after this fact.
    if let Err(conflict) = desk.committer.commit(&mut served.book, &facts) {
        tracing::error!(%conflict, %owner, "cannot undo an abandoned ADD");
    }
    tracing::info!(%owner, %generation, "undid an ADD that was abandoned, or could not be made durable or connected");
    Some(held)
}

/// Undoes an allocation when dropped, unless disarmed.
pub(crate) struct Undo {
    sender: Sender,
    orphan: Option<Orphan>,
}

impl Undo {
    pub(crate) fn new(
        sender: &Sender,
        slot: Arc<Slot>,
        owner: Owner,
        generation: Generation,
        turn: Turn,
        changed: Option<Changed>,
    ) -> Self {
        Self { sender: sender.clone(), orphan: Some(Orphan { slot, owner, generation, turn, changed }) }
    }

    /// The allocation is durable, and the next request of the network proceeds: from here on an undo ends the allocation, as a DEL
    /// would, and leaves the policy's state.
    pub(crate) fn durable(&mut self) {
        if let Some(orphan) = &mut self.orphan {
            orphan.changed = None;
        }
    }

    /// The caller has its answer: the allocation stays.
    pub(crate) fn disarm(mut self) {
        self.orphan = None;
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Some(mut orphan) = self.orphan.take() {
            // The undo waits for its network's turn, and the current holder of that turn may be waiting for a place.
            orphan.turn.leave_place();
            // Fails only when the task has ended: the daemon is stopping, and the next one recovers from the log.
            let _ = self.sender.send(orphan);
        }
    }
}
