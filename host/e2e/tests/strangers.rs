//! Components that an operator should not have loaded: broken, too large, endless, or lying. Each is refused or contained with an error
//! that names it, and another network goes on.
//!
//! `TENURE_SEED=n` repeats a run's random choices.

#[path = "support/component.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod component;

use std::fs;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use component::build;
use serde_json::{Value, json};
use tenure_e2e::random::{self, Random};
use tenure_e2e::{Attachment, Daemon, Suite, binary, bomb, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The number of ADDs on another network that must be answered meanwhile.
const ADDS: usize = 100;
/// The number of components of each random kind.
const RANDOM: u64 = 16;
const POLICY_FAILED: u32 = 105;
const PROPOSAL_REJECTED: u32 = 106;

fn main() -> ExitCode {
    Suite::new()
        .test("a_broken_component_is_refused_with_its_name_and_its_cause", &[], broken)
        .test("random_bytes_and_damaged_components_end_nothing", &[], damaged)
        .test("a_file_that_is_no_file_or_too_large_is_refused_unread", &[], unread)
        .test("an_endless_compilation_stalls_no_other_network", &[], endless)
        .test("a_compilation_that_takes_too_long_is_refused", &[], too_long)
        .test("a_start_function_that_spins_is_refused_by_the_suite_and_contained_without", &[], starting)
        .test("a_policy_that_lies_is_refused_by_the_suite_and_contained_without", &[], lying)
        .run()
}

fn config(network: &str) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": network,
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.83.0.0/16" }]] },
    })
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn add(daemon: &Daemon, network: &Value, pod: impl Into<String>) -> anyhow::Result<tenure_e2e::Outcome> {
    daemon.shim()?.call("ADD", &Attachment::of(pod), network)
}

/// Another network is served.
fn goes_on(daemon: &Daemon, pod: &str) -> anyhow::Result<()> {
    add(daemon, &config("beside"), format!("beside-{pod}"))?.address().map(drop)
}

/// The error of a command that must fail.
fn refused(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = daemon.ctl_output(arguments)?;
    ensure!(!output.status.success(), "{arguments:?} succeeded");
    let error: Value = serde_json::from_slice(&output.stderr).with_context(|| format!("{output:?}"))?;
    Ok(error.get("error").cloned().unwrap_or(error))
}

/// Loads a component that must be refused, with an error that names it, its digest, the cause and the next step.
fn is_refused(daemon: &Daemon, name: &str, bytes: &[u8], cause: &str) -> anyhow::Result<()> {
    let path = daemon.path("stranger.wasm");
    fs::write(&path, bytes)?;
    let digest = component::digest(&path)?;
    let error = refused(daemon, &["policy", "load", &path.display().to_string(), "--name", name])?;
    let said = text(&error, "/cause");
    let stamp = format!("policy {name}@{}", digest.get(..12).unwrap_or_default());
    ensure!(
        text(&error, "/code") == "policy-unloadable"
            && said.starts_with(&stamp)
            && said.contains(cause)
            && !text(&error, "/next_step").is_empty(),
        "expected {stamp} ... {cause}: {error}"
    );
    ensure!(said.len() < 4096 && !said.contains(char::is_control), "{error}");
    let list = daemon.ctl(&["policy", "list"])?;
    ensure!(!list.to_string().contains(name), "something of it stayed: {list}");
    goes_on(daemon, name)
}

fn good(daemon: &Daemon) -> anyhow::Result<Vec<u8>> {
    Ok(fs::read(build("tenure-highest-first", daemon)?)?)
}

/// The same bytes with each occurrence of a text replaced by one of the same length.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    for place in 0..bytes.len() {
        if let Some(found) =
            bytes.get_mut(place..place + from.len()).filter(|found| *found == from.as_bytes())
        {
            found.copy_from_slice(to.as_bytes());
        }
    }
    bytes
}

