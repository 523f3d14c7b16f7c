//! The systemd unit denies the daemon what it does not need, and nothing that it needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use tenure_e2e::{Attachment, Need, Suite, Victim, wait};

/// The time limit for a traced daemon, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The highest exposure that `systemd-analyze security` may report, in tenths.
const EXPOSURE: &str = "--threshold=16";

/// The same with drop-ins: the capabilities of links weigh most.
const WITH_DROP_INS: [(&[&str], u32); 3] = [
    (&["tenure-cluster.conf"], 17),
    (&["tenure-eni.conf"], 25),
    (&["tenure-eni.conf", "tenure-aws.conf"], 26),
];

const ANALYZE: Need = Need::File("/usr/bin/systemd-analyze", "systemd");
const STRACE: Need = Need::File("/usr/bin/strace", "strace");

fn main() -> ExitCode {
    Suite::new()
        .test("the_unit_leaves_little_exposed", &[ANALYZE], exposure)
        .test("each_drop_in_exposes_little_more", &[ANALYZE], exposure_of_drop_ins)
        .test("the_unit_leaves_delegates_to_their_work", &[], delegates_stay)
        .test("the_unit_bounds_the_daemons_memory", &[], memory)
        .test(
            "the_unit_lets_the_daemon_do_its_work",
            &[Need::Root, ANALYZE, STRACE, Need::UTIL_LINUX, Need::PLUGINS],
            nothing_needed_is_taken,
        )
        .run()
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/systemd/tenured.service")
}

/// The unit's values for a key.
fn settings(key: &str) -> anyhow::Result<Vec<String>> {
    let unit = fs::read_to_string(path())?;
    let values = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    Ok(values.flat_map(str::split_whitespace).map(str::to_owned).collect())
}

fn memory() -> anyhow::Result<()> {
    ensure!(settings("MemoryMax")? == ["3G"] && settings("OOMPolicy")? == ["continue"], "no bound");
    Ok(())
}

fn analyze(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("systemd-analyze").args(arguments).output()?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(said)
}

fn exposure() -> anyhow::Result<()> {
    let unit = path().display().to_string();
    analyze(&["security", "--offline=true", EXPOSURE, &unit])?;
    ensure!(
        analyze(&["security", "--offline=true", "--threshold=1", &unit]).is_err(),
        "the check accepts everything"
    );
    ensure!(settings("CapabilityBoundingSet")?.is_empty(), "the unit grants capabilities");
    Ok(())
}

/// The drop-ins are installed as their first lines say, below another root.
fn exposure_of_drop_ins() -> anyhow::Result<()> {
    let root = tenure_e2e::scratch::directory()?;
    let units = root.path().join("etc/systemd/system");
    fs::create_dir_all(&units)?;
    fs::copy(path(), units.join("tenured.service"))?;
    let root = format!("--root={}", root.path().display());
    let security =
        |threshold: &str| analyze(&["security", "--offline=true", &root, threshold, "tenured.service"]);
    security(EXPOSURE)?;
    for (drop_ins, exposure) in WITH_DROP_INS {
        let directory = units.join("tenured.service.d");
        fs::create_dir(&directory)?;
        for drop_in in drop_ins {
            fs::copy(path().with_file_name(drop_in), directory.join(drop_in))?;
        }
        security(&format!("--threshold={exposure}"))?;
        let less = security(&format!("--threshold={}", exposure - 1));
        ensure!(less.is_err(), "{drop_ins:?} are not looked at");
        fs::remove_dir_all(&directory)?;
    }
    Ok(())
}

/// systemd kills a delegate in the midst of its work in every other mode, also when the daemon crashes.
fn delegates_stay() -> anyhow::Result<()> {
    ensure!(settings("KillMode")? == ["process"], "{:?}", settings("KillMode")?);
    Ok(())
}

/// The system calls in one of systemd's sets.
fn calls(set: &str) -> anyhow::Result<BTreeSet<String>> {
    if !set.starts_with('@') {
        return Ok([set.to_owned()].into());
    }
    let mut found = BTreeSet::new();
    for word in analyze(&["syscall-filter", set])?.lines().filter_map(|line| line.strip_prefix("    ")) {
        match word.trim() {
            word if word.starts_with('#') => {}
            word => found.extend(calls(word)?),
        }
    }
    ensure!(!found.is_empty(), "{set} is empty");
    Ok(found)
}

