//! Reports to operators are correct: conditions begin and end with their cause, and a daemon that cannot start says why.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tenure_e2e::client::Client;
use tenure_e2e::journal::Pod;
use tenure_e2e::{Attachment, Daemon, Suite, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The CNI code for "an ADD would fail".
const UNAVAILABLE: u32 = 50;
/// The daemon's exit codes for failures that a restart does not fix, and for those that it may.
const PERMANENT: i32 = 2;
const TRANSIENT: i32 = 1;

fn main() -> ExitCode {
    Suite::new()
        .test("a_socket_that_was_deleted_is_made_anew_and_told", &[], deleted_sockets)
        .test("a_full_pool_is_told_until_an_address_is_free", &[], full_pool)
        .test("a_pool_that_fills_up_is_told_from_the_share_that_is_set", &[], filling_pool)
        .test("a_policy_that_cannot_be_loaded_is_told_until_it_can", &[], unloadable_policy)
        .test("a_runtime_that_does_not_answer_is_told", &[], silent_runtime)
        .test("metrics_that_cannot_be_served_stop_no_address", &[], metrics_port_in_use)
        .test("a_level_that_does_not_exist_is_refused_with_its_key", &[], unknown_level)
        .test("a_fault_that_stays_ends_with_2_and_one_that_passes_with_1", &[], exit_codes)
        .test("a_damaged_log_comes_with_the_command_that_helps", &[], damaged_log)
        .test("a_configuration_is_checked_without_a_start", &[], check_config)
        .test("the_length_of_the_log_is_known_from_the_start", &[], log_length)
        .run()
}

fn config(network: &str, mut ipam: Value) -> Value {
    if let Some(ipam) = ipam.as_object_mut() {
        ipam.insert("type".to_owned(), json!("tenure"));
    }
    json!({ "cniVersion": "1.1.0", "name": network, "ipam": ipam })
}

fn roomy(network: &str) -> Value {
    config(network, json!({ "ranges": [[{ "subnet": "10.77.0.0/16" }]] }))
}

fn status(daemon: &Daemon) -> anyhow::Result<Value> {
    let output = daemon.ctl_output(&["status"])?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The condition of this name, if it is set.
fn condition(daemon: &Daemon, name: &str) -> anyhow::Result<Option<Value>> {
    let status = status(daemon)?;
    let conditions = status.get("conditions").and_then(Value::as_array).context("there are no conditions")?;
    Ok(conditions.iter().find(|condition| text(condition, "name") == name).cloned())
}

/// Waits until a condition is set, checks that the node's state matches its severity, and returns it.
fn begins(daemon: &Daemon, name: &str) -> anyhow::Result<Value> {
    let found = wait::until(name, LIMIT, || condition(daemon, name))?;
    let status = status(daemon)?;
    let (severity, state) = (text(&found, "severity"), text(&status, "state"));
    ensure!(state == severity, "the node is {state} with {found}");
    for key in ["message", "next_step"] {
        ensure!(!text(&found, key).is_empty(), "no {key}: {found}");
    }
    ensure!(
        found.get("since_ms").and_then(Value::as_u64).is_some_and(|since| since > 0),
        "it does not say since when: {found}"
    );
    Ok(found)
}

/// Waits until the node is ready.
fn is_well(daemon: &Daemon) -> anyhow::Result<()> {
    wait::holds("the node to be ready", LIMIT, || Ok(text(&status(daemon)?, "state") == "ready"))
}

fn metric(daemon: &Daemon, line: &str) -> anyhow::Result<bool> {
    Ok(daemon.metrics()?.lines().any(|found| found == line))
}

fn deleted_sockets() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let (cni, admin) = (daemon.run_directory().join("cni.sock"), daemon.run_directory().join("admin.sock"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::connect(&daemon.run_directory()).await?;
        let pod = |name: &str| Pod { network: "pods".to_owned(), container: name.to_owned() };
        client.add(&pod("before"), &roomy("pods")).await?;
        fs::remove_file(&cni)?;
        fs::remove_file(&admin)?;
        for path in [&cni, &admin] {
            wait::holds("the socket", LIMIT, || Ok(path.exists()))?;
        }
        // An open connection keeps working.
        client.add(&pod("meanwhile"), &roomy("pods")).await?;
        anyhow::Ok(())
    })?;
    shim.call("ADD", &Attachment::of("after"), &roomy("pods"))?.address()?;
    is_well(&daemon)?;
    ensure!(daemon.log("was deleted or replaced").contains("cni.sock"), "the log does not say so");

    // A file that someone else put there is left alone.
    fs::write(daemon.path("precious"), "precious")?;
    fs::rename(daemon.path("precious"), &cni)?;
    let told = begins(&daemon, "socket-missing")?;
    ensure!(
        text(&told, "message").contains(&cni.display().to_string()),
        "it does not name the socket: {told}"
    );
    ensure!(fs::read_to_string(&cni)? == "precious", "the file was removed");
    fs::remove_file(&cni)?;
    is_well(&daemon)?;
    shim.call("ADD", &Attachment::of("again"), &roomy("pods"))?.address().map(drop)
}

fn full_pool() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let metrics = daemon.metrics_address();
    daemon.configure(&format!("[addresses]\ncooldown_seconds = 0\n[metrics]\nlisten = \"{metrics}\"\n"))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let tight = config("tight", json!({ "ranges": [[{ "subnet": "10.78.0.0/30" }]] }));
    let pod = Attachment::of("pod");
    shim.call("ADD", &pod, &tight)?.address()?;
    let told = begins(&daemon, "pool-exhausted")?;
    ensure!(text(&told, "message") == "pool 0 of network tight is exhausted: 1 of 1 in use", "{told}");
    ensure!(metric(&daemon, r#"tenure_condition{name="pool-exhausted"} 1"#)?, "the metric is not set");
    shim.call("STATUS", &pod, &tight)?.error_code(UNAVAILABLE)?;
    shim.call("STATUS", &pod, &roomy("roomy"))?.silent()?;
    shim.call("ADD", &pod, &roomy("roomy"))?.address()?;
    shim.call("DEL", &pod, &tight)?.silent()?;
    is_well(&daemon)?;
    ensure!(metric(&daemon, r#"tenure_condition{name="pool-exhausted"} 0"#)?, "the metric is still set");
    Ok(())
}

fn filling_pool() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let metrics = daemon.metrics_address();
    let settings = |percent: u32| {
        format!(
            "[addresses]\ncooldown_seconds = 3600\nnearly_full_percent = {percent}\n[metrics]\nlisten = \"{metrics}\"\n"
        )
    };
    daemon.configure(&settings(60))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    // Five addresses can be assigned.
    let filling = config("filling", json!({ "ranges": [[{ "subnet": "10.78.1.0/29" }]] }));
    for pod in ["one", "two"] {
        shim.call("ADD", &Attachment::of(pod), &filling)?.address()?;
    }
    is_well(&daemon)?;
    shim.call("ADD", &Attachment::of("three"), &filling)?.address()?;
    let told = begins(&daemon, "pool-nearly-full")?;
    ensure!(text(&told, "message") == "pool 0 of network filling is nearly full: 3 of 5 in use", "{told}");
    shim.call("DEL", &Attachment::of("one"), &filling)?.silent()?;
    is_well(&daemon)?;
    for (gauge, value) in [("addresses", 5), ("held", 2), ("cooling", 1)] {
        let line = format!(r#"tenure_pool_{gauge}{{network="filling",pool="0"}} {value}"#);
        ensure!(metric(&daemon, &line)?, "no {line}");
    }
    // Another share counts from the reload on.
    daemon.configure(&settings(40))?;
    daemon.ctl(&["reload"])?;
    begins(&daemon, "pool-nearly-full")?;
    daemon.configure(&settings(100))?;
    daemon.ctl(&["reload"])?;
    is_well(&daemon)
}

/// A policy's component that differs from the built-in ones: a node's copy of a policy that it has used, plus an empty
/// custom section.
fn component() -> anyhow::Result<Vec<u8>> {
    let daemon = Daemon::start()?;
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &roomy("pods"))?.address()?;
    let kept = fs::read_dir(daemon.state_directory().join("policies"))?.next().context("no copy")??;
    let mut component = fs::read(kept.path())?;
    component.extend(b"\x00\x05\x04test");
    Ok(component)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unloadable_policy() -> anyhow::Result<()> {
    let component = component()?;
    let mut daemon = Daemon::prepare()?;
    let path = daemon.path("mine.wasm");
    let digest = sha256(&component);
    daemon.configure(&format!("[policies.mine]\npath = \"{}\"\nsha256 = \"{digest}\"\n", path.display()))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let told = begins(&daemon, "policy-unloadable")?;
    ensure!(text(&told, "subject") == "mine", "it does not name the policy: {told}");
    ensure!(
        text(&told, "message").contains(&path.display().to_string()),
        "it does not name the file: {told}"
    );
    let mine = config("special", json!({ "policy": "mine", "ranges": [[{ "subnet": "10.79.0.0/24" }]] }));
    let pod = Attachment::of("pod");
    shim.call("STATUS", &pod, &mine)?.error_code(UNAVAILABLE)?;
    shim.call("STATUS", &pod, &roomy("pods"))?.silent()?;
    shim.call("ADD", &pod, &roomy("pods"))?.address()?;

    fs::write(&path, "another")?;
    wait::holds("the other digest to be reported", LIMIT, || {
        let told = condition(&daemon, "policy-unloadable")?.context("the condition ended")?;
        Ok(text(&told, "message").contains(&sha256(b"another")))
    })?;
    fs::write(&path, &component)?;
    is_well(&daemon)?;
    wait::holds("the policy to serve", LIMIT, || Ok(shim.call("ADD", &pod, &mine)?.succeeded))
}

fn silent_runtime() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&format!("[runtime]\nsocket = \"{}\"\n", daemon.path("cri.sock").display()))?;
    daemon.start_again()?;
    let told = begins(&daemon, "runtime-unreachable")?;
    ensure!(text(&told, "message").contains("cri.sock"), "it does not name the runtime: {told}");
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &roomy("pods"))?.address().map(drop)
}

fn metrics_port_in_use() -> anyhow::Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?;
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&format!("[metrics]\nlisten = \"{address}\"\n"))?;
    daemon.start_again()?;
    let told = begins(&daemon, "metrics-listener")?;
    ensure!(text(&told, "message").contains(&address.to_string()), "it does not name the address: {told}");
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &roomy("pods"))?.address()?;
    drop(taken);
    is_well(&daemon)?;
    std::net::TcpStream::connect(address)?;
    daemon.stop()?;

    let socket = daemon.path("metrics.sock");
    daemon.configure(&format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address()))?;
    daemon.start_again()?;
    daemon.metrics()?;
    fs::remove_file(&socket)?;
    wait::holds("the socket", LIMIT, || Ok(socket.exists()))?;
    daemon.metrics().map(drop)
}

