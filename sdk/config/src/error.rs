//! Errors in a configuration.

use std::fmt;

/// An error in a configuration, and where it is.
///
/// ```
/// let error = tenure_sdk_config::ConfigError::new("ipam.spare", "must be a string");
/// assert_eq!(error.to_string(), "ipam.spare: must be a string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The key's path, such as `ipam.ranges[0][1].subnet`; empty for the whole configuration.
    pub path: String,
    /// The error, for people.
    pub message: String,
}

impl ConfigError {
    /// An error at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}
