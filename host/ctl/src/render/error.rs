//! The page of an error.

use serde_json::{Value, json};
use tenure_types::Error;

use super::parts::clean;
use crate::exit::next_step;

/// The error's name, its cause, and the next step.
pub(crate) fn error(error: &Error) -> String {
    format!("error: {}: {}\n next: {}\n", error.code, clean(&error.cause), next_step(error.code))
}

/// An error as JSON.
pub(crate) fn json_error(error: &Error) -> Value {
    json!({ "error": { "code": error.code.name(), "cause": error.cause, "next_step": next_step(error.code) } })
}

#[cfg(test)]
mod tests {
    use tenure_types::ErrorCode;

    use super::*;

    #[test]
    fn an_error_says_what_and_why_and_what_next() {
        let error = Error::new(ErrorCode::UnknownNetwork, "no network \"p\u{1b}[2Jods\" on this node");
        insta::assert_snapshot!(super::error(&error), @r#"
        error: unknown-network: no network "p\u{1b}[2Jods" on this node
         next: `tenurectl networks` lists the networks; the first ADD, `tenurectl network define` or tenured.toml creates one
        "#);
        insta::assert_snapshot!(super::json_error(&error), @r#"{"error":{"cause":"no network \"p\\u{1b}[2Jods\" on this node","code":"unknown-network","next_step":"`tenurectl networks` lists the networks; the first ADD, `tenurectl network define` or tenured.toml creates one"}}"#);
        let error = Error::new(ErrorCode::Unreachable, "/run/tenure/admin.sock: No such file or directory");
        insta::assert_snapshot!(super::error(&error), @"
        error: daemon-unreachable: /run/tenure/admin.sock: No such file or directory
         next: start tenured, or pass the running daemon's directory with --run-dir; only root can connect
        ");
    }
}
