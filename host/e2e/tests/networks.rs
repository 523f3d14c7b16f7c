//! Networks that the daemon's configuration or an operator defines, and bounds on networks that CNI calls define.

#[path = "support/component.rs"]
mod component;

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use component::{build, digest, entry, entry_with};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const TRY_AGAIN: u32 = 11;
const UNAVAILABLE: u32 = 50;
const OUT_OF_BOUNDS: u32 = 114;

fn main() -> ExitCode {
    Suite::new()
        .test("a_network_of_the_configuration_serves_and_no_call_changes_it", &[], configured)
        .test("a_pod_gets_the_routes_of_its_networks_definition", &[], routed)
        .test("a_network_that_cannot_be_defined_is_told_until_it_can", &[], undefined)
        .test("ranges_outside_of_what_is_allowed_are_refused_by_their_key", &[], within)
        .test("a_network_that_has_its_ranges_for_itself_is_overlapped_by_none", &[], exclusive)
        .test("networks_that_overlap_are_shown", &[], overlapping)
        .test("no_start_is_ready_before_the_plugin_can_reach_it", &[], ready)
        .test("an_operator_defines_a_network_and_removes_it_when_it_is_empty", &[], operated)
        .test("a_policy_that_changes_the_ranges_is_activated_only_on_the_operators_word", &[], moved)
        .run()
}

/// A CNI configuration with one range, or with none if there is no subnet.
fn config(network: &str, subnet: Option<&str>) -> Value {
    let mut ipam = json!({ "type": "tenure" });
    if let (Some(subnet), Some(ipam)) = (subnet, ipam.as_object_mut()) {
        ipam.insert("ranges".to_owned(), json!([[{ "subnet": subnet }]]));
    }
    json!({ "cniVersion": "1.1.0", "name": network, "ipam": ipam })
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The network of this name.
fn network(daemon: &Daemon, name: &str) -> anyhow::Result<Value> {
    let networks = daemon.networks()?;
    let found = networks.iter().find(|network| text(network, "/name") == name).cloned();
    found.with_context(|| format!("no network {name} among {networks:?}"))
}

/// Runs a `tenurectl` command that must be refused, and returns the error.
fn refused(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = daemon.ctl_output(arguments)?;
    ensure!(output.status.code() == Some(1), "{arguments:?} exited with {}", output.status);
    let error: Value = serde_json::from_slice(&output.stderr)?;
    error.get("error").cloned().with_context(|| format!("no error: {error}"))
}

fn configured() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure("[networks.pods.ipam]\nranges = [[{ subnet = \"10.90.0.0/24\" }]]\n")?;
    daemon.start_again()?;
    // It exists before any call.
    wait::holds("the network", LIMIT, || Ok(daemon.networks()?.len() == 1))?;
    let defined = network(&daemon, "pods")?;
    ensure!(text(&defined, "/defined_by") == "configuration", "{defined}");
    ensure!(
        text(&defined, "/pools/0/name") == "0" && text(&defined, "/pools/0/supply") == "configuration",
        "{defined}"
    );
    ensure!(text(&defined, "/pools/0/range_states/0/subnet") == "10.90.0.0/24", "{defined}");

    let shim = daemon.shim()?;
    for (pod, subnet) in [("plain", None), ("other", Some("10.91.0.0/24"))] {
        let (pod, config) = (Attachment::of(pod), config("pods", subnet));
        shim.call("STATUS", &pod, &config)?.silent()?;
        let address = shim.call("ADD", &pod, &config)?.address()?;
        ensure!(address.starts_with("10.90.0."), "{subnet:?} got {address}");
    }
    // The file defines it, so an operator cannot remove it.
    for arguments in [&["network", "remove", "pods"][..], &["network", "remove", "pods", "--apply"]] {
        let error = refused(&daemon, arguments)?;
        ensure!(text(&error, "/code") == "out-of-bounds", "{error}");
        ensure!(text(&error, "/cause").contains("networks.pods in tenured.toml"), "{error}");
    }
    daemon.kill()?;
    daemon.start_again()?;
    let address =
        shim.call("ADD", &Attachment::of("later"), &config("pods", Some("10.92.0.0/24")))?.address()?;
    ensure!(address.starts_with("10.90.0."), "after a restart: {address}");
    ensure!(daemon.allocations("pods")?.len() == 3, "an address was lost");
    Ok(())
}

