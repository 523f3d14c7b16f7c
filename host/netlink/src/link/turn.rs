//! Turns at links: calls about one link wait for each other, and calls about different links never do.
//!
//! They are in this process alone, because only one daemon works on a node. Nothing that a pod can open is a lock: it could hold
//! one for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use super::LinkName;
use crate::error::Error;

/// How long a turn is waited for: longer than the steps of the call before it may take together.
const PATIENCE: Duration = Duration::from_secs(40);

/// A lock of `tokio`, because it is held while the kernel works.
type Line = tokio::sync::Mutex<()>;

/// The links that somebody works on or waits for.
#[derive(Debug, Default)]
pub struct LinkTurns {
    /// Behind a `std::sync::Mutex`, held for a look-up, never across an await.
    lines: Mutex<BTreeMap<LinkName, Weak<Line>>>,
}

/// A turn at a link, which ends with its last clone. A thread inside of the pod keeps one until it has ended, also if nobody waits
/// for it any more: at most one thread hangs for each link.
#[derive(Debug, Clone)]
pub struct LinkTurn {
    _guard: Arc<OwnedMutexGuard<()>>,
}

impl LinkTurns {
    /// Waits for the turn at a link.
    ///
    /// # Errors
    /// [`Error::Busy`] when an earlier step has hung for longer than all its limits.
    pub async fn enter(&self, host: &LinkName) -> Result<LinkTurn, Error> {
        let guard = timeout(PATIENCE, self.line(host).lock_owned()).await;
        Ok(LinkTurn { _guard: Arc::new(guard.map_err(|_| Error::Busy(host.to_string()))?) })
    }

    fn line(&self, host: &LinkName) -> Arc<Line> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(host).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::default();
        lines.insert(host.clone(), Arc::downgrade(&line));
        line
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn only_calls_about_one_link_wait_for_each_other() {
        let turns = LinkTurns::default();
        let names: Vec<LinkName> = (0..50).map(|at| LinkName::new(&format!("eni{at}")).unwrap()).collect();
        let held: Vec<LinkTurn> =
            names.iter().map(|name| turns.enter(name).now_or_never().unwrap().unwrap()).collect();
        assert_eq!(turns.lines.lock().unwrap().len(), names.len());
        let (inside, first) = (held[0].clone(), &names[0]);
        assert!(turns.enter(first).now_or_never().is_none());
        drop(held);
        assert!(turns.enter(first).now_or_never().is_none(), "a thread is still inside");
        drop(inside);
        drop(turns.enter(first).now_or_never().unwrap().unwrap());
        let _other = turns.enter(&LinkName::new("other").unwrap()).now_or_never().unwrap().unwrap();
        assert_eq!(turns.lines.lock().unwrap().len(), 1, "nothing is kept of links that nobody works on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_not_waited_for_without_end() {
        let (turns, name) = (LinkTurns::default(), LinkName::new("eni1").unwrap());
        let _hangs = turns.enter(&name).await.unwrap();
        assert!(matches!(turns.enter(&name).await, Err(Error::Busy(_))));
    }
}
