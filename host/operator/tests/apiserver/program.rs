//! The built program: replicas that are killed at any moment, its pages, and an orderly stop.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, IPBlock};
use tenure_fixtures::control_plane::free_ports;
use tenure_fixtures::random::Random;
use tokio::time::sleep;

use crate::Test;
use crate::cluster::Cluster;
use crate::grants::agents;
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("program::a_replica_goes_on_where_a_killed_leader_left_off", killed),
    ("program::its_pages_say_whether_it_works_and_what_it_does", pages),
    ("program::killed_at_any_moment_it_leaks_no_block", killed_at_random),
    ("program::labels_of_claims_fill_no_memory", laden),
];

/// A replica; killed when it is dropped.
struct Replica(Child);

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(cluster: &Cluster, name: &str) -> anyhow::Result<Replica> {
    start_with(cluster, name, &[])
}

fn start_with(cluster: &Cluster, name: &str, more: &[&str]) -> anyhow::Result<Replica> {
    let child = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_tenure-operator"), "--identity", name])
        .arg("--kubeconfig")
        .arg(&cluster.kubeconfig)
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Replica(child))
}

/// The holder of the election's Lease.
fn leader(cluster: &Cluster) -> anyhow::Result<Option<String>> {
    let api: Api<Lease> = Api::namespaced(cluster.client.clone(), "tenure-system");
    let lease = cluster.runtime.block_on(call(api.get_opt("tenure-operator")))?;
    Ok(lease.and_then(|lease| lease.spec?.holder_identity))
}

