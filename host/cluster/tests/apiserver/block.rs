//! IPBlocks.

use anyhow::ensure;
use kube::api::ListParams;
use serde_json::{Value, json};
use tenure_cluster::IPBlock;
use tenure_cluster::client::call;
use tenure_cluster::convert::BlockLease;
use tenure_leases::{HolderIdentity, IpBlock, MachineHash, PoolKey, RangeId, Uid};

use crate::Test;
use crate::cluster::{Cluster, refused};

pub(crate) const TESTS: &[Test] = &[
    ("block::the_name_is_the_group_and_the_cidr", named),
    ("block::another_name_is_refused", misnamed),
    ("block::a_lease_never_changes", immutable),
    ("block::words_of_the_status_are_checked", words),
    ("block::blocks_are_selected_by_node", selected),
];

/// A lease of the node `n1`, as the operator creates it.
fn lease(group: &str, cidr: &str, node: &str) -> Value {
    let lease = BlockLease {
        group: group.to_owned(),
        cidr: cidr.parse().unwrap(),
        range: RangeId(1),
        pool: PoolKey { name: "blue".into(), uid: Uid(31) },
        holder: HolderIdentity { name: node.into(), uid: Uid(11), machine: MachineHash(12), boot: Uid(13) },
    };
    serde_json::to_value(lease.object().unwrap()).unwrap()
}

fn named(cluster: &Cluster) -> anyhow::Result<()> {
    let cidrs = [
        "10.1.2.0/26",
        "10.1.2.3/32",
        "0.0.0.0/0",
        "::/0",
        "::/122",
        "::1/128",
        "::1:0/112",
        "fd00::/122",
        "fd00:1::/122",
        "fd00::1:0:0:40/122",
        "2001:db8:0:a::ffc0/122",
        "1:2:3:4:5:6:7:0/122",
        "1:2:3:4:5:6:0:0/96",
        "1:0:0:4::/64",
        "64:ff9b::a00:0/122",
    ];
    for cidr in cidrs {
        let created = cluster.create::<IPBlock>(lease("named", cidr, "n1"))?;
        let typed: IPBlock = created.try_parse()?;
        let block = IpBlock::try_from(&typed)?;
        ensure!(block.cidr == cidr.parse()?, "{cidr}: {block:?}");
        let again = cluster.create::<IPBlock>(lease("named", cidr, "n2"));
        ensure!(again.is_err_and(|error| error.is_already_exists()), "{cidr} was leased twice");
    }
    Ok(())
}

fn misnamed(cluster: &Cluster) -> anyhow::Result<()> {
    let words = "the name must be the group and the CIDR";
    for (cidr, name) in [
        ("10.1.2.0/26", "misnamed.10-1-2-0.27"),
        ("10.1.2.0/26", "misnamed.10-1-2-64.26"),
        ("10.1.2.0/26", "other.10-1-2-0.26"),
        ("10.1.2.0/26", "misnamed.010-1-2-0.26"),
        ("10.1.2.0/26", "block-of-n1"),
        ("fd00::/122", "misnamed.fd00-0-0-0-0-0-0.122"),
        ("fd00::/122", "misnamed.fd00-0-0-0-0-0-0-00.122"),
        ("1:2:3:4:5:6:7:0/122", "misnamed.1-2-3-4-5-6-0-7.122"),
    ] {
        let mut object = lease("misnamed", cidr, "n1");
        object["metadata"]["name"] = name.into();
        refused(cluster.create::<IPBlock>(object), words)?;
    }
    for cidr in
        ["10.1.2.1/26", "10.1.2.0", "fd00:0::/122", "FD00::/122", "::ffff:10.0.0.0/122", "10.1.2.0/33", "x"]
    {
        let mut object = lease("misnamed", "10.1.2.0/26", "n1");
        object["spec"]["cidr"] = cidr.into();
        refused(cluster.create::<IPBlock>(object), "must be a CIDR in canonical form")?;
    }
    let mut object = lease("misnamed", "10.1.2.0/26", "n1");
    object["spec"]["group"] = "mis.named".into();
    refused(cluster.create::<IPBlock>(object), "spec.group")
}

fn immutable(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create::<IPBlock>(lease("immutable", "10.0.0.0/26", "n1"))?;
    let name = "immutable.10-0-0-0.26";
    for spec in [
        json!({ "nodeName": "n2" }),
        json!({ "machine": MachineHash(99).to_string() }),
        json!({ "rangeID": RangeId(2).to_string() }),
        json!({ "pool": { "uid": Uid(32).to_string() } }),
    ] {
        refused(
            cluster.change::<IPBlock>(name, &json!({ "spec": spec })),
            "the lease of a block is immutable",
        )?;
    }
    Ok(())
}

fn words(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create::<IPBlock>(lease("words", "10.0.0.0/26", "n1"))?;
    let name = "words.10-0-0-0.26";
    let change = |status: Value| cluster.change_status::<IPBlock>(name, &json!({ "status": status }));
    let mark = |id: &str, why: &str| json!({ "mark": { "id": id, "why": why } });
    change(mark("00000000000000ff", "drain"))?;
    change(json!({ "phase": "Quarantined", "elapsedSeconds": 30, "mark": null }))?;
    refused(change(json!({ "phase": "Leased" })), "Unsupported value")?;
    refused(change(mark("00000000000000ff", "evict")), "Unsupported value")?;
    refused(change(mark("ff", "drain")), "status.mark.id")?;
    refused(change(json!({ "elapsedSeconds": -1 })), "greater than or equal to 0")?;
    refused(change(json!({ "adoptedNodeUID": "n1" })), "status.adoptedNodeUID")
}

fn selected(cluster: &Cluster) -> anyhow::Result<()> {
    for (cidr, node) in [("10.0.0.0/26", "first"), ("10.0.0.64/26", "second"), ("10.0.0.128/26", "first")] {
        cluster.create::<IPBlock>(lease("selected", cidr, node))?;
    }
    let selector = ListParams::default().fields("spec.nodeName=first,spec.pool.name=blue");
    let api = cluster.api::<IPBlock>();
    let found = cluster.runtime.block_on(call(api.list(&selector)))?;
    let names: Vec<_> = found.items.iter().filter_map(|block| block.metadata.name.as_deref()).collect();
    ensure!(names == ["selected.10-0-0-0.26", "selected.10-0-0-128.26"], "{names:?}");
    Ok(())
}
