//! The time that pods take to start, with tenure and with host-local on the same node. Nothing is asserted about it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::super::enclave::child_of;
use super::super::wait;
use super::stage::Stage;
use super::workloads;
use crate::progress;

/// How many pods are started at once.
const PODS: usize = 30;

/// How often each is measured, in turn.
const ROUNDS: usize = 2;

/// A network of host-local that comes before the one of tenure, and differs in nothing else.
const HOST_LOCAL: &str = r#"{"cniVersion":"1.0.0","name":"beside","plugins":[
{"type":"bridge","bridge":"beside0","isGateway":true,"ipMasq":true,"hairpinMode":true,
 "ipam":{"type":"host-local","ranges":[[{"subnet":"10.245.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
{"type":"portmap","capabilities":{"portMappings":true}}]}"#;

/// The file of that network.
const FILE: &str = "/etc/cni/net.d/00-host-local.conflist";

/// Measures both in turn, and prints a line for each.
///
/// # Errors
/// When pods do not start, or have addresses of the other network.
pub(super) fn compare(stage: &Stage<'_>) -> Result<()> {
    for (name, prefix) in [("tenure", "10.244."), ("host-local", "10.245.")].repeat(ROUNDS) {
        let file = stage.node.machine.outside(FILE);
        if name == "host-local" {
            fs::write(&file, HOST_LOCAL)?;
        }
        let starts = start(stage, prefix)?;
        stage.cluster.run(&["delete", "deployment/many", "--timeout=60s"])?;
        wait::holds("the end of the pods", || {
            Ok(stage.cluster.list(&["pods", "--namespace=default", "--selector=app=many"])?.is_empty())
        })?;
        if name == "host-local" {
            fs::remove_file(&file)?;
        }
        stage.tell.good(&starts.text(name));
    }
    Ok(())
}

/// The starts of pods.
struct PodStarts {
    /// From the pod's creation until it runs, in ascending order.
    each: Vec<Duration>,
    /// From the first creation until the last pod runs.
    all: Duration,
}

impl PodStarts {
    fn text(&self, name: &str) -> String {
        let at = |hundredths: usize| {
            let last = self.each.len().saturating_sub(1);
            self.each.get(last * hundredths / 100).copied().unwrap_or_default().as_secs_f64()
        };
        let pods = f64::from(u32::try_from(self.each.len()).unwrap_or_default());
        format!(
            "{name}: {} pods at once; until one runs, p50 {:.2} s and p99 {:.2} s; {:.1} pods a second",
            self.each.len(),
            at(50),
            at(99),
            pods / self.all.as_secs_f64()
        )
    }
}

/// Starts the pods, and watches them until all run.
fn start(stage: &Stage<'_>, prefix: &str) -> Result<PodStarts> {
    let columns = "--output=custom-columns=NAME:.metadata.name,PHASE:.status.phase,ADDRESS:.status.podIP";
    let arguments =
        ["get", "pods", "--namespace=default", "--selector=app=many", "--watch", "--no-headers", columns];
    let mut kubectl = stage.cluster.kubectl(&arguments);
    let mut watch = kubectl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    stage.cluster.apply(&workloads::deployment("many", PODS))?;
    let (mut created, mut running) = (BTreeMap::new(), BTreeMap::new());
    let lines = watch.stdout.take().context("kubectl has no output")?;
    for line in BufReader::new(lines).lines() {
        let (line, now) = (line?, progress::now());
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(pod), Some(phase), Some(address)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        created.entry(pod.clone()).or_insert(now);
        if phase == "Running" {
            ensure!(
                address.starts_with(prefix),
                "{pod} has {address}, which is not of the network that is measured"
            );
            running.entry(pod).or_insert(now);
        }
        if running.len() == PODS {
            break;
        }
    }
    kill_process(Pid::from_raw(child_of(watch.id())?.try_into()?).context("no process")?, Signal::KILL)?;
    watch.wait()?;
    ensure!(running.len() == PODS, "{} of {PODS} pods run", running.len());
    let starts = running.iter().filter_map(|(pod, at)| at.checked_sub(*created.get(pod)?));
    let mut each: Vec<Duration> = starts.collect();
    each.sort_unstable();
    let (first, last) = (created.values().min().copied(), running.values().max().copied());
    let all = last.unwrap_or_default().saturating_sub(first.unwrap_or_default());
    Ok(PodStarts { each, all })
}
