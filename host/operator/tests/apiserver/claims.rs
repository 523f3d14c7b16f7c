//! Addresses of claims: leased for as long as the claim exists, and used by one node after the other.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{
    AddressClaim, AddressClaimStatus, AddressPool, AddressSpace, IPAMClaim, IPAMClaimStatus, IPBlock,
    NodeIPAM,
};
use tenure_fixtures::control_plane::ipam_claims;
use tenure_leases::{ClaimTurn, TurnGuest, TurnId, TurnState, Uid};
use tenure_operator::writes::OperatorWrite;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::agents;

pub(crate) const TESTS: &[Test] = &[
    ("claims::each_claim_has_an_address_for_as_long_as_it_exists", leased),
    ("claims::a_claim_says_why_it_has_no_address", refused),
    ("claims::the_address_goes_from_node_to_node_and_never_has_two_users", moved),
    ("claims::a_dead_nodes_address_moves_once_the_node_is_fenced", fenced),
    ("claims::a_lost_lease_of_a_claim_is_made_again_for_the_node_that_has_the_address", lost),
    ("claims::a_virtual_machine_that_moves_keeps_its_address_and_has_it_on_one_node_at_a_time", migrated),
    ("claims::a_migration_whose_nodes_die_frees_nothing", migration_died),
    ("claims::an_ipam_claim_gets_an_address_of_each_family_and_the_status_of_its_standard", ipam),
];

/// The uid of a virtual machine.
const MACHINE: Uid = Uid(0x77);

/// An operator, and a pool of the addresses 10.60.0.1 to 10.60.0.6.
fn start(cluster: &Cluster) -> anyhow::Result<(TestOperator, Arc<TestClock>)> {
    cluster.pool("names", "10.60.0.0/29", 32, &json!({ "usage": "Claims" }))?;
    let clock: Arc<TestClock> = Arc::default();
    Ok((cluster.operator(&clock)?, clock))
}

fn api(cluster: &Cluster) -> Api<AddressClaim> {
    Api::namespaced(cluster.client.clone(), "default")
}

fn claim(cluster: &Cluster, name: &str, more: &Value) -> anyhow::Result<()> {
    let mut spec = json!({ "pool": "names" });
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let claim = AddressClaim::new(name, serde_json::from_value(spec)?);
    cluster.runtime.block_on(call(api(cluster).create(&PostParams::default(), &claim)))?;
    Ok(())
}

fn unclaim(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    cluster.runtime.block_on(call(api(cluster).delete(name, &DeleteParams::default())))?;
    Ok(())
}

fn told(cluster: &Cluster, name: &str) -> anyhow::Result<Option<AddressClaimStatus>> {
    let found = cluster.runtime.block_on(call(api(cluster).get_opt(name)))?;
    Ok(found.map(|claim| claim.status.unwrap_or_default()))
}

/// Waits until a claim is bound, and returns its address and its block's name.
fn bound(cluster: &Cluster, operator: &mut TestOperator, name: &str) -> anyhow::Result<(String, String)> {
    cluster.drive(operator, "the claim to be bound", || {
        let status = told(cluster, name)?.context("no claim")?;
        Ok(status.address.zip(status.block).filter(|_| status.phase == "Bound"))
    })
}

/// Waits until the condition of a claim has a reason.
fn reason(cluster: &Cluster, operator: &mut TestOperator, name: &str, reason: &str) -> anyhow::Result<()> {
    cluster.drive(operator, reason, || {
        let status = told(cluster, name)?.context("no claim")?;
        Ok(status.conditions.iter().any(|known| known.reason == reason).then_some(()))
    })
}

fn active(cluster: &Cluster, block: &str) -> anyhow::Result<Option<String>> {
    let block = cluster.get::<IPBlock>(block)?.context("no block")?;
    Ok(block.status.and_then(|status| status.active).map(|active| active.node_name))
}

fn say(
    cluster: &Cluster,
    agent: &mut TestAgent,
    block: &str,
    turn: u64,
    state: TurnState,
) -> anyhow::Result<()> {
    let pod = "default/db-0".to_owned();
    agent.turns = vec![ClaimTurn { block: block.parse()?, turn: TurnId(turn), state, pod, guest: None }];
    agent.say(cluster)
}

fn asked_back(cluster: &Cluster, node: &str) -> anyhow::Result<Vec<String>> {
    let status = cluster.get::<NodeIPAM>(node)?.and_then(|object| object.status);
    Ok(status.map(|status| status.claims_asked_back).unwrap_or_default())
}

