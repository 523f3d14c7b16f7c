//! Looks that threads make, which nobody can end: a file system may hang until its server is back.
//!
//! A request waits for [`LOOK_LIMIT`](super::LOOK_LIMIT) at most. A look that still runs after that holds a thread and nothing else, and nobody
//! begins another one at what it reads. Before, a caller that has left says nothing of the look: the next one may well be answered in time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tenure_types::hold;
use tokio::time::Instant;

/// A look, for as long as its thread runs.
#[derive(Debug)]
pub(super) struct RunningLook {
    /// The path that is being read.
    reading: Mutex<PathBuf>,
    /// Time at which its request began to wait.
    since: Instant,
}

/// The looks that run.
#[derive(Debug, Default)]
pub(super) struct RunningLooks(Mutex<Vec<Weak<RunningLook>>>);

impl RunningLook {
    /// Says what is read from now on.
    pub(super) fn read(&self, path: &Path) {
        path.clone_into(&mut hold(&self.reading));
    }
}

impl RunningLooks {
    /// A new look for a request that has waited since then, for the look's thread.
    pub(super) fn begin(&self, since: Instant) -> Arc<RunningLook> {
        let look = Arc::new(RunningLook { reading: Mutex::default(), since });
        let mut running = hold(&self.0);
        running.retain(|look| look.strong_count() > 0);
        running.push(Arc::downgrade(&look));
        look
    }

    /// The first of these paths at which a look still reads whose request has waited, or would have waited, for longer than it may.
    pub(super) fn hanging<'p>(&self, paths: &'p [PathBuf], limit: Duration) -> Option<&'p Path> {
        let running: Vec<_> = hold(&self.0).iter().filter_map(Weak::upgrade).collect();
        let hanging = running.iter().filter(|look| look.since.elapsed() >= limit);
        let read: Vec<PathBuf> = hanging.map(|look| hold(&look.reading).clone()).collect();
        paths.iter().find(|path| read.contains(path)).map(PathBuf::as_path)
    }
}
