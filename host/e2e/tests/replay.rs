//! Recorded decisions of a running daemon, and their replay without one.

#[path = "support/component.rs"]
mod component;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use component::{build, entry};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const EXHAUSTED: u32 = 101;
const UNAVAILABLE: u32 = 102;

fn main() -> ExitCode {
    Suite::new()
        .test("the_recorded_policy_decides_the_same_again_and_another_one_does_not", &[], replayed)
        .test("recording_is_switched_by_a_reload_and_its_files_are_bounded_and_private", &[], recorded)
        .test("a_shadow_begins_with_what_is_recorded_and_is_not_recorded_itself", &[], shadowed)
        .run()
}

fn config(network: &str, policy: &str) -> Value {
    let ranges = json!([[
        { "subnet": "10.91.0.0/29", "rangeAttributes": { "namespace": "blue" } },
        { "subnet": "10.91.1.0/30" },
    ]]);
    let ipam = json!({ "type": "tenure", "policy": policy, "ranges": ranges });
    json!({ "cniVersion": "1.1.0", "name": network, "ipam": ipam })
}

/// Makes pods come and go on a network: exhausts it, requests addresses, and gets released ones again.
/// `obliges` says whether the policy heeds requested addresses and gives cooling ones.
fn live(daemon: &Daemon, config: &Value, obliges: bool) -> anyhow::Result<()> {
    let shim = daemon.shim()?;
    let of = |pod: &str, more: &str| {
        let pod = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=blue;K8S_POD_NAME={pod}{more}");
        shim.clone().env("CNI_ARGS", pod)
    };
    let add = |pod: &str, more: &str| of(pod, more).call("ADD", &Attachment::of(pod), config);
    let mut addresses = Vec::new();
    for pod in ["a", "b", "c", "d", "e", "f"] {
        addresses.push(add(pod, "")?.address()?);
    }
    let requested = |index: usize| -> anyhow::Result<String> {
        let address: &String = addresses.get(index).context("no such pod")?;
        Ok(format!(";IP={}", address.split('/').next().unwrap_or_default()))
    };
    add("g", "")?.error_code(EXHAUSTED)?;
    let refused = add("g", &requested(1)?)?;
    if obliges { refused.error_code(UNAVAILABLE) } else { refused.error() }?;
    add("g", ";IP=10.99.0.1")?.error()?;
    for pod in ["b", "c", "d"] {
        of(pod, "").call("DEL", &Attachment::of(pod), config)?.silent()?;
    }
    // A cooling address, since nothing else is left; and the one that is requested.
    let (cooling, address) = (add("h", "")?, add("i", &requested(3)?)?);
    if obliges {
        cooling.address()?;
        let address = address.address()?;
        ensure!(Some(&address) == addresses.get(3), "{address}");
    }
    Ok(())
}

/// The decisions in a network's files, in order.
fn decisions(daemon: &Daemon, network: &str) -> anyhow::Result<Vec<Value>> {
    let mut decisions = Vec::new();
    for file in ["before.jsonl", "now.jsonl"] {
        let path = folder(daemon).join(network).join(file);
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        for line in text.lines() {
            // A line that a crash tore is none.
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            decisions.extend(line.get("number").is_some().then_some(line));
        }
    }
    Ok(decisions)
}

/// The node's copy of the component that a network's decisions name.
fn component(daemon: &Daemon, network: &str) -> anyhow::Result<PathBuf> {
    let decisions = decisions(daemon, network)?;
    let digest = decisions.first().and_then(|first| first.get("digest")?.as_str()).context("no digest")?;
    Ok(daemon.state_directory().join("policies").join(format!("{digest}.wasm")))
}

fn folder(daemon: &Daemon) -> PathBuf {
    daemon.state_directory().join("decisions")
}

