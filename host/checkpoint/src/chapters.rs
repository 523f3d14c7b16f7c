//! The chapters while they are rebuilt: lines in, state out.
//!
//! Recovery knows no chapter. It finds out which lines are whole and in which order they stand, and hands each to the chapter
//! that it names.

use std::error::Error as StdError;

use tenure_types::{BootId, Moment};

/// One chapter's state while it is rebuilt.
pub trait Chapter {
    /// What its lines are called.
    fn name(&self) -> &'static str;

    /// Applies a fact at its place in the log. One that is in the state already, by its place, changes nothing.
    ///
    /// # Errors
    /// [`Refused`].
    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused>;

    /// Takes an item of a snapshot in.
    ///
    /// # Errors
    /// [`Refused`].
    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused>;

    /// All items of the snapshot were taken in.
    ///
    /// # Errors
    /// [`Refused`].
    fn restored(&mut self) -> Result<(), Refused> {
        Ok(())
    }

    /// Enters another boot than that of everything before. Says how many allocations have ended by it.
    ///
    /// # Errors
    /// [`Refused`].
    fn enter_boot(&mut self, _now: Moment) -> Result<usize, Refused> {
        Ok(0)
    }

    /// Forgets everything: what was read is to be read again.
    fn clear(&mut self);
}

/// Why a chapter does not take a line.
#[derive(Debug)]
pub enum Refused {
    /// It does not know this form.
    Version,
    /// The JSON is not a line of this form.
    Malformed(String),
    /// The line contradicts what came before it.
    Conflict(Box<dyn StdError + Send + Sync>),
}

impl Refused {
    /// A contradiction.
    pub fn conflict(conflict: impl StdError + Send + Sync + 'static) -> Self {
        Self::Conflict(Box::new(conflict))
    }
}

/// A line that is to be taken.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) chapter: &'a str,
    pub(crate) version: u32,
    pub(crate) optional: bool,
    pub(crate) json: &'a str,
}

/// What came of a line.
pub(crate) enum Taken {
    /// It is in the state.
    Kept,
    /// Nobody here knows it, and it says that it can be done without.
    Skipped,
}

/// Why a line is not taken.
pub(crate) enum NotTaken {
    /// Nobody here knows it, and it cannot be done without.
    Unknown,
    /// Its chapter refuses it.
    Refused(Refused),
}

/// Every chapter, and the boot that their moments are of.
pub(crate) struct Chapters<'a, 'c> {
    chapters: &'a mut [&'c mut dyn Chapter],
    boot: Option<BootId>,
}

impl<'a, 'c> Chapters<'a, 'c> {
    /// The chapters, with nothing in them yet.
    pub(crate) fn new(chapters: &'a mut [&'c mut dyn Chapter]) -> Self {
        Self { chapters, boot: None }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.boot = None;
        self.chapters.iter_mut().for_each(|chapter| chapter.clear());
    }

    pub(crate) fn apply(&mut self, place: u64, given: &Given<'_>) -> Result<Taken, NotTaken> {
        self.give(given, |chapter| chapter.apply(place, given.version, given.json))
    }

    pub(crate) fn restore(&mut self, given: &Given<'_>) -> Result<Taken, NotTaken> {
        self.give(given, |chapter| chapter.restore(given.version, given.json))
    }

    fn give(
        &mut self,
        given: &Given<'_>,
        take: impl FnOnce(&mut dyn Chapter) -> Result<(), Refused>,
    ) -> Result<Taken, NotTaken> {
        let chapter = self.chapters.iter_mut().find(|chapter| chapter.name() == given.chapter);
        let taken = match chapter {
            Some(chapter) => take(*chapter),
            None => Err(Refused::Version),
        };
        match taken {
            Ok(()) => Ok(Taken::Kept),
            Err(Refused::Version) if given.optional => Ok(Taken::Skipped),
            Err(Refused::Version) => Err(NotTaken::Unknown),
            Err(refused) => Err(NotTaken::Refused(refused)),
        }
    }

    pub(crate) fn restored(&mut self) -> Result<(), Refused> {
        self.chapters.iter_mut().try_for_each(|chapter| chapter.restored())
    }

    /// Goes on in a boot. Returns how many allocations have ended, where it is another one.
    pub(crate) fn enter(&mut self, boot: &BootId, now: Moment) -> Result<usize, Refused> {
        let mut ended = 0;
        if self.boot.as_ref().is_some_and(|before| before != boot) {
            for chapter in self.chapters.iter_mut() {
                ended += chapter.enter_boot(now)?;
            }
        }
        self.boot = Some(boot.clone());
        Ok(ended)
    }

    /// Whether the last boot that wrote is this one.
    pub(crate) fn is_of(&self, boot: &BootId) -> bool {
        self.boot.as_ref() == Some(boot)
    }
}
