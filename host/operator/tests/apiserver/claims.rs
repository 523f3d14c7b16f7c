//! Addresses of claims: leased for as long as the claim exists, and used by one node after the other.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressClaimStatus, AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_leases::{ClaimKind, ClaimTurn, TurnClaim, TurnId, TurnState};
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
    ("claims::so_is_the_lost_lease_of_an_address_that_the_claim_chose", lost_choice),
    (
        "claims::what_a_node_has_is_its_claims_again_after_a_restore_that_knows_neither_and_nobodys_without_one",
        restored,
    ),
    ("claims::what_a_node_wants_keeps_no_address_from_a_claim", wanted),
    ("claims::an_address_that_two_leaders_leased_besides_goes_back", leased_twice),
];

/// An operator, and a pool of the addresses 10.60.0.1 to 10.60.0.6.
pub(crate) fn start(cluster: &Cluster) -> anyhow::Result<(TestOperator, Arc<TestClock>)> {
    cluster.pool("names", "10.60.0.0/29", 32, &json!({ "usage": "Claims" }))?;
    let clock: Arc<TestClock> = Arc::default();
    Ok((cluster.operator(&clock)?, clock))
}

fn api(cluster: &Cluster) -> Api<AddressClaim> {
    Api::namespaced(cluster.client.clone(), "default")
}

