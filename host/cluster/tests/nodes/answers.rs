//! Answers of the API server that say nothing about a pod: an error frees no address, however often it comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::ensure;
use tenure_fixtures::control_plane::ADMIN_TOKEN;
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_fixtures::wait;

use crate::Test;
use crate::pods::{PodNode, delete};
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("answers::no_error_about_a_deleted_pod_frees_its_address_and_the_next_answer_does", errors),
    ("answers::a_list_of_pods_that_is_refused_or_cut_in_its_middle_frees_nothing", lists),
];

/// The fault of each read of the pod of this name.
const FAULTS: &[(&str, ProxyFault)] = &[
    ("refused-403", ProxyFault::Refuse(403)),
    ("refused-404", ProxyFault::Refuse(404)),
    ("refused-410", ProxyFault::Refuse(410)),
    ("refused-429", ProxyFault::Refuse(429)),
    ("refused-500", ProxyFault::Refuse(500)),
    ("refused-503", ProxyFault::Refuse(503)),
    ("reply-lost", ProxyFault::LoseReply),
    ("cut", ProxyFault::Truncate(300)),
];

/// Questions about a pod that must have failed before it counts.
const OFTEN: usize = 3;

/// Makes a pod that passes: that its address is freed proves that the daemon has looked twice meanwhile.
fn passes(world: &World, node: &PodNode, number: u32, kept: &[String]) -> anyhow::Result<()> {
    let pod = format!("passing-{number}");
    node.add(world, &pod, "c-passing")?;
    delete(world, &pod)?;
    wait::holds("the passing pod's address to be free", LIMIT, || {
        let mut containers = node.containers()?;
        containers.sort_unstable();
        Ok(containers == kept)
    })
}

fn errors(world: &mut World) -> anyhow::Result<()> {
    let proxy = world.plane.proxy()?;
    let node = PodNode::start_through(world, "sienna", &proxy.kubeconfig(ADMIN_TOKEN)?, 1, vec!["other"])?;
    let failed = Arc::<Mutex<BTreeMap<&str, usize>>>::default();
    let count = Arc::clone(&failed);
    proxy.choose(move |request| {
        let of = |(pod, _): &&(&str, ProxyFault)| request.path.ends_with(&format!("/pods/{pod}"));
        let Some((pod, fault)) = FAULTS.iter().find(of) else { return ProxyFault::Pass };
        *count.lock().unwrap_or_else(PoisonError::into_inner).entry(*pod).or_default() += 1;
        *fault
    });
    for &(pod, _) in FAULTS {
        node.add(world, pod, pod)?;
        delete(world, pod)?;
    }
    let mut kept: Vec<String> = FAULTS.iter().map(|(pod, _)| (*pod).to_owned()).collect();
    kept.sort_unstable();
    let mut number = 0;
    wait::holds("each question to fail some times", LIMIT, || {
        number += 1;
        passes(world, &node, number, &kept)?;
        let failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(FAULTS.iter().all(|(pod, _)| failed.get(pod).is_some_and(|count| *count >= OFTEN)))
    })?;
    ensure!(node.figure("tenure_pods_unanswered_total")? >= u64::try_from(OFTEN * FAULTS.len())?);
    proxy.choose(|_| ProxyFault::Pass);
    wait::holds("their addresses to be free", LIMIT, || Ok(node.containers()?.is_empty()))
}

/// The daemon starts, and no list of its pods is complete: two pods have ended while it was away, and it asks about neither.
fn lists(world: &mut World) -> anyhow::Result<()> {
    let proxy = world.plane.proxy()?;
    let mut node =
        PodNode::start_through(world, "russet", &proxy.kubeconfig(ADMIN_TOKEN)?, 1, vec!["other"])?;
    node.add(world, "away-0", "c-away-0")?;
    node.add(world, "away-1", "c-away-1")?;
    node.add(world, "stays", "c-stays")?;
    let counts = Arc::<Mutex<[usize; 2]>>::default();
    let count = Arc::clone(&counts);
    proxy.choose(move |request| {
        let is_read = request.path.contains("/pods/");
        let is_list = request.path.contains("/pods?") && !request.is_watch();
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        if is_read {
            count[1] += 1;
        }
        if !is_list {
            return ProxyFault::Pass;
        }
        count[0] += 1;
        if count[0] % 2 == 0 { ProxyFault::Truncate(400) } else { ProxyFault::Refuse(500) }
    });
    node.daemon.kill()?;
    delete(world, "away-0")?;
    delete(world, "away-1")?;
    node.daemon.launch()?;
    let seen = || *counts.lock().unwrap_or_else(PoisonError::into_inner);
    wait::holds("lists to fail in both ways", LIMIT, || Ok(seen()[0] >= 4))?;
    let [_, reads] = seen();
    ensure!(reads == 0, "{reads} questions about pods before the first complete list");
    let mut containers = node.containers()?;
    containers.sort_unstable();
    ensure!(containers == ["c-away-0", "c-away-1", "c-stays"], "{containers:?}");
    proxy.choose(|_| ProxyFault::Pass);
    wait::holds("the addresses of the two to be free", LIMIT, || Ok(node.containers()? == ["c-stays"]))?;
    delete(world, "stays")
}