fn killed(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("served", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let first = start(cluster, "first")?;
    cluster
        .until("the first to lead", || Ok((leader(cluster)?.as_deref() == Some("first")).then_some(())))?;
    let mut second = start(cluster, "second")?;
    let serve = |agents: &mut [crate::agent::TestAgent], blocks: usize| {
        cluster.until("blocks", || {
            agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
            Ok((referee(agents)? == blocks).then_some(()))
        })
    };
    agents[0].want(cluster, &pool, 1)?;
    serve(&mut agents, 1)?;
    ensure!(leader(cluster)?.as_deref() == Some("first"), "the second one leads, too");
    drop(first);
    agents[1].want(cluster, &pool, 2)?;
    serve(&mut agents, 3)?;
    ensure!(leader(cluster)?.as_deref() == Some("second"));
    stop(&mut second)?;
    ensure!(leader(cluster)?.is_none(), "the Lease is still held");
    Ok(())
}

/// Asks a replica to stop: a leader gives the Lease up.
fn stop(replica: &mut Replica) -> anyhow::Result<()> {
    let pid = rustix::process::Pid::from_child(&replica.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let status = replica.0.wait()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// A page: the status and the body; `None` while nobody listens.
fn page(port: u16, path: &str) -> anyhow::Result<Option<(String, String)>> {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return Ok(None) };
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: operator\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("not an answer")?;
    Ok(Some((head.lines().next().unwrap_or_default().to_owned(), body.to_owned())))
}

fn pages(cluster: &Cluster) -> anyhow::Result<()> {
    let [port, other] = free_ports()?;
    let address = format!("[127.0.0.1]:{port}");
    let pool = cluster.pool("measured", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut replica = start_with(cluster, "paged", &["--metrics-address", &address])?;
    agents[0].want(cluster, &pool, 1)?;
    cluster.until("a block", || {
        agents[0].step(cluster)?;
        Ok((referee(&agents)? == 1).then_some(()))
    })?;
    let ready = page(port, "/readyz")?.context("nobody listens")?;
    ensure!(ready == ("HTTP/1.1 200 OK".into(), "ready\n".into()), "{ready:?}");
    ensure!(page(port, "/healthz")?.context("nobody listens")?.1 == "alive\n");
    let metrics = cluster.until("the figures", || {
        let (_, text) = page(port, "/metrics")?.context("nobody listens")?;
        Ok(text.contains("phase=\"free\"} 3").then_some(text))
    })?;
    for line in [
        "tenure_operator_leader 1",
        "tenure_operator_blocks{pool=\"measured\",family=\"IPv4\",phase=\"leased\"} 1",
        "tenure_operator_api_requests_total{verb=\"create\",cause=\"grant\",outcome=\"ok\"} 1",
        "tenure_operator_grant_wait_seconds_count 1",
        "tenure_operator_objects_unreadable 0",
        "tenure_operator_events_total{reason=\"BlockLeased\",outcome=\"written\"} 1",
    ] {
        ensure!(metrics.lines().any(|found| found == line), "{line} is missing from\n{metrics}");
    }
    // A replica that does not lead is ready, too, and says that it does not lead.
    let _second = start_with(cluster, "waiting", &["--metrics-address", &format!("127.0.0.1:{other}")])?;
    cluster.until("the second to be ready", || {
        Ok(page(other, "/readyz")?.filter(|(status, _)| status == "HTTP/1.1 200 OK"))
    })?;
    let (_, text) = page(other, "/metrics")?.context("nobody listens")?;
    ensure!(text.lines().any(|line| line == "tenure_operator_leader 0"), "{text}");
    stop(&mut replica)?;
    ensure!(page(port, "/healthz")?.is_none(), "it still listens");
    Ok(())
}

fn killed_at_random(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("short", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut random = Random::new(7);
    // Blocks go to and fro between two nodes, while the leader is killed and comes back under its name.
    for round in 0..6_usize {
        let replica = start(cluster, "mortal")?;
        let (giver, taker) = (round % 2, (round + 1) % 2);
        agents[taker].want(cluster, &pool, 3)?;
        agents[giver].want(cluster, &pool, 1)?;
        agents[giver].find_idle();
        let moments = 10 + random.below(30);
        for _ in 0..moments {
            for agent in &mut agents {
                agent.step(cluster)?;
            }
            referee(&agents)?;
            // The moment of the kill is drawn; nothing waits for it.
            cluster.runtime.block_on(sleep(Duration::from_millis(random.below(25))));
        }
        drop(replica);
    }
    let _last = start(cluster, "mortal")?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 2)?;
    }
    cluster.until("every block to be held once", || {
        for agent in &mut agents {
            agent.find_idle();
            agent.step(cluster)?;
        }
        let blocks = cluster.list::<IPBlock>()?;
        let rest = blocks.iter().all(|block| {
            block.metadata.deletion_timestamp.is_none()
                && block.status.as_ref().is_none_or(|status| status.mark.is_none())
        });
        let each = agents.iter().all(|agent| agent.ledger.len() >= 2);
        Ok((referee(&agents)? == blocks.len() && rest && each).then_some(()))
    })
}

/// Regression: each claim was kept as a whole, and some thirty of a user could end each replica at its start.
fn laden(cluster: &Cluster) -> anyhow::Result<()> {
    const CLAIMS: usize = 16;
    // With the fields that the API server notes of them, nearly all that it takes.
    let labels: BTreeMap<String, String> =
        (0..45_000).map(|number| (format!("l{number}"), String::new())).collect();
    let claims: Api<AddressClaim> = Api::namespaced(cluster.client.clone(), "default");
    for number in 0..CLAIMS {
        let spec = serde_json::from_value(json!({ "pool": "nowhere" }))?;
        let mut claim = AddressClaim::new(&format!("laden-{number}"), spec);
        claim.metadata.labels = Some(labels.clone());
        cluster.runtime.block_on(call(claims.create(&PostParams::default(), &claim)))?;
    }
    let pool = cluster.pool("served", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let replica = start(cluster, "laden")?;
    agents[0].want(cluster, &pool, 1)?;
    cluster.until("a block", || {
        agents[0].step(cluster)?;
        Ok((referee(&agents)? == 1).then_some(()))
    })?;
    let status = fs::read_to_string(format!("/proc/{}/status", replica.0.id()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak = peak.context("no peak")?.parse::<u64>()? / 1024;
    ensure!(peak < 200, "the operator has taken {peak} MiB");
    Ok(())
}
