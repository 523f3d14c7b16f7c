//! Policies that misbehave, custom policies, and policies that are activated while pods are being added.

#[path = "support/component.rs"]
mod component;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use component::{build, digest, entry, entry_with};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, wait};

const INVALID_CONFIG: u32 = 7;
const POLICY_FAILED: u32 = 105;
const PROPOSAL_REJECTED: u32 = 106;
const UNKNOWN_POLICY: u32 = 107;
const UNLOADABLE: u32 = 108;
const OVERLOADED: u32 = 11;
const NOT_YET: u32 = 11;

/// The hostile policy's misbehaviours in a proposal or a definition, each with the code that the ADD must get.
const MISBEHAVIOURS: [(&str, u32); 35] = [
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
    ("outside", PROPOSAL_REJECTED),
    ("held", PROPOSAL_REJECTED),
    ("network-address", PROPOSAL_REJECTED),
    ("broadcast", PROPOSAL_REJECTED),
    ("gateway", PROPOSAL_REJECTED),
    ("other-family", PROPOSAL_REJECTED),
    ("duplicate", PROPOSAL_REJECTED),
    ("nothing", PROPOSAL_REJECTED),
    ("many-tags", POLICY_FAILED),
    ("define-spin", POLICY_FAILED),
    ("define-grow", POLICY_FAILED),
    ("define-recurse", POLICY_FAILED),
    ("define-trap", POLICY_FAILED),
    ("define-panic", POLICY_FAILED),
    ("define-huge-text", POLICY_FAILED),
    ("define-long-text", POLICY_FAILED),
    ("define-long-list", POLICY_FAILED),
    ("define-chatter", POLICY_FAILED),
    ("define-not-a-subnet", POLICY_FAILED),
    ("define-unknown-cooling", POLICY_FAILED),
    ("define-unknown-need", POLICY_FAILED),
    ("define-ugly-pool", POLICY_FAILED),
    ("define-supplied-ranges", PROPOSAL_REJECTED),
    ("refuse-not-yet", NOT_YET),
    ("define-ugly-refusal", INVALID_CONFIG),
];

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The bound on the daemon's peak memory in KiB under any policy.
const MEMORY: u64 = 256 << 10;

fn main() -> ExitCode {
    Suite::new()
        .test("each_misbehaviour_fails_its_request_alone", &[], misbehaviours)
        .test("each_failure_and_each_dropped_line_is_counted", &[], counted)
        .test("each_refusal_names_the_policy_its_digest_and_a_reason", &[], refusals)
        .test("a_policy_of_ones_own_is_activated_while_pods_come", &[], activated_under_load)
        .test("a_policy_that_does_not_load_leaves_the_old_one_serving", &[], unloadable)
        .test("an_operators_choice_survives_a_crash_and_the_loss_of_its_file", &[], choice_survives)
        .test("what_nobody_names_any_more_is_removed_by_the_next_start", &[], pruned)
        .test("a_name_is_never_looked_up_on_the_disk", &[], never_a_path)
        .test("more_than_the_queue_holds_is_refused", &[], overload)
        .run()
}

fn config(network: &str, policy: &str) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": network,
        "ipam": { "type": "tenure", "policy": policy, "ranges": [[{ "subnet": "10.81.0.0/16" }]] },
    })
}

/// A network of the hostile policy that misbehaves.
fn misbehaving(network: &str, misbehaviour: &str) -> anyhow::Result<Value> {
    let mut config = config(network, "hostile");
    let ipam = config.pointer_mut("/ipam").and_then(Value::as_object_mut).context("no ipam")?;
    ipam.insert("misbehave".to_owned(), json!(misbehaviour));
    Ok(config)
}

fn misbehaviours() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let hostile = build("tenure-hostile", &daemon)?;
    daemon.configure(&entry("hostile", &hostile)?)?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    for (misbehaviour, code) in MISBEHAVIOURS {
        let well = config(misbehaviour, "hostile");
        shim.call("ADD", &Attachment::of("before"), &well)?.address()?;
        let outcome =
            shim.call("ADD", &Attachment::of("victim"), &misbehaving(misbehaviour, misbehaviour)?)?;
        let error = outcome.error_code(code).context(misbehaviour)?;
        ensure!(
            code == INVALID_CONFIG || error.msg.contains("hostile@"),
            "{misbehaviour}: {error:?} does not name the policy and its digest"
        );
        ensure!(error.msg.len() < 4096 && !error.msg.contains('\u{1b}'), "{misbehaviour}: {error:?}");
        // The same network works as soon as its policy behaves, and no address leaked.
        shim.call("ADD", &Attachment::of("after"), &well)?.address().context(misbehaviour)?;
        let held = daemon.allocations(misbehaviour)?;
        ensure!(held.len() == 2, "{misbehaviour}: {held:?}");
        // Other networks work too.
        let other = config(&format!("beside-{misbehaviour}"), "host-local");
        shim.call("ADD", &Attachment::of("other"), &other)?.address()?;
        let peak = daemon.peak_rss()?;
        ensure!(peak < MEMORY, "{misbehaviour}: the daemon's peak memory was {peak} KiB");
    }
    Ok(())
}

