//! Addresses of another IPAM plugin.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Plugin, wait};

use super::{LIMIT, TRY_AGAIN, config, config_with, lose_state};

/// The outcomes of an import, in order.
fn outcomes(report: &Value) -> anyhow::Result<Vec<&str>> {
    let entries = report.get("entries").and_then(Value::as_array).context("no entries")?;
    Ok(entries.iter().filter_map(|entry| entry.get("outcome")?.as_str()).collect())
}

pub(crate) fn host_local() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let data = daemon.path("networks");
    let host_local = Plugin::new("/usr/lib/cni/host-local".as_ref());
    let theirs = config_with(json!({ "type": "host-local", "dataDir": data }));
    let first = host_local.call("ADD", &Attachment::of("c1"), &theirs)?.address()?;
    let second = host_local.call("ADD", &Attachment::of("c2"), &theirs)?.address()?;
    fs::write(data.join("pods/10.81.0.200"), "")?;
    let cni = daemon.path("pods.conf");
    fs::write(&cni, config().to_string())?;
    let arguments =
        ["import", "host-local", &data.display().to_string(), "--config", &cni.display().to_string()];

    // A file without an owner is held as unknown, and reported each time.
    let import = |more: &[&str]| -> anyhow::Result<Value> {
        let output = daemon.ctl_output(&[&arguments, more].concat())?;
        ensure!(output.status.code() == Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let dry = import(&[])?;
    ensure!(outcomes(&dry)? == ["taken", "taken", "unknown"], "{dry}");
    ensure!(daemon.networks()?.is_empty(), "a dry run changes nothing");
    let done = import(&["--apply"])?;
    ensure!(outcomes(&done)? == ["taken", "taken", "unknown"], "{done}");
    let again = import(&["--apply"])?;
    ensure!(outcomes(&again)? == ["held", "held", "unknown"], "{again}");

    let shim = daemon.shim()?;
    let answered = shim.call("ADD", &Attachment::of("c1"), &config())?.address()?;
    ensure!(answered == first, "its own address: {answered}, not {first}");
    let fresh = shim.call("ADD", &Attachment::of("c3"), &config())?.address()?;
    ensure!(fresh != first && fresh != second, "{fresh} is in use");
    shim.call("DEL", &Attachment::of("c2"), &config())?.silent()?;
    ensure!(daemon.allocations("pods")?.len() == 3, "its DEL did not free it");
    Ok(())
}

pub(crate) fn ipamd() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let taken = shim.call("ADD", &Attachment::of("ours"), &config())?.address()?;
    let row = |container: &str, ipv4: &str| {
        let metadata = json!({ "k8sPodNamespace": "default", "k8sPodName": container });
        json!({ "networkName": "aws-cni", "containerID": container, "ifName": "eth0", "ipv4": ipv4, "metadata": metadata })
    };
    let ours = taken.split('/').next().unwrap_or_default();
    let rows = [row("c1", "10.81.0.77"), row("c2", ours), row("c3", "192.0.2.1"), row("c4", "10.81.0.77")];
    let file = daemon.path("ipam.json");
    fs::write(&file, json!({ "version": "vpc-cni-ipam/1", "allocations": rows }).to_string())?;
    let file = file.display().to_string();
    let output = daemon.ctl_output(&["import", "--apply", "ipamd", &file, "--network", "pods"])?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(outcomes(&report)? == ["taken", "unknown", "unknown", "unknown"], "{report}");
    let attachment = |held: &Value| held.get("kind") == Some(&json!("attachment"));
    let addresses = daemon.allocations("pods")?;
    let known = addresses.iter().filter(|held| attachment(held)).count();
    ensure!(
        (known, addresses.len()) == (2, 5),
        "an owner got an address that another one has: {addresses:?}"
    );
    Ok(())
}

/// The addresses that another source knows come over before the operator's word, and nobody gets them after it.
pub(crate) fn while_lost() -> anyhow::Result<()> {
    let network =
        "[networks.pods]\npolicy = \"host-local\"\nipam.ranges = [[{ subnet = \"10.81.0.0/29\" }]]\n";
    let mut daemon = Daemon::prepare()?;
    daemon.configure(network)?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let first = shim.call("ADD", &Attachment::of("survivor"), &config())?.address()?;
    lose_state(&mut daemon)?;
    daemon.launch()?;
    let row = json!({
        "networkName": "aws-cni", "containerID": "survivor", "ifName": "eth0",
        "ipv4": first.split('/').next(), "metadata": { "k8sPodNamespace": "default", "k8sPodName": "survivor" }
    });
    let file = daemon.path("ipam.json");
    fs::write(&file, json!({ "version": "vpc-cni-ipam/1", "allocations": [row] }).to_string())?;
    let file = file.display().to_string();
    for (apply, expected) in [(false, "taken"), (true, "taken"), (true, "held")] {
        let mut import = vec!["import", "ipamd", &file, "--network", "pods"];
        import.extend(apply.then_some("--apply"));
        let report = wait::until("the policy", LIMIT, || {
            let output = daemon.ctl_output(&import)?;
            Ok(output.status.success().then_some(output.stdout))
        })?;
        let report: Value = serde_json::from_slice(&report)?;
        ensure!(outcomes(&report)? == [expected], "{report}");
    }
    shim.call("ADD", &Attachment::of("next"), &config())?.error_code(TRY_AGAIN)?;
    daemon.ctl(&["adopt", "--empty"])?;
    let adopted = Instant::now();
    let next = wait::until("a pod", LIMIT, || {
        Ok(shim.call("ADD", &Attachment::of("next"), &config())?.address().ok())
    })?;
    ensure!(next != first, "the survivor's address");
    ensure!(adopted.elapsed() < Duration::from_secs(20), "{:?} after the confirmation", adopted.elapsed());
    let again = shim.call("ADD", &Attachment::of("survivor"), &config())?.address()?;
    ensure!(again == first, "{again}, not {first}");
    ensure!(
        daemon.networks()?.iter().any(|of| of.to_string().contains("configuration")),
        "{:?}",
        daemon.networks()?
    );
    Ok(())
}