/// Runs a daemon that is expected to exit by itself, with further arguments.
fn run(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut command = daemon.command()?;
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let ended = wait::holds("the daemon to end", LIMIT, || Ok(child.try_wait()?.is_some()));
    // If it serves unexpectedly, it must not outlive the test.
    let _ = child.kill();
    let output = child.wait_with_output()?;
    ended.map(|()| output)
}

/// The output of a daemon that cannot start, which must exit with this code.
fn refusal(daemon: &Daemon, code: i32) -> anyhow::Result<String> {
    let output = run(daemon, &[])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(code), "{}, not {code}: {said}", output.status);
    Ok(said)
}

fn unknown_level() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    daemon.configure("[log]\nlevel = \"verbose\"\n")?;
    let output = run(&daemon, &["--check-config"])?;
    ensure!(output.status.code() == Some(PERMANENT), "the check exited with {}", output.status);
    let said = refusal(&daemon, PERMANENT)?;
    ensure!(said.contains("log.level: unknown level \"verbose\"; the levels are off, error, warn"), "{said}");
    Ok(())
}

fn exit_codes() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let second = daemon.command_in(&daemon.path("other"))?.output()?;
    ensure!(second.status.code() == Some(TRANSIENT), "the other daemon may still exit: {}", second.status);

    for (key, value) in [("memory_mib", "5000"), ("concurrency", "1000000")] {
        let daemon = Daemon::prepare()?;
        daemon.configure(&format!("[sandbox]\n{key} = {value}\n"))?;
        let said = refusal(&daemon, PERMANENT)?;
        ensure!(said.contains(&format!("sandbox.{key}")), "it does not name the key: {said}");
    }

    for directory in ["state", "run"] {
        let daemon = Daemon::prepare()?;
        fs::write(daemon.path(directory), "a file, not a directory")?;
        let said = refusal(&daemon, PERMANENT)?;
        ensure!(
            said.contains(&daemon.path(directory).display().to_string()),
            "it does not name the directory: {said}"
        );
    }
    Ok(())
}

