//! Looks that threads make, which nobody can end: a file system may hang until its server is back.
//!
//! A request waits for [`LOOK_LIMIT`](super::LOOK_LIMIT) at most. A look that still runs after that holds a thread and nothing else, and nobody
//! begins another one at what it reads.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tenure_types::hold;

/// A look, for as long as its thread runs.
#[derive(Debug, Default)]
pub(super) struct RunningLook {
    /// The path that is being read.
    reading: Mutex<PathBuf>,
    /// Whether nobody waits for it any more.
    is_abandoned: AtomicBool,
}

/// The waiting side of a look, which is abandoned when this is dropped before it ends.
#[derive(Debug)]
pub(super) struct LookWaiter(Arc<RunningLook>);

/// The looks that run.
#[derive(Debug, Default)]
pub(super) struct RunningLooks(Mutex<Vec<Weak<RunningLook>>>);

impl RunningLook {
    /// Says what is read from now on.
    pub(super) fn read(&self, path: &Path) {
        path.clone_into(&mut hold(&self.reading));
    }
}

impl Drop for LookWaiter {
    fn drop(&mut self) {
        self.0.is_abandoned.store(true, Ordering::Release);
    }
}

impl RunningLooks {
    /// A new look, for its thread and for the request that waits for it.
    pub(super) fn begin(&self) -> (Arc<RunningLook>, LookWaiter) {
        let look = Arc::new(RunningLook::default());
        let mut running = hold(&self.0);
        running.retain(|look| look.strong_count() > 0);
        running.push(Arc::downgrade(&look));
        (Arc::clone(&look), LookWaiter(look))
    }

    /// The first of these paths at which an abandoned look still reads.
    pub(super) fn hanging<'p>(&self, paths: &'p [PathBuf]) -> Option<&'p Path> {
        let running: Vec<_> = hold(&self.0).iter().filter_map(Weak::upgrade).collect();
        let abandoned = running.iter().filter(|look| look.is_abandoned.load(Ordering::Acquire));
        let read: Vec<PathBuf> = abandoned.map(|look| hold(&look.reading).clone()).collect();
        paths.iter().find(|path| read.contains(path)).map(PathBuf::as_path)
    }
}
