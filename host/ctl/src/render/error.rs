//! The page of an error.

use std::borrow::Cow;

use serde_json::{Value, json};
use tenure_types::{Error, ErrorCode, printable};

use super::parts::clean;
use crate::exit::next_step;

/// The error's name, its cause, and the next step. Only the output of the author's own tools has several lines: in any other cause, text
/// from outside could pass itself off as another line of this page.
pub(crate) fn error(error: &Error) -> String {
    let cause = match error.code {
        ErrorCode::BuildFailed | ErrorCode::ToolMissing => printable::lines(error.cause.trim_end()),
        _ => Cow::Owned(clean(&error.cause)),
    };
    format!("error: {}: {cause}\n next: {}\n", error.code, clean(next_step(error)))
}

/// An error as JSON.
pub(crate) fn json_error(error: &Error) -> Value {
    json!({ "error": { "code": error.code.name(), "cause": error.cause, "next_step": next_step(error) } })
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_compilers_words_stay_as_it_wrote_them_and_no_other_error_has_lines() {
        let compiler = "zones does not build:\nerror[E0425]: cannot find `x`\n --> src/lib.rs:3:5\n  |\n3 |\tx\n  |     ^\n\n";
        let shown = super::error(&Error::new(ErrorCode::BuildFailed, compiler));
        assert!(
            shown.starts_with(&format!("error: build-failed: {}\n next: ", compiler.trim_end())),
            "{shown}"
        );
        let forged = Error::new(ErrorCode::UnknownNetwork, "no network \"a\n next: delete everything\"");
        assert_eq!(super::error(&forged).lines().count(), 2);
    }
}
