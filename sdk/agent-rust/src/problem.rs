//! Why something failed, as the daemon tells it.

use std::error::Error;
use std::fmt;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// The `ErrorInfo.domain` of the daemon's own errors.
const DOMAIN: &str = "tenure";

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The kind of the failure. `PermissionDenied` needs the node's operator, `Unavailable` passes.
    pub code: Code,
    /// The stable name of the error, such as `claim-denied`; empty if it is not the daemon's own.
    pub reason: String,
    /// The cause, for people.
    pub cause: String,
    /// The next step; may be empty.
    pub next_step: String,
}

impl Problem {
    /// A failure to reach the daemon.
    pub(crate) fn unreachable(error: &dyn Error) -> Self {
        // The outermost error only says "transport error"; the innermost is the system's.
        let mut cause = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        Self::passing(cause.to_string())
    }

    /// A failure that passes.
    pub(crate) fn passing(cause: String) -> Self {
        Self { code: Code::Unavailable, reason: String::new(), cause, next_step: String::new() }
    }
}

impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let Some(info) = details.error_info().filter(|info| info.domain == DOMAIN) else {
            let cause = match (status.message(), status.source()) {
                ("", Some(source)) => source.to_string(),
                ("", None) => status.code().description().to_owned(),
                (message, _) => message.to_owned(),
            };
            return Self { code: status.code(), ..Self::passing(cause) };
        };
        Self {
            code: status.code(),
            reason: info.reason.clone(),
            cause: status.message().to_owned(),
            next_step: info.metadata.get("next_step").cloned().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.reason.is_empty() {
            write!(formatter, "{}: ", self.reason)?;
        }
        formatter.write_str(&self.cause)?;
        if !self.next_step.is_empty() {
            write!(formatter, "; {}", self.next_step)?;
        }
        Ok(())
    }
}

impl Error for Problem {}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn the_daemons_errors_have_a_name_and_a_next_step() {
        let metadata = HashMap::from([("next_step".to_owned(), "ask the operator".to_owned())]);
        let of = |domain: &str| {
            let details = ErrorDetails::with_error_info("claim-denied", domain, metadata.clone());
            Problem::from(Status::with_error_details(Code::PermissionDenied, "no", details))
        };
        assert_eq!(of("tenure").to_string(), "claim-denied: no; ask the operator");
        assert_eq!((of("other").code, of("other").to_string()), (Code::PermissionDenied, "no".to_owned()));
    }

    #[test]
    fn the_innermost_error_says_what_happened() {
        let inner = std::io::Error::other("no such file");
        let outer = std::io::Error::other(inner);
        assert_eq!(Problem::unreachable(&outer).to_string(), "no such file");
        assert_eq!(Problem::from(Status::new(Code::Aborted, "")).cause, Code::Aborted.description());
    }
}
