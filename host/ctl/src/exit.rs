//! How the program ends: the exit codes that scripts rely on, and what to do about an error.

use std::process::ExitCode;

use tenure_types::ErrorCode;

/// An exit code; 2 is the command line's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for is so.
    Done,
    /// Problems were found, or the daemon refused.
    Problems,
    /// The daemon could not be reached or did not answer in time.
    Unreachable,
    /// No such network, address or policy.
    NotFound,
}

impl Exit {
    /// How a command ends that failed with this code.
    pub(crate) fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Unreachable | ErrorCode::DeadlineExceeded => Self::Unreachable,
            ErrorCode::UnknownNetwork | ErrorCode::UnknownAddress | ErrorCode::UnknownPolicy => {
                Self::NotFound
            }
            _ => Self::Problems,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Problems => 1,
            Exit::Unreachable => 3,
            Exit::NotFound => 4,
        })
    }
}

/// The code's own advice, but for the one that would only be to run what has just failed.
pub(crate) fn next_step(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Unreachable => {
            "start tenured, or name the running one's directory with --run-dir; only root may ask it"
        }
        code => code.next_step(),
    }
}