/// Replays a component; returns the report, and whether everything was the same.
fn replay(daemon: &Daemon, component: &Path, record: &Path) -> anyhow::Result<(Value, bool)> {
    let (component, record) = (component.display().to_string(), record.display().to_string());
    let output = daemon.ctl_output(&["policy", "replay", &component, "--record", &record])?;
    let told = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout).with_context(|| told.into_owned())?;
    let code = output.status.code();
    ensure!(matches!(code, Some(0 | 1)), "exited with {code:?}");
    Ok((report, code == Some(0)))
}

fn count(report: &Value, key: &str) -> usize {
    let value = report.get(key);
    value.and_then(Value::as_array).map_or_else(
        || value.and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok()).unwrap_or_default(),
        Vec::len,
    )
}

fn replayed() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let zones = build("tenure-sdk/zones", &daemon)?;
    let networks = [("one", "host-local"), ("two", "highest-first"), ("three", "zones")];
    let tables: String =
        networks.iter().map(|(network, _)| format!("[networks.{network}]\nrecord = 1000\n")).collect();
    daemon.configure(&format!("{tables}{}", entry("zones", &zones)?))?;
    daemon.start_again()?;
    for (network, policy) in networks {
        live(&daemon, &config(network, policy), policy == "host-local").context(policy)?;
    }
    // Everything is on the disk after a stop, and a replay needs no daemon.
    daemon.stop()?;
    let highest_first = component(&daemon, "two")?;
    for (network, policy) in networks {
        // A definition, and 6 + 3 + 2 requests.
        let decisions = decisions(&daemon, network)?;
        ensure!(decisions.len() == 12, "{policy}: {decisions:?}");
        let record = folder(&daemon).join(network);
        let (report, same) = replay(&daemon, &component(&daemon, network)?, &record)?;
        ensure!(same && count(&report, "differences") == 0, "{policy}: {report}");
        ensure!(count(&report, "decisions") == 12 && count(&report, "passed_over") == 0, "{report}");
        let (report, same) = replay(&daemon, &highest_first, &record.join("now.jsonl"))?;
        ensure!(same == (policy == "highest-first"), "{policy}: {report}");
    }
    // Every policy answers every decision of every other one.
    for (candidate, _) in networks {
        let candidate = component(&daemon, candidate)?;
        let (report, _) = replay(&daemon, &candidate, &folder(&daemon))?;
        ensure!(count(&report, "decisions") == 36 && count(&report, "unanswered") == 0, "{report}");
        ensure!(report.get("unanswered").is_some(), "{report}");
    }
    // All networks at once, and a file that is not a record.
    let (report, same) = replay(&daemon, &highest_first, &folder(&daemon))?;
    ensure!(!same && count(&report, "decisions") == 36 && count(&report, "recorded") == 3, "{report}");
    let record = zones.display().to_string();
    let output = daemon.ctl_output(&["policy", "replay", &record, "--record", &record])?;
    ensure!(output.status.code() == Some(1), "exited with {}", output.status);
    let error: Value = serde_json::from_slice(&output.stderr)?;
    ensure!(error.to_string().contains("not a file of decisions"), "{error}");
    Ok(())
}

