//! The error object that a plugin prints instead of a result.
//!
//! libcni shows a caller `msg; details`, and callers compare the whole string with the reference implementation's
//! text. So only tenure's own errors have `details`; for the reference's errors, the daemon's log and `tenurectl`
//! show the next step.

use serde::Serialize;

use super::SpecVersion;
use crate::{Error, ErrorCode, printable};

/// The last code whose messages are those of libcni or a reference plugin.
const LAST_OF_REFERENCE: u32 = 10;

/// An error, as shown to a CNI caller.
///
/// It holds text instead of an [`ErrorCode`], so that a plugin can show an error that only a newer daemon knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    /// The CNI error code.
    pub code: u32,
    /// The error code's stable name.
    pub reason: String,
    /// What happened.
    pub cause: String,
    /// What a person can do about it.
    pub next_step: String,
    /// The reference implementation's message in this case, if it has one.
    pub reference: Option<String>,
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
            #[serde(skip_serializing_if = "str::is_empty")]
            details: &'a str,
        }
        let own = format!("{}: {}", self.reason, self.next_step);
        let (msg, details) = match &self.reference {
            Some(reference) => (reference.as_str(), ""),
            None if self.code <= LAST_OF_REFERENCE => self.as_libcni(),
            None => (self.cause.as_str(), own.as_str()),
        };
        // Runtimes pass it on to people as it is, and an older daemon may have sent it.
        let (msg, details) = (&*printable::lines(msg), &*printable::lines(details));
        let rendered = Rendered { cni_version: version, code: self.code, msg, details };
        // Strings and numbers always serialize; the fallback ensures that one object is printed in any case.
        serde_json::to_string(&rendered).unwrap_or_else(|_| format!(r#"{{"code":{},"msg":""}}"#, self.code))
    }

    /// libcni itself uses `details` only for incompatible versions, to list the versions.
    fn as_libcni(&self) -> (&str, &str) {
        let split = self.cause.split_once(": ");
        split.filter(|_| self.reason == ErrorCode::IncompatibleVersion.name()).unwrap_or((&self.cause, ""))
    }
}

impl From<&Error> for ErrorReport {
    fn from(error: &Error) -> Self {
        Self {
            code: error.code.cni(),
            reason: error.code.name().to_owned(),
            cause: error.cause.clone(),
            next_step: error.code.next_step().to_owned(),
            reference: error.reference.as_deref().map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cni::Command;

    fn rendered(error: &Error) -> String {
        ErrorReport::from(error).render(SpecVersion::V1_0_0)
    }

    #[test]
    fn a_text_of_ones_own_says_what_to_do() {
        let error = Error::new(ErrorCode::PoolExhausted, "policy mine@0123: none is left");
        insta::assert_snapshot!(rendered(&error), @r#"{"cniVersion":"1.0.0","code":101,"msg":"policy mine@0123: none is left","details":"pool-exhausted: delete pods or add a range; `tenurectl networks` shows usage"}"#);
    }

    #[test]
    fn a_text_of_the_reference_is_all_that_a_caller_reads() {
        let text = "no IP addresses available in range set: 10.0.0.1-10.0.0.6";
        let error = Error::new(ErrorCode::PoolExhausted, format_args!("policy host-local@0123: {text}"));
        insta::assert_snapshot!(rendered(&error.told_as(text)), @r#"{"cniVersion":"1.0.0","code":101,"msg":"no IP addresses available in range set: 10.0.0.1-10.0.0.6"}"#);
        let error = SpecVersion::settle("9.9.9", &Command::Add).unwrap_err();
        insta::assert_snapshot!(rendered(&error), @r#"{"cniVersion":"1.0.0","code":1,"msg":"incompatible CNI versions","details":"config is \"9.9.9\", plugin supports [\"0.1.0\" \"0.2.0\" \"0.3.0\" \"0.3.1\" \"0.4.0\" \"1.0.0\" \"1.1.0\"]"}"#);
        let error = SpecVersion::settle("0.3.1", &Command::Check).unwrap_err();
        insta::assert_snapshot!(rendered(&error), @r#"{"cniVersion":"1.0.0","code":1,"msg":"config version does not allow CHECK"}"#);
    }

    #[test]
    fn a_caller_is_never_shown_what_could_deceive_it() {
        let deceiving = "pod \u{202e}a\u{200b}\u{1b}[2J\u{9b}b\u{e0041}";
        let told = Error::new(ErrorCode::PoolExhausted, "none").told_as(deceiving);
        let older = ErrorReport {
            cause: deceiving.to_owned(),
            next_step: deceiving.to_owned(),
            ..ErrorReport::from(&Error::new(ErrorCode::PoolExhausted, "none"))
        };
        for report in [
            ErrorReport::from(&told),
            ErrorReport::from(&Error::new(ErrorCode::PolicyRefused, deceiving)),
            older,
        ] {
            let value: serde_json::Value = serde_json::from_str(&report.render(SpecVersion::V1_0_0)).unwrap();
            let texts = [value["msg"].as_str().unwrap(), value["details"].as_str().unwrap_or_default()];
            assert!(texts.concat().chars().all(printable::is_harmless), "{value}");
            assert!(texts[0].contains("\\u{202e}a\\u{200b}\\u{1b}[2J"), "{value}");
        }
    }

    #[test]
    fn every_code_of_the_specification_has_the_references_words_alone() {
        for code in ErrorCode::ALL {
            let report = ErrorReport::from(&Error::new(*code, "the cause"));
            assert_eq!(report.render(SpecVersion::V1_0_0).contains("details"), report.code > 10, "{code}");
        }
    }
}
