//! Reads the ranges of a configuration in the policy itself: [`configuration::ranges`](crate::configuration::ranges)
//! without the host.
//!
//! So unit tests need no host, and a policy can read ranges from its own strings.

use std::borrow::Cow;

pub use tenure_sdk_config::{RUNTIME_RANGES, Texts};

use crate::{Config, ConfigError, RangeSet};

/// The path of the whole configuration.
const ROOT: &str = "ipam";

/// Reads a network's range sets: first `runtimeConfig.ipRanges`, then the single range of old configurations, then
/// `ranges`.
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
/// [`ConfigError`] with the path of the wrong key.
pub fn read(config: &Config) -> Result<Vec<RangeSet>, ConfigError> {
    read_at(config, ROOT)
}

/// Reads the range sets at a path, such as `zones.blue`, or `ipam.zones.blue` as errors print it.
///
/// ```
/// use tenure_sdk::{Config, ranges};
///
/// let config = Config::new("net", r#"{"zones": {"blue": {"subnet": "10.1.2.0/24"}}}"#, &[]);
/// assert_eq!(ranges::read_at(&config, "zones.blue")?.len(), 1);
/// assert_eq!(ranges::read_at(&config, "ipam.zones.blue")?.len(), 1);
/// assert_eq!(ranges::read_at(&config, "ipam.zones.red").unwrap_err().path, "ipam.zones.red");
/// # Ok::<(), tenure_sdk::ConfigError>(())
/// ```
///
/// # Errors
/// [`ConfigError`] with the path of the wrong key.
pub fn read_at(config: &Config, path: &str) -> Result<Vec<RangeSet>, ConfigError> {
    tenure_sdk_config::read(texts(config), &whole(path))
}

/// A path from the root of a configuration, which is named `ipam`.
pub(crate) fn whole(path: &str) -> Cow<'_, str> {
    let behind = path.strip_prefix(ROOT);
    match behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(['.', '['])) {
        true => path.into(),
        false => format!("{ROOT}.{path}").into(),
    }
}

/// The strings that a configuration's ranges are read from.
#[must_use]
pub fn texts(config: &Config) -> Texts<'_> {
    Texts { ipam: &config.ipam, runtime_ranges: config.attributes.get(RUNTIME_RANGES) }
}
