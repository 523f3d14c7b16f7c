//! The exit codes that scripts rely on, and the next step for each error.

use std::process::ExitCode;

use tenure_types::{Error, ErrorCode};

/// An exit code; clap itself uses 2 for an invalid command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The verb succeeded.
    Done,
    /// The command found problems, or the daemon refused the request.
    Problems,
    /// The daemon or a registry could not be reached or did not answer in time.
    Unreachable,
    /// No such network, address, policy or agent.
    NotFound,
}

impl Exit {
    /// The exit code of a command that failed with this error code.
    pub(crate) fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Unreachable | ErrorCode::DeadlineExceeded | ErrorCode::RegistryUnreachable => {
                Self::Unreachable
            }
            ErrorCode::UnknownNetwork
            | ErrorCode::UnknownAddress
            | ErrorCode::UnknownPolicy
            | ErrorCode::AgentUnknown => Self::NotFound,
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

/// The error's next step, except where that would be to run `tenurectl` again.
pub(crate) fn next_step(error: &Error) -> &str {
    match error.code {
        ErrorCode::Unreachable => {
            "start tenured, or pass the running daemon's directory with --run-dir; only root can connect"
        }
        // No runtime tries a call of tenurectl again.
        ErrorCode::DeadlineExceeded => {
            "raise --timeout, or look at what the daemon is doing with `journalctl --unit tenured`"
        }
        _ => error.next_step(),
    }
}
