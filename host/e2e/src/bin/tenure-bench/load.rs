//! Load over gRPC, as an agent would generate it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::{Value, json};
use tenure_e2e::Daemon;
use tenure_rpc::client;
use tenure_rpc::v1::Invocation;
use tenure_rpc::v1::cni_client::CniClient;
use tonic::transport::Channel;

/// The number of rounds in which rates are measured.
const ROUNDS: u32 = 4;

fn invocation(config: &[u8], container: String) -> Invocation {
    Invocation {
        container_id: container,
        netns: "/run/netns/none".to_owned(),
        interface: "eth0".to_owned(),
        config: config.to_vec(),
        ..Invocation::default()
    }
}

/// Sends concurrent ADDs until `count` addresses are allocated.
pub(crate) async fn fill(daemon: &Daemon, config: &Value, prefix: &str, count: u32) -> anyhow::Result<()> {
    send(daemon, config, prefix, count, 128).await.map(drop)
}

/// A network for one measurement only.
pub(crate) fn own_network(name: &str) -> Value {
    json!({
        "cniVersion": "1.0.0", "name": name, "type": "bench",
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.64.0.0/10" }]] },
    })
}

/// The rates of durable ADDs per second for each number of callers, measured in rounds in which they take turns.
pub(crate) async fn rates<const N: usize>(
    daemon: &Daemon,
    count: u32,
    callers: [u32; N],
) -> anyhow::Result<[f64; N]> {
    let config = own_network("bench-rate");
    let mut seconds = [0.0; N];
    for round in 0..ROUNDS {
        for (callers, seconds) in callers.into_iter().zip(&mut seconds) {
            let prefix = format!("rate-{callers}-{round}");
            *seconds += send(daemon, &config, &prefix, count / ROUNDS, callers).await?.as_secs_f64();
        }
    }
    Ok(seconds.map(|seconds| f64::from(count / ROUNDS * ROUNDS) / seconds))
}

/// The rates of durable ADDs per second on each of some networks with 64 callers, measured in rounds in which they take turns.
pub(crate) async fn rates_of<const N: usize>(
    daemon: &Daemon,
    count: u32,
    networks: [&str; N],
) -> anyhow::Result<[f64; N]> {
    let mut seconds = [0.0; N];
    for round in 0..ROUNDS {
        for (network, seconds) in networks.into_iter().zip(&mut seconds) {
            let prefix = format!("rate-of-{round}");
            let took = send(daemon, &own_network(network), &prefix, count / ROUNDS, 64).await?;
            *seconds += took.as_secs_f64();
        }
    }
    Ok(seconds.map(|seconds| f64::from(count / ROUNDS * ROUNDS) / seconds))
}

/// The latencies under a steady load.
pub(crate) struct Paced {
    /// The time from when each ADD was due until it was answered.
    pub(crate) took: Vec<Duration>,
    /// How late each ADD was sent: the bench's own share.
    pub(crate) late: Vec<Duration>,
    /// The addresses that were answered.
    pub(crate) addresses: Vec<String>,
}

/// Sends ADDs at a steady pace, whether or not earlier ones have been answered.
///
/// A thread keeps the pace, because an async runtime's timers have a resolution of a millisecond.
pub(crate) async fn steady(
    daemon: &Daemon,
    network: &str,
    prefix: &str,
    pace: Duration,
    count: u32,
) -> anyhow::Result<Paced> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let config: Arc<[u8]> = own_network(network).to_string().into_bytes().into();
    add(channel.clone(), &config, format!("{prefix}-first")).await?;
    let (sender, mut ticks) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let first = Instant::now();
        for number in 0..count {
            let due = first + pace * number;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if sender.send((number, due)).is_err() {
                break;
            }
        }
    });
    let (mut tasks, mut late) = (Vec::new(), Vec::new());
    while let Some((number, due)) = ticks.recv().await {
        late.push(due.elapsed());
        let (channel, config, container) =
            (channel.clone(), Arc::clone(&config), format!("{prefix}-{number}"));
        tasks.push(tokio::task::spawn(async move {
            let answer = add(channel, &config, container).await?;
            anyhow::Ok((due.elapsed(), answer))
        }));
    }
    let (mut took, mut addresses) = (Vec::new(), Vec::new());
    for task in tasks {
        let (time, answer) = task.await??;
        took.push(time);
        let answer: Value = serde_json::from_slice(&answer)?;
        let address = answer.pointer("/ips/0/address").and_then(Value::as_str);
        addresses.push(address.ok_or_else(|| anyhow!("an answer without an address: {answer}"))?.to_owned());
    }
    Ok(Paced { took, late, addresses })
}

/// Adds and deletes pods one at a time, as a node does all day.
pub(crate) async fn churn(daemon: &Daemon, config: &Value, count: u32) -> anyhow::Result<()> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let config = config.to_string().into_bytes();
    for number in 0..count {
        let container = format!("churn-{number}");
        add(channel.clone(), &config, container.clone()).await?;
        let deleted = CniClient::new(channel.clone()).del(invocation(&config, container)).await;
        deleted.map_err(|status| anyhow!("DEL: {status}"))?;
    }
    Ok(())
}

async fn send(
    daemon: &Daemon,
    config: &Value,
    prefix: &str,
    count: u32,
    callers: u32,
) -> anyhow::Result<Duration> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let (next, config) = (Arc::new(AtomicU32::new(0)), Arc::new(config.to_string().into_bytes()));
    // Create the network and load its policy before anything is timed.
    add(channel.clone(), &config, format!("{prefix}-first")).await?;
    let started = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..callers {
        let (channel, next, config, prefix) =
            (channel.clone(), next.clone(), config.clone(), prefix.to_owned());
        tasks.push(tokio::task::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return anyhow::Ok(());
                }
                add(channel.clone(), &config, format!("{prefix}-{number}")).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(started.elapsed())
}

pub(crate) async fn add(channel: Channel, config: &[u8], container: String) -> anyhow::Result<Vec<u8>> {
    let answer = CniClient::new(channel).add(invocation(config, container)).await;
    answer.map(|answer| answer.into_inner().output).map_err(|status| anyhow!("ADD: {status}"))
}
