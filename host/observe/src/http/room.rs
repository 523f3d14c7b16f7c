//! Room for connections: one that comes when it is full takes the place of the one that has been silent for longest.
//!
//! A caller sends its request as soon as it is connected. A connection without one makes way first, the oldest before the
//! others; then the oldest of those that are being answered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// The connections that are open at a time.
pub(super) const CONNECTIONS: usize = 64;

/// The open connections, oldest first. Dropping it ends them.
#[derive(Debug, Default)]
pub(super) struct Room {
    tasks: JoinSet<()>,
    open: VecDeque<(AbortHandle, RequestArrival)>,
}

/// Whether the whole request of a connection has arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestArrival(Arc<AtomicBool>);

impl RequestArrival {
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Room {
    /// Serves another connection.
    pub(super) fn enter<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        connection: impl FnOnce(RequestArrival) -> F,
    ) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|(task, _)| !task.is_finished());
        if self.open.len() >= CONNECTIONS {
            let silent = self.open.iter().position(|(_, asked)| !asked.0.load(Ordering::Relaxed));
            if let Some((task, _)) = self.open.remove(silent.unwrap_or_default()) {
                task.abort();
            }
        }
        let asked = RequestArrival::default();
        self.open.push_back((self.tasks.spawn(connection(asked.clone())), asked));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    /// Tells its number when it is dropped.
    struct Ends(usize, UnboundedSender<usize>);

    impl Drop for Ends {
        fn drop(&mut self) {
            let _ = self.1.send(self.0);
        }
    }

    /// Lets every task run, of which the scheduler takes some at a time.
    async fn all_run() {
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn who_has_said_nothing_for_longest_makes_way() {
        let (told, mut ended) = unbounded_channel();
        let mut room = Room::default();
        let mut enter = |number: usize, asks: bool| {
            let ends = Ends(number, told.clone());
            room.enter(|asked| async move {
                let _ends = ends;
                if asks {
                    asked.note();
                }
                std::future::pending::<()>().await;
            });
        };
        // The first two have asked.
        (0..CONNECTIONS).for_each(|number| enter(number, number < 2));
        all_run().await;
        let number = |number: usize| CONNECTIONS + number;
        (0..CONNECTIONS - 2).for_each(|more| enter(number(more), true));
        all_run().await;
        enter(number(CONNECTIONS), true);
        for expected in (2..CONNECTIONS).chain([0]) {
            assert_eq!(ended.recv().await, Some(expected));
        }
        assert!(ended.try_recv().is_err());
    }
}
