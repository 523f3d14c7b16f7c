//! How a command ends: the exit codes that scripts rely on, and what an error looks like.

use std::process::ExitCode;

use serde_json::{Value, json};
use tenure_types::{Error, ErrorCode};

use crate::render;

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

/// An error for people.
pub(crate) fn text(error: &Error) -> String {
    format!("error: {}: {}\n next: {}\n", error.code, render::clean(&error.cause), next_step(error.code))
}

/// An error for programs.
pub(crate) fn json(error: &Error) -> Value {
    json!({ "error": { "code": error.code.name(), "cause": error.cause, "next_step": next_step(error.code) } })
}

/// The code's own advice, but for the one that would only be to run what has just failed.
fn next_step(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Unreachable => {
            "start tenured, or name the running one's directory with --run-dir; only root may ask it"
        }
        code => code.next_step(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_and_why_and_what_next() {
        let error = Error::new(ErrorCode::UnknownNetwork, "no network \"p\u{1b}[2Jods\" on this node");
        insta::assert_snapshot!(text(&error), @r#"
        error: unknown-network: no network "p\u{1b}[2Jods" on this node
         next: a network exists from its first ADD on; `tenurectl networks` shows them
        "#);
        insta::assert_snapshot!(json(&error), @r#"{"error":{"cause":"no network \"p\u001b[2Jods\" on this node","code":"unknown-network","next_step":"a network exists from its first ADD on; `tenurectl networks` shows them"}}"#);
        let error = Error::new(ErrorCode::Unreachable, "/run/tenure/admin.sock: No such file or directory");
        insta::assert_snapshot!(text(&error), @"
        error: daemon-unreachable: /run/tenure/admin.sock: No such file or directory
         next: start tenured, or name the running one's directory with --run-dir; only root may ask it
        ");
    }
}
