//! The error object that a plugin prints instead of a result.
//!
//! libcni shows a caller `msg; details`, and callers compare `msg`, or the beginning of the whole, with the reference
//! implementation's text. So the reference's text is the whole `msg`, and everything else is in `details`: which code,
//! network and policy, and the next step. The specification's own codes have no details of tenure's.

use serde::Serialize;

use super::SpecVersion;
use crate::{Error, ErrorCode, NetworkName, printable};

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
    /// The cause, in one line.
    pub cause: String,
    /// The next step for an operator.
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
        let own = format!("{}: {}{}", self.reason, self.context(), self.next_step);
        let (msg, details) = match &self.reference {
            Some(reference) if self.code <= LAST_OF_REFERENCE => (reference.as_str(), ""),
            None if self.code <= LAST_OF_REFERENCE => self.as_libcni(),
            reference => (reference.as_ref().unwrap_or(&self.cause).as_str(), own.as_str()),
        };
        // Runtimes pass it on to people as it is, and an older daemon may have sent it.
        let (msg, details) = (&*printable::lines(msg), &*printable::lines(details));
        let rendered = Rendered { cni_version: version, code: self.code, msg, details };
        // Strings and numbers always serialize; the fallback ensures that one object is printed in any case.
        serde_json::to_string(&rendered).unwrap_or_else(|_| format!(r#"{{"code":{},"msg":""}}"#, self.code))
    }

    /// The same error, which names its network where the reference's text hides the cause.
    #[must_use]
    pub fn on_network(mut self, network: &NetworkName) -> Self {
        if self.reference.is_some() {
            self.cause = format!("network {network}: {}", self.cause);
        }
        self
    }

    /// The part of the cause that the reference's text does not say.
    fn context(&self) -> String {
        let Some(reference) = &self.reference else { return String::new() };
        let cause = self.cause.strip_suffix(reference.as_str()).unwrap_or(&self.cause);
        match cause.trim_end_matches([':', ' ']) {
            "" => String::new(),
            context => format!("{context}; "),
        }
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
            next_step: error.next_step().to_owned(),
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
    fn a_text_of_the_reference_is_the_whole_message() {
        let text = "no IP addresses available in range set: 10.0.0.1-10.0.0.6";
        let error = Error::new(ErrorCode::PoolExhausted, format_args!("policy host-local@0123: {text}"));
        let error = error.told_as(text);
        insta::assert_snapshot!(rendered(&error), @r#"{"cniVersion":"1.0.0","code":101,"msg":"no IP addresses available in range set: 10.0.0.1-10.0.0.6","details":"pool-exhausted: policy host-local@0123; delete pods or add a range; `tenurectl networks` shows usage"}"#);
        let report = ErrorReport::from(&error).on_network(&NetworkName::new("pods").unwrap());
        insta::assert_snapshot!(report.render(SpecVersion::V1_0_0), @r#"{"cniVersion":"1.0.0","code":101,"msg":"no IP addresses available in range set: 10.0.0.1-10.0.0.6","details":"pool-exhausted: network pods: policy host-local@0123; delete pods or add a range; `tenurectl networks` shows usage"}"#);
        let alone = Error::new(ErrorCode::PoolExhausted, text).told_as(text);
        insta::assert_snapshot!(rendered(&alone), @r#"{"cniVersion":"1.0.0","code":101,"msg":"no IP addresses available in range set: 10.0.0.1-10.0.0.6","details":"pool-exhausted: delete pods or add a range; `tenurectl networks` shows usage"}"#);
        let invalid = Error::new(ErrorCode::InvalidConfig, "policy host-local@0123: no").told_as("no");
        insta::assert_snapshot!(rendered(&invalid), @r#"{"cniVersion":"1.0.0","code":7,"msg":"no"}"#);
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