fn damaged_log() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    for pod in ["first", "second", "third"] {
        shim.call("ADD", &Attachment::of(pod), &roomy("pods"))?.address()?;
    }
    daemon.kill()?;
    let log = daemon.state_directory().join("log.0000000001");
    let text = fs::read_to_string(&log)?;
    ensure!(text.contains("second"), "{text}");
    fs::write(&log, text.replacen("second", "secont", 1))?;
    let said = refusal(&daemon, PERMANENT)?;
    ensure!(said.contains("log.0000000001 is damaged at byte"), "{said}");
    let command = said.split('`').find(|command| command.starts_with("truncate ")).context(said.clone())?;
    ensure!(Command::new("sh").args(["-c", command]).status()?.success(), "{command}");
    // Only the operator can say whether the rest is complete.
    daemon.launch()?;
    daemon.ctl(&["adopt", "--empty"])?;
    let left = daemon.allocations("pods")?;
    ensure!(left.len() == 1, "{left:?}");
    Ok(())
}

fn check_config() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    let checked = |config: &str| {
        daemon.configure(config)?;
        let output = run(&daemon, &["--check-config"])?;
        let said = [output.stdout, output.stderr].concat();
        anyhow::Ok((output.status.code(), String::from_utf8_lossy(&said).into_owned()))
    };
    ensure!(checked("")? == (Some(0), "configuration ok\n".to_owned()), "{:?}", checked("")?);
    let (code, said) = checked("[limits]\nqueu = 1\n")?;
    ensure!(code == Some(PERMANENT) && said.contains("limits.queu"), "{code:?}: {said}");

    let path = daemon.path("mine.wasm");
    let mine = format!("[policies.mine]\npath = \"{}\"\nsha256 = \"{}\"\n", path.display(), "0".repeat(64));
    let (code, said) = checked(&mine)?;
    ensure!(
        code == Some(0) && said.contains("warning: policies.mine: ") && said.contains("No such file"),
        "{said}"
    );
    fs::write(&path, "another")?;
    let (code, said) = checked(&mine)?;
    ensure!(code == Some(0) && said.contains(&sha256(b"another")), "{code:?}: {said}");
    // The right bytes, without the signature that the keys ask for.
    let signed = mine.replace(&"0".repeat(64), &sha256(b"another"));
    let keys = "[signatures]\nkeys = [\"RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\"]\n";
    let (code, said) = checked(&format!("{signed}{keys}"))?;
    ensure!(
        code == Some(0) && said.contains("policies.mine: ") && said.contains("it is not signed"),
        "{said}"
    );
    ensure!(!daemon.state_directory().exists() && !daemon.run_directory().exists(), "it created a directory");
    // Regression: without a state, the check did not read the boot's id.
    let (code, said) = checked("[node]\nboot_id_file = \"/nothing\"\n")?;
    ensure!(code == Some(PERMANENT) && said.contains("node.boot_id_file: cannot read"), "{code:?}: {said}");
    Ok(())
}

fn log_length() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address()))?;
    daemon.start_again()?;
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &roomy("pods"))?.address()?;
    daemon.kill()?;
    daemon.start_again()?;
    let length = fs::metadata(daemon.state_directory().join("log.0000000001"))?.len();
    let told = daemon.metrics()?;
    let line = format!("tenure_checkpoint_log_bytes {length}");
    ensure!(
        told.lines().any(|found| found == line),
        "the log has {length} bytes, but the metrics are:\n{told}"
    );
    Ok(())
}
