//! The exit code of a program that failed: whether a restart helps.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};

use crate::PartEnded;

/// A restart may help: for example, the disk failed, or another instance has not exited yet.
pub const TRANSIENT: u8 = 1;

/// A restart does not help: the configuration, the command line, the state or a directory's permissions must be fixed.
pub const PERMANENT: u8 = 2;

/// How long a cause of a failure lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// A restart may help.
    Shortly,
    /// Until somebody fixes it, if it kept the program from starting. If a part ended because of it while the program served, a restart
    /// may help.
    AtStart,
    /// Until somebody fixes it.
    Always,
}

/// Computes the exit code for an error. `lasts` judges the causes that only the program knows; `None` leaves them to the rules for errors of the
/// system.
pub fn code(error: &anyhow::Error, lasts: impl Fn(&(dyn StdError + 'static)) -> Option<Lasts>) -> u8 {
    let served = error.chain().any(<dyn StdError>::is::<PartEnded>);
    let judged = |cause: &(dyn StdError + 'static)| {
        lasts(cause).or_else(|| cause.downcast_ref().map(of_the_system)).unwrap_or(Lasts::Shortly)
    };
    let always = error.chain().any(|cause| judged(cause) == Lasts::Always);
    let at_start = error.chain().any(|cause| judged(cause) != Lasts::Shortly);
    if always || at_start && !served { PERMANENT } else { TRANSIENT }
}

/// Judges an error of the system: one about the kind of a file or its permissions does not change by waiting.
#[must_use]
pub fn of_the_system(error: &io::Error) -> Lasts {
    match error.kind() {
        ErrorKind::PermissionDenied
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::AlreadyExists
        | ErrorKind::InvalidInput
        | ErrorKind::InvalidFilename => Lasts::AtStart,
        _ => Lasts::Shortly,
    }
}
