//! Everything at once, from fixed seeds: two operators that both think that they lead, each at an API server of its own behind a proxy that fails,
//! with old views and clocks a day apart, killed between any two writes; nodes that grow and shrink in two pools of two sizes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use serde_json::json;
use tenure_cluster::{AddressPool, IPBlock};
use tenure_fixtures::control_plane::ControlPlane;
use tenure_fixtures::control_plane::proxy::{FaultProxy, ProxiedRequest, ProxyFault};
use tenure_fixtures::random::{Random, rounds};
use tenure_operator::reports::Reports;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::agents;
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("churn::two_killed_blinded_leaders_give_no_address_twice", churn),
    ("churn::a_crowd_that_asks_for_more_than_there_is_gets_each_block_once", crowd),
];

/// Seeds of the test run; `TENURE_SEEDS` sets another number of them.
const SEEDS: u64 = 2;

/// Rounds of each seed.
const ROUNDS: u64 = 8;

/// Pools for which a crowd asks, one after the other; `TENURE_CROWDS` sets another number of them, up to 255.
const CROWDS: u64 = 2;

/// An operator at an API server behind a proxy, which is killed and started again.
struct Leader {
    proxy: FaultProxy,
    client: Client,
    clock: Arc<TestClock>,
    running: Option<TestOperator>,
}

impl Leader {
    fn new(cluster: &Cluster, proxy: FaultProxy, days: u64) -> anyhow::Result<Self> {
        let client = cluster.client_through(&proxy)?;
        Ok(Self { proxy, client, clock: TestClock::days_ahead(days), running: None })
    }

    /// Makes the first so many writes of a pass; then it may be killed.
    fn work(&mut self, cluster: &Cluster, random: &mut Random) -> anyhow::Result<()> {
        self.clock.advance(random.below(40));
        self.proxy.hold_watches(random.one_in_thousand(400));
        if self.running.is_none() {
            self.proxy.hold_watches(false);
            self.running = Some(cluster.operator_with(&self.client, &self.clock, Reports::default())?);
        }
        let operator = &mut self.running.as_mut().context("it does not run")?.operator;
        if random.one_in_thousand(500) {
            cluster.runtime.block_on(operator.pass());
            return Ok(());
        }
        let decided = cluster.runtime.block_on(operator.decide());
        let writes = decided.map(|(_, writes)| writes).unwrap_or_default();
        let killed_after = usize::try_from(random.below(8))?;
        for write in writes.into_iter().take(killed_after) {
            // It may be lost, refused, or too late.
            let _ = cluster.runtime.block_on(operator.perform(write));
        }
        if random.one_in_thousand(300) {
            self.running = None;
        }
        Ok(())
    }
}

/// The faults of a network and a server from a seed.
fn faults(seed: u64) -> impl FnMut(&ProxiedRequest) -> ProxyFault + Send + 'static {
    let mut random = Random::new(seed);
    move |request| {
        if request.is_watch() {
            return match random.below(40) {
                0 => ProxyFault::Truncate(300),
                _ => ProxyFault::Pass,
            };
        }
        match random.below(if request.is_write() { 20 } else { 60 }) {
            0 => ProxyFault::LoseRequest,
            1 => ProxyFault::LoseReply,
            2 => ProxyFault::Repeat,
            3 => ProxyFault::Delay(Duration::from_millis(random.below(150))),
            4 => ProxyFault::Truncate(100),
            5 => ProxyFault::Refuse(429),
            6 => ProxyFault::Refuse(503),
            _ => ProxyFault::Pass,
        }
    }
}

/// What a node does in a round.
fn live(
    cluster: &Cluster,
    agent: &mut TestAgent,
    pools: &[AddressPool],
    random: &mut Random,
) -> anyhow::Result<()> {
    match random.below(4) {
        0 => {
            let pool = pools.get(usize::try_from(random.below(2))?).context("no pool")?;
            agent.want(cluster, pool, u32::try_from(random.below(4))?)?;
        }
        1 => (0..random.below(6)).for_each(|_| agent.give()),
        2 => (0..random.below(8))
            .for_each(|position| agent.free(usize::try_from(position).unwrap_or_default())),
        _ => agent.find_idle(),
    }
    agent.step(cluster)
}

fn churn(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.with_plane(ControlPlane::start_second_server)?;
    let second = cluster.with_plane(|plane| plane.second_proxy())?;
    let through = cluster.client_through(&second)?;
    cluster.until("the second API server", || {
        let api: kube::Api<IPBlock> = kube::Api::all(through.clone());
        let list = cluster
            .runtime
            .block_on(tenure_cluster::client::call(api.list(&kube::api::ListParams::default())));
        Ok(list.ok().map(drop))
    })?;
    drop(second);
    let result = (1..=rounds("TENURE_SEEDS", SEEDS)?).try_for_each(|seed| {
        println!("seed {seed}");
        cluster.clear()?;
        one_seed(cluster, seed).with_context(|| format!("seed {seed}"))
    });
    cluster.with_plane(|plane| {
        plane.stop_second_server();
        Ok(())
    })?;
    result
}

