//! Reloading the configuration while the daemon serves, and stopping a daemon with idle connections.

#[path = "support/component.rs"]
mod component;

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use component::{build, entry};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const UNKNOWN_POLICY: u32 = 107;
const TOO_MANY_NETWORKS: u32 = 113;

fn main() -> ExitCode {
    Suite::new()
        .test("policies_limits_and_the_log_level_change_while_the_daemon_serves", &[], live)
        .test("a_key_that_needs_a_restart_is_told_until_there_is_one", &[], after_restart)
        .test("a_broken_file_changes_nothing", &[], broken)
        .test(
            "a_followed_file_is_reloaded_by_itself_and_a_broken_one_is_said_until_it_is_mended",
            &[],
            followed,
        )
        .test("a_network_comes_with_the_file_and_stays_when_it_goes", &[], networks)
        .test("a_connection_that_is_idle_holds_no_stop", &[], idle)
        .run()
}

/// A CNI configuration.
fn config(network: &str, policy: &str) -> Value {
    let ipam = json!({ "type": "tenure", "policy": policy, "ranges": [[{ "subnet": "10.96.0.0/16" }]] });
    json!({ "cniVersion": "1.1.0", "name": network, "ipam": ipam })
}

fn keys(answer: &Value, key: &str) -> Vec<String> {
    let list = answer.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|key| key.as_str().map(str::to_owned)).collect()
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The condition of this name, if it is set.
fn condition(daemon: &Daemon, name: &str) -> anyhow::Result<Option<Value>> {
    let output = daemon.ctl_output(&["status"])?;
    let status: Value = serde_json::from_slice(&output.stdout)?;
    let conditions = status.get("conditions").and_then(Value::as_array).context("there are no conditions")?;
    Ok(conditions.iter().find(|condition| text(condition, "/name") == name).cloned())
}

fn followed() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    daemon.configure("[limits]\nnetworks = 1\n")?;
    let mut child = daemon.command()?.arg("--follow").spawn()?;
    let course = || {
        wait::holds("the daemon", LIMIT, || Ok(daemon.ctl_output(&["status"])?.status.success()))?;
        ensure!(daemon.log("reload").is_empty(), "it has reloaded a file that has not changed");
        daemon.configure("[log]\nlevel = \"debug\"\n")?;
        wait::holds("the changed level", LIMIT, || Ok(!daemon.log("log.level").is_empty()))?;
        daemon.configure("[log]\nlevel = 7\n")?;
        let refused = || condition(&daemon, "configuration-refused");
        wait::holds("the refusal", LIMIT, || Ok(refused()?.is_some()))?;
        daemon.configure("[limits]\nnetworks = 2\n")?;
        wait::holds("the end of the refusal", LIMIT, || Ok(refused()?.is_none()))
    };
    let course = course();
    child.kill()?;
    child.wait()?;
    course
}

fn live() -> anyhow::Result<()> {
    let daemon = Daemon::start_with("[limits]\nnetworks = 1\n")?;
    let mine = entry("mine", &build("tenure-highest-first", &daemon)?)?;
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    shim.call("ADD", &pod, &config("first", "host-local"))?.address()?;
    shim.call("ADD", &pod, &config("second", "host-local"))?.error_code(TOO_MANY_NETWORKS)?;
    shim.call("ADD", &pod, &config("first", "mine"))?.address()?;
    shim.call("ADD", &Attachment::of("other"), &config("first", "mine"))?.error_code(UNKNOWN_POLICY)?;
    ensure!(daemon.log("DEBUG").is_empty(), "it already logs at debug level");

    daemon.configure(&format!("[limits]\nnetworks = 2\n[log]\nlevel = \"debug\"\n{mine}"))?;
    let answer = daemon.ctl(&["reload"])?;
    ensure!(keys(&answer, "applied") == ["limits.networks", "log.level", "policies.mine"], "{answer}");
    ensure!(keys(&answer, "after_restart").is_empty(), "{answer}");
    daemon.loads_policies()?;
    let address = shim.call("ADD", &Attachment::of("other"), &config("first", "mine"))?.address()?;
    ensure!(address == "10.96.255.254/16", "{address}");
    shim.call("ADD", &pod, &config("second", "host-local"))?.address()?;
    ensure!(daemon.log("DEBUG").contains("served"), "it does not log at debug level");

    // Reload by signal: the policy is removed from the file, but keeps serving its network.
    daemon.configure("[limits]\nnetworks = 2\n")?;
    daemon.signal(Signal::HUP)?;
    wait::holds("the reload", LIMIT, || {
        Ok(daemon.log("reloaded the configuration").contains("applied=\"log.level, policies.mine\""))
    })?;
    let policies = daemon.ctl(&["policy", "list"])?;
    let all = policies.pointer("/policies").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mine = all.iter().find(|policy| policy.pointer("/policy/name") == Some(&json!("mine")));
    ensure!(mine.and_then(|mine| mine.pointer("/source")) == Some(&json!("kept on this node")), "{policies}");
    shim.call("ADD", &Attachment::of("third"), &config("first", "mine"))?.error_code(UNKNOWN_POLICY)?;
    shim.call("ADD", &Attachment::of("third"), &config("first", "host-local"))?.address().map(drop)
}

