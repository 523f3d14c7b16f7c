//! Validated names, cheap to clone.
//!
//! The rules for CNI's own names are those of the CNI specification 1.1.0 and of libcni's validation, including its
//! messages, because runtimes and people grep for them.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Why a name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// The name is empty.
    #[error("missing {0}")]
    Missing(&'static str),
    /// The name contains a character that is not allowed, or is too long.
    #[error("{rule}: {value}")]
    Malformed {
        /// The rule that was broken, in the reference implementation's words.
        rule: &'static str,
        /// The invalid name.
        value: String,
    },
}

/// The maximum length of a network name or container id, in bytes. The specification sets none; this bounds log lines.
const LONGEST_NAME: usize = 255;

/// `^[a-zA-Z0-9][a-zA-Z0-9_.\-]*$`, from the CNI specification's section on parameters.
fn is_cni_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
        && text.len() <= LONGEST_NAME
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident($text:ty), $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name($text);

        impl $name {
            /// Checks and wraps a name.
            ///
            /// # Errors
            /// [`InvalidName`] with the rule that was broken.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidName> {
                let text = text.as_ref();
                let check: fn(&str) -> Result<(), InvalidName> = $check;
                check(text)?;
                Ok(Self(text.into()))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{:?}", &*self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().to_owned()
            }
        }
    };
}

name!(
    /// The name of a CNI network, which identifies it.
    NetworkName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("network name")),
        text if is_cni_name(text) => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "invalid characters found in network name",
            value: text.to_owned()
        }),
    }
);
name!(
    /// A container's id, as assigned by the runtime.
    // Each allocation has its own, so there is nothing to share.
    ContainerId(Box<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("containerID")),
        text if is_cni_name(text) => Ok(()),
        text =>
            Err(InvalidName::Malformed { rule: "invalid characters in containerID", value: text.to_owned() }),
    }
);
name!(
    /// An interface's name inside a container.
    InterfaceName(Arc<str>),
    |text| {
        let rule = match text {
            "" => return Err(InvalidName::Missing("interface name")),
            // IFNAMSIZ minus the terminating NUL.
            text if text.len() > 15 => "interface name is too long; interface name should be less than 16 characters",
            "." | ".." => "interface name is . or ..",
            text if text.contains(|c: char| c == '/' || c == ':' || c.is_whitespace()) => {
                "interface name contains / or : or whitespace characters"
            }
            _ => return Ok(()),
        };
        Err(InvalidName::Malformed { rule, value: text.to_owned() })
    }
);
name!(
    /// A pool's name inside its network, which identifies the pool across redefinitions.
    PoolName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("pool name")),
        text if is_cni_name(text) && text.len() <= 64 => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "a pool name has at most 64 letters, digits, '_', '.' and '-', and begins with a letter or digit",
            value: text.to_owned()
        }),
    }
);
name!(
    /// A range's name inside its pool, such as `10.1.0.2-10.1.0.254` or an interface's id with a prefix.
    RangeName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("range name")),
        text if text.len() <= 128 && text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "a range name has at most 128 printable ASCII characters, without spaces",
            value: text.chars().take(128).collect()
        }),
    }
);
name!(
    /// The name of an agent that claims addresses for itself, such as `cilium`.
    AgentName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("agent name")),
        text if is_cni_name(text) && text.len() <= 64 => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "an agent name has at most 64 letters, digits, '_', '.' and '-', and begins with a letter or digit",
            value: text.to_owned()
        }),
    }
);
name!(
    /// The name that an agent gives one of its claims, such as `router` or `health`.
    ClaimName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("claim name")),
        text if is_cni_name(text) && text.len() <= 128 => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "a claim name has at most 128 letters, digits, '_', '.' and '-', and begins with a letter or digit",
            value: text.chars().take(128).collect()
        }),
    }
);
name!(
    /// The name of a part of an agent that has claims of its own, such as `router`.
    ScopeName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("scope")),
        text if is_cni_name(text) && text.len() <= 64 => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "a scope has at most 64 letters, digits, '_', '.' and '-', and begins with a letter or digit",
            value: text.chars().take(64).collect()
        }),
    }
);
name!(
    /// The name of one run of an agent, such as the uid of its pod: its successor has another.
    HolderName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("holder")),
        text if is_cni_name(text) && text.len() <= 128 => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "a holder has at most 128 letters, digits, '_', '.' and '-', and begins with a letter or digit",
            value: text.chars().take(128).collect()
        }),
    }
);
name!(
    /// A policy's name in the daemon's catalogue; never a path.
    PolicyName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("policy name")),
        text if is_cni_name(text) && text.len() <= 64 => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "a policy name has at most 64 letters, digits, '_', '.' and '-', and begins with a letter or digit",
            value: text.to_owned()
        }),
    }
);

