//! The standard claims of other tools, whose definition may come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::ensure;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, IPAMClaim, IPAMClaimStatus, IPBlock};
use tenure_fixtures::control_plane::ipam_claims;
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_leases::TurnState;
use tenure_operator::reports::Reports;

use crate::Test;
use crate::claims::{asked_back, bound, claim, say, silence};
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::agents;

pub(crate) const TESTS: &[Test] = &[
    ("ipam_claims::a_claim_gets_an_address_of_each_family_and_the_status_of_its_standard", served),
    ("ipam_claims::a_claim_is_served_in_the_shape_of_either_definition", released),
    ("ipam_claims::claims_are_served_again_after_an_interruption_of_their_watch", interrupted),
    ("ipam_claims::a_pool_that_grants_nothing_gives_way_to_another_one_of_its_network", replaced),
];

/// Removes the definition of IPAMClaims, and every one of them.
pub(crate) fn undefine(cluster: &Cluster) -> anyhow::Result<()> {
    let find = || cluster.get::<CustomResourceDefinition>(ipam_claims::NAME);
    if find()?.is_some() {
        cluster.delete::<CustomResourceDefinition>(ipam_claims::NAME)?;
    }
    cluster.until("the definition to be gone", || Ok(find()?.is_none().then_some(())))
}

pub(crate) fn define(cluster: &Cluster) -> anyhow::Result<()> {
    define_as(cluster, ipam_claims::definition())
}

fn define_as(cluster: &Cluster, definition: Value) -> anyhow::Result<()> {
    cluster.create::<CustomResourceDefinition>(&serde_json::from_value(definition)?).map(drop)
}

/// A pool of both families for the claims of network `blue`.
fn pool(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = json!({
        "usage": "Claims", "networks": ["blue"],
        "ipv4": { "cidrs": ["10.60.0.0/29"], "blockPrefix": 32 },
        "ipv6": { "cidrs": ["fd60::/125"], "blockPrefix": 128 },
    });
    cluster.create(&AddressPool::new("names", serde_json::from_value(pool)?)).map(drop)
}

fn api(cluster: &Cluster) -> Api<IPAMClaim> {
    Api::namespaced(cluster.client.clone(), "default")
}

/// Creates a claim, as soon as the API server serves them.
pub(crate) fn make(
    cluster: &Cluster,
    name: &str,
    network: &str,
    requests: &Value,
) -> anyhow::Result<IPAMClaim> {
    let spec = json!({ "network": network, "interface": "net1", "ipRequests": requests });
    let claim = IPAMClaim::new(name, serde_json::from_value(spec)?);
    cluster.until("the claim", || {
        Ok(cluster.runtime.block_on(call(api(cluster).create(&PostParams::default(), &claim))).ok())
    })
}

pub(crate) fn status(cluster: &Cluster, name: &str) -> anyhow::Result<IPAMClaimStatus> {
    let found = cluster.runtime.block_on(call(api(cluster).get(name)))?;
    Ok(found.status.unwrap_or_default())
}

