//! A node moves over from the Amazon VPC CNI: its pods keep their addresses, which nobody else gets.

use std::fs;

use anyhow::{Context, ensure};
use serde_json::json;
use tenure_e2e::{Attachment, traffic, wait};

use crate::node::{AwsNode, GATEWAY, LIMIT, config};

/// What ipamd leaves in the kernel for a pod: a veth, a route in the main table, and a rule that leads there.
fn pod_of_ipamd(node: &AwsNode, address: &str) -> anyhow::Result<Attachment> {
    let sandbox = node.node.sandbox("old")?;
    node.node.sh(&format!(
        "ip link add eni0ld0ld type veth peer name eth0 netns old
         ip link set eni0ld0ld up; echo 1 > /proc/sys/net/ipv4/conf/eni0ld0ld/proxy_arp
         ip -n old addr add {address}/32 dev eth0; ip -n old link set lo up; ip -n old link set eth0 up
         ip -n old route add 169.254.1.1 dev eth0 scope link; ip -n old route add default via 169.254.1.1 dev eth0
         ip -n old neigh add 169.254.1.1 dev eth0 nud permanent lladdr $(ip -o link show dev eni0ld0ld | sed 's/.*ether //; s/ .*//')
         ip route add {address}/32 dev eni0ld0ld scope link; ip rule add pref 512 to {address}/32 lookup main"
    ))?;
    Ok(sandbox)
}

/// A pod of ipamd is there when tenured starts for the first time.
pub(crate) fn from_ipamd() -> anyhow::Result<()> {
    let mut node = AwsNode::prepare("t3.small", &config("warm = { interfaces = 0, addresses = 1 }", ""))?;
    let [address, _] =
        node.double.assign(2)?.try_into().map_err(|of| anyhow::anyhow!("two addresses: {of:?}"))?;
    let sandbox = pod_of_ipamd(&node, &address)?;
    node.node.start_daemon()?;
    wait::holds("the pod that nobody knows", LIMIT, || {
        Ok(node.condition("cloud-quarantine")?.is_some_and(|why| why.contains(&address)))
    })?;
    for number in 0..4 {
        let other = node.add(&format!("pod-{number}"))?;
        ensure!(other != address, "pod-{number} got the address of a pod that is there");
    }
    let checkpoint = json!({
        "version": "vpc-cni-ipam/1",
        "allocations": [{
            "networkName": "aws-cni", "containerID": "old", "ifName": "eth0", "ipv4": address,
            "allocationTimestamp": 1_700_000_000_000_000_000_u64,
            "metadata": { "k8sPodNamespace": "default", "k8sPodName": "old" }
        }]
    });
    let file = node.node.daemon.path("ipam.json");
    fs::write(&file, checkpoint.to_string())?;
    let file = file.to_str().context("a path")?;
    let imported = node.node.daemon.ctl(&["import", "--apply", "ipamd", file, "--network", "pods"])?;
    ensure!(imported.to_string().contains("taken"), "{imported:#}");
    wait::holds("the end of the quarantine", LIMIT, || Ok(node.condition("cloud-quarantine")?.is_none()))?;
    let old = node.node.pod(&sandbox);
    traffic::greet(&old, &node.vpc(), GATEWAY.parse()?).context("from ipamd's pod to the VPC")?;
    traffic::greet(&node.vpc(), &old, address.parse()?).context("from the VPC to ipamd's pod")?;
    node.all_have_their_way()?;
    // Its sandbox ends, and its address becomes another pod's, whose packets ipamd's rule must not lead away.
    node.node.plugin("old")?.call("DEL", &sandbox, &AwsNode::conf())?.silent()?;
    node.node.sh("ip netns del old")?;
    let held = |node: &AwsNode| -> anyhow::Result<bool> {
        let held = node.node.daemon.allocations("pods")?;
        Ok(held.iter().any(|held| held.to_string().contains(&format!("{address}/"))))
    };
    ensure!(!held(&node)?, "the pod has gone, and its address has not");
    let mut number = 4;
    while !held(&node)? {
        ensure!(number < 9, "no pod got the address");
        node.add(&format!("pod-{number}"))?;
        number += 1;
    }
    node.all_have_their_way()?;
    let rules = node.node.sh("ip rule show")?;
    ensure!(!rules.contains("512:\tfrom all to"), "ipamd's rule is left:\n{rules}");
    node.all_is_well()
}
