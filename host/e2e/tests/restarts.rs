//! Restarts of the daemon that no pod feels: its plugin waits for the next daemon, which knows what the one before has answered.

#[path = "support/component.rs"]
mod component;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use component::{build, digest, entry};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tenure_e2e::bomb;
use tenure_e2e::strace::Fault;
use tenure_e2e::{Attachment, Daemon, Need, Plugin, Suite, Victim, wait};

const STRACE: Need = Need::File("/usr/bin/strace", "strace");
/// The needs of a simulated reboot.
const BOOT: &[Need] = &[Need::Root, Need::UTIL_LINUX];
/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;
/// How often the daemon is restarted under load, and by how many callers.
const RESTARTS: usize = 3;
const CALLERS: usize = 4;

fn main() -> ExitCode {
    Suite::new()
        .test("a_restart_fails_no_call_of_a_stream", &[], || stream(Restart::Stopped))
        .test("a_crash_fails_no_call_of_a_stream", &[], || stream(Restart::Killed))
        .test("an_add_that_a_crash_left_unanswered_is_answered", &[STRACE], unanswered)
        .test("an_add_that_began_before_a_restart_is_served", &[], before_a_restart)
        .test("an_add_that_began_before_the_first_start_is_served", BOOT, before_the_first_start)
        .test("an_add_that_a_spooled_del_has_overtaken_is_refused", &[], overtaken_by_a_spooled_del)
        .test("an_add_whose_dels_nobody_remembers_is_told_so", &[], forgotten)
        .test("an_add_over_a_daemon_that_records_no_dels_is_told_so", &[], older_daemon)
        .test("an_add_waits_for_a_policy_that_is_still_being_compiled", &[Need::Root], compiled_late)
        .test("status_does_not_wait_and_a_del_does_not_wait_long", &[], who_waits)
        .run()
}

/// Busy machines start slowly, so the calls wait longer than they do by default.
fn config() -> Value {
    config_with(json!({ "timeout": 120 }))
}

fn config_with(mut ipam: Value) -> Value {
    if let Some(ipam) = ipam.as_object_mut() {
        ipam.insert("type".to_owned(), json!("tenure"));
        ipam.insert("ranges".to_owned(), json!([[{ "subnet": "10.76.0.0/16" }]]));
    }
    json!({ "cniVersion": "1.1.0", "name": "net", "ipam": ipam })
}

fn containers(daemon: &Daemon) -> anyhow::Result<BTreeSet<String>> {
    let id = |held: &Value| held.get("container_id")?.as_str().map(str::to_owned);
    Ok(daemon.allocations("net")?.iter().filter_map(id).collect())
}

#[derive(Clone, Copy)]
enum Restart {
    Stopped,
    Killed,
}

/// Adds a pod, checks it, adds another one and deletes that, until told to stop. Each call must succeed. Returns the pods that stay.
fn call_until(shim: &Plugin, caller: usize, enough: &AtomicBool) -> anyhow::Result<Vec<String>> {
    let mut stay = Vec::new();
    for number in 0..100_000 {
        if enough.load(Ordering::Relaxed) {
            break;
        }
        let [stays, goes] = ["stays", "goes"].map(|kind| Attachment::of(format!("{kind}-{caller}-{number}")));
        shim.call("ADD", &stays, &config())?.address()?;
        stay.push(stays.container.clone());
        shim.call("CHECK", &stays, &config())?.silent()?;
        shim.call("ADD", &goes, &config())?.address()?;
        shim.call("DEL", &goes, &config())?.silent()?;
    }
    Ok(stay)
}

fn stream(restart: Restart) -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let (shim, enough) = (daemon.shim()?, AtomicBool::new(false));
    let stay: BTreeSet<String> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (shim, enough) = (&shim, &enough);
                scope.spawn(move || call_until(shim, caller, enough))
            })
            .collect();
        let mut restarts = || {
            for _ in 0..RESTARTS {
                let before = containers(&daemon)?.len();
                wait::holds("more pods", LIMIT, || Ok(containers(&daemon)?.len() > before + CALLERS))?;
                match restart {
                    Restart::Stopped => ensure!(daemon.stop()?.success(), "it did not stop"),
                    Restart::Killed => daemon.kill()?,
                }
                daemon.start_again()?;
            }
            anyhow::Ok(())
        };
        let restarted = restarts();
        enough.store(true, Ordering::Relaxed);
        let mut stay = BTreeSet::new();
        for caller in callers {
            stay.extend(caller.join().map_err(|_| anyhow!("a caller panicked"))??);
        }
        restarted.map(|()| stay)
    })?;
    // A DEL that was spooled in the meantime is replayed.
    wait::holds("only the pods that stay", LIMIT, || Ok(containers(&daemon)? == stay))?;
    let held = daemon.allocations("net")?;
    let addresses: BTreeSet<_> =
        held.iter().filter_map(|held| held.pointer("/addresses/0")).map(Value::to_string).collect();
    ensure!(addresses.len() == held.len(), "an address has two owners: {held:?}");
    Ok(())
}

