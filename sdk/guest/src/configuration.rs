//! The network's configuration and definition, read from the host.

use crate::host::configuration as host;
use crate::{Attributes, Config, ConfigError, Cooling, Definition, Node, RangeSet, convert, ranges};

/// The configuration that was passed to [`define`](crate::Policy::define).
///
/// ```no_run
/// # fn propose() -> Result<(), tenure_sdk::Refusal> {
/// let ipam = tenure_sdk::configuration::get().root()?;
/// let warm = ipam.get_count("warm")?.unwrap_or(8);
/// # let _ = warm; Ok(()) }
/// ```
#[must_use]
pub fn get() -> Config {
    host::get().into()
}

/// The parsed `ipam` object of the configuration, in [`define`](crate::Policy::define) and in
/// [`propose`](crate::Policy::propose) alike.
///
/// ```no_run
/// # fn propose() -> Result<(), tenure_sdk::Refusal> {
/// // A wrong value is refused: "ipam.spare: invalid IP address: 10.1.2".
/// let spare = tenure_sdk::configuration::root()?.get_address("spare")?;
/// # let _ = spare; Ok(()) }
/// ```
///
/// # Errors
/// If it is not valid JSON.
pub fn root() -> Result<Node, ConfigError> {
    get().root()
}

/// The attributes of the network's definition; none during [`define`](crate::Policy::define).
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

/// Reads the range sets at a path, as the reference host-local does: `ipam` for the whole configuration, or a path
/// in it such as `zones.blue`, which may also be written as errors print it, `ipam.zones.blue`.
///
/// ```no_run
/// # fn define() -> Result<(), tenure_sdk::Refusal> {
/// let shared = tenure_sdk::configuration::ranges("ipam")?;
/// let blue = tenure_sdk::configuration::ranges("zones.blue")?;
/// # let _ = (shared, blue); Ok(()) }
/// ```
///
/// # Errors
/// With the path of the wrong key.
pub fn ranges(path: &str) -> Result<Vec<RangeSet>, ConfigError> {
    let sets =
        host::ranges(&ranges::whole(path)).map_err(|error| ConfigError::new(error.path, error.message))?;
    Ok(sets.into_iter().map(convert::range_set).collect())
}

impl Definition {
    /// A definition with a pool per range set of the configuration: that of most policies, and of host-local.
    ///
    /// ```no_run
    /// # use tenure_sdk::{Config, ConfigError, Cooling, Definition};
    /// fn define(_: &Config) -> Result<Definition, ConfigError> {
    ///     Ok(Definition::configured(Cooling::Preferred)?.with_label("zone", "shared"))
    /// }
    /// # let _ = define;
    /// ```
    ///
    /// # Errors
    /// With the path of the wrong key.
    pub fn configured(cooling: Cooling) -> Result<Self, ConfigError> {
        Ok(Self::new(ranges("ipam")?, cooling))
    }
}