fn broken() -> anyhow::Result<()> {
    // How fast this machine compiles is not what is asked here.
    let daemon = Daemon::start_with("[sandbox]\ncompile_seconds = 600\n")?;
    let good = good(&daemon)?;
    let wat = |text: &str| anyhow::Ok(wat::parse_str(text)?);
    let version = replaced(&good, "@0.1.0", "@0.9.0");
    is_refused(&daemon, "other-version", &version, "this host has tenure:ipam@0.1.0-rc.1")?;
    let foreign = wat(r#"(component (import "wasi:cli/environment@0.2.0" (instance)))"#)?;
    is_refused(&daemon, "foreign-import", &foreign, "it imports wasi:cli/environment@0.2.0")?;
    let unknown = replaced(&good, "tenure:ipam/ledger@", "tenure:ipam/secret@");
    is_refused(&daemon, "unknown-import", &unknown, "it imports tenure:ipam/secret@0.1.0-rc.1")?;
    let missing = replaced(&good, "tenure:ipam/allocation@", "tenure:ipam/adlocation@");
    is_refused(&daemon, "no-export", &missing, "it must export propose")?;
    let huge = binary::with_module(&good, "(module (memory 65536))")?;
    is_refused(&daemon, "four-gibibytes", &huge, "4096 MiB, exceeds the limit of 16 MiB")?;
    let memories =
        (0..5).try_fold(good.clone(), |whole, _| binary::with_module(&whole, "(module (memory 1))"))?;
    is_refused(&daemon, "five-memories", &memories, "memories, and the limit is 4")?;
    let table = binary::with_module(&good, "(module (table 100000 funcref))")?;
    is_refused(&daemon, "large-table", &table, "100000")?;
    // Many functions are unusual, not wrong.
    let functions = format!("(module {})", "(func)".repeat(100_000));
    let path = daemon.path("functions.wasm");
    fs::write(&path, binary::with_module(&good, &functions)?)?;
    daemon.ctl(&["policy", "load", &path.display().to_string()])?;
    add(&daemon, &config("net"), "before")?.address()?;
    daemon.ctl(&["policy", "activate", "net", "functions"])?;
    let address = add(&daemon, &config("net"), "after")?.address()?;
    ensure!(address == "10.83.255.254/16", "{address}");
    goes_on(&daemon, "functions")
}

/// Random bytes, a good component that is cut off anywhere, and one with changed bytes, which may still be one.
fn damaged() -> anyhow::Result<()> {
    random::seeds("strangers")?.try_for_each(damaged_by)
}

fn damaged_by(seed: u64) -> anyhow::Result<()> {
    let mut random = Random::new(seed);
    let daemon = Daemon::start()?;
    let good = good(&daemon)?;
    let mut noise =
        |length: u64| -> Vec<u8> { (0..length).map(|_| random.below(256).to_le_bytes()[0]).collect() };
    let random_bytes: Vec<_> = (1..RANDOM).map(|round| noise(round * 97)).collect();
    for bytes in &random_bytes {
        is_refused(&daemon, "noise", bytes, "")?;
        is_refused(&daemon, "noise-behind", &[&b"\0asm\x0d\0\x01\0"[..], bytes].concat(), "")?;
        is_refused(&daemon, "noise-in-it", &[good.as_slice(), bytes].concat(), "")?;
    }
    let length = good.len() as u64;
    let mut loaded = 0;
    for _ in 0..RANDOM {
        let cut = usize::try_from(1 + random.below(length - 1))?;
        is_refused(&daemon, "cut", good.get(..cut).unwrap_or_default(), "")?;
        let mut changed = good.clone();
        for _ in 0..=random.below(4) {
            let place = usize::try_from(random.below(length))?;
            if let Some(byte) = changed.get_mut(place) {
                *byte ^= 1 << random.below(8);
            }
        }
        let path = daemon.path("changed.wasm");
        fs::write(&path, &changed)?;
        if daemon.ctl_output(&["policy", "load", &path.display().to_string()])?.status.success() {
            loaded += 1;
            let activated = ["policy", "activate", "beside", "changed"];
            if daemon.ctl_output(&activated)?.status.success() {
                daemon.ctl(&["policy", "activate", "beside", "host-local"])?;
            }
            daemon.ctl(&["policy", "unload", "changed"])?;
        }
        goes_on(&daemon, &format!("changed-{loaded}"))?;
    }
    println!("{loaded} of {RANDOM} components with changed bytes were loaded");
    Ok(())
}

fn unread() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let (fifo, sparse) = (daemon.path("fifo"), daemon.path("sparse"));
    ensure!(Command::new("mkfifo").arg(&fifo).status()?.success(), "mkfifo");
    fs::File::create(&sparse)?.set_len(1 << 40)?;
    for (path, cause) in [
        (fifo.display().to_string(), "not a regular file"),
        (daemon.path("").display().to_string(), "not a regular file"),
        ("/dev/zero".to_owned(), "not a regular file"),
        (sparse.display().to_string(), "the limit is 64 MiB"),
    ] {
        let error = refused(&daemon, &["policy", "load", &path])?;
        let said = text(&error, "/cause");
        ensure!(said.starts_with(&path) && said.contains(cause), "{error}");
        ensure!(!text(&error, "/next_step").is_empty(), "{error}");
    }
    goes_on(&daemon, "unread")
}

fn write_bomb(daemon: &Daemon) -> anyhow::Result<String> {
    let path = daemon.path("bomb.wasm");
    fs::write(&path, wat::parse_str(bomb::component(2000))?)?;
    Ok(path.display().to_string())
}

/// The compilation would take minutes. Meanwhile another network is served, and the one that waits goes away.
fn endless() -> anyhow::Result<()> {
    let mut daemon = Daemon::start_with("[sandbox]\ncompile_seconds = 600\n")?;
    let bomb = write_bomb(&daemon)?;
    goes_on(&daemon, "before")?;
    let mut load = daemon.tenurectl(&["policy", "load", &bomb])?;
    let mut load = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let outcome = wait::holds("the compilation", LIMIT, || compiles(&daemon)).and_then(|()| {
        for number in 0..ADDS {
            goes_on(&daemon, &number.to_string())?;
        }
        ensure!(compiles(&daemon)? && load.try_wait()?.is_none(), "the compilation has already ended");
        Ok(())
    });
    load.kill()?;
    load.wait()?;
    outcome?;
    goes_on(&daemon, "after")?;
    ensure!(daemon.stop()?.success(), "the daemon did not stop cleanly");
    Ok(())
}

