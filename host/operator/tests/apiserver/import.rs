//! The import of what another IPAM hands out: no block that has one of its addresses is granted, until an import no longer finds it.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::objects::pool::TakenEntry;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock};
use tenure_leases::space::overlap;
use tenure_operator::import::{ImportArguments, PeerIpam, import};

use crate::Test;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::{agents, settle};
use crate::setup::all;

pub(crate) const TESTS: &[Test] = &[
    ("import::what_whereabouts_hands_out_is_not_granted_until_it_no_longer_does", whereabouts),
    ("import::what_one_namespace_no_longer_hands_out_frees_nothing_of_another", namespaces),
    ("import::blocks_of_calico_are_taken_with_their_owners", calico),
    ("import::pod_cidrs_of_nodes_are_taken_and_a_leased_block_is_named", podcidr),
];

/// A kind of another IPAM.
pub(crate) struct PeerKind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) is_namespaced: bool,
}

const fn of_whereabouts(kind: &'static str, plural: &'static str) -> PeerKind {
    PeerKind { group: "whereabouts.cni.cncf.io", version: "v1alpha1", kind, plural, is_namespaced: true }
}

const fn of_calico(kind: &'static str, plural: &'static str) -> PeerKind {
    PeerKind { group: "crd.projectcalico.org", version: "v1", kind, plural, is_namespaced: false }
}

const IP_POOL: PeerKind = of_whereabouts("IPPool", "ippools");
const RESERVATION: PeerKind =
    of_whereabouts("OverlappingRangeIPReservation", "overlappingrangeipreservations");
const IPAM_BLOCK: PeerKind = of_calico("IPAMBlock", "ipamblocks");
const NATIVE_BLOCK: PeerKind =
    PeerKind { group: "projectcalico.org", version: "v3", ..of_calico("IPAMBlock", "ipamblocks") };
const AFFINITY: PeerKind = of_calico("BlockAffinity", "blockaffinities");

