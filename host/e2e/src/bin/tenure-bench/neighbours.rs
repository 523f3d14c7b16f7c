//! Busy networks that run while another network is measured.
//!
//! They have their own thread, so that no measured ADD is delayed by the bench itself. They share processors and disk with the
//! daemon, as everything on a node does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde_json::{Map, Value, json};
use tenure_rpc::client;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tonic::transport::Channel;

use crate::load;

/// How long a caller pauses after a refusal. A kubelet pauses longer.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// How often to make the log grow.
const GROWS: Duration = Duration::from_millis(5);

/// Callers of a policy whose calls are refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Callers {
    pub(crate) policy: &'static str,
    /// The misbehaviour requested from the policy.
    pub(crate) misbehave: Option<&'static str>,
    pub(crate) networks: usize,
    pub(crate) callers: usize,
}

/// Busy networks, until they are stopped.
pub(crate) struct Neighbours {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<u32>>,
}

impl Neighbours {
    /// Starts the callers and, with `grows`, makes the log grow until snapshots are due.
    pub(crate) fn start(run_directory: &Path, callers: Callers, grows: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, socket) = (Arc::clone(&stop), run_directory.join("cni.sock"));
        let thread = std::thread::spawn(move || live(&socket, callers, grows, &stopped));
        Self { stop, thread }
    }

    /// Stops the networks; returns the number of refused calls.
    pub(crate) fn stop(self) -> anyhow::Result<u32> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the neighbours panicked"))?
    }
}

fn live(socket: &Path, callers: Callers, grows: bool, stop: &Arc<AtomicBool>) -> anyhow::Result<u32> {
    let refused = Arc::new(AtomicU32::new(0));
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let channel = client::connect(socket).await?;
        let mut tasks = JoinSet::new();
        for caller in 0..callers.callers {
            let config = callers.config(&format!("bench-{}-{}", callers.policy, caller % callers.networks));
            let (channel, stop, refused) = (channel.clone(), Arc::clone(stop), Arc::clone(&refused));
            tasks.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let config = config.to_string();
                    let answer =
                        load::add(channel.clone(), config.as_bytes(), format!("caller-{caller}")).await;
                    refused.fetch_add(u32::from(answer.is_err()), Ordering::Relaxed);
                    tokio::time::sleep(PAUSE).await;
                }
                anyhow::Ok(())
            });
        }
        if grows {
            tasks.spawn(grow(channel, Arc::clone(stop)));
        }
        while let Some(ended) = tasks.join_next().await {
            ended.context("a neighbour")??;
        }
        anyhow::Ok(())
    })?;
    Ok(refused.load(Ordering::Relaxed))
}

impl Callers {
    fn config(&self, network: &str) -> Value {
        let keys = [("policy", Some(self.policy)), ("misbehave", self.misbehave)];
        let keys = keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?))));
        with(network, keys.collect())
    }
}

/// Makes the log grow with a network whose long configuration changes with each ADD.
async fn grow(channel: Channel, stop: Arc<AtomicBool>) -> anyhow::Result<()> {
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let padding = json!(format!("{number}{}", "x".repeat(16 << 10)));
        let config = with("bench-growing", Map::from_iter([("padding".to_owned(), padding)]));
        load::add(channel.clone(), config.to_string().as_bytes(), format!("grows-{number}")).await?;
        tokio::time::sleep(GROWS).await;
    }
    Ok(())
}

/// A network's configuration with further keys for its policy.
fn with(network: &str, keys: Map<String, Value>) -> Value {
    let mut config = load::own_network(network);
    if let Some(ipam) = config.pointer_mut("/ipam").and_then(Value::as_object_mut) {
        ipam.extend(keys);
    }
    config
}
