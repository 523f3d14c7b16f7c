//! Addresses of blocks that a cluster leases to the node.
//!
//! Each pool of the cluster that a network uses becomes a pool for each family here: `NAME.v4` and `NAME.v6`. An allocation has one address of
//! each family, of the first pool in the configuration's order that has one, and there of the fullest block, so that others become empty.
//!
//! - [`settings`] reads the configuration.
//! - [`propose`] chooses an address.
//! - [`planning`] says when a block is missing, and which are spare.

pub mod names;
pub mod planning;
pub mod propose;
pub mod settings;

use tenure_sdk::{
    Attributes, Config, ConfigError, Cooling, Definition, Effect, Need, Planner, Policy, PoolDefinition,
    Proposal, Refusal, Request, SupplySituation,
};

use self::settings::RangeSettings;

/// The policy.
#[derive(Debug)]
pub struct ClusterRange;

impl Policy for ClusterRange {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let settings = RangeSettings::read(config)?;
        // With a choice of pools, no single one must give an address.
        let need = if settings.pools.len() > 1 { Need::Optional } else { Need::Always };
        let pools = settings
            .pool_names()
            .map(|(_, name)| PoolDefinition { need: need.clone(), ..PoolDefinition::supplied(name) });
        let mut definition = Definition::of(pools.collect(), Cooling::Strict);
        definition.attributes = Attributes::new().with(names::GATEWAY, settings.gateway.name());
        Ok(definition)
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        propose::propose(request)
    }
}

impl Planner for ClusterRange {
    fn plan(state: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
        planning::plan(state)
    }
}

tenure_sdk::export!(ClusterRange);
tenure_sdk::export_planner!(ClusterRange);
