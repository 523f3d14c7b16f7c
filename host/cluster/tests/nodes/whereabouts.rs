//! Defects of whereabouts by the numbers of their issues: what it did, and what happens here.

use std::path::Path;

use anyhow::ensure;
use tenure_fixtures::node::Attachment;
use tenure_fixtures::wait;

use crate::Test;
use crate::pods::{PodNode, delete, events};
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("whereabouts::issue_162_a_pod_that_is_still_starting_keeps_its_address", starting),
    (
        "whereabouts::issue_176_of_two_pods_of_one_name_on_two_nodes_the_right_one_keeps_its_address",
        two_nodes,
    ),
    ("whereabouts::issue_182_a_full_pool_lets_the_successor_of_the_same_name_in", full_pool),
    ("whereabouts::issue_207_a_clean_up_beside_living_pods_takes_nothing_from_them", beside_living),
    ("whereabouts::issue_546_a_deletion_that_was_missed_is_found_after_the_start", missed),
    ("whereabouts::issue_624_the_end_of_the_predecessor_is_not_the_end_of_its_successor", successor),
];

/// Its reconciler listed allocations and pods, and took an allocation whose pod had no address in its status yet for one without a pod. The status
/// of a pod says nothing here: the API server has the pod, so the runtime that does not list it yet is not believed.
fn starting(world: &mut World) -> anyhow::Result<()> {
    let node = PodNode::start(world, "ivory", vec![])?;
    node.add(world, "starting", "c-starting")?;
    node.add(world, "over", "c-over")?;
    delete(world, "over")?;
    // The end of the other one proves that the daemon has looked twice.
    wait::holds("the other address to be free", LIMIT, || Ok(node.containers()? == ["c-starting"]))?;
    delete(world, "starting")
}

/// It knew an allocation's pod by its name alone, and freed the address of the new pod on the second node, while the first node was down.
fn two_nodes(world: &mut World) -> anyhow::Result<()> {
    let mut first = PodNode::start(world, "amber", vec!["c-first"])?;
    let old = first.add(world, "web-0", "c-first")?;
    delete(world, "web-0")?;
    let second = PodNode::start(world, "coral", vec!["c-second"])?;
    let new = second.add(world, "web-0", "c-second")?;
    ensure!(old != new && first.containers()? == ["c-first"], "the first node's sandbox runs on");
    first.list(world, vec![])?;
    wait::holds("the old address to be free", LIMIT, || Ok(first.containers()?.is_empty()))?;
    ensure!(second.containers()? == ["c-second"]);
    wait::holds("the event on the old pod", LIMIT, || Ok(events(world, &old)? == ["AddressReclaimed"]))?;
    ensure!(events(world, &new)?.is_empty());
    delete(world, "web-0")
}

/// With a full range, a StatefulSet's pod that was made again waited for ever: the old allocation had its name, and so counted as in use. Here its
/// own ADD frees what its predecessor holds, once the runtime says that the old sandbox is gone. The grace period of this node is an hour.
fn full_pool(world: &mut World) -> anyhow::Result<()> {
    const ONE: &str = "10.96.0.0/30";
    let mut node = PodNode::start_with(world, "ochre", 3600, vec!["c-old"])?;
    let netns = node.daemon.path("c-old");
    std::fs::write(&netns, "")?;
    let old = node.create(world, "db-0")?;
    let address = node.attach("db-0", &old, &in_netns("c-old", &netns), ONE)?.address()?;
    delete(world, "db-0")?;
    let new = node.create(world, "db-0")?;
    let add = |node: &PodNode| node.attach("db-0", &new, &Attachment::of("c-new"), ONE);
    add(&node)?.error_code(101)?;
    std::fs::remove_file(&netns)?;
    add(&node)?.error_code(101)?;
    ensure!(node.containers()? == ["c-old"], "the runtime lists it");
    node.list(world, vec![])?;
    ensure!(add(&node)?.address()? == address && node.containers()? == ["c-new"]);
    wait::holds("the event on the old pod", LIMIT, || Ok(events(world, &old)? == ["AddressReclaimed"]))?;
    // Nor does another name get in.
    let other = node.create(world, "db-1")?;
    node.attach("db-1", &other, &Attachment::of("c-other"), ONE)?.error_code(101)?;
    delete(world, "db-0")?;
    delete(world, "db-1")
}

fn in_netns(container: &str, netns: &Path) -> Attachment {
    Attachment::in_netns(container, netns.display().to_string())
}

/// Its clean-up compared lists that were read at different times, and living pods lost their addresses.
fn beside_living(world: &mut World) -> anyhow::Result<()> {
    let node = PodNode::start(world, "sepia", vec!["c-0", "c-2", "c-4"])?;
    for number in 0..6 {
        node.add(world, &format!("many-{number}"), &format!("c-{number}"))?;
    }
    for number in [1, 3, 5] {
        delete(world, &format!("many-{number}"))?;
    }
    wait::holds("three addresses to be free", LIMIT, || Ok(node.containers()? == ["c-0", "c-2", "c-4"]))?;
    [0, 2, 4].into_iter().try_for_each(|number| delete(world, &format!("many-{number}")))
}

/// It freed at a pod's deletion alone, so that one that nobody watched leaked its address for good.
fn missed(world: &mut World) -> anyhow::Result<()> {
    let mut node = PodNode::start(world, "umber", vec!["c-kept"])?;
    node.add(world, "unseen", "c-unseen")?;
    node.add(world, "kept", "c-kept")?;
    node.daemon.kill()?;
    delete(world, "unseen")?;
    node.daemon.launch()?;
    wait::holds("the address to be free", LIMIT, || Ok(node.containers()? == ["c-kept"]))?;
    delete(world, "kept")
}

/// It cleaned up after a deleted pod by name, and took the addresses of the pod that had the name by then.
fn successor(world: &mut World) -> anyhow::Result<()> {
    let node = PodNode::start(world, "khaki", vec!["c-new"])?;
    let old = node.add(world, "cache-0", "c-old")?;
    delete(world, "cache-0")?;
    let new = node.add(world, "cache-0", "c-new")?;
    wait::holds("the old address to be free", LIMIT, || Ok(node.containers()? == ["c-new"]))?;
    wait::holds("the event on the old pod", LIMIT, || Ok(events(world, &old)? == ["AddressReclaimed"]))?;
    ensure!(events(world, &new)?.is_empty() && node.containers()? == ["c-new"]);
    delete(world, "cache-0")
}