/// One call for each kind of failure, and more log lines than a policy may write.
fn counted() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let hostile = build("tenure-hostile", &daemon)?;
    let listen = format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address());
    daemon.configure(&format!("{listen}{}", entry("hostile", &hostile)?))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    for (misbehaviour, kind) in [
        ("trap", "trap"),
        ("not-an-address", "nonsense"),
        ("outside", "rejected"),
        ("define-not-a-subnet", "nonsense"),
        ("long-text", "length"),
        ("grow", "memory"),
        ("chatter", "deadline"),
    ] {
        let series = format!("tenure_policy_failures_total{{policy=\"hostile\",kind=\"{kind}\"}} ");
        let counted = || Ok::<_, anyhow::Error>(value(&daemon.metrics()?, &series));
        let before = counted()?;
        let config = misbehaving(misbehaviour, misbehaviour)?;
        shim.call("ADD", &Attachment::of("victim"), &config)?.error().context(misbehaviour)?;
        ensure!(counted()? == before + 1, "{misbehaviour} is not counted as {kind}: {}", daemon.metrics()?);
    }
    // The meters by digest: each kind once, and the rule that the ledger named.
    let metrics = daemon.metrics()?;
    let of = format!("policy=\"hostile\",digest=\"{}\"", digest(&hostile)?.get(..12).unwrap_or_default());
    for (series, label, count) in [
        ("call_failures", ",kind=\"trap\"", 1),
        ("call_failures", ",kind=\"nonsense\"", 2),
        ("call_failures", ",kind=\"deadline\"", 1),
        ("rejections", ",rule=\"outside\"", 1),
    ] {
        let series = format!("tenure_policy_{series}_total{{{of}{label}}} ");
        ensure!(value(&metrics, &series) == count, "{series} is not {count}: {metrics}");
    }
    ensure!(value(&metrics, &format!("tenure_policy_calls_total{{{of}}} ")) >= 12, "{metrics}");
    let dropped = value(&daemon.metrics()?, "tenure_policy_lines_dropped_total{policy=\"hostile\"} ");
    ensure!(dropped > 0, "no line was dropped: {}", daemon.metrics()?);
    ensure!(daemon.log("blah").lines().count() <= 64, "the log was filled");
    // The next line says how many were dropped.
    shim.call("ADD", &Attachment::of("victim"), &misbehaving("panics", "panic")?)?.error()?;
    let left_out = format!("left_out={dropped}");
    ensure!(daemon.log(&left_out).contains("hostile@"), "{left_out} is not in\n{}", daemon.log("hostile@"));
    Ok(())
}

/// The value of a series; 0 if it does not exist yet.
fn value(metrics: &str, series: &str) -> u64 {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.parse().ok()).unwrap_or(0)
}

/// Refusals by policies other than host-local, with a reason and without; and host-local's own.
fn refusals() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let hostile = build("tenure-hostile", &daemon)?;
    daemon.configure(&entry("hostile", &hostile)?)?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    for (misbehaviour, code, reason) in [
        ("define-refuse", 7, "ipam.x: wrong"),
        ("define-refuse-silently", 7, "the network's configuration is wrong"),
        ("refuse-config", 7, "ipam.x: wrong"),
        ("refuse-config-silently", 7, "the network's configuration is wrong"),
        ("refuse-exhausted", 101, "all gone"),
        ("refuse-unavailable", 102, "not for you"),
        ("refuse-not-yet", 11, "soon; ask again in 30 s"),
        ("refuse-denied", 124, "no guests"),
        ("refuse-over-quota", 125, "red has 3 of 3"),
        ("refuse-other", 104, "not today"),
        ("refuse-silently", 104, "it refused without a reason"),
    ] {
        let config = misbehaving(misbehaviour, misbehaviour)?;
        let error = shim.call("ADD", &Attachment::of("pod"), &config)?.error_code(code)?;
        ensure!(
            error.msg.starts_with("policy hostile@") && error.msg.ends_with(&format!(": {reason}")),
            "{misbehaviour}: {error:?}"
        );
        // The details have the next step, except for the specification's own codes.
        ensure!(error.details.is_empty() == (code == 7), "{misbehaviour}: {error:?}");
    }
    // Callers see host-local's refusal in the reference's words; everywhere else it also names the policy.
    let mut full = config("full", "host-local");
    let ranges = full.pointer_mut("/ipam/ranges").context("no ranges")?;
    *ranges = json!([[{ "subnet": "10.82.0.0/30" }]]);
    shim.call("ADD", &Attachment::of("first"), &full)?.address()?;
    let error = shim.call("ADD", &Attachment::of("second"), &full)?.error_code(101)?;
    let text = "no IP addresses available in range set: 10.82.0.1-10.82.0.2";
    ensure!(error.msg == text, "not host-local's own text: {error:?}");
    for part in ["pool-exhausted", "network ", "policy host-local@", "delete pods or add a range"] {
        ensure!(error.details.contains(part), "the details lack {part:?}: {error:?}");
    }
    let log = daemon.log(text);
    ensure!(log.contains("policy host-local@") && log.contains("delete pods or add a range"), "{log}");
    Ok(())
}