fn served(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    // Without the definition, the operator works as before.
    undefine(cluster)?;
    let mut operator = cluster.operator(&clock)?;
    pool(cluster)?;
    let wrong = cluster.pool("wrong", "10.61.0.0/24", 28, &json!({ "networks": ["blue"] }));
    ensure!(wrong.is_err_and(|error| error.to_string().contains("networks needs usage Claims")));
    claim(cluster, "ours", &json!({ "address": "10.60.0.1" }))?;
    bound(cluster, &mut operator, "ours")?;
    define(cluster)?;
    make(cluster, "vm.net1", "blue", &json!(["10.60.0.5/29"]))?;
    make(cluster, "foreign", "red", &json!([]))?;
    let told = cluster.drive(&mut operator, "both addresses", || {
        Ok(Some(status(cluster, "vm.net1")?).filter(|status| !status.conditions.is_empty()))
    })?;
    ensure!(told.ips == ["10.60.0.5/29", "fd60::1/125"] && told.owner_pod.is_empty(), "{told:?}");
    make(cluster, "taken", "blue", &json!(["10.60.0.1/29"]))?;
    cluster.drive(&mut operator, "the reason of the other one", || {
        let conditions = status(cluster, "taken")?.conditions;
        Ok(conditions.iter().any(|found| found.reason == "AddressTaken").then_some(()))
    })?;
    ensure!(status(cluster, "foreign")? == IPAMClaimStatus::default());
    // The pod that has it is named.
    let mut agents = agents(cluster, 1)?;
    let block = "default.10-60-0-5.32";
    say(cluster, &mut agents[0], block, 1, TurnState::Held)?;
    cluster.drive(&mut operator, "the pod", || {
        Ok((status(cluster, "vm.net1")?.owner_pod == "db-0").then_some(()))
    })?;
    // A lost lease of an address that the claim asks for is made again.
    let uid = |of: &IPBlock| of.metadata.uid.clone();
    let before = cluster.get::<IPBlock>(block)?.as_ref().and_then(uid);
    cluster.change::<IPBlock>(block, &json!({ "metadata": { "finalizers": null } }))?;
    cluster.delete::<IPBlock>(block)?;
    clock.advance(120);
    cluster.drive(&mut operator, "another lease of the same address", || {
        Ok(cluster.get::<IPBlock>(block)?.filter(|found| uid(found) != before).map(drop))
    })?;
    // It ends once no pod has its address.
    cluster.runtime.block_on(call(api(cluster).delete("vm.net1", &DeleteParams::default())))?;
    // The operator believes its own last write for a while.
    clock.advance(60);
    cluster.drive(&mut operator, "the node to be asked", || {
        Ok((asked_back(cluster, "n1")? == [block.to_owned()]).then_some(()))
    })?;
    ensure!(cluster.get::<IPBlock>(block)?.is_some());
    silence(cluster, &mut agents[0])?;
    cluster.drive(&mut operator, "its blocks to be gone", || {
        let left = cluster.list::<IPBlock>()?;
        Ok(left
            .iter()
            .all(|block| block.spec.claim.as_ref().is_none_or(|claim| claim.name != "vm.net1"))
            .then_some(()))
    })?;
    // A definition that goes takes every claim along, and ends no lease.
    make(cluster, "kept", "blue", &json!([]))?;
    cluster.drive(&mut operator, "its addresses", || {
        Ok((status(cluster, "kept")?.ips.len() == 2).then_some(()))
    })?;
    undefine(cluster)?;
    for _ in 0..5 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    let of_kept = |block: &IPBlock| block.spec.claim.as_ref().is_some_and(|claim| claim.name == "kept");
    ensure!(cluster.list::<IPBlock>()?.iter().filter(|block| of_kept(block)).count() == 2);
    Ok(())
}

/// The owner's pod of a claim, as it is stored.
fn owner(cluster: &Cluster, name: &str) -> anyhow::Result<Value> {
    let resource = ApiResource::erase::<IPAMClaim>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), "default", &resource);
    let found = cluster.runtime.block_on(call(api.get(name)))?;
    Ok(found.data["status"]["ownerPod"].clone())
}

fn released(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    undefine(cluster)?;
    define_as(cluster, ipam_claims::released())?;
    pool(cluster)?;
    // Another tool names the pod of a claim of its own network.
    make(cluster, "foreign", "red", &json!([]))?;
    let patch = json!({ "status": { "ips": ["10.9.0.1/24"], "ownerPod": { "name": "theirs" } } });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    cluster.runtime.block_on(call(api(cluster).patch_status("foreign", &parameters, &patch)))?;
    let mut operator = cluster.operator(&clock)?;
    make(cluster, "vm.net1", "blue", &json!([]))?;
    let told = cluster.drive(&mut operator, "both addresses", || {
        Ok(Some(status(cluster, "vm.net1")?).filter(|status| status.ips.len() == 2))
    })?;
    ensure!(told.owner_pod.is_empty() && owner(cluster, "vm.net1")?.is_null(), "{told:?}");
    let mut agents = agents(cluster, 1)?;
    say(cluster, &mut agents[0], "default.10-60-0-1.32", 1, TurnState::Held)?;
    cluster.drive(&mut operator, "the pod", || {
        Ok((owner(cluster, "vm.net1")? == json!({ "name": "db-0" })).then_some(()))
    })?;
    ensure!(owner(cluster, "foreign")? == json!({ "name": "theirs" }));
    // The other definition comes while the operator runs.
    undefine(cluster)?;
    define(cluster)?;
    make(cluster, "again", "blue", &json!([]))?;
    cluster.drive(&mut operator, "the addresses in the other shape", || {
        Ok((status(cluster, "again")?.ips.len() == 2 && owner(cluster, "again")? == json!("")).then_some(()))
    })?;
    undefine(cluster)
}

