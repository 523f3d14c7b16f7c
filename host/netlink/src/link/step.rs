//! Steps that a pod, or a file system that does not answer, can make as slow as it likes: each on a thread of its own.
//!
//! Nobody waits for one longer than its limit, and one that hangs takes no thread of a shared pool.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::turn::LinkTurn;
use crate::error::Error;

/// The longest that a step may take: many times what it takes on a busy node.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Takes a step. The turn at the link ends no earlier than its thread.
pub(super) async fn step<T: Send + 'static>(
    what: String,
    turn: Option<LinkTurn>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (answer, result) = oneshot::channel();
    let spawned = std::thread::Builder::new().name("pod-link".to_owned()).spawn(move || {
        // If nobody waits any more, the next caller checks the link.
        let _ = answer.send(work());
        drop(turn);
    });
    spawned.map_err(|source| Error::Io { what: what.clone(), source })?;
    match timeout(LIMIT, result).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(Error::Io { what, source: std::io::Error::other("its thread ended early") }),
        Err(_) => Err(Error::TooSlow(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LinkName, LinkTurns};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_that_hangs_is_not_waited_for_and_keeps_its_turn() {
        let (turns, name) = (LinkTurns::default(), LinkName::new("eni1").unwrap());
        let (release, hangs) = std::sync::mpsc::channel::<()>();
        let work = move || {
            let _ = hangs.recv();
            Ok(())
        };
        let turn = turns.enter(&name).await.unwrap();
        let refused = step("open /run/netns/web".to_owned(), Some(turn), work).await;
        assert!(matches!(refused, Err(Error::TooSlow(_))), "{refused:?}");
        assert!(matches!(turns.enter(&name).await, Err(Error::Busy(_))), "no second thread for the link");
        tokio::time::resume();
        let other = turns.enter(&LinkName::new("eni2").unwrap()).await.unwrap();
        assert_eq!(step("look".to_owned(), Some(other), || Ok(7)).await.unwrap(), 7);
        drop(release);
        turns.enter(&name).await.unwrap();
    }
}