fn after_restart() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let address = daemon.metrics_address();
    daemon.configure(&format!("[metrics]\nlisten = \"{address}\"\n[sandbox]\ndeadline_ms = 60\n"))?;
    for _ in 0..2 {
        let answer = daemon.ctl(&["reload"])?;
        ensure!(keys(&answer, "applied").is_empty(), "{answer}");
        ensure!(keys(&answer, "after_restart") == ["metrics.listen", "sandbox.deadline_ms"], "{answer}");
    }
    ensure!(!daemon.path("metrics.sock").exists(), "it took effect without a restart");
    daemon.stop()?;
    daemon.start_again()?;
    daemon.metrics()?;
    let answer = daemon.ctl(&["reload"])?;
    ensure!(keys(&answer, "after_restart").is_empty(), "{answer}");
    Ok(())
}

fn broken() -> anyhow::Result<()> {
    let mut daemon = Daemon::start_with("[limits]\nnetworks = 1\n")?;
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    shim.call("ADD", &pod, &config("first", "host-local"))?.address()?;

    // The first key is valid, but must not take effect either.
    daemon.configure("[limits]\nnetworks = 7\nqueu = 1\n")?;
    daemon.signal(Signal::HUP)?;
    wait::holds("the refusal", LIMIT, || {
        Ok(daemon.log("the configuration was not reloaded").contains("limits.queu"))
    })?;
    let told = wait::until("the condition", LIMIT, || condition(&daemon, "configuration-refused"))?;
    ensure!(text(&told, "/message").contains("limits.queu: unknown field"), "{told}");
    let output = daemon.ctl_output(&["reload"])?;
    ensure!(output.status.code() == Some(1), "exited with {}", output.status);
    let error: Value = serde_json::from_slice(&output.stderr)?;
    ensure!(text(&error, "/error/code") == "invalid-config", "{error}");
    ensure!(text(&error, "/error/cause").contains("tenured.toml: limits.queu: unknown field"), "{error}");
    shim.call("ADD", &pod, &config("second", "host-local"))?.error_code(TOO_MANY_NETWORKS)?;
    shim.call("ADD", &Attachment::of("other"), &config("first", "host-local"))?.address()?;

    fs::remove_file(daemon.path("tenured.toml"))?;
    let output = daemon.ctl_output(&["reload"])?;
    ensure!(output.status.code() == Some(1), "reloading a missing file exited with {}", output.status);
    daemon.configure("[limits]\nnetworks = 7\n")?;
    daemon.ctl(&["reload"])?;
    ensure!(condition(&daemon, "configuration-refused")?.is_none(), "the condition is still set");
    shim.call("ADD", &pod, &config("second", "host-local"))?.address()?;
    let ended = daemon.stop()?;
    ensure!(ended.success(), "ended with {ended}");
    Ok(())
}

fn networks() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let defined = |subnet: &str| format!("[networks.pods.ipam]\nranges = [[{{ subnet = \"{subnet}\" }}]]\n");
    daemon.configure(&defined("10.97.0.0/24"))?;
    let answer = daemon.ctl(&["reload"])?;
    ensure!(keys(&answer, "applied") == ["networks.pods"], "{answer}");
    let network = || daemon.networks()?.into_iter().next().context("no network");
    ensure!(text(&network()?, "/defined_by") == "configuration", "{}", network()?);
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    let address = shim.call("ADD", &pod, &config("pods", "host-local"))?.address()?;
    ensure!(address.starts_with("10.97.0."), "{address}");

    // The file changes the ranges; it needs no further confirmation.
    daemon.configure(&defined("10.98.0.0/24"))?;
    daemon.ctl(&["reload"])?;
    let address = shim.call("ADD", &Attachment::of("other"), &config("pods", "host-local"))?.address()?;
    ensure!(address.starts_with("10.98.0."), "{address}");

    // A definition that fails is reported, and the network keeps serving as it was.
    daemon.configure("[networks.pods]\npolicy = \"none\"\n[networks.pods.ipam]\n")?;
    let output = daemon.ctl_output(&["reload"])?;
    ensure!(output.status.code() == Some(1), "exited with {}", output.status);
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(text(&answer, "/problems/0/key") == "networks.pods", "{answer}");
    ensure!(condition(&daemon, "network-undefined")?.is_some(), "it is not reported");
    let address = shim.call("ADD", &Attachment::of("third"), &config("pods", "host-local"))?.address()?;
    ensure!(address.starts_with("10.98.0."), "{address}");

    // Once it is no longer in the file, it stays unchanged until an operator removes it.
    daemon.configure("")?;
    daemon.ctl(&["reload"])?;
    ensure!(condition(&daemon, "network-undefined")?.is_none(), "the condition is still set");
    ensure!(text(&network()?, "/defined_by") == "operator", "{}", network()?);
    let address = shim.call("ADD", &Attachment::of("fourth"), &config("pods", "host-local"))?.address()?;
    ensure!(address.starts_with("10.98.0."), "{address}");
    for name in ["pod", "other", "third", "fourth"] {
        shim.call("DEL", &Attachment::of(name), &config("pods", "host-local"))?.silent()?;
    }
    daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    ensure!(daemon.networks()?.is_empty(), "{:?}", daemon.networks()?);
    Ok(())
}

fn idle() -> anyhow::Result<()> {
    // Longer than the test may take.
    let mut daemon = Daemon::start_with("[limits]\ndrain_seconds = 600\n")?;
    let mut connections = Vec::new();
    for socket in ["cni.sock", "admin.sock"] {
        let mut connection = UnixStream::connect(daemon.run_directory().join(socket))?;
        // Send HTTP/2's preface and empty settings, and then nothing, not even an answer to a ping.
        connection.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")?;
        connection.read_exact(&mut [0])?;
        connections.push(connection);
    }
    let ended = daemon.stop()?;
    ensure!(ended.success(), "ended with {ended}");
    ensure!(daemon.log("in flight").is_empty(), "it logged requests in flight: {}", daemon.log("in flight"));
    drop(connections);
    Ok(())
}
