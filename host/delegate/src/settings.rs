//! Settings of a delegate in the operator's configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The network namespace that a delegate is told for an agent's claim, unless the configuration names another.
///
/// It does not exist. A delegate that only hands out addresses ignores it, and the host's own namespace would be refused by
/// plugins that check that they were not told theirs.
pub(crate) const NO_NETNS: &str = "/run/netns/tenure-claims";

/// A delegate of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateSettings {
    /// The binary's absolute path.
    pub path: PathBuf,
    /// The binary's SHA-256, in lower-case hexadecimal. The bytes that have it are those that run.
    pub sha256: Option<String>,
    /// The time that one call may take.
    pub timeout: Duration,
    /// The environment, besides the variables of CNI.
    pub environment: BTreeMap<String, String>,
    /// How many calls may run at once.
    pub parallel: usize,
    /// The network namespace to name for agents' claims.
    pub netns: Option<String>,
}

impl DelegateSettings {
    /// A delegate with default limits.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            sha256: None,
            timeout: Duration::from_secs(10),
            environment: BTreeMap::new(),
            parallel: 4,
            netns: None,
        }
    }
}