fn leased(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, _) = start(cluster)?;
    claim(cluster, "chosen", &json!({ "address": "10.60.0.1" }))?;
    ensure!(bound(cluster, &mut operator, "chosen")?.0 == "10.60.0.1");
    for name in ["a", "b", "c", "d", "e"] {
        claim(cluster, name, &json!({}))?;
    }
    let mut addresses = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        addresses.push(bound(cluster, &mut operator, name)?.0);
    }
    addresses.sort();
    ensure!(addresses == ["10.60.0.2", "10.60.0.3", "10.60.0.4", "10.60.0.5", "10.60.0.6"], "{addresses:?}");
    claim(cluster, "late", &json!({}))?;
    reason(cluster, &mut operator, "late", "PoolExhausted")?;
    // Its end is the late one's chance; another leader goes on where this one was.
    let freed = bound(cluster, &mut operator, "c")?.0;
    unclaim(cluster, "c")?;
    let (again, _) = (cluster.operator(&Arc::default())?, drop(operator));
    operator = again;
    ensure!(bound(cluster, &mut operator, "late")?.0 == freed);
    cluster
        .drive(&mut operator, "the claim to be gone", || Ok(told(cluster, "c")?.is_none().then_some(())))?;
    let uses: Vec<String> = cluster
        .list::<AddressSpace>()?
        .into_iter()
        .flat_map(|space| space.spec.ranges)
        .map(|range| format!("{} {} {}", range.cidr, range.unit, range.usage))
        .collect();
    ensure!(uses == ["10.60.0.0/29 32 Claims"], "{uses:?}");
    // A person who deletes the block only makes it be leased again, with the same address.
    let (address, block) = bound(cluster, &mut operator, "a")?;
    let uid = cluster.get::<IPBlock>(&block)?.and_then(|block| block.metadata.uid);
    cluster.delete::<IPBlock>(&block)?;
    cluster.drive(&mut operator, "another lease", || {
        let found = cluster.get::<IPBlock>(&block)?;
        Ok(found.is_some_and(|found| found.metadata.uid != uid).then_some(()))
    })?;
    ensure!(bound(cluster, &mut operator, "a")?.0 == address);
    Ok(())
}

fn refused(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, _) = start(cluster)?;
    cluster.pool("pods", "10.61.0.0/24", 28, &json!({}))?;
    let wrong = cluster.pool("coarse", "10.62.0.0/24", 28, &json!({ "usage": "Claims" }));
    ensure!(wrong.is_err_and(|error| error.to_string().contains("blockPrefix is 32")));
    claim(cluster, "mine", &json!({ "address": "10.60.0.3" }))?;
    bound(cluster, &mut operator, "mine")?;
    for (name, more, why) in [
        ("unknown", json!({ "pool": "nowhere" }), "PoolUnknown"),
        ("blocks", json!({ "pool": "pods" }), "PoolNotForClaims"),
        ("outside", json!({ "address": "10.60.0.9" }), "AddressOutside"),
        ("network", json!({ "address": "10.60.0.0" }), "AddressOutside"),
        ("taken", json!({ "address": "10.60.0.3" }), "AddressTaken"),
        ("ipv6", json!({ "family": "IPv6" }), "PoolExhausted"),
    ] {
        claim(cluster, name, &more)?;
        reason(cluster, &mut operator, name, why)?;
    }
    let torn = claim(cluster, "torn", &json!({ "address": "10.60.0.4", "family": "IPv6" }));
    ensure!(torn.is_err_and(|error| error.to_string().contains("address must be of the family")));
    Ok(())
}

