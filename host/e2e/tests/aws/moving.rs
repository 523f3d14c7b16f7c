//! A node moves over from the Amazon VPC CNI, and back: its pods keep their addresses, which nobody else gets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, golang, traffic, wait};

use crate::node::{AwsNode, LIMIT, config};
use crate::pod::{self, GATEWAY};

/// Adds what ipamd leaves in the kernel for a pod: a veth, a route in the main table, and a rule that leads there.
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

/// Imports ipamd's checkpoint, in which that pod has its address; returns the report.
fn import(node: &AwsNode, address: &str) -> anyhow::Result<String> {
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
    let imported = node.node.daemon.ctl_output(&["import", "--apply", "ipamd", file, "--network", "pods"])?;
    Ok(String::from_utf8(imported.stdout)?)
}

/// ipamd's checkpoint is imported before EC2 has shown the interfaces, and a living pod's address has an unknown owner.
pub(crate) fn too_early() -> anyhow::Result<()> {
    let mut node = AwsNode::prepare("t3.small", &config("warm = { interfaces = 0, addresses = 1 }", ""))?;
    let [address, other] =
        node.double.assign(2)?.try_into().map_err(|of| anyhow::anyhow!("two addresses: {of:?}"))?;
    let sandbox = pod_of_ipamd(&node, &address)?;
    node.silence()?;
    node.node.launch_daemon()?;
    wait::holds("the network", LIMIT, || {
        Ok(node.node.daemon.networks().is_ok_and(|networks| !networks.is_empty()))
    })?;
    let imported = import(&node, &address)?;
    ensure!(imported.contains("refused") && imported.contains("import again"), "{imported}");
    ensure!(node.node.daemon.allocations("pods")?.is_empty(), "{imported}");
    node.double.ask("DELETE", "/faults", &Value::Null)?;
    wait::holds("the pod that nobody knows", LIMIT, || {
        Ok(node.condition("cloud-quarantine")?.is_some_and(|why| why.contains(&address)))
    })?;
    let early = node.node.sandbox("early")?;
    let refused = node.try_add("early", &early)?.to_string();
    ensure!(refused.contains("not-taken-over"), "{refused}");
    let imported = import(&node, &address)?;
    ensure!(imported.contains("taken"), "{imported}");
    wait::holds("the end of the quarantine", LIMIT, || Ok(node.condition("cloud-quarantine")?.is_none()))?;

    // Nobody knows whose the other is: an operator's word does not free it while the kernel leads packets to it.
    let directory = node.node.daemon.path("networks");
    fs::create_dir_all(directory.join("pods"))?;
    fs::write(directory.join("pods").join(&other), "")?;
    let directory = directory.to_str().context("a path")?;
    let imported = node.node.daemon.ctl_output(&["import", "--apply", "host-local", directory])?;
    let imported = String::from_utf8(imported.stdout)?;
    ensure!(imported.contains("unknown"), "{imported}");
    node.node.sh(&format!("ip route add {other}/32 dev eni0ld0ld scope link"))?;
    let release = ["release", &other, "--apply", "--reason", "a test"];
    let kept = String::from_utf8(node.node.daemon.ctl_output(&release)?.stdout)?;
    ensure!(kept.contains("kept") && kept.contains("eni0ld0ld"), "{kept}");
    node.node.sh(&format!("ip route del {other}/32 dev eni0ld0ld"))?;
    node.node.daemon.ctl(&release)?;

    let number = node.add("new")?;
    ensure!(number != address, "a living pod's address");
    pod::del(&node.node, "old", &sandbox)?;
    node.all_have_their_way()
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
    let imported = import(&node, &address)?;
    ensure!(imported.contains("taken"), "{imported}");
    wait::holds("the end of the quarantine", LIMIT, || Ok(node.condition("cloud-quarantine")?.is_none()))?;
    let old = node.node.pod(&sandbox);
    traffic::greet(&old, &node.vpc(), GATEWAY.parse()?).context("from ipamd's pod to the VPC")?;
    traffic::greet(&node.vpc(), &old, address.parse()?).context("from the VPC to ipamd's pod")?;
    node.all_have_their_way()?;
    // Its sandbox ends, and its address becomes another pod's, whose packets ipamd's rule must not lead away.
    pod::del(&node.node, "old", &sandbox)?;
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

/// The checkpoint as ipamd's own code reads it.
#[derive(Deserialize)]
struct Ipamd {
    /// The containers, by address.
    recovered: BTreeMap<String, String>,
    /// The addresses that new pods get.
    new: BTreeSet<String>,
    /// The addresses of the recovered pods, once they are deleted.
    deleted: BTreeSet<String>,
}

/// ipamd's own code reads the checkpoint that tenurectl writes.
pub(crate) fn to_ipamd() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aws/ipamd");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ipamd");
    golang::build(&folder, ".", &program)?;
    let mut node = AwsNode::start("t3.small", "warm = { interfaces = 0, addresses = 2 }", "")?;
    let addresses: Vec<String> =
        (0..3).map(|number| node.add(&format!("pod-{number}"))).collect::<Result<_, _>>()?;
    // An interface that came while neither runs would change the links in the middle of ipamd's list of them, which fails for that.
    node.rests_with(2)?;
    let (file, state) = (node.node.daemon.path("ipam.json"), node.node.daemon.state_directory());
    let [file, state, program] =
        [&file, &state, &program].map(|path| path.to_str().map(str::to_owned).context("a path"));
    let (file, state, program) = (file?, state?, program?);
    let export = ["export", "ipamd", &file, "--network", "pods", "--state-dir", &state];
    let refused = node.node.daemon.ctl_output(&export)?;
    ensure!(String::from_utf8_lossy(&refused.stderr).contains("stop tenured first"), "{refused:?}");

    node.node.kill_daemon()?;
    // Another state in its place lacks pods.
    let (whole, aside) = (node.node.daemon.state_directory(), node.node.daemon.path("aside"));
    fs::rename(&whole, &aside)?;
    fs::create_dir(&whole)?;
    let lost = node.node.daemon.ctl_output(&export)?;
    ensure!(String::from_utf8_lossy(&lost.stderr).contains("tenurectl adopt"), "{lost:?}");
    fs::remove_dir_all(&whole)?;
    fs::rename(&aside, &whole)?;
    let written = node.node.daemon.ctl(&export)?;
    ensure!(
        written == json!({ "file": file, "written": 3, "ended_by_reboot": 0, "left_out": [] }),
        "{written}"
    );
    let again = node.node.daemon.ctl_output(&export)?;
    ensure!(String::from_utf8_lossy(&again.stderr).contains("--replace"), "{again:?}");
    node.all_have_their_way().context("while neither runs")?;
    // A pod that ends while neither runs: ipamd misses its link. The kernel removes that some time after the namespace, and at once by name.
    node.node.sh("ip -n pod-2 link del eth0; ip netns del pod-2")?;
    let links = node.node.links()?;
    ensure!(links.iter().filter(|link| link.starts_with("eni")).count() == 2, "{links:?}");
    let mut assigned = Vec::new();
    for interface in node.double.interfaces()? {
        let own = interface["ipv4"].as_array().context("a list of addresses")?;
        // The first is the interface's own.
        assigned.extend(own.iter().skip(1).filter_map(|address| address.as_str().map(str::to_owned)));
    }
    let arguments: Vec<&str> = [&file].into_iter().chain(&assigned).map(String::as_str).collect();
    let said: Ipamd = serde_json::from_str(&node.node.enclave.run(&program, &arguments)?)?;
    let pod = |number: usize| (addresses[number].clone(), format!("pod-{number}"));
    ensure!(said.recovered == BTreeMap::from([pod(0), pod(1)]), "recovered: {:?}", said.recovered);
    let living = BTreeSet::from([addresses[0].clone(), addresses[1].clone()]);
    let others: BTreeSet<String> =
        assigned.iter().filter(|address| !living.contains(*address)).cloned().collect();
    ensure!(others.contains(&addresses[2]) && said.new == others, "new: {:?} of {assigned:?}", said.new);
    ensure!(said.deleted == living, "deleted: {:?}", said.deleted);
    Ok(())
}
