//! Ranges of a configuration, read in the policy itself: what [`configuration::ranges`](crate::configuration::ranges) does, without the host.
//!
//! A unit test needs no host for it, and a policy can read ranges from texts of its own.

pub use tenure_sdk_config::{RUNTIME_RANGES, Texts};

use crate::{Config, ConfigError, RangeSet};

/// Reads a network's range sets: `runtimeConfig.ipRanges` first, then the single range of old configurations, then `ranges`.
///
/// ```
/// use tenure_sdk::{Config, ranges};
///
/// let config = Config::new("net", r#"{"subnet": "10.1.2.0/24"}"#, &[]);
/// assert_eq!(ranges::read(&config)?[0].to_string(), "10.1.2.1-10.1.2.254");
/// # Ok::<(), tenure_sdk::ConfigError>(())
/// ```
///
/// # Errors
/// [`ConfigError`] with the path of the key that is wrong.
pub fn read(config: &Config) -> Result<Vec<RangeSet>, ConfigError> {
    read_at(config, "ipam")
}

/// Reads the range sets at a path, such as `ipam.zones.blue`.
///
/// # Errors
/// [`ConfigError`] with the path of the key that is wrong.
pub fn read_at(config: &Config, path: &str) -> Result<Vec<RangeSet>, ConfigError> {
    tenure_sdk_config::read(texts(config), path)
}

/// What the ranges of a configuration are read from.
#[must_use]
pub fn texts(config: &Config) -> Texts<'_> {
    Texts { ipam: &config.ipam, runtime_ranges: config.attributes.get(RUNTIME_RANGES) }
}
