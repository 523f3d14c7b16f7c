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
            tenant.need_count("quota")?;
            for set in configuration::ranges(tenant.path())? {
                pools.push(PoolDefinition::optional(tenant.need_text("name")?, set));
            }
        }
        Ok(Definition::of(pools, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let namespace = request.namespace().unwrap_or_default();
        for tenant in configuration::root()?.get_list("tenants")? {
            if tenant.get_texts("namespaces")?.iter().any(|own| own == namespace) {
                return of_tenant(&tenant.need_text("name")?, tenant.need_count("quota")?);
            }
        }
        Err(Refusal::denied(format!("namespace {namespace:?} belongs to no tenant")))
    }
}

fn of_tenant(name: &str, quota: u32) -> Result<Proposal, Refusal> {
    if ledger::count_of(TENANT, name) >= quota {
        return Err(Refusal::over_quota(format!("tenant {name} has reached its quota of {quota}")));
    }
    Ok(Proposal::of_pool(name)?.with_tag(TENANT, name))
}

tenure_sdk::export!(Tenants);
