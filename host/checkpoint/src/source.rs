//! What a snapshot is made of, as lines.

use tenure_engine::ports::Images;

use crate::line::Line;
use crate::v1;

/// The lines of one part of the state, made as they are asked for.
pub type Lines = Box<dyn Iterator<Item = Line> + Send>;

/// The parts of the state, each looked at when it is asked for and no sooner. Nothing of it is borrowed, so that a snapshot
/// may take its time.
pub type Parts = Box<dyn Iterator<Item = Lines> + Send>;

/// Gives the checkpoint what a snapshot is made of.
pub trait Source: Send + Sync + 'static {
    /// The whole state, in parts. Each part has every fact in it that was staged before it is asked for. The log that goes on
    /// beside them begins with the place `first`.
    fn parts(&self, first: u64) -> Parts;
}

impl<I: Images + ?Sized> Source for I {
    fn parts(&self, first: u64) -> Parts {
        Box::new(self.pages(first).map(v1::items))
    }
}
