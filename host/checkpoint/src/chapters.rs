//! The chapters during recovery: lines in, state out.
//!
//! Recovery knows no chapter. It checks which lines are intact and in order, and passes each to the chapter that it
//! names.

use std::error::Error as StdError;

use tenure_types::{BootId, Moment};

use crate::line::RawFact;

/// One chapter's state during recovery.
pub trait RecoverChapter {
    /// The chapter's name in its lines.
    fn name(&self) -> &'static str;

    /// Applies a fact at its place in the log. A fact that the state already contains, judged by its place, changes nothing.
    ///
    /// # Errors
    /// [`ChapterRefusal`] if the chapter does not accept the fact.
    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), ChapterRefusal>;

    /// Restores an item of a snapshot.
    ///
    /// # Errors
    /// [`ChapterRefusal`] if the chapter does not accept the item.
    fn restore(&mut self, version: u32, json: &str) -> Result<(), ChapterRefusal>;

    /// Called after all items of the snapshot have been restored.
    ///
    /// # Errors
    /// [`ChapterRefusal`] if the items contradict each other.
    fn restored(&mut self) -> Result<(), ChapterRefusal> {
        Ok(())
    }

    /// Enters a boot other than that of everything before. Returns how many allocations this ends.
    ///
    /// # Errors
    /// [`ChapterRefusal`] if that contradicts the state.
    fn enter_boot(&mut self, now: Moment) -> Result<usize, ChapterRefusal>;

    /// Clears the state, because the files will be read again.
    fn clear(&mut self);
}

/// Why a chapter refuses a line.
#[derive(Debug)]
pub enum ChapterRefusal {
    /// The chapter does not know this version.
    Version,
    /// The JSON is not valid for this version.
    Malformed(String),
    /// The line contradicts what came before it.
    Conflict(Box<dyn StdError + Send + Sync>),
}

impl ChapterRefusal {
    /// Wraps a contradiction.
    pub fn conflict(conflict: impl StdError + Send + Sync + 'static) -> Self {
        Self::Conflict(Box::new(conflict))
    }
}

/// The effect of a line on the state.
pub(crate) enum LineOutcome {
    /// The line is in the state.
    Kept,
    /// No chapter here knows it, and it is marked as optional.
    Skipped,
}

/// Why a line was not applied.
pub(crate) enum NotTaken {
    /// No chapter here knows it, and it is not optional.
    Unknown,
    /// The line's chapter refuses it.
    Refused(ChapterRefusal),
}

/// All chapters, and the boot that their moments belong to.
pub(crate) struct Chapters<'a, 'c> {
    chapters: &'a mut [&'c mut dyn RecoverChapter],
    boot: Option<BootId>,
}

impl<'a, 'c> Chapters<'a, 'c> {
    /// The chapters, still empty.
    pub(crate) fn new(chapters: &'a mut [&'c mut dyn RecoverChapter]) -> Self {
        Self { chapters, boot: None }
    }

    /// Clears all chapters.
    pub(crate) fn clear(&mut self) {
        self.boot = None;
        self.chapters.iter_mut().for_each(|chapter| chapter.clear());
    }

    pub(crate) fn apply(&mut self, place: u64, given: &RawFact<'_>) -> Result<LineOutcome, NotTaken> {
        self.give(given, |chapter| chapter.apply(place, given.version, given.json))
    }

    pub(crate) fn restore(&mut self, given: &RawFact<'_>) -> Result<LineOutcome, NotTaken> {
        self.give(given, |chapter| chapter.restore(given.version, given.json))
    }

    fn give(
        &mut self,
        given: &RawFact<'_>,
        take: impl FnOnce(&mut dyn RecoverChapter) -> Result<(), ChapterRefusal>,
    ) -> Result<LineOutcome, NotTaken> {
        let chapter = self.chapters.iter_mut().find(|chapter| chapter.name() == given.chapter);
        let taken = match chapter {
            Some(chapter) => take(*chapter),
            None => Err(ChapterRefusal::Version),
        };
        match taken {
            Ok(()) => Ok(LineOutcome::Kept),
            Err(ChapterRefusal::Version) if given.optional => Ok(LineOutcome::Skipped),
            Err(ChapterRefusal::Version) => Err(NotTaken::Unknown),
            Err(refused) => Err(NotTaken::Refused(refused)),
        }
    }

    pub(crate) fn restored(&mut self) -> Result<(), ChapterRefusal> {
        self.chapters.iter_mut().try_for_each(|chapter| chapter.restored())
    }

    /// Enters a boot. If it is another one, returns how many allocations that ended.
    pub(crate) fn enter(&mut self, boot: &BootId, now: Moment) -> Result<usize, ChapterRefusal> {
        let mut ended = 0;
        if self.boot.as_ref().is_some_and(|before| before != boot) {
            for chapter in self.chapters.iter_mut() {
                ended += chapter.enter_boot(now)?;
            }
        }
        self.boot = Some(boot.clone());
        Ok(ended)
    }

    /// Whether this boot was the last to write.
    pub(crate) fn is_of(&self, boot: &BootId) -> bool {
        self.boot.as_ref() == Some(boot)
    }
}
