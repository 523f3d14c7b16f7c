//! A network's history, as shown by `tenurectl log` and by the daemon's own log.

use std::process::ExitCode;

use anyhow::ensure;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Suite};

fn main() -> ExitCode {
    Suite::new()
        .test("what_becomes_of_a_network_is_in_both_logs", &[Need::Root, Need::UTIL_LINUX], both_logs)
        .run()
}

fn config(subnet: &str) -> Value {
    json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": { "type": "tenure", "ranges": [[{ "subnet": subnet }]] } })
}

/// The log's facts of one kind.
fn facts(daemon: &Daemon, kind: &str) -> anyhow::Result<Vec<Value>> {
    let log = String::from_utf8(daemon.ctl_output(&["log"])?.stdout)?;
    let of_kind = |line: &str| serde_json::from_str::<Value>(line).ok()?.get("fact")?.get(kind).cloned();
    Ok(log.lines().filter_map(of_kind).collect())
}

fn both_logs() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("c1"), &config("10.86.0.0/24"))?.result()?;
    ensure!(daemon.log("defined a network").contains("pods"), "the journal has no definition");
    shim.call("ADD", &Attachment::of("c2"), &config("10.87.0.0/24"))?.result()?;
    let changed = daemon.log("changed a network");
    ensure!(
        changed.contains("10.86.0.") && changed.contains("10.87.0."),
        "the journal has no changed ranges: {changed}"
    );
    daemon.ctl(&["policy", "activate", "pods", "highest-first"])?;
    ensure!(
        daemon.log("policy now serves the network").contains("highest-first"),
        "the journal has no activation"
    );
    let (chosen, added) = (facts(&daemon, "chosen")?, facts(&daemon, "range-added")?);
    ensure!(chosen.len() == 2 && added.len() == 2, "{chosen:?} {added:?}");
    let networks = facts(&daemon, "defined")?;
    let timed = |network: &Value| network.pointer("/changed_at/wall_ms").and_then(Value::as_u64) > Some(0);
    ensure!(networks.len() == 3 && networks.iter().all(timed), "{networks:?}");

    daemon.kill()?;
    daemon.reboot()?;
    daemon.start_again()?;
    let ended = facts(&daemon, "released")?;
    let by_boot = |release: &&Value| release.get("reason") == Some(&json!("reboot"));
    ensure!(ended.iter().filter(by_boot).count() == 2, "expected the reboot to end both: {ended:?}");
    Ok(())
}