fn moved(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, _) = start(cluster)?;
    let mut agents = agents(cluster, 2)?;
    claim(cluster, "db-0", &json!({}))?;
    let (_, block) = bound(cluster, &mut operator, "db-0")?;
    say(cluster, &mut agents[0], &block, 1, TurnState::Wanted)?;
    let turn_of = |node: &'static str| {
        let block = block.clone();
        move || Ok((active(cluster, &block)?.as_deref() == Some(node)).then_some(()))
    };
    cluster.drive(&mut operator, "the first turn", turn_of("n1"))?;
    // While the first node has the address, the second waits, and the first is asked.
    say(cluster, &mut agents[0], &block, 1, TurnState::Held)?;
    say(cluster, &mut agents[1], &block, 2, TurnState::Wanted)?;
    cluster.drive(&mut operator, "the first node to be asked", || {
        Ok((asked_back(cluster, "n1")? == [block.clone()]).then_some(()))
    })?;
    ensure!(active(cluster, &block)?.as_deref() == Some("n1"));
    // A leader whose view is older than the turn does not end it.
    agents[0].turns.clear();
    agents[0].say(cluster)?;
    let end = cluster.until("the decision to end the turn", || {
        let (_, writes) = cluster.runtime.block_on(operator.operator.decide()).unwrap_or_default();
        Ok(writes.into_iter().find(|write| matches!(write, OperatorWrite::EndTurn(_))))
    })?;
    say(cluster, &mut agents[0], &block, 1, TurnState::Held)?;
    cluster.runtime.block_on(operator.operator.perform(end))?;
    ensure!(active(cluster, &block)?.as_deref() == Some("n1"), "a turn ended that its node still says");
    agents[0].turns.clear();
    agents[0].say(cluster)?;
    cluster.drive(&mut operator, "the second turn", turn_of("n2"))?;
    // A deleted claim keeps its address until the node has let go.
    say(cluster, &mut agents[1], &block, 2, TurnState::Held)?;
    unclaim(cluster, "db-0")?;
    cluster.drive(&mut operator, "the second node to be asked", || {
        let is_leaving = told(cluster, "db-0")?.is_some_and(|status| status.phase == "Leaving");
        Ok((is_leaving && asked_back(cluster, "n2")? == [block.clone()]).then_some(()))
    })?;
    agents[1].turns.clear();
    agents[1].say(cluster)?;
    cluster.drive(&mut operator, "the claim to be gone", || {
        Ok(told(cluster, "db-0")?.is_none().then_some(()))
    })?;
    ensure!(cluster.list::<IPBlock>()?.is_empty());
    Ok(())
}

fn fenced(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, clock) = start(cluster)?;
    let mut agents = agents(cluster, 2)?;
    claim(cluster, "db-0", &json!({}))?;
    let (_, block) = bound(cluster, &mut operator, "db-0")?;
    say(cluster, &mut agents[0], &block, 1, TurnState::Held)?;
    say(cluster, &mut agents[1], &block, 2, TurnState::Wanted)?;
    let turn_of = |node: &'static str| {
        let block = block.clone();
        move || Ok((active(cluster, &block)?.as_deref() == Some(node)).then_some(()))
    };
    cluster.drive(&mut operator, "the turn that is held", turn_of("n1"))?;
    // A node that says nothing any more may live.
    clock.advance(100_000);
    for _ in 0..3 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(active(cluster, &block)?.as_deref() == Some("n1"));
    let fence = json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": agents[0].identity.uid.to_string() } } });
    cluster.change::<k8s_openapi::api::core::v1::Node>("n1", &fence)?;
    cluster.drive(&mut operator, "the next turn", turn_of("n2"))?;
    let status = cluster.get::<IPBlock>(&block)?.and_then(|block| block.status).unwrap_or_default();
    ensure!(status.phase.is_empty() && status.elapsed_seconds == 0, "{status:?}");
    Ok(())
}

fn lost(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, clock) = start(cluster)?;
    let mut agents = agents(cluster, 2)?;
    claim(cluster, "db-0", &json!({}))?;
    let (address, block) = bound(cluster, &mut operator, "db-0")?;
    say(cluster, &mut agents[0], &block, 1, TurnState::Held)?;
    cluster.drive(&mut operator, "the turn", || Ok(active(cluster, &block)?.map(drop)))?;
    // Another node wants the address, and the record goes, finalizer and all.
    say(cluster, &mut agents[1], &block, 2, TurnState::Wanted)?;
    cluster.change::<IPBlock>(&block, &json!({ "metadata": { "finalizers": null } }))?;
    cluster.delete::<IPBlock>(&block)?;
    clock.advance(120);
    cluster.drive(&mut operator, "the same turn of another lease", || {
        let found = cluster.get::<IPBlock>(&block)?.and_then(|block| block.status?.active);
        Ok((found.is_some_and(|active| active.node_name == "n1")).then_some(()))
    })?;
    ensure!(bound(cluster, &mut operator, "db-0")?.0 == address);
    Ok(())
}

/// Says a turn of a pod of the virtual machine.
fn say_guest(
    cluster: &Cluster,
    agent: &mut TestAgent,
    block: &str,
    turn: u64,
    (state, runs): (TurnState, bool),
) -> anyhow::Result<()> {
    let (pod, guest) = (format!("default/launcher-{turn}"), Some(TurnGuest { uid: MACHINE, runs }));
    agent.turns = vec![ClaimTurn { block: block.parse()?, turn: TurnId(turn), state, pod, guest }];
    agent.say(cluster)
}

