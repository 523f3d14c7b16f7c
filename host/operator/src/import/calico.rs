//! Reads IPAMBlocks and BlockAffinities of Calico.
//!
//! A block is in use if a host or a virtual owner has an affinity for it, or if it has an allocation. An affinity without a block is a claim under
//! way, or one that was interrupted: its addresses count as in use, too. What Calico marks as deleted counts for nothing.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use ipnet::IpNet;
use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::plan::FoundUse;
use super::records::{PeerRecord, kind, list};

/// The groups in which Calico's records are, depending on how it is installed; a cluster that was migrated has both.
const GROUPS: [(&str, &str); 2] = [("crd.projectcalico.org", "v1"), ("projectcalico.org", "v3")];

#[derive(Debug, Deserialize)]
struct IpamBlockSpec {
    cidr: String,
    #[serde(default)]
    affinity: Option<String>,
    /// `null` if there are none.
    allocations: Option<Vec<Option<i64>>>,
    #[serde(default)]
    deleted: Value,
}

#[derive(Debug, Deserialize)]
struct BlockAffinitySpec {
    cidr: String,
    #[serde(default)]
    node: String,
    #[serde(default)]
    deleted: Value,
}

/// Reads both kinds.
///
/// # Errors
/// If there are no such kinds, or an object cannot be understood.
pub(super) async fn read(client: &Client) -> anyhow::Result<Vec<FoundUse>> {
    let Some(blocks) = of_all_groups::<IpamBlockSpec>(client, "IPAMBlock", "ipamblocks").await? else {
        bail!(
            "the API server has no IPAMBlocks of Calico; an installation with its own etcd is not supported"
        )
    };
    let affinities = of_all_groups::<BlockAffinitySpec>(client, "BlockAffinity", "blockaffinities")
        .await?
        .unwrap_or_default();
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for PeerRecord { name, spec, .. } in blocks {
        let cidr = cidr(&spec.cidr).with_context(|| format!("IPAMBlock {name}"))?;
        if let Some(owner) = owner(&spec).filter(|_| !is_true(&spec.deleted)) {
            known.insert(cidr);
            found.push(FoundUse { cidr, owner });
        }
    }
    for PeerRecord { name, spec, .. } in affinities {
        let cidr = cidr(&spec.cidr).with_context(|| format!("BlockAffinity {name}"))?;
        if !is_true(&spec.deleted) && !known.contains(&cidr) {
            found.push(FoundUse { cidr, owner: format!("host {}, an affinity without a block", spec.node) });
        }
    }
    // Both groups may show the same object.
    found.sort();
    found.dedup();
    Ok(found)
}

/// The records of all groups that are served: after a migration from one to the other, the first one still has those of that day.
async fn of_all_groups<S: DeserializeOwned>(
    client: &Client,
    name: &str,
    plural: &str,
) -> anyhow::Result<Option<Vec<PeerRecord<S>>>> {
    let mut all: Option<Vec<PeerRecord<S>>> = None;
    for (group, version) in GROUPS {
        if let Some(records) = list(client, &kind(group, version, name, plural), None).await? {
            all.get_or_insert_default().extend(records);
        }
    }
    Ok(all)
}

/// The user of a block; `None` if nobody uses it.
fn owner(block: &IpamBlockSpec) -> Option<String> {
    let count = block.allocations.iter().flatten().flatten().count();
    let affinity = block.affinity.as_deref().filter(|affinity| !affinity.is_empty());
    match affinity.map(|affinity| affinity.split_once(':').unwrap_or(("host", affinity))) {
        Some((kind, name)) => Some(format!("{kind} {name}, {count} addresses in use")),
        None if count > 0 => Some(format!("{count} addresses in use without an affinity")),
        None => None,
    }
}

/// Whether a field says true. Older versions wrote it as text.
fn is_true(field: &Value) -> bool {
    *field == Value::Bool(true) || field.as_str() == Some("true")
}

fn cidr(text: &str) -> anyhow::Result<IpNet> {
    text.parse().with_context(|| format!("{text:?} is not a CIDR"))
}
