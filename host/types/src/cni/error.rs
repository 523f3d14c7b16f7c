//! The error object that a plugin prints instead of a result.

use serde::Serialize;

use super::SpecVersion;
use crate::{Error, ErrorCode};

/// An error as a CNI caller sees it.
///
/// It is made of text rather than of an [`ErrorCode`], so that a plugin can show what a newer daemon reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    /// The CNI error code.
    pub code: u32,
    /// The stable name of the kind of failure.
    pub reason: String,
    /// What happened.
    pub cause: String,
    /// What a person can do about it.
    pub next_step: String,
}

impl ErrorReport {
    /// The JSON object to print.
    #[must_use]
    pub fn render(&self, version: SpecVersion) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Rendered<'a> {
            cni_version: SpecVersion,
            code: u32,
            msg: &'a str,
            details: String,
        }
        let (msg, more) = self.split();
        let details = format!("{more}{}: {}", self.reason, self.next_step);
        let rendered = Rendered { cni_version: version, code: self.code, msg, details };
        // Strings and numbers always serialize; the fallback keeps the promise of one object whatever happens.
        serde_json::to_string(&rendered)
            .unwrap_or_else(|_| format!(r#"{{"code":{},"msg":"","details":""}}"#, self.code))
    }

    /// The reference implementation names the versions in the details, and callers compare its message as a whole.
    fn split(&self) -> (&str, String) {
        match self.cause.split_once(": ") {
            Some((msg, more)) if self.reason == ErrorCode::IncompatibleVersion.name() => {
                (msg, format!("{more}; "))
            }
            _ => (&self.cause, String::new()),
        }
    }
}

impl From<&Error> for ErrorReport {
    fn from(error: &Error) -> Self {
        Self {
            code: error.code.cni(),
            reason: error.code.name().to_owned(),
            cause: error.cause.clone(),
            next_step: error.code.next_step().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cni::Command;

    #[test]
    fn what_a_runtime_reads() {
        let error =
            Error::new(ErrorCode::PoolExhausted, "no IP addresses available in range set: 10.0.0.1-10.0.0.6");
        insta::assert_snapshot!(ErrorReport::from(&error).render(SpecVersion::V1_0_0), @r#"{"cniVersion":"1.0.0","code":101,"msg":"no IP addresses available in range set: 10.0.0.1-10.0.0.6","details":"pool-exhausted: delete pods or add a range; `tenurectl networks` shows the use"}"#);

        let error = SpecVersion::settle("9.9.9", &Command::Add).unwrap_err();
        insta::assert_snapshot!(ErrorReport::from(&error).render(SpecVersion::NEWEST), @r#"{"cniVersion":"1.1.0","code":1,"msg":"incompatible CNI versions","details":"config is \"9.9.9\", plugin supports [\"0.1.0\" \"0.2.0\" \"0.3.0\" \"0.3.1\" \"0.4.0\" \"1.0.0\" \"1.1.0\"]; incompatible-version: use a cniVersion that `tenure` lists for CNI_COMMAND=VERSION"}"#);
    }
}
