//! Patterns of names: the one language in which the configuration says which networks, claims and pods it means.
//!
//! A `*` stands for any characters, also for none, and may be anywhere; everything else stands for itself. `blue-*` matches `blue-1` and
//! `blue-`, `*-v4` matches `ingress-v4`, and `*` matches everything. No name contains a `*`.

use std::fmt;

use crate::{InvalidName, NetworkName};

/// A pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(Box<str>);

impl NamePattern {
    /// Wraps a pattern. Every text is one, though it may match no name.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Reads a pattern that can match names of networks.
    ///
    /// # Errors
    /// [`InvalidName`] if no network can have such a name.
    pub fn of_networks(text: &str) -> Result<Self, InvalidName> {
        // A star can stand for one character that is allowed everywhere.
        NetworkName::new(text.replace('*', "x"))?;
        Ok(Self::new(text))
    }

    /// Whether a name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let mut parts: Vec<&str> = parts.collect();
        // Without a star, nothing may be left.
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
        rest.ends_with(last)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let matches = |pattern, name| NamePattern::new(pattern).matches(name);
        for (pattern, name) in [
            ("*", ""),
            ("*", "abc"),
            ("abc", "abc"),
            ("a*", "a"),
            ("a*c", "abc"),
            ("a*c", "ac"),
            ("*b*", "abc"),
            ("a*b*c", "a-b-b-c"),
            ("**", "x"),
            ("a*a", "aa"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("abc", "abcd"),
            ("a*c", "ab"),
            ("a*a", "a"),
            ("a*b*c", "acb"),
            ("*a", "ab"),
            ("a?", "ab"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_networks_can_match_one() {
        for pattern in ["a", "*", "blue-*", "*-blue", "a*b", "**"] {
            assert_eq!(NamePattern::of_networks(pattern).unwrap().to_string(), pattern);
        }
        for wrong in ["", "a b", "/*", "-*", "*/a"] {
            assert!(NamePattern::of_networks(wrong).is_err(), "{wrong}");
        }
    }
}
