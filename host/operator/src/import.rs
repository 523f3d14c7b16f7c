//! Import of the addresses that another IPAM hands out, as taken ranges of a pool, before the pool's first block is granted.
//!
//! ```text
//!   records of the other IPAM ──▶ addresses and their users ──▶ the pool's grid: whole blocks ──▶ AddressPool.spec.taken ──▶ AddressSpace
//! ```
//!
//! It is a verb of this program and not of `tenurectl`: it works on the cluster with a person's own rights, and neither a node's agent nor the
//! operator may read another IPAM's records or write a pool's spec. `tenurectl cluster import` runs it. An import of the same source again replaces what the one before wrote, so that
//! blocks become free as pods move.
//!
//! Before that, `networks` proposes the pools for whereabouts' ranges.

mod apply;
mod calico;
mod networks;
mod nodes;
mod plan;
mod records;
mod whereabouts;

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use kube::{Api, Client};
use tenure_cluster::AddressPool;
use tenure_cluster::client::call;

use self::apply::{apply, freed, leased, writer};
pub use self::plan::{FoundUse, ImportPlan, ImportPlanError};

/// The arguments of an import.
#[derive(Debug, Clone, clap::Args)]
pub struct ImportArguments {
    /// The records to read
    pub source: PeerIpam,
    /// The AddressPool whose addresses they use; not with `whereabouts-networks`, which proposes pools
    #[arg(
        long,
        value_name = "NAME",
        required_if_eq_any = [("source", "whereabouts"), ("source", "calico"), ("source", "podcidr")]
    )]
    pub pool: Option<String>,
    /// The namespace of whereabouts' records, or of the NetworkAttachmentDefinitions; without it, all namespaces
    #[arg(long, value_name = "NAMESPACE")]
    pub records_namespace: Option<String>,
    /// whereabouts' configuration file of a node, which has the settings that NetworkAttachmentDefinitions leave out, such as
    /// /etc/cni/net.d/whereabouts.d/whereabouts.conf; with `whereabouts-networks` only
    #[arg(long, value_name = "FILE")]
    pub flat_file: Option<PathBuf>,
    /// Write the pool, or create those that are proposed; without this flag, only show what would be written
    #[arg(long)]
    pub apply: bool,
}

/// The records of another IPAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PeerIpam {
    /// IPPools and OverlappingRangeIPReservations of whereabouts
    Whereabouts,
    /// NetworkAttachmentDefinitions with `ipam` of whereabouts: prints AddressPools, and NetworkAttachmentDefinitions of tenure beside them
    WhereaboutsNetworks,
    /// IPAMBlocks and BlockAffinities of Calico
    Calico,
    /// The pod CIDRs of Nodes
    Podcidr,
}

impl PeerIpam {
    /// The name, as an entry of a pool has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whereabouts => "whereabouts",
            Self::WhereaboutsNetworks => "whereabouts-networks",
            Self::Calico => "calico",
            Self::Podcidr => "podcidr",
        }
    }
}

/// Imports, or says what an import would write. Returns the report.
///
/// # Errors
/// If records cannot be read or understood, a block with one of the addresses is leased already, or the API server refuses the pool.
pub async fn import(client: &Client, arguments: &ImportArguments) -> anyhow::Result<String> {
    let namespace = arguments.records_namespace.as_deref();
    match (arguments.source, &arguments.pool, &arguments.flat_file) {
        (PeerIpam::WhereaboutsNetworks, Some(_), _) => {
            bail!("whereabouts-networks proposes pools: leave --pool out")
        }
        (PeerIpam::WhereaboutsNetworks, None, file) => {
            networks::import(client, namespace, file.as_deref(), arguments.apply).await
        }
        (_, _, Some(_)) => bail!("--flat-file is read with whereabouts-networks only: leave it out"),
        (_, None, None) => bail!("name the AddressPool by --pool"),
        (source, Some(pool), None) => import_records(client, source, pool, namespace, arguments.apply).await,
    }
}

/// Imports the records of another IPAM into a pool.
async fn import_records(
    client: &Client,
    source: PeerIpam,
    name: &str,
    namespace: Option<&str>,
    is_applied: bool,
) -> anyhow::Result<String> {
    let api: Api<AddressPool> = Api::all(client.clone());
    let pool = call(api.get_opt(name)).await.context("cannot read the AddressPool")?;
    let Some(pool) = pool else {
        bail!("there is no AddressPool {name}; create it with `disabled: true`, import, and enable it then")
    };
    let found = match source {
        PeerIpam::Calico => calico::read(client).await,
        PeerIpam::Podcidr => nodes::read(client).await,
        PeerIpam::Whereabouts | PeerIpam::WhereaboutsNetworks => {
            whereabouts::read(client, namespace, &pool.ranges()?).await
        }
    };
    let source_name = source.name();
    let found = found.with_context(|| format!("cannot read the records of {source_name}"))?;
    let plan = ImportPlan::new(&pool, source_name, found)?;
    let mut report = report(name, source_name, &plan);
    let leased = leased(client, &pool, &plan).await?;
    if !leased.is_empty() {
        bail!(
            "{report}blocks with these addresses are leased already: {}; delete these IPBlocks, which drains them, or move their addresses away from {source_name}, and import again",
            leased.join(", "),
        );
    }
    let writer = writer(source, namespace);
    for entry in freed(client, &pool, &writer, &plan).await? {
        let _ = writeln!(report, "free     {}  {}", entry.cidr, entry.owner);
    }
    if !is_applied {
        report.push_str("dry run; pass --apply to make changes\n");
        return Ok(report);
    }
    apply(client, &pool, &writer, &plan).await?;
    let _ = writeln!(report, "wrote AddressPool {name}: no block with these addresses is granted");
    Ok(report)
}

/// The plan as text.
fn report(pool: &str, source: &str, plan: &ImportPlan) -> String {
    let width = plan.entries.iter().map(|entry| entry.cidr.len()).max().unwrap_or_default();
    let mut text = String::new();
    for entry in &plan.entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "taken    {:width$}  {}", entry.cidr, entry.owner);
    }
    for found in &plan.outside {
        let _ = writeln!(text, "outside  {:width$}  {}", found.cidr.to_string(), found.owner);
    }
    let (entries, outside) = (plan.entries.len(), plan.outside.len());
    let _ = writeln!(
        text,
        "{entries} ranges of pool {pool} are taken by {source}; {outside} are outside of the pool"
    );
    text
}