fn routed() -> anyhow::Result<()> {
    let network = "[networks.pods.ipam]\nranges = [[{ subnet = \"10.90.0.0/24\" }]]\n\
        routes = [{ dst = \"0.0.0.0/0\" }, { dst = \"::/0\" }, { dst = \"10.96.0.0/12\" }]\n";
    let daemon = Daemon::start_with(network)?;
    let shim = daemon.shim()?;
    let own = json!([{ "dst": "10.1.0.0/16" }]);
    let defined = json!([{ "dst": "0.0.0.0/0" }, { "dst": "10.96.0.0/12" }]);
    // No address of IPv6, and so no route.
    for (pod, routes, expected) in
        [("a", None, defined), ("b", Some(&own), own.clone()), ("c", Some(&json!([])), Value::Null)]
    {
        let mut config = config("pods", None);
        if let (Some(routes), Some(ipam)) =
            (routes, config.pointer_mut("/ipam").and_then(Value::as_object_mut))
        {
            ipam.insert("routes".to_owned(), routes.clone());
        }
        let result = shim.call("ADD", &Attachment::of(pod), &config)?.result()?;
        ensure!(result.get("routes").cloned().unwrap_or_default() == expected, "{pod}: {result}");
    }
    Ok(())
}

fn undefined() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    // Not an embedded policy: the daemon would need no file for the same bytes.
    let built = build("tenure-hostile", &daemon)?;
    let (path, digest) = (daemon.path("mine.wasm"), digest(&built)?);
    let network = "[networks.pods]\npolicy = \"mine\"\nipam.ranges = [[{ subnet = \"10.90.0.0/24\" }]]\n";
    daemon.configure(&format!("{network}{}", entry_with("mine", &path, &digest)))?;
    daemon.start_again()?;
    let told = wait::until("the condition", LIMIT, || condition(&daemon, "network-undefined"))?;
    ensure!(text(&told, "/subject") == "pods" && text(&told, "/severity") == "degraded", "{told}");
    ensure!(text(&told, "/message").starts_with("networks.pods: policy-unloadable: "), "{told}");

    // Meanwhile, calls cannot define it, and other networks are served.
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    let config_of_call = config("pods", Some("10.91.0.0/24"));
    let refusal = shim.call("ADD", &pod, &config_of_call)?.error_code(TRY_AGAIN)?;
    ensure!(refusal.msg.contains("networks.pods: policy-unloadable"), "{refusal:?}");
    shim.call("STATUS", &pod, &config_of_call)?.error_code(UNAVAILABLE)?;
    shim.call("ADD", &pod, &config("other", Some("10.93.0.0/24")))?.address()?;

    fs::copy(&built, &path)?;
    wait::holds("an address", LIMIT, || Ok(shim.call("ADD", &pod, &config_of_call)?.succeeded))?;
    let address = shim.call("ADD", &pod, &config_of_call)?.address()?;
    ensure!(address.starts_with("10.90.0."), "{address}");
    wait::holds("the condition to end", LIMIT, || Ok(condition(&daemon, "network-undefined")?.is_none()))
}

/// The condition of this name, if it is set.
fn condition(daemon: &Daemon, name: &str) -> anyhow::Result<Option<Value>> {
    let output = daemon.ctl_output(&["status"])?;
    let status: Value = serde_json::from_slice(&output.stdout)?;
    let conditions = status.get("conditions").and_then(Value::as_array).context("there are no conditions")?;
    Ok(conditions.iter().find(|condition| text(condition, "/name") == name).cloned())
}

fn within() -> anyhow::Result<()> {
    let bounds = "[networks.pods]\nwithin = [\"10.90.0.0/16\"]\npolicies = [\"host-local\"]\n\
                  [policies.highest-first]\nwithin = [\"10.94.0.0/16\"]\n";
    let daemon = Daemon::start_with(bounds)?;
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    let refusal = |config: &Value| shim.call("ADD", &pod, config)?.error_code(OUT_OF_BOUNDS);
    let cause = refusal(&config("pods", Some("10.91.0.0/24")))?.msg;
    ensure!(
        cause.contains("10.91.0.1-10.91.0.254") || cause.contains("10.91.0."),
        "it does not name the range: {cause}"
    );
    ensure!(
        cause.contains("networks.pods.within allows only 10.90.0.0/16"),
        "it does not name the key: {cause}"
    );
    ensure!(daemon.networks()?.is_empty(), "it was defined anyway");

    let mut highest = config("pods", Some("10.90.0.0/24"));
    highest
        .pointer_mut("/ipam")
        .and_then(Value::as_object_mut)
        .context("no ipam")?
        .insert("policy".into(), json!("highest-first"));
    let cause = refusal(&highest)?.msg;
    ensure!(cause.contains("networks.pods.policies allows host-local"), "it does not name the key: {cause}");
    let mut of_policy = highest.clone();
    of_policy.as_object_mut().context("no object")?.insert("name".into(), json!("other"));
    let cause = refusal(&of_policy)?.msg;
    ensure!(
        cause.contains("policies.highest-first.within allows only 10.94.0.0/16"),
        "it does not name the key: {cause}"
    );

    shim.call("ADD", &pod, &config("pods", Some("10.90.7.0/24")))?.address()?;
    let error = refused(&daemon, &["policy", "activate", "pods", "highest-first"])?;
    ensure!(text(&error, "/code") == "out-of-bounds", "{error}");
    shim.call("ADD", &Attachment::of("again"), &config("pods", Some("10.90.7.0/24")))?.address().map(drop)
}