fn activated_under_load() -> anyhow::Result<()> {
    const CALLERS: usize = 4;
    const PODS: usize = 40;
    let mut daemon = Daemon::prepare()?;
    let mine = build("tenure-highest-first", &daemon)?;
    daemon.configure(&entry("mine", &mine)?)?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let network = config("net", "host-local");
    shim.call("ADD", &Attachment::of("first"), &network)?.address()?;
    let addresses = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (shim, network) = (&shim, &network);
                scope.spawn(move || {
                    let add = |number: usize| {
                        let pod = Attachment::of(format!("c{caller}-{number}"));
                        shim.call("ADD", &pod, network)?.address()
                    };
                    (0..PODS).map(add).collect::<anyhow::Result<Vec<String>>>()
                })
            })
            .collect();
        for policy in ["mine", "host-local", "mine", "host-local", "mine"] {
            daemon.ctl(&["policy", "activate", "net", policy])?;
        }
        let mut all = Vec::new();
        for caller in callers {
            all.extend(caller.join().map_err(|_| anyhow!("a caller panicked"))??);
        }
        anyhow::Ok(all)
    })?;
    let different: BTreeSet<_> = addresses.iter().collect();
    ensure!(different.len() == CALLERS * PODS, "an address was assigned twice: {addresses:?}");
    let last = shim.call("ADD", &Attachment::of("last"), &network)?.address()?;
    ensure!(last.starts_with("10.81.255."), "the last choice is not in effect: {last}");
    let networks = daemon.networks()?;
    let told = networks.first().and_then(|network| network.pointer("/policy/name")).and_then(Value::as_str);
    ensure!(told == Some("mine"), "the daemon reports another policy: {networks:?}");
    Ok(())
}

fn unloadable() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let mine = build("tenure-highest-first", &daemon)?;
    let garbage = daemon.path("garbage.wasm");
    std::fs::write(&garbage, b"\0asm, or so it says")?;
    let entries = [
        entry("garbage", &garbage)?,
        entry_with("changed", &mine, &"0".repeat(64)),
        entry_with("missing", &daemon.path("missing.wasm"), &"0".repeat(64)),
    ];
    daemon.configure(&entries.concat())?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let network = config("net", "host-local");
    shim.call("ADD", &Attachment::of("first"), &network)?.address()?;
    for (policy, code) in [
        ("garbage", UNLOADABLE),
        ("changed", UNLOADABLE),
        ("missing", UNLOADABLE),
        ("nobodys", UNKNOWN_POLICY),
    ] {
        let output = daemon.ctl_output(&["policy", "activate", "net", policy])?;
        ensure!(!output.status.success(), "{policy} was activated");
        let other = config(policy, policy);
        shim.call("ADD", &Attachment::of("pod"), &other)?.error_code(code)?;
        let pod = Attachment::of(format!("after-{policy}"));
        let address = shim.call("ADD", &pod, &network)?.address()?;
        ensure!(address.starts_with("10.81.0."), "{policy} serves the network: {address}");
    }
    Ok(())
}

fn choice_survives() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let mine = build("tenure-highest-first", &daemon)?;
    daemon.configure(&entry("mine", &mine)?)?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let network = config("net", "host-local");
    shim.call("ADD", &Attachment::of("first"), &network)?.address()?;
    daemon.ctl(&["policy", "activate", "net", "mine"])?;
    daemon.kill()?;
    daemon.start_again()?;
    let address = shim.call("ADD", &Attachment::of("second"), &network)?.address()?;
    ensure!(address == "10.81.255.254/16", "the choice was lost on restart: {address}");
    daemon.kill()?;
    std::fs::remove_file(&mine)?;
    daemon.start_again()?;
    let address = shim.call("ADD", &Attachment::of("third"), &network)?.address()?;
    ensure!(address == "10.81.255.253/16", "the choice was lost with the policy's file: {address}");
    // Switching back needs only the name.
    daemon.ctl(&["policy", "activate", "net", "host-local"])?;
    let address = shim.call("ADD", &Attachment::of("fourth"), &network)?.address()?;
    ensure!(address.starts_with("10.81.0."), "not host-local's choice: {address}");
    Ok(())
}

