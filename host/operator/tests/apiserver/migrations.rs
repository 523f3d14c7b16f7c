//! Live migrations: two pods of a virtual machine have its claim's address, on two nodes.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use tenure_cluster::{IPBlock, NodeIPAM};
use tenure_leases::{ClaimTurn, TurnGuest, TurnId, TurnState, Uid};

use crate::Test;
use crate::agent::TestAgent;
use crate::claims::{asked_back, bound, claim, say, silence, start, told};
use crate::cluster::{Cluster, TestOperator};
use crate::grants::agents;

pub(crate) const TESTS: &[Test] = &[
    ("migrations::a_virtual_machine_that_moves_keeps_its_address_and_has_it_on_one_node_at_a_time", migrated),
    ("migrations::a_migration_whose_nodes_die_frees_nothing", migration_died),
    ("migrations::the_turn_of_a_target_whose_node_is_deleted_ends", target_gone),
];

/// The uid of a virtual machine.
const MACHINE: Uid = Uid(0x77);

/// Says a turn of a pod of the virtual machine.
fn say_guest(
    cluster: &Cluster,
    agent: &mut TestAgent,
    block: &str,
    turn: u64,
    (state, runs): (TurnState, bool),
) -> anyhow::Result<()> {
    let (pod, guest) = (format!("default/launcher-{turn}"), Some(TurnGuest { uid: MACHINE, runs }));
    agent.turns =
        vec![ClaimTurn { block: block.parse()?, turn: TurnId(turn), state, pod, guest, claim: None }];
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
        cluster.change::<Node>(&agent.identity.name, &fence)
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

fn target_gone(cluster: &Cluster) -> anyhow::Result<()> {
    let (mut operator, clock) = start(cluster)?;
    let mut agents = agents(cluster, 3)?;
    let block = moving(cluster, &mut operator, &mut agents)?;
    let both = (Some("n1".into()), Some("n2".into()));
    cluster.delete::<Node>("n2")?;
    clock.advance(3599);
    for _ in 0..3 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(turns(cluster, &block)? == both);
    let fenced = |uid: &str| json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } });
    cluster.change::<NodeIPAM>("n2", &fenced(&agents[1].identity.uid.to_string()))?;
    until_turns(cluster, &mut operator, &block, ("n1", None))?;
    // Another target, of whose end nobody says anything.
    say_guest(cluster, &mut agents[2], &block, 3, (TurnState::Held, false))?;
    until_turns(cluster, &mut operator, &block, ("n1", Some("n3")))?;
    cluster.delete::<Node>("n3")?;
    cluster.until("the deletion to be seen", || {
        let (seen, _) = cluster.runtime.block_on(operator.operator.decide()).unwrap_or_default();
        Ok((!seen.hosts.contains_key("n3")).then_some(()))
    })?;
    cluster.runtime.block_on(operator.operator.pass());
    clock.advance(3599);
    cluster.runtime.block_on(operator.operator.pass());
    ensure!(turns(cluster, &block)? == (Some("n1".into()), Some("n3".into())), "ended before its time");
    clock.advance(1);
    until_turns(cluster, &mut operator, &block, ("n1", None))
}
