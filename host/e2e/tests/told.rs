//! What operators are shown: a network's history, by `tenurectl log` and in the daemon's own log, and a node at a glance.

use std::process::{Command, ExitCode};

use anyhow::ensure;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Suite, binaries};

/// The columns of a terminal.
const COLUMNS: usize = 100;

/// The exit code for a network that does not exist.
const NOT_FOUND: i32 = 4;

fn main() -> ExitCode {
    Suite::new()
        .test("what_becomes_of_a_network_is_in_both_logs", &[Need::Root, Need::UTIL_LINUX], both_logs)
        .test("a_node_is_shown_by_name_and_time_and_its_tables_fit_a_terminal", &[], shown)
        .run()
}

fn config(subnet: &str) -> Value {
    of_network("pods", subnet)
}

fn of_network(name: &str, subnet: &str) -> Value {
    json!({ "cniVersion": "1.0.0", "name": name, "ipam": { "type": "tenure", "ranges": [[{ "subnet": subnet }]] } })
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

/// The text of a command for people.
fn for_people(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<String> {
    let mut tenurectl = Command::new(binaries::find("tenurectl")?);
    let output = tenurectl.arg("--run-dir").arg(daemon.run_directory()).args(arguments).output()?;
    ensure!(output.status.success(), "{arguments:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

fn shown() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure("[addresses]\nnearly_full_percent = 75\n")?;
    daemon.start_again()?;
    for (network, subnet, pod) in
        [("pods", "10.86.0.0/24", "coredns-5d78c9869d-8lqxw"), ("storage", "10.87.0.0/24", "csi-node-4x7pk")]
    {
        let arguments = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=kube-system;K8S_POD_NAME={pod}");
        let shim = daemon.shim()?.env("CNI_ARGS", arguments);
        shim.call("ADD", &Attachment::of("4c01db0b339c7a9a".repeat(4)), &of_network(network, subnet))?
            .result()?;
    }
    // The longest names of Kubernetes, and an address of each family.
    let (namespace, pod) = ("n".repeat(63), "p".repeat(253));
    let arguments = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME={pod}");
    let mut dual = of_network("dual", "10.88.0.0/24");
    if let Some(sets) = dual.pointer_mut("/ipam/ranges").and_then(Value::as_array_mut) {
        sets.push(json!([{ "subnet": "2001:db80:1234:5678:9abc:def0::/96" }]));
    }
    let shim = daemon.shim()?.env("CNI_ARGS", arguments);
    shim.call("ADD", &Attachment::of("c2"), &dual)?.result()?;
    // What was just begun is as old as it is, and no `0s`.
    for arguments in [
        &["allocations"][..],
        &["networks"],
        &["networks", "storage", "--output", "wide"],
        &["status"],
        &["policy", "list"],
        &["policy", "history", "pods"],
        &["check"],
    ] {
        let text = for_people(&daemon, arguments)?;
        ensure!(text.split_whitespace().all(|word| word != "0s"), "{arguments:?}:\n{text}");
        let fits = text.lines().all(|line| line.chars().count() <= COLUMNS);
        ensure!(fits || arguments.contains(&"wide"), "{arguments:?}:\n{text}");
    }
    let whole = format!("{namespace}/{pod}");
    let (table, wide) = (
        for_people(&daemon, &["allocations", "--network", "dual"])?,
        ["allocations", "--network", "dual", "-o", "wide"],
    );
    let addresses = ["10.88.0.2/24", "2001:db80:1234:5678:9abc:def0:0:2/96"];
    ensure!(table.contains('…') && addresses.iter().all(|address| table.contains(address)), "{table}");
    ensure!(for_people(&daemon, &wide)?.contains(&whole), "the wide table does not have the whole name");
    let named = daemon.ctl(&["networks", "storage"])?;
    ensure!(named.pointer("/networks/0/name") == Some(&json!("storage")), "{named}");
    ensure!(named.pointer("/networks/1").is_none(), "{named}");
    let unknown = daemon.ctl_output(&["networks", "nowhere"])?;
    ensure!(unknown.status.code() == Some(NOT_FOUND), "{unknown:?}");

    let assigned = |arguments: &[&str]| -> anyhow::Result<Vec<bool>> {
        let text = for_people(&daemon, &[&["log"], arguments].concat())?;
        Ok(["10.86.0.2", "10.87.0.2"].map(|address| text.contains(address)).to_vec())
    };
    ensure!(assigned(&[])? == [true, true]);
    ensure!(assigned(&["--network", "storage"])? == [false, true]);
    ensure!(assigned(&["--network", "storage", "--network", "pods"])? == [true, true]);
    ensure!(assigned(&["--since", "1h", "--network", "pods"])? == [true, false]);
    ensure!(assigned(&["--since", "2999-01-01T00:00:00Z"])? == [false, false]);

    // What the file says, and the value of a key that it does not set.
    let in_force = daemon.ctl(&["config"])?;
    let toml = in_force.get("toml").and_then(Value::as_str).unwrap_or_default();
    ensure!(toml.contains("nearly_full_percent = 75") && toml.contains("cooldown_seconds = 30"), "{toml}");
    Ok(())
}