fn silence(cluster: &Cluster, agent: &mut TestAgent) -> anyhow::Result<()> {
    agent.turns.clear();
    agent.say(cluster)
}

/// The nodes of a block's active and alternate turns.
fn turns(cluster: &Cluster, block: &str) -> anyhow::Result<(Option<String>, Option<String>)> {
    let status = cluster.get::<IPBlock>(block)?.context("no block")?.status.unwrap_or_default();
    Ok((status.active.map(|active| active.node_name), status.alternate.map(|other| other.node_name)))
}

/// Makes passes until the turns are those of these nodes. Meanwhile the address is somebody's.
fn until_turns(
    cluster: &Cluster,
    operator: &mut TestOperator,
    block: &str,
    (active, alternate): (&str, Option<&str>),
) -> anyhow::Result<()> {
    cluster.drive(operator, &format!("{active} and {alternate:?}"), || {
        let found = turns(cluster, block)?;
        Ok((found.0.as_deref() == Some(active) && found.1.as_deref() == alternate).then_some(()))
    })
}

/// A machine runs on n1 and has the address; its target on n2 has the alternate turn.
fn moving(
    cluster: &Cluster,
    operator: &mut TestOperator,
    agents: &mut [TestAgent],
) -> anyhow::Result<String> {
    claim(cluster, "vm", &json!({}))?;
    let (_, block) = bound(cluster, operator, "vm")?;
    say_guest(cluster, &mut agents[0], &block, 1, (TurnState::Held, true))?;
    until_turns(cluster, operator, &block, ("n1", None))?;
    say_guest(cluster, &mut agents[1], &block, 2, (TurnState::Wanted, false))?;
    until_turns(cluster, operator, &block, ("n1", Some("n2")))?;
    say_guest(cluster, &mut agents[1], &block, 2, (TurnState::Held, false))?;
    Ok(block)
}

fn migrated(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, _) = start(cluster)?;
    let mut agents = agents(cluster, 3)?;
    let block = moving(cluster, &mut operator, &mut agents)?;
    // A pod without the machine waits, and so does another target.
    say(cluster, &mut agents[2], &block, 3, TurnState::Wanted)?;
    for _ in 0..3 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(turns(cluster, &block)? == (Some("n1".into()), Some("n2".into())));
    silence(cluster, &mut agents[2])?;
    // Given up: the target goes, and the machine stays where it is.
    silence(cluster, &mut agents[1])?;
    until_turns(cluster, &mut operator, &block, ("n1", None))?;
    // Done: the machine runs on n2, and the late end of its pod on n1 frees nothing.
    say_guest(cluster, &mut agents[1], &block, 4, (TurnState::Held, false))?;
    until_turns(cluster, &mut operator, &block, ("n1", Some("n2")))?;
    say_guest(cluster, &mut agents[1], &block, 4, (TurnState::Held, true))?;
    until_turns(cluster, &mut operator, &block, ("n2", Some("n1")))?;
    ensure!(told(cluster, "vm")?.is_some_and(|status| status.block.as_deref() == Some(&block)));
    for _ in 0..3 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(turns(cluster, &block)? == (Some("n2".into()), Some("n1".into())), "it moved back");
    cluster.drive(&mut operator, "the first node to be asked", || {
        Ok((asked_back(cluster, "n1")? == [block.clone()]).then_some(()))
    })?;
    silence(cluster, &mut agents[0])?;
    until_turns(cluster, &mut operator, &block, ("n2", None))?;
    // Another move, whose source ends first.
    say_guest(cluster, &mut agents[2], &block, 5, (TurnState::Held, false))?;
    until_turns(cluster, &mut operator, &block, ("n2", Some("n3")))?;
    silence(cluster, &mut agents[1])?;
    until_turns(cluster, &mut operator, &block, ("n3", None))?;
    silence(cluster, &mut agents[2])?;
    cluster.drive(&mut operator, "no turn", || Ok((turns(cluster, &block)? == (None, None)).then_some(())))
}

