//! Requests over gRPC, as an agent would send them.

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

use crate::exec::Times;

fn invocation(config: &[u8], container: String) -> Invocation {
    Invocation {
        container_id: container,
        netns: "/run/netns/none".to_owned(),
        interface: "eth0".to_owned(),
        config: config.to_vec(),
        ..Invocation::default()
    }
}

/// ADDs until so many are allocated, many at a time.
pub(crate) async fn fill(daemon: &Daemon, config: &Value, prefix: &str, count: u32) -> anyhow::Result<()> {
    send(daemon, config, prefix, count, 128).await.map(drop)
}

/// A network that nothing else uses.
fn own_network(name: &str) -> Value {
    json!({
        "cniVersion": "1.0.0", "name": name, "type": "bench",
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.64.0.0/10" }]] },
    })
}

/// ADDs on a network of its own; how many a second, each durable before it counts.
pub(crate) async fn rate(daemon: &Daemon, count: u32, callers: u32) -> anyhow::Result<f64> {
    let name = format!("bench-rate-{callers}-{count}");
    send(daemon, &own_network(&name), &name, count, callers).await
}

/// ADDs at a steady pace, whether or not the ones before were answered; how long each took, from when it was due.
pub(crate) async fn steady(daemon: &Daemon, pace: Duration, count: u32) -> anyhow::Result<Times> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let config: Arc<[u8]> = own_network("bench-steady").to_string().into_bytes().into();
    add(channel.clone(), &config, "steady-first".to_owned()).await?;
    let mut ticks = tokio::time::interval(pace);
    let mut tasks = Vec::new();
    for number in 0..count {
        let due = ticks.tick().await;
        let (channel, config) = (channel.clone(), Arc::clone(&config));
        tasks.push(tokio::task::spawn(async move {
            add(channel, &config, format!("steady-{number}")).await?;
            anyhow::Ok(due.elapsed())
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.push(task.await??);
    }
    Ok(Times::new(times))
}

async fn send(
    daemon: &Daemon,
    config: &Value,
    prefix: &str,
    count: u32,
    callers: u32,
) -> anyhow::Result<f64> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let (next, config) = (Arc::new(AtomicU32::new(0)), Arc::new(config.to_string().into_bytes()));
    // The network is made, and its policy loaded, before anything is timed.
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
    Ok(f64::from(count) / started.elapsed().as_secs_f64())
}

async fn add(channel: Channel, config: &[u8], container: String) -> anyhow::Result<()> {
    let answer = CniClient::new(channel).add(invocation(config, container)).await;
    answer.map(drop).map_err(|status| anyhow!("ADD: {status}"))
}