fn interrupted(cluster: &Cluster) -> anyhow::Result<()> {
    undefine(cluster)?;
    define(cluster)?;
    pool(cluster)?;
    make(cluster, "first", "blue", &json!([]))?;
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    let watches = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&watches);
    // The first watch of these claims ends within its first event, and the one that is to continue it is refused; no other watch is.
    proxy.choose(move |request| match request.is_watch() && request.path.contains("/ipamclaims") {
        true => match seen.fetch_add(1, Ordering::Relaxed) {
            0 => ProxyFault::Truncate(800),
            1 => ProxyFault::Refuse(503),
            _ => ProxyFault::Pass,
        },
        false => ProxyFault::Pass,
    });
    let client = cluster.client_through(&proxy)?;
    let mut operator = cluster.operator_with(&client, &Arc::default(), Reports::default())?;
    cluster.drive(&mut operator, "the addresses of a claim, whose status ends the watch", || {
        let is_cut = watches.load(Ordering::Relaxed) > 2;
        Ok((is_cut && status(cluster, "first")?.ips.len() == 2).then_some(()))
    })?;
    make(cluster, "second", "blue", &json!([]))?;
    cluster.drive(&mut operator, "the addresses of a claim that came later", || {
        Ok((status(cluster, "second")?.ips.len() == 2).then_some(()))
    })?;
    undefine(cluster)
}

fn replaced(cluster: &Cluster) -> anyhow::Result<()> {
    undefine(cluster)?;
    define(cluster)?;
    pool(cluster)?;
    let mut operator = cluster.operator(&Arc::default())?;
    let addresses = |operator: &mut TestOperator, name: &str, expected: &[&str]| {
        cluster.drive(operator, name, || Ok((status(cluster, name)?.ips == expected).then_some(())))
    };
    make(cluster, "first", "blue", &json!([]))?;
    addresses(&mut operator, "first", &["10.60.0.1/29", "fd60::1/125"])?;
    // IPv4 is given up: a family is emptied, since it cannot be removed. Who has an address keeps it.
    let emptied = json!({ "spec": { "ipv4": { "cidrs": [] } } });
    cluster.change::<AddressPool>("names", &emptied)?;
    // A claim that it sees before the edit still gets both.
    cluster.drive(&mut operator, "the edit to be seen", || {
        let seen = cluster.get::<AddressPool>("names")?.and_then(|pool| pool.status?.ipv4);
        Ok(seen.is_some_and(|ipv4| ipv4.total == 0).then_some(()))
    })?;
    make(cluster, "second", "blue", &json!([]))?;
    addresses(&mut operator, "second", &["fd60::2/125"])?;
    ensure!(status(cluster, "first")?.ips.len() == 2, "a claim lost an address");
    // The pool goes with its last claim; others get addresses of the next pool meanwhile.
    let spec = json!({
        "usage": "Claims", "networks": ["blue"], "ipv4": { "cidrs": ["10.61.0.0/29"], "blockPrefix": 32 },
        "ipv6": { "cidrs": ["fd61::/125"], "blockPrefix": 128 },
    });
    cluster.create(&AddressPool::new("names-2", serde_json::from_value(spec)?))?;
    // The network has IPv4 again, also for the claim that went without.
    addresses(&mut operator, "second", &["10.61.0.1/29", "fd60::2/125"])?;
    cluster.delete::<AddressPool>("names")?;
    cluster.drive(&mut operator, "the deletion to be seen", || {
        let allocatable = cluster.condition("names", "Allocatable")?;
        Ok((allocatable == Some(("False".into(), "Deleting".into()))).then_some(()))
    })?;
    make(cluster, "third", "blue", &json!([]))?;
    addresses(&mut operator, "third", &["10.61.0.2/29", "fd61::1/125"])?;
    ensure!(status(cluster, "first")?.ips.len() == 2, "a claim lost an address");
    undefine(cluster)
}