/// The system calls that the unit allows, computed line by line as systemd does.
fn allowed() -> anyhow::Result<BTreeSet<String>> {
    let unit = fs::read_to_string(path())?;
    let mut allowed = BTreeSet::new();
    for line in unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let (removed, sets) = line.strip_prefix('~').map_or((false, line), |sets| (true, sets));
        for set in sets.split_whitespace() {
            let calls = calls(set)?;
            if removed {
                allowed.retain(|call| !calls.contains(call));
            } else {
                allowed.extend(calls);
            }
        }
    }
    Ok(allowed)
}

/// Exercises everything that a daemon does and what its delegate does, without capabilities and with every system call traced.
fn work(trace: &Path) -> anyhow::Result<()> {
    let mut victim = Victim::new()?;
    let metrics = victim.daemon.metrics_address();
    let data = victim.daemon.path("delegated").display().to_string();
    victim.daemon.configure(&format!(
        "[metrics]\nlisten = \"{metrics}\"\n[runtime]\nsocket = \"/run/nobody.sock\"\n\
         [delegates.host-local]\npath = \"/usr/lib/cni/host-local\"\n\
         [networks.delegated]\ndelegate = \"host-local\"\n\
         delegate_config = {{ dataDir = \"{data}\", subnet = \"10.84.0.0/24\" }}\n"
    ))?;
    let trace = trace.display().to_string();
    let words = [
        "--bounding-set=-all",
        "--inh-caps=-all",
        "--no-new-privs",
        "strace",
        "-D",
        "-f",
        "-q",
        "-o",
        &trace,
    ];
    ensure!(victim.start_under(&words)?.is_none(), "it ended");
    let status = fs::read_to_string(format!("/proc/{}/status", victim.pid()?.as_raw_nonzero()))?;
    ensure!(status.contains("CapEff:\t0000000000000000"), "it has capabilities: {status}");
    let shim = victim.shim()?;
    let config = json!({
        "cniVersion": "1.1.0",
        "name": "pods",
        "cni.dev/valid-attachments": [],
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.83.0.0/24" }]] },
    });
    let pod = Attachment::of("pod");
    // The first ADD needs a compiled policy.
    wait::holds("an address", LIMIT, || Ok(shim.call("ADD", &pod, &config)?.succeeded))?;
    shim.call("STATUS", &pod, &config)?.silent()?;
    victim.daemon.ctl(&["policy", "activate", "pods", "highest-first"])?;
    shim.call("ADD", &Attachment::of("other"), &config)?.address()?;
    let delegated = json!({ "cniVersion": "1.1.0", "name": "delegated", "ipam": { "type": "tenure" } });
    shim.call("ADD", &pod, &delegated)?.address()?;
    shim.call("DEL", &pod, &delegated)?.silent()?;
    // Its findings, about sandboxes that never existed, do not matter here.
    victim.daemon.ctl_output(&["check"])?;
    victim.daemon.metrics()?;
    shim.call("DEL", &pod, &config)?.silent()?;
    shim.call("GC", &pod, &config)?.silent()?;
    let ended = victim.stop()?;
    ensure!(ended.success(), "ended with {ended}");
    wait::holds("the trace", LIMIT, || Ok(fs::read_to_string(&trace)?.contains("+++ exited with 0 +++")))
}

fn nothing_needed_is_taken() -> anyhow::Result<()> {
    let directory = tenure_e2e::scratch::directory()?;
    let trace = directory.path().join("trace");
    work(&trace)?;
    let trace = fs::read_to_string(trace)?;
    // `PID call(arguments) = result`; other lines are signals, exits and resumed calls.
    let made = || trace.lines().filter_map(|line| line.split_once(' ')?.1.trim_start().split_once('('));
    let used: BTreeSet<&str> = made()
        .map(|(call, _)| call)
        .filter(|call| call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .collect();
    for call in ["execve", "flock", "fdatasync", "mprotect", "accept4"] {
        ensure!(used.contains(call), "{call} is not among {used:?}");
    }
    ensure!(trace.contains("delegated/10.84.0.2"), "the delegate has not worked");
    let allowed = allowed()?;
    let denied: Vec<_> = used.iter().filter(|call| !allowed.contains(**call)).collect();
    ensure!(denied.is_empty(), "the unit denies {denied:?}");

    let families = settings("RestrictAddressFamilies")?;
    for (call, arguments) in made().filter(|(call, _)| matches!(*call, "socket" | "socketpair")) {
        let family = arguments.split(',').next().context("no family")?;
        ensure!(families.iter().any(|allowed| allowed == family), "the unit denies {call}({arguments}");
    }
    ensure!(
        settings("RestrictNamespaces")? == ["yes"] && !trace.contains("CLONE_NEW"),
        "the daemon creates namespaces"
    );
    Ok(())
}
