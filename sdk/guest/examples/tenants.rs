//! Tenants: each has ranges and a quota of its own, for its namespaces. A namespace that no tenant lists gets no address.
//!
//! `"tenants": [{"name": "shop", "namespaces": ["web", "db"], "quota": 50, "subnet": "10.1.1.0/24"}]`

use tenure_sdk::prelude::*;

/// The tag that names an allocation's tenant, by which the ledger counts.
const TENANT: &str = "tenant";

/// Assigns from the ranges of a pod's tenant, up to its quota.
#[derive(Debug)]
pub struct Tenants;

impl Policy for Tenants {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let mut pools = Vec::new();
        for tenant in config.root()?.get_list("tenants")? {
            tenant.get_texts("namespaces")?;
            tenant.need("quota")?.count()?;
            for set in configuration::ranges(tenant.path())? {
                let pool = PoolDefinition::new(tenant.need("name")?.text()?, set);
                pools.push(PoolDefinition { need: Need::Optional, ..pool });
            }
        }
        Ok(Definition::of(pools, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let namespace = request.namespace().unwrap_or_default();
        for tenant in configuration::root()?.get_list("tenants")? {
            if tenant.get_texts("namespaces")?.iter().any(|own| own == namespace) {
                return of_tenant(&tenant);
            }
        }
        Err(Refusal::Other(format!("namespace {namespace:?} belongs to no tenant")))
    }
}

fn of_tenant(tenant: &Node) -> Result<Proposal, Refusal> {
    let (name, quota) = (tenant.need("name")?, tenant.need("quota")?.count()?);
    let name = name.text()?;
    if ledger::count_of(TENANT, name) >= quota {
        return Err(Refusal::OverQuota(format!("tenant {name} has reached its quota of {quota}")));
    }
    let pool = ledger::pool_named(name);
    let free = pool.and_then(|pool| Some((pool, Shelf::of(pool).next_in_turn()?)));
    let (pool, address) = free.ok_or_else(|| Refusal::exhausted(format!("tenant {name} is full")))?;
    let mut proposal = Proposal::new();
    proposal.assign(pool, address);
    proposal.tags.set(TENANT, name);
    Ok(proposal)
}

tenure_sdk::export!(Tenants);