name!(
    /// The name under which the daemon's configuration allows a foreign IPAM binary, such as `azure`.
    DelegateName(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("delegate name")),
        text if is_cni_name(text) && text.len() <= 48 => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "a delegate name has at most 48 letters, digits, '_', '.' and '-', and begins with a letter or digit",
            value: text.to_owned()
        }),
    }
);

/// The beginning of the names of the policies that stand for delegates.
const DELEGATE: &str = "delegate.";

impl DelegateName {
    /// The name of the policy that stands for the delegate: `delegate.NAME`.
    #[must_use]
    pub fn policy(&self) -> PolicyName {
        // A delegate's name has the characters of a policy's, and is shorter by more than the prefix.
        PolicyName(format!("{DELEGATE}{self}").into())
    }
}

impl PolicyName {
    /// The delegate that a policy stands for; `None` for a policy of its own.
    #[must_use]
    pub fn delegate(&self) -> Option<DelegateName> {
        DelegateName::new(self.as_str().strip_prefix(DELEGATE)?).ok()
    }
}
name!(
    /// The id of an intent, unique among all nodes for ever: a request to a cloud that carries it does nothing a second time.
    ///
    /// EC2's `ClientToken` allows at most 64 ASCII characters.
    IntentId(Arc<str>),
    |text| match text {
        "" => Err(InvalidName::Missing("intent id")),
        text if text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => Ok(()),
        text => Err(InvalidName::Malformed {
            rule: "an intent id has at most 64 letters, digits and '-'",
            value: text.chars().take(64).collect()
        }),
    }
);

impl PoolName {
    /// A name made by the program itself; not checked.
    pub(crate) fn plain(text: &str) -> Self {
        Self(text.into())
    }
}

impl RangeName {
    /// A name made by the program itself; not checked.
    pub(crate) fn plain(text: &str) -> Self {
        Self(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policys_name_says_whether_it_is_a_delegates() {
        let of = |text: &str| PolicyName::new(text).unwrap().delegate().map(|name| name.to_string());
        assert_eq!(of("delegate.azure"), Some("azure".to_owned()));
        assert_eq!((of("delegated"), of("delegate."), of("host-local")), (None, None, None));
        let longest = DelegateName::new("d".repeat(48)).unwrap();
        assert_eq!(PolicyName::new(longest.policy().as_str()).unwrap().delegate(), Some(longest));
    }

    #[test]
    fn the_reference_rules_hold() {
        for good in ["a", "0", "net-1_x.y"] {
            assert!(NetworkName::new(good).is_ok() && ContainerId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", ".a", "a/b", "a b", "é", "a\n"] {
            assert!(NetworkName::new(bad).is_err() && ContainerId::new(bad).is_err(), "{bad:?}");
        }
        for bad in ["", ".", "..", "a/b", "a:b", "a b", "a\tb", "sixteen-letters-"] {
            assert!(InterfaceName::new(bad).is_err(), "{bad:?}");
        }
        assert!(InterfaceName::new("fifteen-letters").is_ok());
        for bad in ["", "a/b", "-a", &"p".repeat(65)] {
            assert!(PoolName::new(bad).is_err() && AgentName::new(bad).is_err(), "{bad:?}");
        }
        assert!(ClaimName::new("ingress.v4").is_ok() && ClaimName::new("a b").is_err());
        assert!(ScopeName::new("s".repeat(64)).is_ok() && HolderName::new("h".repeat(128)).is_ok());
        for bad in ["", "a/b", "-a", &"n".repeat(129)] {
            assert!(ScopeName::new(bad).is_err() && HolderName::new(bad).is_err(), "{bad:?}");
        }
        assert!(RangeName::new("eni-1/10.0.0.16-10.0.0.31").is_ok());
        for bad in ["", "a b", "é", &"r".repeat(129)] {
            assert!(RangeName::new(bad).is_err(), "{bad:?}");
        }
    }
}