fn exclusive() -> anyhow::Result<()> {
    let daemon = Daemon::start_with("[networks.own]\nexclusive = true\n")?;
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    shim.call("ADD", &pod, &config("own", Some("10.92.0.0/24")))?.address()?;
    let refusal =
        shim.call("ADD", &pod, &config("other", Some("10.92.0.128/25")))?.error_code(OUT_OF_BOUNDS)?;
    ensure!(refusal.msg.contains("network own is exclusive"), "{refusal:?}");
    shim.call("ADD", &pod, &config("other", Some("10.92.1.0/24")))?.address().map(drop)
}

/// The network of the configuration waits for its policy to be compiled, and the socket for the network, which has so
/// many ranges that defining it takes a while.
fn ready() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let range = |number: u32| format!("{{ subnet = \"10.94.{}.{}/29\" }}", number / 32, number % 32 * 8);
    let ranges: Vec<String> = (0..1000).map(range).collect();
    daemon.configure(&format!("[networks.pods.ipam]\nranges = [[{}]]\n", ranges.join(", ")))?;
    let socket = daemon.run_directory().join("cni.sock");
    for _ in 0..2 {
        daemon.spawn()?;
        wait::holds("the daemon to be ready", LIMIT, || {
            let is_ready = daemon.ctl_output(&["status"])?.status.success();
            ensure!(!is_ready || socket.exists(), "it is ready, and there is no socket");
            Ok(is_ready)
        })?;
        daemon.shim()?.call("ADD", &Attachment::of("pod"), &config("pods", None))?.address()?;
        // The second start is without compiled policies, too.
        daemon.stop()?;
        fs::remove_dir_all(daemon.state_directory().join("compiled"))?;
    }
    Ok(())
}

fn overlapping() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    for (network, subnet) in [("wide", "10.92.0.0/16"), ("narrow", "10.92.7.0/24"), ("apart", "10.93.0.0/24")]
    {
        shim.call("ADD", &pod, &config(network, Some(subnet)))?.address()?;
    }
    for (of, with) in [("wide", json!(["narrow"])), ("narrow", json!(["wide"])), ("apart", json!([]))] {
        let network = network(&daemon, of)?;
        ensure!(network.get("overlaps") == Some(&with), "{network}");
    }
    // An overlap is allowed, so the check reports it and still succeeds.
    let output = daemon.ctl_output(&["check"])?;
    ensure!(output.status.success(), "the check exited with {}", output.status);
    let report: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(report.get("findings") == Some(&json!([])), "{report}");
    let notes = report.get("notes").and_then(Value::as_array).context("no notes")?;
    let found = notes.iter().find(|note| text(note, "/kind") == "networks-overlap").context("not found")?;
    ensure!(text(found, "/network") == "narrow" && text(found, "/subject") == "wide", "{found}");
    ensure!(text(found, "/detail").contains("10.92.7."), "it does not name the ranges: {found}");
    Ok(())
}

