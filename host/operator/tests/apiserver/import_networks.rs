//! The import of whereabouts' networks: its NetworkAttachmentDefinitions and its flat file become pools that the API server takes.

use std::process::{Command, Output};

use anyhow::{Context as _, ensure};
use kube::ResourceExt;
use serde_json::{Value, json};
use tenure_cluster::AddressPool;

use crate::Test;
use crate::cluster::Cluster;
use crate::import::PeerKind;

pub(crate) const TESTS: &[Test] = &[(
    "import_networks::networks_of_whereabouts_become_pools_that_are_created_once_all_of_them_can_be",
    networks,
)];

const DEFINITION: PeerKind = PeerKind {
    group: "k8s.cni.cncf.io",
    version: "v1",
    kind: "NetworkAttachmentDefinition",
    plural: "network-attachment-definitions",
    is_namespaced: true,
};

/// Runs the built program.
fn run(cluster: &Cluster, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-operator"));
    command.args(["import", "whereabouts-networks", "--kubeconfig"]).arg(&cluster.kubeconfig).args(arguments);
    Ok(command.output()?)
}

fn has(output: &[u8], all: &[&str]) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy(output);
    for words in all {
        ensure!(text.contains(words), "{words:?} is not in\n{text}");
    }
    Ok(())
}

fn networks(cluster: &Cluster) -> anyhow::Result<()> {
    let missing = run(cluster, &[])?;
    ensure!(!missing.status.success());
    has(&missing.stderr, &["the API server has no NetworkAttachmentDefinitions of k8s.cni.cncf.io/v1"])?;
    DEFINITION.define(cluster)?;
    for node in ["n1", "n2", "n3"] {
        cluster.host(node, node, 1)?;
    }
    let put = |name: &str, config: &str| DEFINITION.put(cluster, name, &json!({ "config": config }));
    let network = |kind: &str, name: &str, ipam: &Value| {
        let mut ipam = ipam.clone();
        ipam["type"] = "whereabouts".into();
        json!({ "cniVersion": "1.0.0", "name": name, "type": kind, "ipam": ipam }).to_string()
    };
    let storage = json!({ "range": "10.80.0.0/20", "exclude": ["10.80.0.0/28", "10.80.1.7"], "range_end": "10.80.9.255" });
    put("storage", &network("macvlan", "storage", &storage))?;
    put("storage-too", &network("macvlan", "storage-too", &storage))?;
    let both = json!({ "gateway": "10.81.0.254", "network_name": "dual", "node_slice_size": "/27",
        "range": "10.81.0.0/24", "ipRanges": [{ "range": "fd00:81::/64", "exclude": ["fd00:81::/96"] }] });
    let list: Value = serde_json::from_str(&network("bridge", "dual", &both))?;
    put("dual", &json!({ "name": "dual", "plugins": [list, { "type": "tuning" }] }).to_string())?;
    put("flat", &network("macvlan", "flat", &json!({ "gateway": "10.82.0.1" })))?;
    put("host-local", r#"{"type": "bridge", "ipam": {"type": "host-local"}}"#)?;
    put("of-a-file", "")?;
    put("broken", r#"{"type": "macvlan", "ipam": {"type": "whereabouts", "range": "10.83.0.0/24"}"#)?;
    put(
        "tail",
        &network("macvlan", "tail", &json!({ "range": "10.80.0.0/20", "range_start": "10.80.10.0" })),
    )?;

    // Without the flat file, a definition has no range; nothing is written while one has no proposal.
    let refused = run(cluster, &["--apply"])?;
    ensure!(!refused.status.success());
    has(
        &refused.stderr,
        &[
            "kube-system/broken: its spec.config cannot be read: EOF while parsing an object",
            "kube-system/flat: it has no range; give the file that has it, such as /etc/cni/net.d/whereabouts.d/whereabouts.conf, by --flat-file",
            "kube-system/tail: its range 10.80.0.0/20 overlaps 10.80.0.0/20 of kube-system/storage",
            "nothing was written",
        ],
    )?;
    ensure!(cluster.list::<AddressPool>()?.is_empty());

    put("broken", r#"{"type": "macvlan"}"#)?;
    put("tail", r#"{"type": "macvlan"}"#)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("whereabouts.conf");
    let flat = json!({ "datastore": "kubernetes", "kubernetes": { "kubeconfig": "/etc/k" }, "range": "10.82.0.0/24", "log_level": "debug" });
    std::fs::write(&file, flat.to_string())?;
    let file = file.display().to_string();
    let shown = run(cluster, &["--flat-file", &file])?;
    ensure!(shown.status.success(), "{shown:?}");
    has(
        &shown.stdout,
        &[
            "# AddressPool storage, for kube-system/storage, kube-system/storage-too",
            "# 10.81.0.0/24 has 8 blocks of /27, for 3 nodes",
            "# its network is storage as that of kube-system/storage: a pool serves one network",
            "# 4 NetworkAttachmentDefinitions of whereabouts become 3 AddressPools; 0 are not proposed",
            "# dry run; pass --apply to create the AddressPools",
        ],
    )?;
    ensure!(cluster.list::<AddressPool>()?.is_empty(), "a dry run wrote");

    // The API server checks each spec by its own rules.
    let applied = run(cluster, &["--flat-file", &file, "--apply"])?;
    ensure!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    has(&applied.stdout, &["# AddressPool dual is created, disabled"])?;
    let pools = cluster.list::<AddressPool>()?;
    let names: Vec<String> = pools.iter().map(ResourceExt::name_any).collect();
    ensure!(names == ["dual", "flat", "storage"] && pools.iter().all(|pool| pool.spec.disabled), "{names:?}");
    let dual = &pools[0].spec;
    ensure!(dual.overlap_group == "dual" && dual.exclusions.len() == 1, "{dual:?}");
    ensure!(dual.ipv6.as_ref().context("no IPv6")?.block_prefix == 80, "{dual:?}");
    let gateway = pools[1].spec.gateway.clone().context("no gateway")?;
    ensure!(gateway.ipv4.as_deref() == Some("10.82.0.1"), "{gateway:?}");
    let exclusions: Vec<String> = pools[2].spec.exclusions.iter().map(|entry| format!("{entry:?}")).collect();
    ensure!(exclusions.len() == 3, "{exclusions:?}");
    let again = run(cluster, &["--flat-file", &file, "--apply"])?;
    has(&again.stdout, &["# AddressPool dual exists already, and stays as it is"])?;

    let named = run(cluster, &["--pool", "dual"])?;
    has(&named.stderr, &["whereabouts-networks proposes pools: leave --pool out"])?;
    let unread = run(cluster, &["--flat-file", &folder.path().join("none").display().to_string()])?;
    has(&unread.stderr, &["cannot read whereabouts' flat file"])
}
