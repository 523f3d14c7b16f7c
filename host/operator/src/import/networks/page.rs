//! A proposal as text that is YAML: objects to apply, and everything else as comments. Texts of objects cannot end a comment.

use std::fmt::Write as _;

use kube::core::ObjectMeta;
use serde_json::{Value, json};
use tenure_cluster::GROUP;
use tenure_cluster::objects::pool::AddressPool;
use tenure_leases::space::overlap;
use tenure_types::printable;

use super::definition::Definition;
use super::pool::FamilyRange;
use super::proposal::{NetworkProposal, ProposedPool};

/// The annotation in which `kubectl apply` keeps what it applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The whole text, for a cluster with so many nodes.
///
/// # Errors
/// If an object cannot be written as YAML.
pub(super) fn page(proposal: &NetworkProposal, nodes: usize) -> anyhow::Result<String> {
    let mut text = String::new();
    for pool in &proposal.pools {
        pool_document(&mut text, pool, proposal, nodes)?;
    }
    for (definition, pool) in &proposal.definitions {
        if let Some(pool) = proposal.pools.get(*pool) {
            definition_document(&mut text, definition, pool)?;
        }
    }
    configuration(&mut text, proposal);
    for (label, problem) in &proposal.problems {
        comment(&mut text, &format!("not proposed: {label}: {problem}"));
    }
    Ok(text)
}

/// The AddressPool of a proposal.
///
/// # Errors
/// If its spec is not one.
pub(super) fn object(pool: &ProposedPool) -> anyhow::Result<AddressPool> {
    Ok(AddressPool::new(&pool.name, serde_json::from_value(pool.settings.spec())?))
}

/// A line of a comment.
fn comment(text: &mut String, words: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# {}", printable::line(words));
}

fn pool_document(
    text: &mut String,
    pool: &ProposedPool,
    proposal: &NetworkProposal,
    nodes: usize,
) -> anyhow::Result<()> {
    comment(text, &format!("AddressPool {}, for {}", pool.name, pool.definitions.join(", ")));
    for FamilyRange { range, block_prefix } in &pool.settings.families {
        let blocks = 1_u32 << block_prefix.saturating_sub(range.cidr.prefix_len()).min(16);
        let few = if usize::try_from(blocks).is_ok_and(|blocks| blocks < nodes) {
            ", too few for each to have one: choose some by nodeSelector, or append a CIDR"
        } else {
            ""
        };
        let cidr = range.cidr;
        comment(text, &format!("{cidr} has {blocks} blocks of /{block_prefix}, for {nodes} nodes{few}"));
    }
    let shares = |other: &&ProposedPool| {
        let mut pairs =
            pool.settings.cidrs().flat_map(|cidr| other.settings.cidrs().map(move |of| (cidr, of)));
        other.name != pool.name && pairs.any(|(cidr, of)| overlap(cidr, of))
    };
    for other in proposal.pools.iter().filter(shares) {
        let name = &other.name;
        comment(
            text,
            &format!(
                "some of its addresses are also those of {name}, in another overlap group: a node gets them of one group only, which nodeSelector decides"
            ),
        );
    }
    let object = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddressPool",
        "metadata": { "name": pool.name }, "spec": pool.settings.spec(),
    });
    document(text, &object)?;
    text.push_str("---\n");
    Ok(())
}

/// A definition as it is, and as it would be.
fn definition_document(
    text: &mut String,
    definition: &Definition,
    pool: &ProposedPool,
) -> anyhow::Result<()> {
    comment(text, &format!("NetworkAttachmentDefinition {}, of AddressPool {}", definition.label, pool.name));
    if definition.network != pool.network {
        let first = pool.definitions.first().map(String::as_str).unwrap_or_default();
        comment(
            text,
            &format!("its network is {} as that of {first}: a pool serves one network", pool.network),
        );
    }
    if !definition.settings.node_slice_size.is_empty() {
        comment(text, "nodes get blocks of its node_slice_size, and not the slices that they have now");
    }
    comment(text, &format!("now: {}", definition.before()));
    let ObjectMeta { name, namespace, labels, mut annotations, .. } = definition.metadata.clone();
    annotations.iter_mut().for_each(|annotations| _ = annotations.remove(LAST_APPLIED));
    let annotations = annotations.filter(|annotations| !annotations.is_empty());
    let metadata = ObjectMeta { name, namespace, labels, annotations, ..ObjectMeta::default() };
    let head = json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": metadata,
    });
    document(text, &head)?;
    text.push_str("spec:\n  config: |\n");
    let config = serde_json::to_string_pretty(&definition.after(&pool.network, &pool.name))?;
    for line in printable::json(&config).lines() {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("---\n");
    Ok(())
}

fn document(text: &mut String, object: &Value) -> anyhow::Result<()> {
    let yaml = serde_saphyr::to_string(object)?;
    text.push_str(yaml.trim_end());
    text.push('\n');
    Ok(())
}

/// The tables of a node's configuration.
fn configuration(text: &mut String, proposal: &NetworkProposal) {
    let networks = proposal.networks();
    if networks.is_empty() {
        return;
    }
    let pools = |pools: &[&ProposedPool]| {
        json!(pools.iter().map(|pool| pool.name.as_str()).collect::<Vec<_>>()).to_string()
    };
    comment(text, "/etc/tenure/tenured.toml of each node:");
    comment(text, "  [cluster.networks]");
    for (network, of) in &networks {
        comment(text, &format!("  \"{network}\" = {}", pools(of)));
    }
    for (network, of) in &networks {
        let families = of.iter().flat_map(|pool| pool.settings.cidrs());
        let (has_v4, has_v6) = families.fold((false, false), |(v4, v6), cidr| {
            let is_v4 = cidr.addr().is_ipv4();
            (v4 || is_v4, v6 || !is_v4)
        });
        let families = match (has_v4, has_v6) {
            (true, true) => r#"["ipv4", "ipv6"]"#,
            (false, true) => r#"["ipv6"]"#,
            _ => r#"["ipv4"]"#,
        };
        comment(text, &format!("  [networks.\"{network}\"]"));
        let pools = pools(of);
        comment(
            text,
            &format!(
                "  ipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = {pools}, families = {families} }}"
            ),
        );
    }
}

#[cfg(test)]
mod tests;