fn migration_died(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, clock) = start(cluster)?;
    let mut agents = agents(cluster, 3)?;
    let block = moving(cluster, &mut operator, &mut agents)?;
    // A pod of another run of the machine waits for both, also for a long time.
    say(cluster, &mut agents[2], &block, 3, TurnState::Wanted)?;
    let fence = |cluster: &Cluster, agent: &TestAgent| {
        let uid = agent.identity.uid.to_string();
        let fence = json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } });
        cluster.change::<k8s_openapi::api::core::v1::Node>(&agent.identity.name, &fence)
    };
    clock.advance(100_000);
    for _ in 0..3 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(turns(cluster, &block)? == (Some("n1".into()), Some("n2".into())));
    fence(cluster, &agents[0])?;
    // The target goes on alone, and its machine with it.
    until_turns(cluster, &mut operator, &block, ("n2", None))?;
    ensure!(
        cluster.get::<IPBlock>(&block)?.and_then(|block| block.status).unwrap_or_default().phase.is_empty()
    );
    fence(cluster, &agents[1])?;
    until_turns(cluster, &mut operator, &block, ("n3", None))
}

/// Removes the definition of IPAMClaims, and every one of them.
fn undefine(cluster: &Cluster) -> anyhow::Result<()> {
    let find = || cluster.get::<CustomResourceDefinition>(ipam_claims::NAME);
    if find()?.is_some() {
        cluster.delete::<CustomResourceDefinition>(ipam_claims::NAME)?;
    }
    cluster.until("the definition to be gone", || Ok(find()?.is_none().then_some(())))
}

fn ipam(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    // Without the definition, the operator works as ever.
    undefine(cluster)?;
    let mut operator = cluster.operator(&clock)?;
    let pool = json!({
        "usage": "Claims", "networks": ["blue"],
        "ipv4": { "cidrs": ["10.60.0.0/29"], "blockPrefix": 32 },
        "ipv6": { "cidrs": ["fd60::/125"], "blockPrefix": 128 },
    });
    cluster.create(&AddressPool::new("names", serde_json::from_value(pool)?))?;
    let wrong = cluster.pool("wrong", "10.61.0.0/24", 28, &json!({ "networks": ["blue"] }));
    ensure!(wrong.is_err_and(|error| error.to_string().contains("networks needs usage Claims")));
    claim(cluster, "ours", &json!({ "address": "10.60.0.1" }))?;
    bound(cluster, &mut operator, "ours")?;
    cluster.create::<CustomResourceDefinition>(&serde_json::from_value(ipam_claims::definition())?)?;
    let api: Api<IPAMClaim> = Api::namespaced(cluster.client.clone(), "default");
    let make = |name: &str, network: &str, requests: Value| {
        let spec = json!({ "network": network, "interface": "net1", "ipRequests": requests });
        let claim = IPAMClaim::new(name, serde_json::from_value(spec)?);
        cluster.until("the claim", || {
            Ok(cluster.runtime.block_on(call(api.create(&PostParams::default(), &claim))).ok())
        })
    };
    let status = |name: &str| -> anyhow::Result<IPAMClaimStatus> {
        let found = cluster.runtime.block_on(call(api.get(name)))?;
        Ok(found.status.unwrap_or_default())
    };
    make("vm.net1", "blue", json!(["10.60.0.5/29"]))?;
    make("foreign", "red", json!([]))?;
    let told = cluster.drive(&mut operator, "both addresses", || {
        Ok(Some(status("vm.net1")?).filter(|status| !status.conditions.is_empty()))
    })?;
    ensure!(told.ips == ["10.60.0.5/29", "fd60::1/125"] && told.owner_pod.is_empty(), "{told:?}");
    make("taken", "blue", json!(["10.60.0.1/29"]))?;
    cluster.drive(&mut operator, "the reason of the other one", || {
        let conditions = status("taken")?.conditions;
        Ok(conditions.iter().any(|found| found.reason == "AddressTaken").then_some(()))
    })?;
    ensure!(status("foreign")? == IPAMClaimStatus::default());
    // The pod that has it is named.
    let mut agents = agents(cluster, 1)?;
    let block = "default.10-60-0-5.32";
    say(cluster, &mut agents[0], block, 1, TurnState::Held)?;
    cluster.drive(&mut operator, "the pod", || Ok((status("vm.net1")?.owner_pod == "db-0").then_some(())))?;
    // It ends once no pod has its address.
    cluster.runtime.block_on(call(api.delete("vm.net1", &DeleteParams::default())))?;
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
    make("kept", "blue", json!([]))?;
    cluster.drive(&mut operator, "its addresses", || Ok((status("kept")?.ips.len() == 2).then_some(())))?;
    undefine(cluster)?;
    for _ in 0..5 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    let of_kept = |block: &IPBlock| block.spec.claim.as_ref().is_some_and(|claim| claim.name == "kept");
    ensure!(cluster.list::<IPBlock>()?.iter().filter(|block| of_kept(block)).count() == 2);
    Ok(())
}