pub(crate) fn claim(cluster: &Cluster, name: &str, more: &Value) -> anyhow::Result<()> {
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

pub(crate) fn told(cluster: &Cluster, name: &str) -> anyhow::Result<Option<AddressClaimStatus>> {
    let found = cluster.runtime.block_on(call(api(cluster).get_opt(name)))?;
    Ok(found.map(|claim| claim.status.unwrap_or_default()))
}

/// Waits until a claim is bound, and returns its address and its block's name.
pub(crate) fn bound(
    cluster: &Cluster,
    operator: &mut TestOperator,
    name: &str,
) -> anyhow::Result<(String, String)> {
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

pub(crate) fn active(cluster: &Cluster, block: &str) -> anyhow::Result<Option<String>> {
    let block = cluster.get::<IPBlock>(block)?.context("no block")?;
    Ok(block.status.and_then(|status| status.active).map(|active| active.node_name))
}

pub(crate) fn say(
    cluster: &Cluster,
    agent: &mut TestAgent,
    block: &str,
    turn: u64,
    state: TurnState,
) -> anyhow::Result<()> {
    let pod = "default/db-0".to_owned();
    agent.turns =
        vec![ClaimTurn { block: block.parse()?, turn: TurnId(turn), state, pod, guest: None, claim: None }];
    agent.say(cluster)
}

pub(crate) fn asked_back(cluster: &Cluster, node: &str) -> anyhow::Result<Vec<String>> {
    let status = cluster.get::<NodeIPAM>(node)?.and_then(|object| object.status);
    Ok(status.map(|status| status.claims_asked_back).unwrap_or_default())
}

fn wanted(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, _) = start(cluster)?;
    // No node is the pool's, and one of them says that it wants all of its addresses.
    let selector = json!({ "spec": { "nodeSelector": { "matchLabels": { "zone": "b" } } } });
    cluster.change::<AddressPool>("names", &selector)?;
    let mut agents = agents(cluster, 1)?;
    let turn = |address: u64| -> anyhow::Result<ClaimTurn> {
        let (block, pod) = (format!("default.10-60-0-{address}.32").parse()?, "default/db-0".to_owned());
        Ok(ClaimTurn {
            block,
            turn: TurnId(address),
            state: TurnState::Wanted,
            pod,
            guest: None,
            claim: None,
        })
    };
    agents[0].turns = (1..=6).map(turn).collect::<anyhow::Result<_>>()?;
    agents[0].say(cluster)?;
    claim(cluster, "a", &json!({}))?;
    let (_, block) = bound(cluster, &mut operator, "a")?;
    ensure!(active(cluster, &block)?.is_none(), "a node that is not the pool's has the address");
    // What it says that it has is nobody else's: a store that was put back may lack what admitted the node.
    agents[0].turns.iter_mut().for_each(|turn| turn.state = TurnState::Held);
    agents[0].turns.retain(|turn| turn.block.to_string() != block);
    agents[0].say(cluster)?;
    cluster.until("its words to be seen", || {
        let seen = cluster.runtime.block_on(operator.operator.decide()).context("no decisions")?.0;
        let said = seen.said.get("n1").context("no words")?;
        Ok(said.spec.claims.iter().all(|turn| turn.state == TurnState::Held).then_some(()))
    })?;
    claim(cluster, "b", &json!({}))?;
    reason(cluster, &mut operator, "b", "PoolExhausted")?;
    let status = told(cluster, "b")?.context("no claim")?;
    let message = status.conditions.first().map(|condition| condition.message.clone()).unwrap_or_default();
    ensure!(message.contains("5 are leased to no claim"), "{message}");
    Ok(())
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
    // The fenced node lives, and goes on saying that it has the address; the other one is not asked for it.
    for told in [json!({}), json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": null } } })] {
        cluster.change::<k8s_openapi::api::core::v1::Node>("n1", &told)?;
        say(cluster, &mut agents[1], &block, 2, TurnState::Held)?;
        cluster.drive(&mut operator, "the fenced node to be asked", || {
            let is_asked = |node: &str| Ok::<_, anyhow::Error>(asked_back(cluster, node)? == [block.clone()]);
            Ok((is_asked("n1")? && !is_asked("n2")?).then_some(()))
        })?;
    }
    ensure!(active(cluster, &block)?.as_deref() == Some("n2"));
    Ok(())
}

fn lost(cluster: &Cluster) -> anyhow::Result<()> {
    lose(cluster, &json!({}))
}

fn lost_choice(cluster: &Cluster) -> anyhow::Result<()> {
    lose(cluster, &json!({ "address": "10.60.0.4" }))
}

fn lose(cluster: &Cluster, more: &Value) -> anyhow::Result<()> {
    let (mut operator, clock) = start(cluster)?;
    let mut agents = agents(cluster, 2)?;
    claim(cluster, "db-0", more)?;
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

/// Takes a claim and its block away, as a store that was put back does.
fn forget(cluster: &Cluster, name: &str, block: &str) -> anyhow::Result<()> {
    let without = json!({ "metadata": { "finalizers": null } });
    let patch = Patch::Merge(&without);
    cluster.runtime.block_on(call(api(cluster).patch(name, &PatchParams::default(), &patch)))?;
    unclaim(cluster, name)?;
    cluster.change::<IPBlock>(block, &without)?;
    cluster.delete::<IPBlock>(block)
}

fn restored(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, clock) = start(cluster)?;
    let mut agents = agents(cluster, 1)?;
    claim(cluster, "db-0", &json!({ "address": "10.60.0.4" }))?;
    let (address, block) = bound(cluster, &mut operator, "db-0")?;
    let uid = cluster.runtime.block_on(call(api(cluster).get("db-0")))?.metadata.uid;
    say(cluster, &mut agents[0], &block, 1, TurnState::Held)?;
    let (kind, namespace, name) = (ClaimKind::Address, "default".to_owned(), "db-0".to_owned());
    let uid = uid.context("no uid")?.parse()?;
    agents[0].turns[0].claim = Some(TurnClaim { kind, namespace, name, uid });
    agents[0].say(cluster)?;
    let turn = || Ok(active(cluster, &block)?.filter(|node| node == "n1").map(drop));
    cluster.drive(&mut operator, "the turn", turn)?;
    // Something makes it again, and nothing but the node knows its address.
    forget(cluster, "db-0", &block)?;
    claim(cluster, "db-0", &json!({}))?;
    clock.advance(120);
    ensure!(bound(cluster, &mut operator, "db-0")?.0 == address);
    cluster.drive(&mut operator, "the turn again", turn)?;
    // Now nobody does.
    forget(cluster, "db-0", &block)?;
    clock.advance(120);
    cluster.drive(&mut operator, "the node to be asked", || {
        Ok((asked_back(cluster, "n1")? == [block.clone()]).then_some(()))
    })
}

fn leased_twice(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, _) = start(cluster)?;
    let mut agents = agents(cluster, 1)?;
    claim(cluster, "first", &json!({ "address": "10.60.0.1" }))?;
    bound(cluster, &mut operator, "first")?;
    claim(cluster, "db-0", &json!({}))?;
    let (address, block) = bound(cluster, &mut operator, "db-0")?;
    unclaim(cluster, "first")?;
    cluster.drive(&mut operator, "the first claim to be gone", || {
        Ok(told(cluster, "first")?.is_none().then_some(()))
    })?;
    // Another leader leases the claim an address, too, which comes before its own. A pod waits there.
    let mut late = cluster.get::<IPBlock>(&block)?.context("no block")?;
    late.metadata = ObjectMeta {
        name: Some("default.10-60-0-1.32".into()),
        finalizers: late.metadata.finalizers,
        ..ObjectMeta::default()
    };
    late.spec.cidr = "10.60.0.1/32".into();
    late.status = None;
    cluster.create(&late)?;
    say(cluster, &mut agents[0], "default.10-60-0-1.32", 1, TurnState::Wanted)?;
    cluster.drive(&mut operator, "the other address to be free", || {
        let status = told(cluster, "db-0")?.context("no claim")?;
        ensure!(status.address.as_ref() == Some(&address), "the claim has another address: {status:?}");
        Ok((cluster.list::<IPBlock>()?.len() == 1).then_some(()))
    })?;
    ensure!(cluster.get::<IPBlock>(&block)?.is_some());
    Ok(())
}

pub(crate) fn silence(cluster: &Cluster, agent: &mut TestAgent) -> anyhow::Result<()> {
    agent.turns.clear();
    agent.say(cluster)
}
