//! NodeIPAMs.

use anyhow::ensure;
use serde_json::{Value, json};
use tenure_cluster::{NodeIPAM, NodeIPAMSpec};
use tenure_leases::{HolderIdentity, MachineHash, NodeIpamSpec, Uid};

use crate::Test;
use crate::cluster::{Cluster, refused};

pub(crate) const TESTS: &[Test] =
    &[("node::each_half_is_written_alone", halves), ("node::a_nodes_words_are_checked", checked)];

fn create(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    let identity =
        HolderIdentity { name: name.into(), uid: Uid(11), machine: MachineHash(12), boot: Uid(13) };
    let spec = NodeIpamSpec::of(identity);
    let object = NodeIPAM::new(name, NodeIPAMSpec::from(&spec));
    cluster.create::<NodeIPAM>(serde_json::to_value(object)?)?;
    Ok(())
}

fn halves(cluster: &Cluster) -> anyhow::Result<()> {
    create(cluster, "halves")?;
    let status = json!({ "status": { "blockCount": 1 } });
    let changed = cluster.change::<NodeIPAM>("halves", &status)?;
    ensure!(changed.data.pointer("/status/blockCount").is_none(), "{changed:?}");
    let idle = json!({ "spec": { "idle": [Uid(1).to_string()] }, "status": { "blockCount": 2 } });
    let changed = cluster.change_status::<NodeIPAM>("halves", &idle)?;
    ensure!(changed.data.pointer("/status/blockCount") == Some(&json!(2)), "{changed:?}");
    ensure!(changed.data.pointer("/spec/idle") == Some(&json!([])), "{changed:?}");
    Ok(())
}

fn checked(cluster: &Cluster) -> anyhow::Result<()> {
    create(cluster, "checked")?;
    let change = |spec: Value| cluster.change::<NodeIPAM>("checked", &json!({ "spec": spec }));
    let (uid, mark) = (Uid(1).to_string(), "0000000000000001");
    let ack = |answer: &str| json!({ "uid": uid, "markID": mark, "answer": answer });
    let demand =
        |family: &str, want: i64| json!({ "pool": "blue", "poolUID": uid, "family": family, "want": want });
    for answer in ["ready", "cordoned", "inUse", "reserve"] {
        change(json!({ "acks": [ack(answer)] }))?;
    }
    refused(change(json!({ "acks": [ack("perhaps")] })), "Unsupported value")?;
    refused(change(json!({ "acks": [ack("ready"), ack("inUse")] })), "Duplicate value")?;
    change(json!({ "demand": [demand("IPv4", 1), demand("IPv6", 1)] }))?;
    refused(change(json!({ "demand": [demand("IPv5", 1)] })), "Unsupported value")?;
    refused(change(json!({ "demand": [demand("IPv4", -1)] })), "greater than or equal to 0")?;
    refused(change(json!({ "idle": [uid, uid] })), "Duplicate value")?;
    refused(change(json!({ "idle": ["x"] })), "spec.idle[0]")?;
    refused(change(json!({ "returned": ["x"] })), "spec.returned[0]")?;
    let many = 5_000_000_000_i64;
    let counted = |field: &str| {
        let mut demand = demand("IPv4", 1);
        demand[field] = json!(many);
        json!({ "demand": [demand] })
    };
    refused(change(counted("inUse")), "less than or equal to 4294967295")?;
    refused(change(counted("cooling")), "less than or equal to 4294967295")?;
    let echo = json!({ "pools": [{ "uid": uid, "generation": 1, "excludedInUse": many }] });
    refused(change(echo), "less than or equal to 4294967295")?;
    let turn = |block: &str| json!({ "claims": [{ "block": block, "turn": mark, "state": "Held", "pod": "default/db-0" }] });
    refused(change(turn("x")), "spec.claims[0].block")?;
    for block in ["default.10-60-0-5.32", "a-b.fd00-1-0-0-0-0-0-5.128"] {
        change(turn(block))?;
    }
    let held: Vec<Value> =
        (0..257).map(|n| json!({ "cidr": format!("10.{}.{}.0/24", n / 256, n % 256), "uid": uid })).collect();
    refused(change(json!({ "held": held })), "must have at most 256 items")?;
    change(json!({ "held": held[..256] }))?;
    let demands = |count: u32| {
        let pools = (0..count).map(|number| {
            let mut demand = demand(if number % 2 == 0 { "IPv4" } else { "IPv6" }, 1);
            demand["poolUID"] = json!(Uid(u128::from(number / 2)).to_string());
            demand
        });
        json!({ "demand": pools.collect::<Vec<Value>>() })
    };
    refused(change(demands(257)), "must have at most 256 items")?;
    change(demands(256))?;
    let echoes = |count: u32| {
        let echo = |number: u32| json!({ "uid": Uid(u128::from(number)).to_string(), "generation": 1 });
        json!({ "pools": (0..count).map(echo).collect::<Vec<Value>>() })
    };
    refused(change(echoes(129)), "must have at most 128 items")?;
    change(echoes(128))?;
    let of_group = |group: &str| json!({ "held": [{ "cidr": "10.0.0.0/24", "uid": uid, "group": group }] });
    refused(change(of_group("A.b")), "spec.held[0].group")?;
    change(of_group("a-b"))?;
    Ok(())
}