/// The daemon dies between the sync of an ADD and its answer, and the same call gets that answer from the next daemon.
fn unanswered() -> anyhow::Result<()> {
    let mut victim = Victim::new()?;
    victim.start()?;
    let shim = victim.shim()?;
    shim.call("ADD", &Attachment::of("other"), &config())?.address()?;
    let trace = victim.daemon.path("trace");
    let tracer = Fault { calls: "fdatasync", effect: "signal=STOP", at: 1 }.attach(victim.pid()?, &trace)?;
    let add = shim.start("ADD", &Attachment::of("pod"), config().to_string().as_bytes())?;
    wait::holds("the daemon to stop", LIMIT, || {
        Ok(std::fs::read_to_string(&trace)?.contains("stopped by SIGSTOP"))
    })?;
    kill_process(victim.pid()?, Signal::KILL)?;
    drop(tracer);
    victim.ended()?;
    victim.start()?;
    let address = add.finish()?.address()?;
    let again = shim.call("ADD", &Attachment::of("pod"), &config())?.address()?;
    ensure!(again == address, "the pod was answered {address}, and then {again}");
    ensure!(victim.daemon.allocations("net")?.len() == 2, "the pod holds two addresses");
    Ok(())
}

fn before_a_restart() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let [served, other] = ["served", "other"].map(Attachment::of);
    shim.call("ADD", &other, &config())?.address()?;
    let mut add = shim.begin("ADD", &served)?;
    add.rests()?;
    // Another pod's DEL, and the one of an earlier life of the same container, mean nothing to it.
    shim.call("DEL", &other, &config())?.silent()?;
    for crash in [true, false] {
        if crash {
            daemon.kill()?;
        } else {
            daemon.stop()?;
        }
        daemon.start_again()?;
    }
    add.send(config().to_string().as_bytes())?;
    add.finish()?.address()?;
    ensure!(containers(&daemon)? == BTreeSet::from(["served".to_owned()]), "the pod holds nothing");
    Ok(())
}

/// As at a boot at which the daemon comes last. Its policies were compiled in the boot before.
fn before_the_first_start() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    daemon.kill()?;
    daemon.reboot()?;
    let shim = daemon.shim()?;
    let add = shim.start("ADD", &Attachment::of("early"), config().to_string().as_bytes())?;
    add.rests()?;
    daemon.start_again()?;
    add.finish()?.address()?;
    Ok(())
}

fn overtaken_by_a_spooled_del() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let pod = Attachment::of("pod");
    let mut late = shim.begin("ADD", &pod)?;
    late.rests()?;
    daemon.kill()?;
    shim.call("DEL", &pod, &config())?.silent()?;
    // The DEL is known to the next daemon from the spool, and to the one after that from the record.
    for _ in 0..2 {
        daemon.start_again()?;
        daemon.kill()?;
    }
    daemon.start_again()?;
    late.send(config().to_string().as_bytes())?;
    let error = late.finish()?.error_code(TRY_AGAIN)?;
    ensure!(error.details.contains("superseded"), "another cause: {error:?}");
    ensure!(containers(&daemon)?.is_empty(), "the late ADD kept an address");
    Ok(())
}

/// The record of DELs is gone: the daemon does not claim to know that the runtime has abandoned the attempt.
fn forgotten() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let mut late = shim.begin("ADD", &Attachment::of("pod"))?;
    late.rests()?;
    daemon.kill()?;
    std::fs::remove_file(daemon.run_directory().join("dels"))?;
    daemon.start_again()?;
    late.send(config().to_string().as_bytes())?;
    let error = late.finish()?.error_code(TRY_AGAIN)?;
    ensure!(error.msg.contains("the oldest DEL that the daemon can remember"), "another cause: {error:?}");
    ensure!(!error.details.contains("abandoned"), "the runtime has not given it up: {error:?}");
    shim.call("ADD", &Attachment::of("pod"), &config())?.address()?;
    Ok(())
}

