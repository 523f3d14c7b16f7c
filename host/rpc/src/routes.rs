//! The routes of pods and claims: whose they are, and which of them counts before which.

use tenure_types::cni::{Configuration, Route, Success};
use tenure_types::{NetworkConfig, Result};

/// The routes of a network's definition.
///
/// # Errors
/// `InvalidConfig` for an invalid route.
pub(crate) fn defined_routes(definition: &NetworkConfig) -> Result<Vec<Route>> {
    let plugin = format!("{{\"name\":\"network\",\"ipam\":{}}}", definition.ipam);
    Configuration::parse(plugin.as_bytes())?.routes().map(Option::unwrap_or_default)
}
