//! Imported rows, which name no network namespace, of containers that the runtime does not list.

use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::Daemon;
use tenure_e2e::containerd::Containerd;

use crate::Moving;

pub(crate) fn container() -> anyhow::Result<()> {
    let network =
        json!({ "cniVersion": "0.4.0", "name": "net", "plugins": [{ "type": "bridge", "ipam": {} }] });
    // It has never started a sandbox.
    let plugins = Daemon::prepare()?;
    let containerd = Containerd::start(&plugins.plugin_directory(&["tenure"])?, &network)?;
    let runtime = format!("[runtime]\nsocket = \"{}\"\ngrace_seconds = 1\n", containerd.socket().display());
    let moving = Moving::with(&runtime, "10.83.0.0/29")?;
    moving.holds("10.83.0.2", "T1")?;
    moving.holds("10.83.0.3", "T2")?;
    moving.import(&moving.directory)?;

    // One witness: it is said, and neither the daemon nor a repair frees it.
    let check = moving.daemon.ctl_output(&["check"])?;
    let report: Value = serde_json::from_slice(&check.stdout)?;
    let findings = report.get("findings").and_then(Value::as_array).context("no findings")?;
    let said: Vec<_> = findings.iter().map(|one| (one.get("kind"), one.get("subject"))).collect();
    let [kind, first, second] = ["container-gone", "T1/eth0", "T2/eth0"].map(Value::from);
    ensure!(said == [(Some(&kind), Some(&first)), (Some(&kind), Some(&second))], "{report}");
    let step = findings.iter().filter_map(|one| one.get("next_step")?.as_str()).collect::<String>();
    ensure!(step.contains("tenurectl release") && check.status.code() == Some(1), "{report}");
    let file = moving.daemon.path("report.json");
    fs::write(&file, &check.stdout)?;
    let from = file.to_str().context("the path is not UTF-8")?;
    let repaired = moving.daemon.ctl_output(&["repair", "--from", from, "--apply"])?;
    ensure!(repaired.status.code() == Some(1), "something was left: {repaired:?}");
    ensure!(moving.daemon.allocations("pods")?.len() == 2, "one witness is not enough");
    // Nor does a report that claims more.
    fs::write(&file, String::from_utf8(check.stdout)?.replace("container-gone", "sandbox-gone"))?;
    let repaired =
        String::from_utf8(moving.daemon.ctl_output(&["repair", "--from", from, "--apply"])?.stdout)?;
    ensure!(repaired.contains("is not confirmed to be gone"), "{repaired}");
    ensure!(moving.daemon.allocations("pods")?.len() == 2, "one witness is not enough");

    // An operator is the second witness, or the runtime's DEL ends it.
    moving.daemon.ctl(&[
        "release",
        "10.83.0.2",
        "--apply",
        "--reason",
        "the pod was deleted under host-local",
    ])?;
    moving.call("DEL", "T2")?.silent()?;
    ensure!(moving.daemon.allocations("pods")?.is_empty());
    let check = moving.daemon.ctl(&["check"])?;
    ensure!(check.get("findings") == Some(&json!([])), "{check}");
    // host-local's files are still there, and stay over.
    let said = moving.import(&moving.directory)?;
    ensure!(said == json!({ "10.83.0.2": "released", "10.83.0.3": "released" }), "{said}");
    Ok(())
}