/// Whether a compiler of the daemon is running.
fn compiles(daemon: &Daemon) -> anyhow::Result<bool> {
    let daemon = format!("PPid:\t{}\n", daemon.pid()?.as_raw_nonzero());
    let mut processes = fs::read_dir("/proc")?.flatten();
    Ok(processes.any(|process| {
        fs::read_to_string(process.path().join("status")).is_ok_and(|status| status.contains(&daemon))
    }))
}

fn too_long() -> anyhow::Result<()> {
    let daemon = Daemon::start_with("[sandbox]\ncompile_seconds = 4\n")?;
    let bomb = fs::read(write_bomb(&daemon)?)?;
    is_refused(&daemon, "bomb", &bomb, "it takes more than 4 s to compile (sandbox.compile_seconds)")
}

/// Activates a policy that must not pass the suite, then without it: each ADD fails and names the policy, until the node
/// rolls back by itself.
fn contained(daemon: &Daemon, network: &Value, policy: &str, codes: &[u32]) -> anyhow::Result<()> {
    let name = text(network, "/name");
    add(daemon, network, "before")?.address()?;
    let error = refused(daemon, &["policy", "activate", &name, policy])?;
    ensure!(
        text(&error, "/code") == "policy-nonconforming"
            && text(&error, "/cause").contains(&format!("policy {policy}@"))
            && !text(&error, "/next_step").is_empty(),
        "{name}: {error}"
    );
    add(daemon, network, "still")?.address()?;
    daemon.ctl(&["policy", "activate", &name, policy, "--unchecked"])?;
    for pod in ["one", "two", "three"] {
        let outcome = add(daemon, network, pod)?;
        let error = outcome.error()?;
        ensure!(
            codes.contains(&error.code) && error.msg.contains(&format!("{policy}@")),
            "{name}: {error:?}"
        );
        goes_on(daemon, &format!("{name}-{pod}"))?;
    }
    wait::holds("the roll-back", LIMIT, || {
        Ok(text(&daemon.ctl(&["policy", "history", &name])?, "/now/name") == "host-local")
    })?;
    add(daemon, network, "three")?.address().with_context(|| name.clone())?;
    Ok(())
}

fn starting() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let spins = binary::with_module(&good(&daemon)?, "(module (func $spin (loop (br 0))) (start $spin))")?;
    let path = daemon.path("spins.wasm");
    fs::write(&path, spins)?;
    // Each definition would spin, so the exchange fails, too.
    daemon.ctl(&["policy", "load", &path.display().to_string()])?;
    add(&daemon, &config("net"), "before")?.address()?;
    for more in [&[][..], &["--unchecked"]] {
        let error = refused(&daemon, &[&["policy", "activate", "net", "spins"], more].concat())?;
        let said = text(&error, "/cause");
        ensure!(said.contains("policy spins@") && said.contains("ran longer than 50 ms"), "{error}");
        ensure!(!text(&error, "/next_step").is_empty(), "{error}");
        add(&daemon, &config("net"), format!("after-{}", more.len()))?.address()?;
    }
    goes_on(&daemon, "starting")
}

fn lying() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let hostile = build("tenure-hostile", &daemon)?.display().to_string();
    daemon.ctl(&["policy", "load", &hostile, "--name", "hostile"])?;
    for (misbehaviour, code) in [
        ("spin", POLICY_FAILED),
        ("grow", POLICY_FAILED),
        ("recurse", POLICY_FAILED),
        ("trap", POLICY_FAILED),
        ("panic", POLICY_FAILED),
        ("huge-text", POLICY_FAILED),
        ("long-text", POLICY_FAILED),
        ("long-list", POLICY_FAILED),
        ("chatter", POLICY_FAILED),
        ("not-an-address", POLICY_FAILED),
        ("many-tags", POLICY_FAILED),
        ("outside", PROPOSAL_REJECTED),
        ("network-address", PROPOSAL_REJECTED),
        ("broadcast", PROPOSAL_REJECTED),
        ("gateway", PROPOSAL_REJECTED),
        ("other-family", PROPOSAL_REJECTED),
        ("duplicate", PROPOSAL_REJECTED),
        ("nothing", PROPOSAL_REJECTED),
        ("held", PROPOSAL_REJECTED),
    ] {
        let mut network = config(&format!("net-{misbehaviour}"));
        if let Some(ipam) = network.pointer_mut("/ipam").and_then(Value::as_object_mut) {
            ipam.insert("misbehave".to_owned(), json!(misbehaviour));
        }
        // A policy that keeps failing may have been benched by then.
        contained(&daemon, &network, "hostile", &[code, 11]).with_context(|| misbehaviour)?;
    }
    Ok(())
}
