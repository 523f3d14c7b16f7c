//! The port to a network's delegate: somebody else's IPAM.

use std::pin::Pin;

use tenure_types::cni::Success;
use tenure_types::{DelegateCall, DelegateVerb, Error};

use super::Answer;

/// A delegate's pending answer to an ADD.
pub type Giving<'a> = Pin<Box<dyn Future<Output = Result<Success, DelegateFailure>> + Send + 'a>>;

/// Somebody else's IPAM. It is slow, not idempotent, and never believed.
pub trait Delegate: Send + Sync + 'static {
    /// Has it give addresses. Dropping the future ends the call.
    fn add<'a>(&'a self, call: &'a DelegateCall) -> Giving<'a>;

    /// Has it carry out another verb; false if it does not know the verb.
    ///
    /// # Errors
    /// `DelegateUnavailable` and `DelegateFailed`.
    fn tell<'a>(&'a self, call: &'a DelegateCall, verb: &'a DelegateVerb) -> Answer<'a, bool>;
}

/// Why a delegate has given nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateFailure {
    /// The error.
    pub error: Error,
    /// Whether the call may have reached it, so that it may have kept something.
    pub may_have_run: bool,
    /// Whether it refused the call with an error of its own.
    pub is_refusal: bool,
}