impl PeerKind {
    /// Has the API server serve the kind.
    pub(crate) fn define(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let scope = if self.is_namespaced { "Namespaced" } else { "Cluster" };
        let schema = json!({ "type": "object", "properties": {
            "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } });
        let names = json!({ "kind": self.kind, "plural": self.plural, "singular": self.kind.to_lowercase() });
        let name = format!("{}.{}", self.plural, self.group);
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": name },
            "spec": { "group": self.group, "scope": scope, "names": names, "versions": [
                { "name": self.version, "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } } ] },
        });
        let api: Api<CustomResourceDefinition> = all(&cluster.client);
        let (parameters, patch) = (PatchParams::apply("tests").force(), Patch::Apply(&definition));
        cluster.until("the other IPAM's definition", || {
            let status = cluster.runtime.block_on(call(api.patch(&name, &parameters, &patch)))?.status;
            let conditions = status.and_then(|status| status.conditions).unwrap_or_default();
            Ok(conditions.iter().any(|of| of.type_ == "Established" && of.status == "True").then_some(()))
        })
    }

    pub(crate) fn put(&self, cluster: &Cluster, name: &str, spec: &Value) -> anyhow::Result<()> {
        self.put_in(cluster, "kube-system", name, spec)
    }

    fn put_in(&self, cluster: &Cluster, namespace: &str, name: &str, spec: &Value) -> anyhow::Result<()> {
        let resource = ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(self.group, self.version, self.kind),
            self.plural,
        );
        let api: Api<DynamicObject> = match self.is_namespaced {
            true => Api::namespaced_with(cluster.client.clone(), namespace, &resource),
            false => Api::all_with(cluster.client.clone(), &resource),
        };
        let object = json!({
            "apiVersion": format!("{}/{}", self.group, self.version), "kind": self.kind,
            "metadata": { "name": name }, "spec": spec,
        });
        let (parameters, patch) = (PatchParams::apply("tests").force(), Patch::Apply(&object));
        cluster.until("the other IPAM's object", || {
            Ok(cluster.runtime.block_on(call(api.patch(name, &parameters, &patch))).ok().map(drop))
        })
    }
}

fn arguments(source: PeerIpam, apply: bool) -> ImportArguments {
    ImportArguments { source, pool: Some("pods".into()), records_namespace: None, flat_file: None, apply }
}

/// Imports while an operator works.
fn run(cluster: &Cluster, operator: &mut TestOperator, arguments: ImportArguments) -> anyhow::Result<String> {
    let client = cluster.client.clone();
    let mut importing = cluster.runtime.spawn(async move { import(&client, &arguments).await });
    cluster.drive(operator, "the import", || Ok(importing.is_finished().then_some(())))?;
    cluster.runtime.block_on(&mut importing)?
}

fn taken(cluster: &Cluster) -> anyhow::Result<Vec<TakenEntry>> {
    Ok(cluster.get::<AddressPool>("pods")?.context("no pool")?.spec.taken)
}

fn cidrs(taken: &[TakenEntry]) -> Vec<&str> {
    taken.iter().map(|entry| entry.cidr.as_str()).collect()
}

/// Expects that no granted block has an address of these.
fn spared(cluster: &Cluster, taken: &[TakenEntry]) -> anyhow::Result<usize> {
    let blocks = cluster.list::<IPBlock>()?;
    for block in &blocks {
        let cidr: IpNet = block.spec.cidr.parse()?;
        for entry in taken {
            ensure!(!overlap(entry.cidr.parse()?, cidr), "{cidr} was granted, and {} is taken", entry.cidr);
        }
    }
    Ok(blocks.len())
}

/// Expects that an import names the kind that the API server does not serve, neither its group nor itself.
fn lacks(cluster: &Cluster, source: PeerIpam, words: &str) -> anyhow::Result<()> {
    cluster.pool("pods", "10.0.0.0/24", 27, &json!({}))?;
    let failed = cluster.runtime.block_on(import(&cluster.client, &arguments(source, false))).err();
    let said = format!("{:#}", failed.context("records of a kind that is not served")?);
    ensure!(said.contains(words), "{said}");
    cluster.clear()
}

fn whereabouts(cluster: &Cluster) -> anyhow::Result<()> {
    lacks(
        cluster,
        PeerIpam::Whereabouts,
        "the API server has no IPPools of whereabouts.cni.cncf.io/v1alpha1",
    )?;
    IP_POOL.define(cluster)?;
    RESERVATION.define(cluster)?;
    let allocation = |pod: &str| json!({ "id": "c1", "podref": pod, "ifname": "net1" });
    let allocations =
        json!({ "5": allocation("a/web-0"), "6": allocation("a/web-1"), "130": allocation("b/db-0") });
    IP_POOL.put(cluster, "10.0.0.0-24", &json!({ "range": "10.0.0.0/24", "allocations": allocations }))?;
    RESERVATION.put(
        cluster,
        "10.0.0.6",
        &json!({ "podref": "a/web-1", "containerid": "c1", "ifname": "net1" }),
    )?;
    RESERVATION.put(cluster, "storage-10.0.0.200", &json!({ "podref": "c/disk-0", "containerid": "c9" }))?;
    RESERVATION.put(cluster, "192.168.7.7", &json!({ "podref": "c/far-0", "containerid": "c8" }))?;
    let pool = cluster.pool("pods", "10.0.0.0/24", 27, &json!({ "disabled": true }))?;

    // The built program says what it would do, and does nothing.
    let output = Command::new(env!("CARGO_BIN_EXE_tenure-operator"))
        .args(["import", "whereabouts", "--pool", "pods", "--kubeconfig"])
        .arg(&cluster.kubeconfig)
        .output()?;
    let report = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    for words in [
        "taken    10.0.0.0/27    pod a/web-0, pod a/web-1",
        "taken    10.0.0.128/27  pod b/db-0",
        "taken    10.0.0.192/27  pod c/disk-0",
        "outside  192.168.7.7/32",
        "3 ranges of pool pods are taken by whereabouts; 1 are outside of the pool",
        "dry run; pass --apply to make changes",
    ] {
        ensure!(report.contains(words), "{words:?} is not in\n{report}");
    }
    ensure!(taken(cluster)?.is_empty(), "a dry run wrote the pool");

    let mut operator = cluster.operator(&Arc::default())?;
    let report = run(cluster, &mut operator, arguments(PeerIpam::Whereabouts, true))?;
    ensure!(report.contains("wrote AddressPool pods"), "{report}");
    let before = taken(cluster)?;
    ensure!(cidrs(&before) == ["10.0.0.0/27", "10.0.0.128/27", "10.0.0.192/27"], "{before:?}");
    ensure!(before.iter().all(|entry| entry.source == "whereabouts"), "{before:?}");
    let space: AddressSpace = cluster.get("default")?.context("no space")?;
    ensure!(space.spec.ranges.iter().filter(|range| range.usage == "Taken").count() == 3);

    // Of eight blocks, five may be granted.
    cluster.change::<AddressPool>("pods", &json!({ "spec": { "disabled": false } }))?;
    let mut agents = agents(cluster, 2)?;
    agents[0].want(cluster, &pool, 3)?;
    agents[1].want(cluster, &pool, 3)?;
    settle(cluster, &mut operator, &mut agents, 5)?;
    cluster.drive(&mut operator, "an exhausted pool", || {
        Ok((cluster.condition("pods", "Exhausted")? == Some(("True".into(), "NoBlockFree".into())))
            .then_some(()))
    })?;
    ensure!(spared(cluster, &before)? == 5);
    let capacity =
        cluster.get::<AddressPool>("pods")?.and_then(|pool| pool.status?.ipv4).context("no count")?;
    ensure!((capacity.total, capacity.leased, capacity.free) == (5, 5, 0), "{capacity:?}");

    // The pods of one block are gone: the next import frees it, and somebody gets it.
    IP_POOL.put(
        cluster,
        "10.0.0.0-24",
        &json!({ "range": "10.0.0.0/24", "allocations": { "130": allocation("b/db-0") } }),
    )?;
    // The variable may list several files, also some that do not exist. If none does, the import goes to no other cluster, such as a pod's own.
    let missing = cluster.kubeconfig.with_extension("missing");
    let cases = [
        (vec![&missing, &cluster.kubeconfig, &cluster.kubeconfig], "there is no AddressPool elsewhere"),
        (vec![&missing], "failed to read kubeconfig from"),
    ];
    for (kubeconfigs, words) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_tenure-operator"))
            .args(["import", "whereabouts", "--pool", "elsewhere"])
            .env("KUBECONFIG", std::env::join_paths(kubeconfigs)?)
            .output()?;
        let refusal = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.status.success() && refusal.contains(words), "{words:?} is not in {refusal}");
    }
    RESERVATION.put(cluster, "10.0.0.6", &json!({ "podref": "", "containerid": "c1" }))?;
    run(cluster, &mut operator, arguments(PeerIpam::Whereabouts, true))?;
    let after = taken(cluster)?;
    ensure!(after[0].owner == "container c1", "{after:?}");
    ensure!(after.len() == 3, "a reservation without a pod is taken all the same: {after:?}");
    cluster.change::<AddressPool>("pods", &json!({ "spec": { "taken": null } }))?;
    settle(cluster, &mut operator, &mut agents, 6)
}

fn namespaces(cluster: &Cluster) -> anyhow::Result<()> {
    IP_POOL.define(cluster)?;
    RESERVATION.define(cluster)?;
    let handed_out = |offset: &str, pod: &str| {
        let allocation = json!({ "id": "c1", "podref": pod, "ifname": "net1" });
        json!({ "range": "10.3.0.0/24", "allocations": { offset: allocation } })
    };
    // One block of the pool has pods of both.
    IP_POOL.put_in(cluster, "default", "range", &handed_out("5", "a/web-0"))?;
    IP_POOL.put_in(cluster, "kube-system", "range", &handed_out("6", "b/web-0"))?;
    IP_POOL.put_in(cluster, "kube-system", "other", &handed_out("70", "b/web-1"))?;
    cluster.pool("pods", "10.3.0.0/24", 27, &json!({ "disabled": true }))?;
    let mut operator = cluster.operator(&Arc::default())?;
    let import_of = |operator: &mut TestOperator, namespace: &str, apply| {
        let records_namespace = Some(namespace.to_owned());
        run(
            cluster,
            operator,
            ImportArguments { records_namespace, ..arguments(PeerIpam::Whereabouts, apply) },
        )
    };
    for namespace in ["default", "kube-system", "default"] {
        let report = import_of(&mut operator, namespace, true)?;
        ensure!(!report.contains("free "), "{report}");
    }
    ensure!(cidrs(&taken(cluster)?) == ["10.3.0.0/27", "10.3.0.64/27"], "{:?}", taken(cluster));
    // The pods of one namespace moved: what the other has stays.
    IP_POOL.put_in(cluster, "kube-system", "range", &json!({ "range": "10.3.0.0/24", "allocations": {} }))?;
    IP_POOL.put_in(cluster, "kube-system", "other", &json!({ "range": "10.3.0.0/24", "allocations": {} }))?;
    let said = "free     10.3.0.64/27  pod b/web-1\n";
    let report = import_of(&mut operator, "kube-system", false)?;
    ensure!(report.contains(said) && report.matches("free ").count() == 1, "{report}");
    ensure!(taken(cluster)?.len() == 2, "a dry run wrote the pool");
    ensure!(import_of(&mut operator, "kube-system", true)?.contains(said));
    ensure!(cidrs(&taken(cluster)?) == ["10.3.0.0/27"], "{:?}", taken(cluster));
    Ok(())
}

fn calico(cluster: &Cluster) -> anyhow::Result<()> {
    lacks(cluster, PeerIpam::Calico, "the API server has no IPAMBlocks of Calico")?;
    IPAM_BLOCK.define(cluster)?;
    AFFINITY.define(cluster)?;
    let block = |cidr: &str, affinity: Value, allocations: Value, deleted: bool| json!({ "cidr": cidr, "affinity": affinity, "allocations": allocations, "attributes": [], "deleted": deleted });
    let none = json!([null, null]);
    IPAM_BLOCK.put(
        cluster,
        "10-1-0-0-26",
        &block("10.1.0.0/26", json!("host:n1"), json!([0, null, 0]), false),
    )?;
    IPAM_BLOCK.put(cluster, "10-1-0-64-26", &block("10.1.0.64/26", Value::Null, json!([null, 3]), false))?;
    IPAM_BLOCK.put(cluster, "10-1-0-128-26", &block("10.1.0.128/26", Value::Null, none.clone(), false))?;
    IPAM_BLOCK.put(cluster, "10-1-0-192-26", &block("10.1.0.192/26", json!("host:n2"), none, true))?;
    // A cluster that was migrated still has the records of that day in the old group.
    NATIVE_BLOCK.define(cluster)?;
    let native = block("10.1.2.0/26", json!("host:n5"), json!([0]), false);
    NATIVE_BLOCK.put(cluster, "10-1-2-0-26", &native)?;
    let affinity = |node: &str, cidr: &str, deleted: &str| json!({ "node": node, "cidr": cidr, "state": "pending", "deleted": deleted });
    AFFINITY.put(cluster, "n1-10-1-0-0-26", &affinity("n1", "10.1.0.0/26", "false"))?;
    AFFINITY.put(cluster, "n3-10-1-1-0-26", &affinity("n3", "10.1.1.0/26", "false"))?;
    AFFINITY.put(cluster, "n4-10-1-1-64-26", &affinity("n4", "10.1.1.64/26", "true"))?;
    cluster.pool("pods", "10.1.0.0/16", 25, &json!({}))?;
    let mut operator = cluster.operator(&Arc::default())?;
    run(cluster, &mut operator, arguments(PeerIpam::Calico, true))?;
    let entries: Vec<(String, String)> =
        taken(cluster)?.into_iter().map(|entry| (entry.cidr, entry.owner)).collect();
    let entry = |cidr: &str, owner: &str| (cidr.to_owned(), owner.to_owned());
    // Two of Calico's blocks are one of the pool's.
    let expected = [
        entry("10.1.0.0/25", "1 addresses in use without an affinity, host n1, 2 addresses in use"),
        entry("10.1.1.0/25", "host n3, an affinity without a block"),
        entry("10.1.2.0/25", "host n5, 1 addresses in use"),
    ];
    ensure!(entries == expected, "{entries:?}");
    Ok(())
}

fn podcidr(cluster: &Cluster) -> anyhow::Result<()> {
    for (name, cidr) in [("old1", "10.2.0.0/24"), ("old2", "10.2.1.0/24")] {
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
            "spec": { "podCIDR": cidr, "podCIDRs": [cidr, "fd00:2::/120"] } });
        cluster.create(&serde_json::from_value::<Node>(node)?)?;
    }
    let pool = cluster.pool("pods", "10.2.0.0/22", 25, &json!({}))?;
    let mut operator = cluster.operator(&Arc::default())?;
    let report = run(cluster, &mut operator, arguments(PeerIpam::Podcidr, true))?;
    ensure!(report.contains("outside  fd00:2::/120"), "{report}");
    let entries = taken(cluster)?;
    ensure!(
        cidrs(&entries) == ["10.2.0.0/24", "10.2.1.0/24"] && entries[1].owner == "node old2",
        "{entries:?}"
    );
    let mut agents = agents(cluster, 1)?;
    agents[0].want(cluster, &pool, 4)?;
    settle(cluster, &mut operator, &mut agents, 4)?;
    ensure!(spared(cluster, &entries)? == 4);
    // What comes up too late is refused, with the names of the blocks.
    let late = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "late" },
        "spec": { "podCIDR": "10.2.2.0/24", "podCIDRs": ["10.2.2.0/24"] } });
    cluster.create(&serde_json::from_value::<Node>(late)?)?;
    let refused = run(cluster, &mut operator, arguments(PeerIpam::Podcidr, true));
    let words = refused.err().context("the import of a leased block was accepted")?.to_string();
    ensure!(words.contains("leased already: default.10-2-2-0.25, default.10-2-2-128.25"), "{words}");
    ensure!(taken(cluster)? == entries, "the pool was written");
    Ok(())
}
