//! Refusals: EC2's error codes, with the messages that callers compare.

use std::borrow::Cow;
use std::fmt::Display;

/// An error that EC2 returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// EC2's error code.
    pub code: Cow<'static, str>,
    /// EC2's message.
    pub message: String,
    /// The HTTP status.
    pub status: u16,
}

impl Refusal {
    /// A refusal of the client's doing, with status 400.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), status: 400 }
    }

    /// The same, with another HTTP status.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// A value that a parameter cannot have.
    pub fn value(message: impl Into<String>) -> Self {
        Self::new("InvalidParameterValue", message)
    }

    /// Parameters that exclude each other.
    pub fn combination(message: impl Into<String>) -> Self {
        Self::new("InvalidParameterCombination", message)
    }

    /// A parameter that the call needs.
    pub fn missing(parameter: &str) -> Self {
        Self::new("MissingParameter", format!("The request must contain the parameter {parameter}"))
    }

    /// An interface that does not exist, or cannot be seen yet.
    pub fn no_interface(ids: impl Display) -> Self {
        Self::new(
            "InvalidNetworkInterfaceID.NotFound",
            format!("The networkInterface ID '{ids}' does not exist"),
        )
    }

    /// An attachment that does not exist.
    pub fn no_attachment(id: &str) -> Self {
        Self::new("InvalidAttachmentID.NotFound", format!("The attachment ID '{id}' does not exist"))
    }

    /// A subnet that does not exist.
    pub fn no_subnet(id: &str) -> Self {
        Self::new("InvalidSubnetID.NotFound", format!("The subnet ID '{id}' does not exist"))
    }

    /// A security group that does not exist.
    pub fn no_group(id: &str) -> Self {
        Self::new("InvalidGroup.NotFound", format!("The security group '{id}' does not exist"))
    }

    /// An instance that does not exist.
    pub fn no_instance(id: &str) -> Self {
        Self::new("InvalidInstanceID.NotFound", format!("The instance ID '{id}' does not exist"))
    }

    /// Something that is in a state in which the call is not possible.
    pub fn state(message: impl Into<String>) -> Self {
        Self::new("IncorrectState", message)
    }

    /// More calls than the account's bucket had tokens for.
    #[must_use]
    pub fn throttled() -> Self {
        Self::new("RequestLimitExceeded", "Request limit exceeded.").with_status(503)
    }
}