fn one_seed(cluster: &Cluster, seed: u64) -> anyhow::Result<()> {
    let mut random = Random::new(seed);
    let exclude = |cidr: &str| json!({ "exclusions": [{ "cidr": cidr }] });
    let pools = [
        cluster.pool("small", "10.0.0.0/26", 29, &exclude("10.0.0.0/30"))?,
        cluster.pool("large", "10.1.0.0/25", 28, &exclude("10.1.0.64/27"))?,
    ];
    let mut agents = agents(cluster, 5)?;
    let mut leaders = [
        Leader::new(cluster, cluster.with_plane(|plane| plane.proxy())?, 0)?,
        Leader::new(cluster, cluster.with_plane(|plane| plane.second_proxy())?, 1)?,
    ];
    for (number, leader) in (1_u64..).zip(&leaders) {
        leader.proxy.choose(faults(seed * 1000 + number));
    }
    for _ in 0..ROUNDS {
        for leader in &mut leaders {
            leader.work(cluster, &mut random)?;
            referee(&agents)?;
        }
        for agent in &mut agents {
            if random.one_in_thousand(700) {
                live(cluster, agent, &pools, &mut random)?;
            }
        }
        referee(&agents)?;
    }
    // One sound leader remains, and every pod goes: what is left is what the nodes want.
    let [leader, _] = leaders;
    leader.proxy.choose(|_| ProxyFault::Pass);
    leader.proxy.hold_watches(false);
    let mut operator = cluster.operator_with(&leader.client, &leader.clock, Reports::default())?;
    for agent in &mut agents {
        agent.forget_demand();
        agent.want(cluster, &pools[0], 1)?;
        (0..100).for_each(|_| agent.free(0));
    }
    cluster.drive(&mut operator, "everything to be at rest", || {
        for agent in &mut agents {
            agent.free(0);
            agent.find_idle();
            agent.step(cluster)?;
        }
        leader.clock.advance(30);
        referee(&agents)?;
        at_rest(cluster, &agents)
    })
}

/// Whether each IPBlock is one that exactly its node holds, without a mark, and each block that a node holds has an IPBlock.
fn at_rest(cluster: &Cluster, agents: &[TestAgent]) -> anyhow::Result<Option<()>> {
    let blocks = cluster.list::<IPBlock>()?;
    let held: usize = agents.iter().map(|agent| agent.ledger.len()).sum();
    let settled = blocks.iter().all(|block| {
        let rests = block.metadata.deletion_timestamp.is_none()
            && block.status.as_ref().is_none_or(|status| status.mark.is_none() && status.phase.is_empty());
        let mut holders = agents
            .iter()
            .filter(|agent| agent.ledger.iter().any(|row| Some(row.uid.to_string()) == block.metadata.uid));
        let holder = holders.next();
        rests
            && holders.next().is_none()
            && holder.is_some_and(|agent| *agent.identity.name == block.spec.node_name)
    });
    let wanted = agents.iter().all(|agent| agent.usable().any(|cidr| cidr.ends_with("/29")));
    Ok((settled && wanted && held == blocks.len()).then_some(()))
}

fn crowd(cluster: &Cluster) -> anyhow::Result<()> {
    let mut agents = agents(cluster, 50)?;
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    let client = cluster.client_through(&proxy)?;
    let mut operator = cluster.operator_with(&client, &TestClock::days_ahead(0), Reports::default())?;
    for round in 1..=usize::try_from(rounds("TENURE_CROWDS", CROWDS)?)? {
        let pool = cluster.pool(&format!("crowd{round}"), &format!("10.{round}.0.0/24"), 28, &json!({}))?;
        for agent in &mut agents {
            agent.forget_demand();
            agent.want(cluster, &pool, 1)?;
        }
        cluster.drive(&mut operator, "16 blocks more", || {
            agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
            Ok((referee(&agents)? == 16 * round).then_some(()))
        })?;
        // At rest, which the last events of the watch may delay, those without a block cost nothing.
        let (mut requests, mut idle_passes) = (proxy.requests(), 0);
        cluster.drive(&mut operator, "20 passes in succession without a request", || {
            let now = proxy.requests();
            idle_passes = if now == requests { idle_passes + 1 } else { 0 };
            requests = now;
            Ok((idle_passes == 20).then_some(()))
        })?;
    }
    Ok(())
}
