//! The network's configuration and what the policy has made of it, asked of the host.

use crate::bindings::tenure::ipam::configuration as host;
use crate::{Attributes, Config, ConfigError, RangeSet, convert};

/// The configuration that [`define`](crate::Policy::define) got, or gets.
///
/// ```no_run
/// # fn propose() -> Result<(), tenure_sdk::Refusal> {
/// let ipam = tenure_sdk::configuration::get().root()?;
/// let warm = ipam.get("warm")?.map(|warm| warm.count()).transpose()?.unwrap_or(8);
/// # let _ = warm; Ok(()) }
/// ```
#[must_use]
pub fn get() -> Config {
    host::get().into()
}

/// The attributes of the network's definition; none while it is being made.
///
/// ```no_run
/// let attributes = tenure_sdk::configuration::definition_attributes();
/// let quota = attributes.get("quota");
/// # let _ = quota;
/// ```
#[must_use]
pub fn definition_attributes() -> Attributes {
    convert::attributes(host::definition_attributes())
}

/// Reads the range sets at a path, as the reference host-local does: `ipam` for the whole configuration, or such as `ipam.zones.blue`.
///
/// ```no_run
/// # fn define() -> Result<(), tenure_sdk::Refusal> {
/// let shared = tenure_sdk::configuration::ranges("ipam")?;
/// let blue = tenure_sdk::configuration::ranges("ipam.zones.blue")?;
/// # let _ = (shared, blue); Ok(()) }
/// ```
///
/// # Errors
/// With the path of the key that is wrong.
pub fn ranges(path: &str) -> Result<Vec<RangeSet>, ConfigError> {
    let sets = host::ranges(path).map_err(|error| ConfigError::new(error.path, error.message))?;
    Ok(sets.into_iter().map(convert::range_set).collect())
}