/// A daemon from before DELs were recorded has served in between: it took the lock of the run directory, and knew nothing of the record.
fn older_daemon() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let pod = Attachment::of("pod");
    let mut late = shim.begin("ADD", &pod)?;
    late.rests()?;
    daemon.stop()?;
    fs::write(daemon.run_directory().join("lock"), "1\n")?;
    daemon.start_again()?;
    late.send(config().to_string().as_bytes())?;
    let error = late.finish()?.error_code(TRY_AGAIN)?;
    ensure!(error.msg.contains("the oldest DEL that the daemon can remember"), "another cause: {error:?}");
    shim.call("ADD", &pod, &config())?.address()?;
    Ok(())
}

/// The compiled form of a policy is gone, as after an upgrade, and to compile it takes longer than the socket waits for it.
fn compiled_late() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let policy = bomb::within(fs::read(build("tenure-highest-first", &daemon)?)?)?;
    let file = daemon.path("late.wasm");
    fs::write(&file, policy)?;
    let settings = "[sandbox]\ncompile_seconds = 600\n[log]\nlevel = \"info,tenured=debug\"\n";
    daemon.configure(&format!("{settings}{}", entry("late", &file)?))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let patient = config_with(json!({ "timeout": 120, "policy": "late" }));
    shim.call("ADD", &Attachment::of("before"), &patient)?.address()?;
    daemon.kill()?;
    let digest = digest(&file)?;
    for compiled in fs::read_dir(daemon.state_directory().join("compiled"))? {
        let compiled = compiled?;
        if compiled.file_name().to_string_lossy().starts_with(&digest) {
            fs::remove_file(compiled.path())?;
        }
    }
    daemon.spawn()?;
    let compiler = wait::until("the compiler", LIMIT, || child(daemon.pid()?))?;
    kill_process(compiler, Signal::STOP)?;
    let socket = daemon.run_directory().join("cni.sock");
    wait::holds("the socket to open all the same", LIMIT, || Ok(UnixStream::connect(&socket).is_ok()))?;
    let hasty = config_with(json!({ "wait": 0, "policy": "late" }));
    let error = shim.call("ADD", &Attachment::of("hasty"), &hasty)?.error_code(TRY_AGAIN)?;
    ensure!(error.msg.contains("policy late@") && error.msg.contains("still being compiled"), "{error:?}");
    ensure!(error.details.contains("preparing"), "{error:?}");
    shim.call("STATUS", &Attachment::of("status"), &patient)?.error_code(50)?;
    let waits = shim.start("ADD", &Attachment::of("pod-that-waits"), patient.to_string().as_bytes())?;
    wait::holds("a refusal that the plugin takes for passing", LIMIT, || {
        Ok(!daemon.log("pod-that-waits").is_empty())
    })?;
    kill_process(compiler, Signal::CONT)?;
    waits.finish()?.address()?;
    ensure!(containers(&daemon)? == ["before", "pod-that-waits"].map(str::to_owned).into(), "other pods");
    Ok(())
}

/// A child of a process.
fn child(parent: Pid) -> anyhow::Result<Option<Pid>> {
    let parent = format!("PPid:\t{}\n", parent.as_raw_nonzero());
    Ok(fs::read_dir("/proc")?.flatten().find_map(|process| {
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        let number = process.file_name().to_str()?.parse().ok()?;
        status.contains(&parent).then(|| Pid::from_raw(number)).flatten()
    }))
}

fn who_waits() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let (shim, pod) = (daemon.shim()?, Attachment::of("pod"));
    daemon.kill()?;
    // Each of these would take the suite's whole time if it waited for what the configuration allows.
    let patient = config_with(json!({ "timeout": 3600, "wait": 3600 }));
    let error = shim.call("STATUS", &pod, &patient)?.error_code(50)?;
    ensure!(error.msg.contains("cannot reach tenured"), "{error:?}");
    shim.call("DEL", &pod, &patient)?.silent()?;
    let spooled = std::fs::read_dir(daemon.run_directory().join("spool"))?.count();
    ensure!(spooled == 1, "{spooled} DELs are spooled");
    // A network may ask for no wait at all.
    let error =
        shim.call("ADD", &pod, &config_with(json!({ "timeout": 3600, "wait": 0 })))?.error_code(TRY_AGAIN)?;
    ensure!(error.details.contains("daemon-unreachable"), "{error:?}");
    let missing = daemon.run_directory().join("cni.sock");
    std::fs::remove_file(&missing).with_context(|| missing.display().to_string())?;
    let error = shim.call("ADD", &pod, &config_with(json!({ "wait": 0.1 })))?.error_code(TRY_AGAIN)?;
    ensure!(error.msg.contains("the socket does not exist"), "{error:?}");
    Ok(())
}
