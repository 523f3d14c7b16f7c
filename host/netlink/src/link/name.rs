//! The name of a link's host end, by the pod's name, and the hardware addresses of both ends, by that.

use std::fmt;

use sha1::{Digest as _, Sha1};

use crate::error::Error;
use crate::parts::Mac;

/// How many hexadecimal digits of the digest are in the name.
const DIGITS: usize = 11;
/// How long the beginning of a name may be: with the digits it fits into a link's name.
const LONGEST_PREFIX: usize = 4;

/// The longest name of a link, in bytes (IFNAMSIZ without its zero).
const LONGEST: usize = 15;

/// The host's end of a pod's link.
///
/// The hardware addresses of both ends follow from the name, so that they can be compared by name alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkName {
    name: String,
    mac: Mac,
    inside: Mac,
}

impl LinkName {
    /// The end that belongs to a pod, as ipamd names it: the prefix, and the first 11 digits of the SHA-1 of `NAMESPACE.POD`.
    ///
    /// # Errors
    /// When the prefix cannot begin a link's name.
    pub fn of(prefix: &str, namespace: &str, pod: &str) -> Result<Self, Error> {
        if !(1..=LONGEST_PREFIX).contains(&prefix.len()) {
            return Err(Error::Name(prefix.to_owned()));
        }
        let digest = Sha1::digest(format!("{namespace}.{pod}").as_bytes());
        let mut name = digest.iter().fold(prefix.to_owned(), |text, byte| format!("{text}{byte:02x}"));
        name.truncate(prefix.len() + DIGITS);
        Self::new(&name)
    }

    /// The beginning of a name that [`of`](Self::of) has made; `None` if it cannot have.
    pub(crate) fn prefix_of(name: &str) -> Option<&str> {
        let (prefix, digits) = name.split_at_checked(name.len().checked_sub(DIGITS)?)?;
        let is_digest = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_digest && (1..=LONGEST_PREFIX).contains(&prefix.len())).then_some(prefix)
    }

    /// The end of this name.
    ///
    /// # Errors
    /// When no link can have it.
    pub fn new(name: &str) -> Result<Self, Error> {
        let usable = (1..=LONGEST).contains(&name.len())
            && !matches!(name, "." | "..")
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !usable {
            return Err(Error::Name(name.to_owned()));
        }
        let digest: [u8; 20] = Sha1::digest(name.as_bytes()).into();
        // A fixed address is one that udev does not change; local, and of one station.
        let mac = |a: u8, rest: [u8; 5]| {
            let [b, c, d, e, f] = rest;
            Mac([a & 0xfc | 0x02, b, c, d, e, f])
        };
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = digest;
        Ok(Self { name: name.to_owned(), mac: mac(a, [b, c, d, e, f]), inside: mac(g, [h, i, j, k, l]) })
    }

    /// The link's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The hardware address of this end.
    #[must_use]
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// The hardware address of the pod's end.
    #[must_use]
    pub fn inside(&self) -> Mac {
        self.inside
    }
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf default.web-0 | sha1sum`
    #[test]
    fn the_name_is_ipamds() {
        let name = LinkName::of("eni", "default", "web-0").unwrap();
        assert_eq!(name.as_str(), "eni0d7763386da");
        for mac in [name.mac(), name.inside()] {
            assert_eq!(mac.0[0] & 3, 2, "a local address of one station");
        }
        assert_ne!(name.mac(), name.inside());
        assert_eq!(name, LinkName::new("eni0d7763386da").unwrap());
        assert_eq!(name, LinkName::of("eni", "default", "web-0").unwrap());
        assert_ne!(name, LinkName::of("eni", "default", "web-1").unwrap());
    }

    #[test]
    fn a_prefix_that_no_link_can_begin_with_is_refused() {
        for prefix in ["", "enis0", "e/i", "e i", "é"] {
            assert!(LinkName::of(prefix, "default", "web-0").is_err(), "{prefix}");
        }
        assert_eq!(LinkName::of("veth", "default", "web-0").unwrap().as_str().len(), 15);
    }
}
