//! The state as lines for a snapshot.

use tenure_engine::ports::Images;

use crate::line::ChapterLine;
use crate::v1;

/// The lines of one part of the state, made lazily.
pub type ChapterLines = Box<dyn Iterator<Item = ChapterLine> + Send>;

/// The parts of the state, each read only when it is requested. They borrow nothing, so that a snapshot may take its
/// time in a thread of its own.
pub type Parts = Box<dyn Iterator<Item = ChapterLines> + Send>;

/// Provides the checkpoint with the state for a snapshot.
pub trait SnapshotSource: Send + Sync + 'static {
    /// The whole state, in parts. The writer calls it; another thread may read the parts. Each part contains every fact that was staged before it is requested. `first` is
    /// the place of the first fact in the log that continues meanwhile.
    fn parts(&self, first: u64) -> Parts;
}

impl<I: Images + ?Sized> SnapshotSource for I {
    fn parts(&self, first: u64) -> Parts {
        Box::new(self.pages(first).map(v1::items))
    }
}
