//! A proposal of AddressPools for the NetworkAttachmentDefinitions whose addresses are of whereabouts.
//!
//! ```text
//!   NetworkAttachmentDefinitions ─┐                                        ┌─▶ AddressPools, which --apply creates disabled
//!   whereabouts' flat file ───────┴▶ ranges ─▶ pools, shared where equal ──┼─▶ NetworkAttachmentDefinitions, for a person to apply
//!                                                                          └─▶ tables of tenured.toml
//! ```
//!
//! Nothing changes a NetworkAttachmentDefinition: pods with one of tenure, and others with one of whereabouts, must not get addresses of one range.

mod definition;
mod page;
mod pool;
mod problem;
mod proposal;
mod range;
mod settings;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;
use tenure_cluster::AddressPool;
use tenure_cluster::client::call;

use self::definition::{Definition, DefinitionSpec};
use self::page::{object, page};
use self::problem::NetworkProblem;
use self::proposal::{FoundDefinition, NetworkProposal};
use self::settings::WhereaboutsSettings;
use super::records::{PeerRecord, kind, list};

/// Proposes pools, and creates them if that is asked for. Returns the text.
///
/// # Errors
/// If the flat file or the API server cannot be read, or a pool cannot be created. With `apply` also if a definition has no proposal.
pub(super) async fn import(
    client: &Client,
    namespace: Option<&str>,
    flat_file: Option<&Path>,
    apply: bool,
) -> anyhow::Result<String> {
    let flat = flat_file.map(read_flat_file).transpose()?.unwrap_or_default();
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes =
        call(nodes.list_metadata(&ListParams::default())).await.context("cannot list Nodes")?.items.len();
    let proposal = NetworkProposal::new(read(client, namespace, &flat).await?, nodes);
    let mut text = page(&proposal, nodes)?;
    let (definitions, problems) = (proposal.definitions.len(), proposal.problems.len());
    let pools = proposal.pools.len();
    let _ = writeln!(
        text,
        "# {definitions} NetworkAttachmentDefinitions of whereabouts become {pools} AddressPools; {problems} are not proposed"
    );
    if !apply {
        text.push_str("# dry run; pass --apply to create the AddressPools\n");
        return Ok(text);
    }
    if problems > 0 {
        bail!("{text}nothing was written, since {problems} NetworkAttachmentDefinitions are not proposed");
    }
    for pool in &proposal.pools {
        let outcome = create(client, &object(pool)?).await;
        let words = outcome.with_context(|| format!("cannot create AddressPool {}", pool.name))?;
        let _ = writeln!(text, "# AddressPool {} {words}", pool.name);
    }
    text.push_str("# next: `tenurectl cluster import whereabouts --pool NAME --apply` for each of them\n");
    Ok(text)
}

async fn create(client: &Client, pool: &AddressPool) -> anyhow::Result<&'static str> {
    let api: Api<AddressPool> = Api::all(client.clone());
    match call(api.create(&PostParams::default(), pool)).await {
        Ok(_) => Ok("is created, disabled"),
        Err(error) if error.is_already_exists() => Ok("exists already, and stays as it is"),
        Err(error) => Err(error.into()),
    }
}

fn read_flat_file(path: &Path) -> anyhow::Result<WhereaboutsSettings> {
    let what = || format!("cannot read whereabouts' flat file {}", path.display());
    let text = std::fs::read_to_string(path).with_context(what)?;
    let object = serde_json::from_str(&text).with_context(what)?;
    WhereaboutsSettings::read(&object).with_context(what)
}

/// Reads the definitions, by namespace and name.
async fn read(
    client: &Client,
    namespace: Option<&str>,
    flat: &WhereaboutsSettings,
) -> anyhow::Result<Vec<FoundDefinition>> {
    let resource =
        kind("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition", "network-attachment-definitions");
    let Some(records) = list::<Value>(client, &resource, namespace).await? else {
        bail!("the API server has no NetworkAttachmentDefinitions of k8s.cni.cncf.io/v1")
    };
    let mut found: Vec<FoundDefinition> = Vec::new();
    for PeerRecord { name, metadata, spec } in records {
        let spec = serde_json::from_value::<Option<DefinitionSpec>>(spec).map(Option::unwrap_or_default);
        let read = match spec {
            Err(error) => Err(NetworkProblem::Unread(error.to_string())),
            // Multus reads a file of the node.
            Ok(spec) if spec.config.is_empty() => Ok(None),
            Ok(spec) => Definition::read(name.clone(), metadata, &spec.config, flat),
        };
        found.extend(read.map_err(|problem| (name, problem)).transpose());
    }
    Ok(found)
}