/// A copy is kept only while a network uses it, has used it before, or the configuration names it.
fn pruned() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let mine = build("tenure-highest-first", &daemon)?;
    // An empty custom section makes it a different component, which is not built in.
    let another = |path: &Path| {
        let mut file = std::fs::OpenOptions::new().append(true).open(path)?;
        anyhow::Ok(file.write_all(&[0, 1, 0])?)
    };
    another(&mine)?;
    let unused = daemon.path("unused.wasm");
    std::fs::copy(&mine, &unused)?;
    another(&unused)?;
    daemon.configure(&format!("{}{}", entry("mine", &mine)?, entry("unused", &unused)?))?;
    daemon.start_again()?;
    let network = config("net", "host-local");
    daemon.shim()?.call("ADD", &Attachment::of("first"), &network)?.address()?;
    daemon.ctl(&["policy", "activate", "net", "mine"])?;
    ensure!(copies(&daemon, &mine)? == 2, "the copy or its compiled form is missing");
    wait::holds("the unused policy to be loaded", Duration::from_secs(60), || {
        Ok(copies(&daemon, &unused)? == 2)
    })?;
    daemon.kill()?;
    daemon.configure("")?;
    daemon.start_again()?;
    ensure!(copies(&daemon, &mine)? == 2, "the copy of a policy in use is gone");
    ensure!(copies(&daemon, &unused)? == 0, "the copy of an unused policy is still there");
    daemon.ctl(&["policy", "activate", "net", "host-local"])?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(copies(&daemon, &mine)? == 2, "the copy of the previous policy is gone");
    Ok(())
}

/// The number of files in the state directory for a component: its copy and its compiled form.
fn copies(daemon: &Daemon, component: &Path) -> anyhow::Result<usize> {
    let digest = digest(component)?;
    let mut count = 0;
    for directory in ["policies", "compiled"] {
        for file in std::fs::read_dir(daemon.state_directory().join(directory))? {
            count += usize::from(file?.file_name().to_string_lossy().starts_with(&digest));
        }
    }
    Ok(count)
}

/// The network's configuration names a policy by a file name, and a file of that name is in the daemon's working directory.
fn never_a_path() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let mine = build("tenure-highest-first", &daemon)?;
    let name = mine.file_name().and_then(|name| name.to_str()).context("no file name")?;
    daemon.start_again()?;
    let network = config("net", name);
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &network)?.error_code(UNKNOWN_POLICY)?;
    Ok(())
}

/// One policy call runs until its deadline, one more may wait, and the others are refused at once.
/// The places are held until their callers are killed: the policy would spin for minutes.
fn overload() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let hostile = build("tenure-hostile", &daemon)?;
    let limits = "[limits]\nin_flight = 1\nqueue = 1\n[sandbox]\ndeadline_ms = 600000\n";
    daemon.configure(&format!("{limits}{}", entry("hostile", &hostile)?))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let mut spins = misbehaving("net", "spin")?;
    let ipam = spins.pointer_mut("/ipam").and_then(Value::as_object_mut).context("no ipam")?;
    ipam.insert("timeout".to_owned(), json!(600));
    let input = spins.to_string();
    let start = |caller: &str| shim.start("ADD", &Attachment::of(caller), input.as_bytes());
    let becomes = |what: &str, expected: (u64, u64)| {
        wait::holds(what, LIMIT, || {
            let status = daemon.ctl(&["status"])?;
            let count = |name: &str| status.get(name).and_then(Value::as_u64);
            Ok(count("in_flight").zip(count("queued")) == Some(expected))
        })
    };
    let served = start("served")?;
    becomes("the first to be served", (1, 0))?;
    let waits = start("waits")?;
    becomes("the second to wait", (1, 1))?;
    for caller in 0..10 {
        let error =
            shim.call("ADD", &Attachment::of(format!("c{caller}")), &spins)?.error_code(OVERLOADED)?;
        ensure!(error.details.contains("overloaded"), "{error:?}");
    }
    // Refused requests succeed once the load is over.
    served.kill();
    waits.kill();
    becomes("the load to end", (0, 0))?;
    shim.call("ADD", &Attachment::of("later"), &config("other", "host-local"))?.address()?;
    Ok(())
}
