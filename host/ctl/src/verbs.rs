//! The verbs. Each asks the daemon or reads files, and returns a report.
//!
//! Verbs that are a single call to the daemon are handled here; the others have a file each.

mod allocations;
mod cluster;
mod config;
mod conflist;
mod doctor;
mod export;
mod file;
mod import;
mod install;
mod ipamd;
mod load;
mod log;
mod plugin;
mod policy;
#[cfg(feature = "registry")]
mod pull;
mod quarantine;
mod repair;
mod replay;
mod rounds;
mod state;
mod status;

use std::path::Path;

use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use crate::arguments::{ClaimsArguments, ClaimsVerb, ClusterVerb, NetworkVerb, NodeVerb, Question};
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{self, Address, NetworkRedefinition, NetworkRemoval, Release, ReleasedClaim};

pub(crate) use allocations::allocations;
pub(crate) use export::export;
pub(crate) use install::follow::follow;
pub(crate) use log::log;
#[cfg(feature = "registry")]
pub(crate) use pull::follow as follow_references;

/// Runs a verb that needs the daemon.
pub(crate) async fn ask(daemon: &Daemon, question: Question) -> Result<Report, Error> {
    match question {
        Question::Status { wait } => status::status(daemon, wait).await,
        Question::Networks { names } => networks(daemon, &names).await.map(Report::of),
        Question::Network(NetworkVerb::Define { file, apply, change_ranges }) => {
            let (_, config) = config::read_or_stdin(&file)?;
            let request = v1::DefineNetworkRequest { config, apply, change_ranges };
            let answer = daemon.call(async |mut admin| admin.define_network(request).await).await?;
            Ok(Report::of(NetworkRedefinition { applied: apply, answer }))
        }
        Question::Network(NetworkVerb::Remove { name, apply }) => {
            let request = v1::RemoveNetworkRequest { network: name.clone(), apply };
            let answer = daemon.call(async |mut admin| admin.remove_network(request).await).await?;
            Ok(Report::of(NetworkRemoval { network: name, applied: apply, answer }))
        }
        Question::Reload => {
            let request = v1::ReloadRequest {};
            daemon.call(async |mut admin| admin.reload(request).await).await.map(Report::of)
        }
        Question::Config => {
            let request = v1::GetConfigurationRequest {};
            daemon.call(async |mut admin| admin.get_configuration(request).await).await.map(Report::of)
        }
        Question::Allocation { address } => {
            let request = v1::GetAddressRequest { address: address.to_string() };
            let answer = daemon.call(async |mut admin| admin.get_address(request).await).await?;
            if answer.states.is_empty() {
                let cause = format!("{address} is in no range of any network on this node");
                return Err(Error::new(ErrorCode::UnknownAddress, cause));
            }
            Ok(Report::of(Address { address, answer }))
        }
        Question::Check => {
            let request = v1::CheckRequest {};
            daemon.call(async |mut admin| admin.check(request).await).await.map(Report::of)
        }
        Question::Release { address, network, generation, reason, force, apply } => {
            let request = v1::ReleaseRequest {
                address: address.to_string(),
                network: network.unwrap_or_default(),
                generation: generation.unwrap_or_default(),
                apply,
                reason: reason.unwrap_or_default(),
                force,
            };
            let answer = daemon.call(async |mut admin| admin.release(request).await).await?;
            Ok(Report::of(Release { address, applied: apply, answer }))
        }
        Question::Quarantine(verb) => quarantine::quarantine(daemon, verb).await,
        Question::Claims(ClaimsArguments { agent, verb: None }) => {
            let request = v1::ListAllClaimsRequest { agent: agent.unwrap_or_default() };
            let answer = daemon.call(async |mut admin| admin.list_all_claims(request).await).await?;
            Ok(Report::of(report::ClaimList::from(answer)))
        }
        Question::Claims(ClaimsArguments {
            verb: Some(ClaimsVerb::Release { agent, network, name, reason, generation, apply }),
            ..
        }) => {
            let reason = reason.unwrap_or_default();
            let request = v1::ReleaseClaimOfRequest { agent, network, name, reason, apply, generation };
            let answer = daemon.call(async |mut admin| admin.release_claim_of(request).await).await?;
            Ok(Report::of(ReleasedClaim { applied: apply, claim: answer.claim }))
        }
        Question::Delegates => {
            let request = v1::ListDelegationsRequest {};
            daemon.call(async |mut admin| admin.list_delegations(request).await).await.map(Report::of)
        }
        Question::Cloud => {
            let request = v1::GetCloudRequest {};
            let answer = daemon.call(async |mut admin| admin.get_cloud(request).await).await?;
            Ok(Report::of(answer))
        }
        Question::Cluster { verb: Some(ClusterVerb::Import { arguments }) } => {
            Err(cluster::import(&arguments))
        }
        Question::Cluster { verb: None } => {
            let request = v1::GetClusterRequest {};
            let answer = daemon.call(async |mut admin| admin.get_cluster(request).await).await?;
            Ok(Report::of(answer))
        }
        Question::Plan { network, .. } => {
            let request = v1::ExplainPlanRequest { network: network.unwrap_or_default() };
            let answer = daemon.call(async |mut admin| admin.explain_plan(request).await).await?;
            Ok(Report::of(answer))
        }
        Question::Repair { from, apply } => repair::repair(daemon, &from, apply).await,
        Question::Import { source, apply } => import::import(daemon, &source, apply).await,
        Question::Adopt { .. } => {
            let request = v1::AdoptRequest {};
            daemon.call(async |mut admin| admin.adopt(request).await).await.map(Report::of)
        }
        Question::Policy(verb) => policy::policy(daemon, verb).await,
    }
}

/// Runs a verb about the files of this node.
pub(crate) async fn node(daemon: &Daemon, run_dir: &Path, verb: NodeVerb) -> Result<Report, Error> {
    match verb {
        NodeVerb::Install(arguments) => install::install(daemon, &arguments).await,
        NodeVerb::Uninstall(arguments) => install::uninstall::uninstall(daemon, &arguments).await,
        NodeVerb::Doctor(arguments) => Ok(doctor::doctor(daemon, run_dir, &arguments).await),
    }
}

/// The networks of these names, in their order; without names, all.
async fn networks(daemon: &Daemon, names: &[String]) -> Result<v1::ListNetworksResponse, Error> {
    let request = v1::ListNetworksRequest {};
    let mut answer = daemon.call(async |mut admin| admin.list_networks(request).await).await?;
    let is_known = |name: &&String| answer.networks.iter().any(|network| network.name == **name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let cause = format_args!("no network {unknown} on this node");
        return Err(Error::new(ErrorCode::UnknownNetwork, cause));
    }
    answer.networks.retain(|network| names.is_empty() || names.contains(&network.name));
    Ok(answer)
}
