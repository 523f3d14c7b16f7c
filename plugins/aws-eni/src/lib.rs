//! Addresses of AWS network interfaces: which to hand out, and which to assign, release, attach and detach.
//!
//! It decides as ipamd of the Amazon VPC CNI does, with ipamd's settings and formulas, and differs where ipamd is wrong;
//! the book's page `aws-eni.md` lists each difference with an example.
//!
//! - [`settings`] reads the configuration, in keys of our own and in ipamd's environment names.
//! - [`present`] is what decides between the targets of the configuration: the node's type and labels, and the time.
//! - [`propose`] chooses an address: of the fullest interface and the fullest prefix.
//! - [`supply`] is the state of the node as a plan sees it, and [`planning`] what to change about it.
//!
//! It owns no state: everything is decided from the ledger, the configuration, and the state that the host passes.

pub mod names;
pub mod planning;
pub mod present;
pub mod propose;
pub mod settings;
pub mod supply;

use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Effect, Planner, Policy, PoolDefinition, Proposal, Refusal,
    Request, SupplySituation, configuration,
};

use self::settings::AwsSettings;

/// The policy.
#[derive(Debug)]
pub struct AwsEni;

impl Policy for AwsEni {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let (settings, warnings) = AwsSettings::read(config)?;
        for warning in warnings {
            tenure_sdk::warn(&warning);
        }
        let families = [(settings.ipv4, names::IPV4), (settings.ipv6, names::IPV6)];
        let wanted = families.into_iter().filter(|(is_wanted, _)| *is_wanted);
        let pools = wanted.map(|(_, name)| PoolDefinition::supplied(name)).collect();
        let mut definition = Definition::of(pools, Cooling::Strict);
        definition.attributes = settings.host_attributes();
        Ok(definition)
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        propose::propose(&settings()?, request)
    }
}

impl Planner for AwsEni {
    fn plan(state: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
        planning::plan(&settings()?, state)
    }
}

/// The settings of the present call. Their warnings were logged when the network was defined.
fn settings() -> Result<AwsSettings, Refusal> {
    Ok(AwsSettings::read(&configuration::get())?.0)
}

tenure_sdk::export!(AwsEni);
tenure_sdk::export_planner!(AwsEni);
