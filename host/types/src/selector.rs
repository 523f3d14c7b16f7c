//! Which policy an operator means: a name, or one version of it.

use std::fmt;
use std::str::FromStr;

use crate::{InvalidName, PolicyName, PolicyStamp};

/// A policy's name, and the beginning of its digest if one version is meant: `NAME` or `NAME@DIGEST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySelector {
    /// The name.
    pub name: PolicyName,
    /// The beginning of the digest, in lower-case hexadecimal; empty for whichever version the name stands for.
    pub digest: String,
}

impl PolicySelector {
    /// Whether a policy is one of those that are meant.
    #[must_use]
    pub fn matches(&self, policy: &PolicyStamp) -> bool {
        policy.name == self.name && policy.digest.starts_with(&self.digest)
    }
}

impl From<PolicyName> for PolicySelector {
    fn from(name: PolicyName) -> Self {
        Self { name, digest: String::new() }
    }
}

impl FromStr for PolicySelector {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let (name, digest) = text.split_once('@').unwrap_or((text, ""));
        let digest = digest.strip_prefix("sha256:").unwrap_or(digest).to_ascii_lowercase();
        Ok(Self { name: PolicyName::new(name)?, digest })
    }
}

impl fmt::Display for PolicySelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.digest.as_str() {
            "" => self.name.fmt(formatter),
            digest => write!(formatter, "{}@{digest}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_means_a_name_or_one_version_of_it() {
        let stamp = |name: &str, digest: &str| PolicyStamp {
            name: PolicyName::new(name).unwrap(),
            digest: digest.into(),
        };
        for (text, name, digest, matches) in [
            ("zones", "zones", "abcd", true),
            ("zones", "other", "abcd", false),
            ("zones@ab", "zones", "abcd", true),
            ("zones@sha256:ABCD", "zones", "abcd", true),
            ("zones@bc", "zones", "abcd", false),
        ] {
            let selector: PolicySelector = text.parse().unwrap();
            assert_eq!(selector.matches(&stamp(name, digest)), matches, "{text}");
        }
        assert!("@ab".parse::<PolicySelector>().is_err() && "".parse::<PolicySelector>().is_err());
    }
}
