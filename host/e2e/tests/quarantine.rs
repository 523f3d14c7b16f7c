//! Quarantine of addresses: over crashes and reboots, no pod gets such an address until an operator lifts it.

use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Suite};

/// The address in quarantine; the network has .2 to .6.
const DOUBTFUL: &str = "10.95.0.4";

fn main() -> ExitCode {
    Suite::new()
        .test("no_pod_gets_an_address_in_quarantine_until_it_is_lifted", &[], until_lifted)
        .test("a_reboot_ends_no_quarantine", &[Need::Root, Need::UTIL_LINUX], over_a_reboot)
        .run()
}

fn config() -> Value {
    let ipam = json!({ "type": "tenure", "ranges": [[{ "subnet": "10.95.0.0/29" }]] });
    json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": ipam })
}

/// The address that a new pod gets, without its prefix length.
fn add(daemon: &Daemon, pod: &str) -> anyhow::Result<String> {
    let address = daemon.shim()?.call("ADD", &Attachment::of(pod), &config())?.address()?;
    Ok(address.split('/').next().unwrap_or_default().to_owned())
}

/// Runs `tenurectl` and reads the JSON that it prints, also when it reports problems.
fn ctl(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = daemon.ctl_output(arguments)?;
    serde_json::from_slice(&output.stdout).with_context(|| {
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        format!("{arguments:?}: {stdout}{stderr}")
    })
}

/// Puts the address into quarantine on a network with one pod.
fn doubtful() -> anyhow::Result<Daemon> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address()))?;
    daemon.start_again()?;
    ensure!(add(&daemon, "first")? == "10.95.0.2");
    let arguments = ["quarantine", "add", DOUBTFUL, "--network", "pods", "--reason", "a printer answers"];
    let added = ctl(&daemon, &arguments)?;
    ensure!(added.get("changed") == Some(&json!(true)), "{added}");
    Ok(daemon)
}

/// Gives every address to a pod; returns those that were given.
fn fill(daemon: &Daemon, name: &str) -> anyhow::Result<Vec<String>> {
    let mut given = Vec::new();
    for number in 0..8 {
        match add(daemon, &format!("{name}-{number}")) {
            Ok(address) => given.push(address),
            Err(error) => {
                ensure!(format!("{error:#}").contains("pool-exhausted"), "{error:#}");
                break;
            }
        }
    }
    given.sort();
    Ok(given)
}

/// Whether everything that reports on the node says that the address is in quarantine.
fn is_told(daemon: &Daemon, expected: bool) -> anyhow::Result<()> {
    let list = ctl(daemon, &["quarantine", "list"])?;
    let listed = list.pointer("/addresses/0");
    let status = ctl(daemon, &["status"])?;
    let conditions = status.get("conditions").and_then(Value::as_array).context("no conditions")?;
    let condition = conditions.iter().find(|of| of.get("name") == Some(&json!("addresses-quarantined")));
    let networks = ctl(daemon, &["networks"])?;
    let counted = networks.pointer("/networks/0/quarantined").and_then(Value::as_u64);
    let check = ctl(daemon, &["check"])?;
    let notes = check.get("notes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let noted = notes.iter().any(|note| note.get("subject") == Some(&json!(DOUBTFUL)));
    let metric = format!("tenure_addresses_quarantined{{network=\"pods\"}} {}", u32::from(expected));
    let measured = daemon.metrics()?.lines().any(|line| line == metric);
    let found = (listed.is_some(), condition.is_some(), counted, noted, measured);
    ensure!(found == (expected, expected, Some(u64::from(expected)), expected, true), "{found:?}");
    if let Some(listed) = listed {
        for (key, value) in [("address", DOUBTFUL), ("network", "pods"), ("reason", "a printer answers")] {
            ensure!(listed.get(key) == Some(&json!(value)), "{listed}");
        }
        ensure!(listed.get("since_ms").and_then(Value::as_u64).is_some_and(|since| since > 0), "{listed}");
    }
    Ok(())
}

fn until_lifted() -> anyhow::Result<()> {
    let mut daemon = doubtful()?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(fill(&daemon, "pod")? == ["10.95.0.3", "10.95.0.5", "10.95.0.6"]);
    is_told(&daemon, true)?;
    // Regression: a misspelt name was answered like one of which there is nothing.
    for misspelt in [
        &["quarantine", "list", "--network", "posd"][..],
        &["quarantine", "lift", DOUBTFUL, "--network", "posd"],
        &["claims", "--agent", "cillium"],
    ] {
        let output = daemon.ctl_output(misspelt)?;
        ensure!(output.status.code() == Some(4), "{misspelt:?}: {output:?}");
    }
    ensure!(ctl(&daemon, &["quarantine", "lift", DOUBTFUL])?.get("network") == Some(&json!("pods")));
    is_told(&daemon, false)?;
    ensure!(fill(&daemon, "late")? == [DOUBTFUL], "nothing else is left, so it need not cool down");
    daemon.kill()?;
    daemon.start_again()?;
    is_told(&daemon, false)
}

fn over_a_reboot() -> anyhow::Result<()> {
    let mut daemon = doubtful()?;
    daemon.kill()?;
    daemon.reboot()?;
    daemon.start_again()?;
    is_told(&daemon, true)?;
    ensure!(fill(&daemon, "pod")? == ["10.95.0.2", "10.95.0.3", "10.95.0.5", "10.95.0.6"]);
    daemon.ctl(&["quarantine", "lift", DOUBTFUL])?;
    ensure!(fill(&daemon, "late")? == [DOUBTFUL]);
    Ok(())
}