fn recorded() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let listen = format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address());
    daemon.configure(&listen)?;
    daemon.start_again()?;
    let (shim, config) = (daemon.shim()?, config("pods", "host-local"));
    let once = |name: &str| -> anyhow::Result<()> {
        shim.call("ADD", &Attachment::of(name), &config)?.address()?;
        shim.call("DEL", &Attachment::of(name), &config)?.silent()
    };
    once("unrecorded")?;
    ensure!(!folder(&daemon).exists(), "it records without being told to");

    daemon.configure(&format!("{listen}[networks.pods]\nrecord = 3\n"))?;
    daemon.ctl(&["reload"])?;
    for number in 0..10 {
        once(&format!("pod-{number}"))?;
    }
    let written = || {
        let all = decisions(&daemon, "pods")?;
        let last = all.last().and_then(|last| last.get("number")?.as_u64());
        Ok::<_, anyhow::Error>((all.len(), last.unwrap_or_default()))
    };
    wait::holds("ten decisions", LIMIT, || Ok(written()?.1 == 10))?;
    let (kept, _) = written()?;
    ensure!((3..=6).contains(&kept), "{kept} decisions are kept");
    let metrics = daemon.metrics()?;
    ensure!(metrics.contains("tenure_policy_decisions_recorded_total 10\n"), "{metrics}");
    ensure!(metrics.contains("tenure_policy_decisions_dropped_total 0\n"), "{metrics}");
    for (path, mode) in [("", 0o700), ("pods", 0o700), ("pods/now.jsonl", 0o600)] {
        let found = fs::metadata(folder(&daemon).join(path))?.mode() & 0o777;
        ensure!(found == mode, "decisions/{path} has mode {found:o}");
    }

    // Off again, and the numbers continue after a crash, behind the last that it has left.
    daemon.configure(&listen)?;
    daemon.ctl(&["reload"])?;
    once("unrecorded")?;
    daemon.kill()?;
    let now = folder(&daemon).join("pods/now.jsonl");
    fs::write(&now, [fs::read(&now)?, b"{\"number\":11,\"at_m".to_vec()].concat())?;
    daemon.configure(&format!("{listen}[networks.pods]\nrecord = 3\n"))?;
    daemon.start_again()?;
    shim.call("ADD", &Attachment::of("late"), &config)?.address()?;
    wait::holds("the next decision", LIMIT, || {
        let text = fs::read_to_string(&now)?;
        Ok(text.lines().last().is_some_and(|line| line.starts_with("{\"number\":11,") && line.ends_with('}')))
    })?;
    let (report, same) = replay(&daemon, &component(&daemon, "pods")?, &folder(&daemon))?;
    ensure!(same && count(&report, "passed_over") == 1, "{report}");

    // The files of a network go with it.
    shim.call("DEL", &Attachment::of("late"), &config)?.silent()?;
    daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    daemon.configure(&listen)?;
    daemon.ctl(&["reload"])?;
    wait::holds("the removal of the files", LIMIT, || Ok(!folder(&daemon).join("pods").exists()))
}

fn shadowed() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure("[networks.pods]\nrecord = 1000\n")?;
    daemon.start_again()?;
    let config = config("pods", "host-local");
    live(&daemon, &config, true)?;
    wait::holds("the definition and 11 requests", LIMIT, || Ok(decisions(&daemon, "pods")?.len() == 12))?;

    // The same rule under another name decides the same; another rule decides otherwise.
    let own = component(&daemon, "pods")?.display().to_string();
    daemon.ctl(&["policy", "load", &own, "--name", "again"])?;
    for (policy, is_same) in [("again", true), ("highest-first", false)] {
        daemon.ctl(&["policy", "shadow", "pods", policy])?;
        let report = wait::until("the recorded decisions", LIMIT, || {
            let report = daemon.ctl(&["policy", "shadow", "pods"])?;
            Ok((count(&report, "recorded") + count(&report, "unanswered") > 0).then_some(report))
        })?;
        let counts = ["recorded", "unanswered", "same", "failed"].map(|key| count(&report, key));
        ensure!(counts[..2] == [11, 0] && counts[3] == 0, "{report}");
        ensure!((counts[2] == 11) == is_same, "{report}");
    }
    // The suite and both shadows have called policies; the next decision is that of the next pod.
    daemon.shim()?.call("DEL", &Attachment::of("h"), &config)?.silent()?;
    daemon.shim()?.call("ADD", &Attachment::of("last"), &config)?.address()?;
    let next =
        wait::until("the next decision", LIMIT, || Ok(decisions(&daemon, "pods")?.into_iter().nth(12)))?;
    ensure!(next.to_string().contains(r#"{"name":"owner.container","value":"last"}"#), "{next}");
    Ok(())
}