fn operated() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let file = daemon.path("pods.conflist");
    let list = |subnet: &str| {
        let plugin = json!({ "type": "bridge", "ipam": config("pods", Some(subnet)).get("ipam") });
        json!({ "cniVersion": "1.1.0", "name": "pods", "plugins": [plugin] })
    };
    fs::write(&file, list("10.90.0.0/24").to_string())?;
    let path = file.display().to_string();
    let mut invalid = list("10.90.0.0/24");
    let ipam = invalid.pointer_mut("/plugins/0/ipam").and_then(Value::as_object_mut);
    ipam.context("no ipam")?.insert("routes".to_owned(), json!([{ "dst": "default" }]));
    let invalid_file = daemon.path("invalid.conflist");
    fs::write(&invalid_file, invalid.to_string())?;
    let error = refused(&daemon, &["network", "define", &invalid_file.display().to_string(), "--apply"])?;
    ensure!(text(&error, "/cause").contains("ipam.routes[0].dst: not a subnet in CIDR form"), "{error}");
    let dry = daemon.ctl(&["network", "define", &path])?;
    ensure!(dry.get("applied") == Some(&json!(false)) && dry.get("changed") == Some(&json!(true)), "{dry}");
    ensure!(text(&dry, "/ranges_added/0").starts_with("10.90.0."), "{dry}");
    ensure!(daemon.networks()?.is_empty(), "the dry run changed something");
    daemon.ctl(&["network", "define", &path, "--apply"])?;
    ensure!(text(&network(&daemon, "pods")?, "/defined_by") == "operator", "{:?}", daemon.networks()?);

    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    let address = shim.call("ADD", &pod, &config("pods", Some("10.91.0.0/24")))?.address()?;
    ensure!(address.starts_with("10.90.0."), "{address}");

    fs::write(&file, list("10.95.0.0/24").to_string())?;
    let error = refused(&daemon, &["network", "define", &path, "--apply"])?;
    ensure!(text(&error, "/code") == "ranges-would-change", "{error}");
    ensure!(
        text(&error, "/cause").contains("10.95.0.") && text(&error, "/cause").contains("10.90.0."),
        "{error}"
    );
    ensure!(text(&error, "/next_step").contains("--change-ranges"), "{error}");
    daemon.ctl(&["network", "define", &path, "--apply", "--change-ranges"])?;
    ensure!(network(&daemon, "pods")?.get("outside") == Some(&json!(1)), "{:?}", daemon.networks()?);

    for arguments in [&["network", "remove", "pods"][..], &["network", "remove", "pods", "--apply"]] {
        let error = refused(&daemon, arguments)?;
        ensure!(text(&error, "/code") == "network-in-use", "{error}");
    }
    shim.call("DEL", &pod, &config("pods", None))?.silent()?;
    daemon.ctl(&["network", "remove", "pods"])?;
    ensure!(daemon.networks()?.len() == 1, "the dry run changed something");
    daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    ensure!(daemon.networks()?.is_empty(), "{:?}", daemon.networks()?);
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(daemon.networks()?.is_empty(), "it came back: {:?}", daemon.networks()?);
    let address = shim.call("ADD", &pod, &config("pods", Some("10.91.0.0/24")))?.address()?;
    ensure!(address.starts_with("10.91.0."), "{address}");
    Ok(())
}

fn moved() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let hostile = build("tenure-hostile", &daemon)?;
    daemon.configure(&entry("hostile", &hostile)?)?;
    daemon.start_again()?;
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    let mut config = config("pods", Some("10.90.0.0/24"));
    let ipam = config.pointer_mut("/ipam").and_then(Value::as_object_mut).context("no ipam")?;
    ipam.insert("misbehave".to_owned(), json!("define-elsewhere"));
    shim.call("ADD", &pod, &config)?.address()?;

    let error = refused(&daemon, &["policy", "activate", "pods", "hostile"])?;
    ensure!(text(&error, "/code") == "ranges-would-change", "{error}");
    ensure!(
        text(&error, "/cause").contains("10.5.5.") && text(&error, "/cause").contains("10.90.0."),
        "{error}"
    );
    let served = network(&daemon, "pods")?;
    ensure!(
        text(&served, "/policy/name") == "host-local" && text(&served, "/chosen_by") == "configuration",
        "{served}"
    );

    let done = daemon.ctl(&["policy", "activate", "pods", "hostile", "--change-ranges"])?;
    ensure!(text(&done, "/ranges_added/0").starts_with("10.5.5."), "{done}");
    ensure!(text(&done, "/ranges_removed/0").starts_with("10.90.0."), "{done}");
    let served = network(&daemon, "pods")?;
    ensure!(
        text(&served, "/chosen_by") == "operator" && text(&served, "/policy_before/name") == "host-local",
        "{served}"
    );
    let address = shim.call("ADD", &Attachment::of("other"), &config)?.address()?;
    ensure!(address.starts_with("10.5.5."), "{address}");
    Ok(())
}
