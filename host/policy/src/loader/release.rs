//! A signed release: the policy's name and version, as its signature states them.
//!
//! It stands in the signature's trusted comment, which the key signs as well: `tenure policy NAME VERSION`, and any text that
//! follows for people. A signature without it says only that its key has signed these bytes, for any name.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use tenure_types::PolicyName;

/// How a trusted comment begins that names a release.
const PREFIX: &str = "tenure policy ";

/// The most numbers of a version.
const MOST_NUMBERS: usize = 4;

/// A version: up to four numbers with points in between, of which missing ones are zero.
#[derive(Debug, Clone)]
pub struct ReleaseVersion {
    numbers: [u64; MOST_NUMBERS],
    text: String,
}

impl FromStr for ReleaseVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            let text: String = text.chars().take(64).collect();
            format!("{text:?} is not a version of up to {MOST_NUMBERS} numbers, such as 1.2.0")
        };
        let mut numbers = [0; MOST_NUMBERS];
        let mut places = numbers.iter_mut();
        for part in text.split('.') {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let place = places.next().filter(|_| is_number).ok_or_else(invalid)?;
            *place = part.parse().map_err(|_| invalid())?;
        }
        Ok(Self { numbers, text: text.to_owned() })
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl PartialEq for ReleaseVersion {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }
}

impl Eq for ReleaseVersion {}

impl PartialOrd for ReleaseVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ReleaseVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers)
    }
}

/// A version of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedRelease {
    /// The policy's name.
    pub policy: PolicyName,
    /// The policy's version.
    pub version: ReleaseVersion,
}

impl SignedRelease {
    /// The trusted comment of a signature of it.
    #[must_use]
    pub fn comment(&self, sha256: &str) -> String {
        format!("{PREFIX}{} {} sha256:{sha256}", self.policy, self.version)
    }

    /// Reads a trusted comment; `None` if it names no release.
    pub(super) fn read(comment: &str) -> Result<Option<Self>, String> {
        let Some(rest) = comment.strip_prefix(PREFIX) else { return Ok(None) };
        let mut words = rest.split(' ');
        let (policy, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let policy = PolicyName::new(policy).map_err(|error| error.to_string())?;
        Ok(Some(Self { policy, version: version.parse()? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ReleaseVersion {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_compared_number_by_number() {
        let ascending = ["0", "0.9", "0.10.1", "1", "1.0.0.1", "2.0.0", "10", "18446744073709551615"];
        for pair in ascending.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("1"), version("1.0.0"));
        assert_eq!(version("1.0").to_string(), "1.0");
        for text in ["", ".", "1.", "v1", "1.2.3.4.5", "-1", "+1", "1.2-rc1", "99999999999999999999", "1 "] {
            assert!(text.parse::<ReleaseVersion>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_comment_is_read_as_it_is_written() {
        let release = SignedRelease { policy: PolicyName::new("zones").unwrap(), version: version("1.2.0") };
        let comment = release.comment("00ff");
        assert_eq!(comment, "tenure policy zones 1.2.0 sha256:00ff");
        assert_eq!(SignedRelease::read(&comment), Ok(Some(release.clone())));
        assert_eq!(SignedRelease::read("tenure policy zones 1.2.0"), Ok(Some(release)));
        for other in ["", "file:zones.wasm sha256:00ff", "timestamp:1555779966\tfile:test", "tenure"] {
            assert_eq!(SignedRelease::read(other), Ok(None), "{other:?}");
        }
        for wrong in
            ["tenure policy ", "tenure policy zones", "tenure policy zones new", "tenure policy ../x 1"]
        {
            assert!(SignedRelease::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
