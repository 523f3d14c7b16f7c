//! The ways in which a call of a delegate fails.

use std::time::Duration;

use tenure_types::{Error, ErrorCode};

/// The code by which a plugin says that a later call may succeed.
const TRY_AGAIN_LATER: u32 = 11;

/// Why a call of a delegate failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    /// The binary cannot be run: it is missing, not the one that was allowed, or not safe to run.
    #[error("{0}")]
    Unusable(String),
    /// Too many calls are running and waiting.
    #[error("{running} calls are running, and none has ended within {waited:?}")]
    Busy {
        /// How many are running.
        running: usize,
        /// How long this one has waited.
        waited: Duration,
    },
    /// The delegate exceeded its time limit and was killed.
    #[error("it did not end within {0:?} and was killed")]
    TimedOut(Duration),
    /// The delegate exceeded its output limit and was killed.
    #[error("it printed more than {most} bytes on its standard {stream} and was killed")]
    TooMuch {
        /// `output` or `error`.
        stream: &'static str,
        /// The limit.
        most: usize,
    },
    /// The delegate returned an error of its own.
    #[error("it refused with code {code}: {message}")]
    Refused {
        /// The error's code.
        code: u32,
        /// The delegate's message.
        message: String,
    },
    /// The delegate exited without a valid answer.
    #[error("{0}")]
    Nonsense(String),
    /// The version that it speaks does not have the verb.
    #[error("it speaks CNI {0}, which does not have {1}")]
    NoSuchVerb(&'static str, &'static str),
}

impl CallFailure {
    /// Whether the delegate itself refused the call, rather than failing it.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// Whether the call may have reached the delegate: it may have kept what it was asked for.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        !matches!(self, Self::Unusable(_) | Self::Busy { .. } | Self::NoSuchVerb(..))
    }

    /// Converts the failure into the error for the caller.
    #[must_use]
    pub fn told(&self, delegate: &str) -> Error {
        let code = match self {
            Self::Unusable(_) | Self::Busy { .. } | Self::TimedOut(_) => ErrorCode::DelegateUnavailable,
            Self::Refused { code: TRY_AGAIN_LATER, .. } => ErrorCode::DelegateUnavailable,
            Self::Refused { .. } | Self::TooMuch { .. } | Self::Nonsense(_) | Self::NoSuchVerb(..) => {
                ErrorCode::DelegateFailed
            }
        };
        Error::new(code, format_args!("delegate {delegate}: {self}"))
    }
}
