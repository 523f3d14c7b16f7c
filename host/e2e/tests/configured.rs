//! Policies of the configuration: files that are followed or pinned, through every change to them.

#[path = "support/component.rs"]
mod component;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use component::{build, digest, entry};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, binary, wait};

/// How long the daemon may take to notice a file and to apply it.
const SOON: Duration = Duration::from_secs(60);

/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;

fn main() -> ExitCode {
    Suite::new()
        .test("a_changed_file_is_applied_to_the_networks_it_serves", &[], applied)
        .test("whatever_happens_to_a_file_the_version_before_serves", &[], broken)
        .test("a_link_that_is_switched_is_a_changed_file", &[], switched)
        .test("a_version_that_was_rolled_back_waits_for_another_file", &[], rolled_back)
        .test("a_pinned_file_that_changes_is_refused_and_shown", &[], pinned)
        .test("what_changed_or_went_while_the_daemon_was_away_is_no_different", &[], away)
        .test("a_policy_that_does_not_conform_serves_no_network", &[], nonconforming)
        .test("grants_bound_a_policy_and_change_on_a_reload", &[], granted)
        .test("meters_and_benched_policies_are_shown", &[], metered)
        .test("a_script_can_wait_until_policies_have_loaded", &[], waited)
        .run()
}

/// A network that names a policy, and makes `canary-deny` refuse the pods that end with `-canary`.
fn network(name: &str, policy: &str) -> Value {
    let ranges = json!([[{ "subnet": "10.84.0.0/16" }]]);
    let deny = json!({ "podSuffix": "-canary" });
    let ipam = json!({ "type": "tenure", "policy": policy, "ranges": ranges, "deny": deny });
    json!({ "cniVersion": "1.0.0", "name": name, "type": "bridge", "ipam": ipam })
}

fn add(daemon: &Daemon, network: &Value, pod: &str) -> anyhow::Result<tenure_e2e::Outcome> {
    let arguments = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod}");
    daemon.shim()?.env("CNI_ARGS", arguments).call("ADD", &Attachment::of(pod), network)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn history(daemon: &Daemon, network: &str) -> anyhow::Result<Value> {
    daemon.ctl(&["policy", "history", network])
}

/// The digest of the policy that serves a network.
fn serves(daemon: &Daemon, network: &str) -> anyhow::Result<String> {
    Ok(text(&history(daemon, network)?, "/now/sha256"))
}

/// An entry without a pin.
fn followed(name: &str, path: &Path) -> String {
    format!("[policies.{name}]\npath = \"{}\"\n", path.display())
}

/// The same component with another digest: an empty custom section more.
fn variant(component: &Path, to: &Path) -> anyhow::Result<String> {
    let mut bytes = fs::read(component)?;
    bytes.extend([0, 1, 0]);
    fs::write(to, bytes)?;
    digest(to)
}

/// The problem that `policy list` shows for a policy's file.
fn file_problem(daemon: &Daemon, name: &str) -> anyhow::Result<String> {
    let list = daemon.ctl(&["policy", "list"])?;
    let policies = list.pointer("/policies").and_then(Value::as_array).context("no policies")?;
    let policy = policies.iter().find(|policy| text(policy, "/policy/name") == name);
    Ok(text(policy.context("not listed")?, "/file_problem"))
}

/// Waits until the file's problem contains this text; returns the problem.
fn complains(daemon: &Daemon, name: &str, about: &str) -> anyhow::Result<String> {
    wait::until(&format!("a complaint about {about:?}"), SOON, || {
        Ok(Some(file_problem(daemon, name)?).filter(|problem| problem.contains(about)))
    })
}

fn is_served_by(daemon: &Daemon, network: &str, digest: &str) -> anyhow::Result<()> {
    wait::holds("the changed file to be applied", SOON, || Ok(serves(daemon, network)? == digest))
}

/// A daemon that follows `canary-deny` in a file of its own, with that file and its first digest.
fn following() -> anyhow::Result<(Daemon, PathBuf, String)> {
    let mut daemon = Daemon::prepare()?;
    let built = build("tenure-sdk/canary_deny", &daemon)?;
    fs::create_dir(daemon.path("files"))?;
    let file = daemon.path("files/canary.wasm");
    fs::copy(&built, &file)?;
    daemon.configure(&followed("canary", &file))?;
    daemon.start_again()?;
    let first = digest(&file)?;
    Ok((daemon, file, first))
}

fn applied() -> anyhow::Result<()> {
    let (daemon, file, first) = following()?;
    let (net, other) = (network("net", "canary"), network("other", "host-local"));
    add(&daemon, &net, "web-0")?.address()?;
    add(&daemon, &other, "db-0")?.address()?;
    daemon.ctl(&["policy", "activate", "other", "canary"])?;
    ensure!(serves(&daemon, "net")? == first && serves(&daemon, "other")? == first);

    let (next, back) = (daemon.path("files/next.wasm"), daemon.path("files/back.wasm"));
    fs::copy(&file, &back)?;
    let second = variant(&file, &next)?;
    fs::rename(&next, &file)?;
    let mut pods = 0;
    // Pods come all the while, and none fails.
    wait::holds("the changed file to be applied", SOON, || {
        pods += 1;
        add(&daemon, &net, &format!("web-{pods}"))?.address()?;
        Ok(serves(&daemon, "net")? == second && serves(&daemon, "other")? == second)
    })?;
    for network in ["net", "other"] {
        let told = history(&daemon, network)?;
        ensure!(text(&told, "/steps/0/kind") == "chosen", "{told}");
        ensure!(text(&told, "/steps/0/reason") == "file changed", "{told}");
        ensure!(told.pointer("/watched") == Some(&json!(true)), "{told}");
    }
    ensure!(file_problem(&daemon, "canary")?.is_empty());
    // Who had chosen the policy is as before: naming another one in its configuration exchanges the first network's.
    add(&daemon, &network("net", "host-local"), "late")?.address()?;
    ensure!(text(&history(&daemon, "net")?, "/now/name") == "host-local");
    add(&daemon, &other, "later")?.address()?;
    ensure!(serves(&daemon, "other")? == second, "an operator's choice stays");
    // Nobody has returned from the first version, so the file may return to it.
    fs::rename(&back, &file)?;
    is_served_by(&daemon, "other", &first)?;
    ensure!(file_problem(&daemon, "canary")?.is_empty());
    Ok(())
}

fn broken() -> anyhow::Result<()> {
    let (daemon, file, first) = following()?;
    let mut net = network("net", "canary");
    if let Some(ipam) = net.pointer_mut("/ipam").and_then(Value::as_object_mut) {
        // What the next version does with it is invalid.
        ipam.insert("misbehave".to_owned(), json!("outside"));
    }
    add(&daemon, &net, "web-0")?.address()?;
    let good = fs::read(&file)?;
    let half = good.get(..good.len() / 2).context("too short")?.to_vec();
    let hostile = fs::read(build("tenure-hostile", &daemon)?)?;
    let mut pods = 0;
    let mut still_serves = |case: &str| -> anyhow::Result<()> {
        pods += 1;
        add(&daemon, &net, &format!("pod-{pods}"))?.address().context(case.to_owned())?;
        ensure!(serves(&daemon, "net")? == first, "{case}");
        let status = daemon.ctl(&["status"])?;
        let conditions = status.pointer("/conditions").and_then(Value::as_array).context("no conditions")?;
        let told = conditions.iter().any(|wrong| text(wrong, "/name") == "policy-file-refused");
        ensure!(told, "{case}: {status}");
        Ok(())
    };
    let cases: [(&str, &[u8], &str); 5] = [
        ("half of it", &half, "unexpected end"),
        ("nothing", b"", "unexpected"),
        ("a module", b"\0asm\x01\0\0\0", "core module"),
        ("an empty component", b"\0asm\x0d\0\x01\0", "not a policy"),
        ("one that lies", &hostile, "does not pass the conformance suite"),
    ];
    for (case, bytes, about) in cases {
        fs::write(&file, bytes)?;
        complains(&daemon, "canary", about).context(case)?;
        still_serves(case)?;
    }
    fs::remove_file(&file)?;
    complains(&daemon, "canary", "No such file")?;
    still_serves("no file")?;
    fs::create_dir(&file)?;
    complains(&daemon, "canary", "not a regular file")?;
    still_serves("a directory")?;
    fs::remove_dir(&file)?;

    // Right again: the problem is over. Nothing of the others has stayed.
    fs::write(&file, &good)?;
    wait::holds("the complaint to end", SOON, || Ok(file_problem(&daemon, "canary")?.is_empty()))?;
    ensure!(serves(&daemon, "net")? == first);
    let steps = history(&daemon, "net")?;
    let kinds: Vec<_> = steps.pointer("/steps").and_then(Value::as_array).into_iter().flatten().collect();
    ensure!(kinds.len() == 2 && text(&steps, "/steps/0/kind") == "refused", "{steps}");
    Ok(())
}

fn switched() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let built = build("tenure-sdk/canary_deny", &daemon)?;
    // As Kubernetes lays a ConfigMap out: the file is a link through a link to a folder.
    let folder = daemon.path("map");
    for version in ["1", "2"] {
        fs::create_dir_all(folder.join(version))?;
    }
    fs::copy(&built, folder.join("1/canary.wasm"))?;
    let second = variant(&built, &folder.join("2/canary.wasm"))?;
    symlink("1", folder.join("..data"))?;
    symlink("..data/canary.wasm", folder.join("canary.wasm"))?;
    daemon.configure(&followed("canary", &folder.join("canary.wasm")))?;
    daemon.start_again()?;
    add(&daemon, &network("net", "canary"), "web-0")?.address()?;
    symlink("2", folder.join("..next"))?;
    fs::rename(folder.join("..next"), folder.join("..data"))?;
    is_served_by(&daemon, "net", &second)
}

fn rolled_back() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    let good = build("tenure-host-local", &daemon)?;
    let file = daemon.path("rule.wasm");
    let first = variant(&good, &file)?;
    daemon.configure(&followed("rule", &file))?;
    daemon.start_again()?;
    let net = network("net", "rule");
    add(&daemon, &net, "web-0")?.address()?;
    ensure!(serves(&daemon, "net")? == first);

    fs::copy(&canary, &file)?;
    let second = digest(&canary)?;
    is_served_by(&daemon, "net", &second)?;
    for pod in ["a-canary", "b-canary", "c-canary"] {
        add(&daemon, &net, pod)?.error()?;
    }
    is_served_by(&daemon, "net", &first)?;
    ensure!(text(&history(&daemon, "net")?, "/steps/0/kind") == "rolled-back");
    // Nor is a new network given the version that has failed.
    complains(&daemon, "rule", "the policy's name stands for")?;
    add(&daemon, &network("new", "rule"), "e-canary")?.address()?;
    ensure!(serves(&daemon, "new")? == first);

    // A restart looks at every file anew. This one was rolled back, and that is remembered.
    daemon.kill()?;
    daemon.start_again()?;
    complains(&daemon, "rule", "was rolled back from policy")?;
    ensure!(serves(&daemon, "net")? == first);
    add(&daemon, &net, "d-canary")?.address()?;

    let third = variant(&canary, &file)?;
    is_served_by(&daemon, "net", &third)?;
    wait::holds("the complaint to end", SOON, || Ok(file_problem(&daemon, "rule")?.is_empty()))
}

fn pinned() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    let first = digest(&canary)?;
    let good = fs::read(&canary)?;
    daemon.configure(&entry("canary", &canary)?)?;
    daemon.start_again()?;
    let net = network("net", "canary");
    add(&daemon, &net, "web-0")?.address()?;
    let second = variant(&canary, &canary)?;
    let problem = complains(&daemon, "canary", &second)?;
    ensure!(problem.contains("policies.canary.sha256") && problem.contains(&first), "{problem}");
    add(&daemon, &net, "web-1")?.address()?;
    ensure!(serves(&daemon, "net")? == first, "the old one serves");
    fs::write(&canary, good)?;
    wait::holds("the complaint to end", SOON, || Ok(file_problem(&daemon, "canary")?.is_empty()))?;
    // Without its pin, the same file is followed.
    daemon.configure(&followed("canary", &canary))?;
    daemon.ctl(&["reload"])?;
    add(&daemon, &net, "web-2")?.address()?;
    let third = variant(&canary, &canary)?;
    is_served_by(&daemon, "net", &third)
}

fn away() -> anyhow::Result<()> {
    let (mut daemon, file, first) = following()?;
    let net = network("net", "canary");
    add(&daemon, &net, "web-0")?.address()?;
    daemon.kill()?;
    let good = fs::read(&file)?;
    fs::remove_file(&file)?;
    daemon.start_again()?;
    add(&daemon, &net, "web-1")?.address().context("the node boots on what served last")?;
    complains(&daemon, "canary", "No such file")?;
    ensure!(serves(&daemon, "net")? == first);
    daemon.kill()?;
    fs::write(&file, good)?;
    let second = variant(&file, &file)?;
    daemon.start_again()?;
    add(&daemon, &net, "web-2")?.address()?;
    is_served_by(&daemon, "net", &second)?;
    ensure!(text(&history(&daemon, "net")?, "/steps/0/reason") == "file changed");
    Ok(())
}

/// `policy inspect` of a policy's present version.
/// A policy that spins as it starts: an ADD is refused with its name, another network is served, and a better file is taken.
fn nonconforming() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let good = fs::read(build("tenure-highest-first", &daemon)?)?;
    let file = daemon.path("rule.wasm");
    let spins = "(module (func $spin (loop (br 0))) (start $spin))";
    fs::write(&file, binary::with_module(&good, spins)?)?;
    daemon.configure(&followed("rule", &file))?;
    daemon.start_again()?;
    let (net, beside) = (network("net", "rule"), network("beside", "host-local"));
    let mut pods = 0;
    let error = wait::until("the verdict", SOON, || {
        pods += 1;
        add(&daemon, &beside, &format!("web-{pods}"))?.address()?;
        let outcome = add(&daemon, &net, "web-0")?;
        let error = outcome.error()?;
        // Until then the runtime is told to try again.
        Ok((error.code != TRY_AGAIN).then(|| format!("{} {}", error.msg, error.details)))
    })?;
    ensure!(
        error.contains("policy rule@") && error.contains("does not pass the conformance suite"),
        "{error}"
    );
    ensure!(history(&daemon, "net").is_err(), "the network is there");
    let list = daemon.ctl(&["policy", "list"])?.to_string();
    ensure!(list.contains("does not pass the conformance suite"), "{list}");

    // Nor after a restart.
    daemon.kill()?;
    daemon.start_again()?;
    add(&daemon, &net, "web-0")?.error()?;
    fs::write(&file, good)?;
    wait::holds("the better file to serve", SOON, || Ok(add(&daemon, &net, "web-0")?.address().is_ok()))?;
    wait::holds("the complaint to end", SOON, || Ok(file_problem(&daemon, "rule")?.is_empty()))
}

fn inspected(daemon: &Daemon, name: &str) -> anyhow::Result<Value> {
    let told = daemon.ctl(&["policy", "inspect", name])?;
    told.pointer("/versions/0").cloned().context("no versions")
}

fn granted() -> anyhow::Result<()> {
    const OUT_OF_BOUNDS: u32 = 114;
    const FAILED: u32 = 105;
    let mut daemon = Daemon::prepare()?;
    let hostile = build("tenure-hostile", &daemon)?;
    let grant = |grants: &str| daemon.configure(&format!("{}{grants}\n", followed("mine", &hostile)));
    grant("networks = [\"net\", \"blue-*\"]\nmemory_mib = 4\ndeadline_ms = 20")?;
    daemon.start_again()?;
    add(&daemon, &network("net", "mine"), "web-0")?.address()?;
    add(&daemon, &network("blue-1", "mine"), "web-0")?.address()?;
    let refused = add(&daemon, &network("red", "mine"), "web-0")?.error_code(OUT_OF_BOUNDS)?;
    ensure!(format!("{refused:?}").contains("policies.mine.networks allows net, blue-*"), "{refused:?}");
    let mut grows = network("net", "mine");
    if let Some(ipam) = grows.pointer_mut("/ipam").and_then(Value::as_object_mut) {
        ipam.insert("misbehave".to_owned(), json!("grow"));
    }
    let failed = add(&daemon, &grows, "web-1")?.error_code(FAILED)?;
    ensure!(format!("{failed:?}").contains("4 MiB of memory (policies.mine.memory_mib)"), "{failed:?}");
    let shown = inspected(&daemon, "mine")?;
    let worlds = json!([{ "name": "planner", "granted": false }, { "name": "stateful", "granted": false }]);
    ensure!(shown.pointer("/grants/worlds") == Some(&worlds), "least by default: {shown}");
    let notice = "it plans, and is never asked for a plan: neither the world planner nor effects are granted";
    let listed = daemon.ctl(&["policy", "list"])?;
    ensure!(text(&shown, "/notice").starts_with(notice) && listed.to_string().contains(notice), "{shown}");
    ensure!(!daemon.log(notice).is_empty(), "the log does not say that its plans change nothing");
    ensure!(shown.pointer("/grants/networks") == Some(&json!(["net", "blue-*"])), "{shown}");
    ensure!(shown.pointer("/grants/memory_bytes") == Some(&json!(4 << 20)), "{shown}");
    ensure!(shown.pointer("/grants/deadline_ms") == Some(&json!(20)), "{shown}");

    // Other grants, at once: for a network that exists, too.
    let grant = |grants: &str| daemon.configure(&format!("{}{grants}\n", followed("mine", &hostile)));
    grant("networks = [\"red\"]\nworlds = [\"stateful\"]\neffects = [\"assign-prefix\"]")?;
    daemon.ctl(&["reload"])?;
    add(&daemon, &network("red", "mine"), "web-0")?.address()?;
    add(&daemon, &network("blue-1", "mine"), "web-1")?.error_code(OUT_OF_BOUNDS)?;
    let failed = add(&daemon, &grows, "web-2")?;
    ensure!(failed.error_code(OUT_OF_BOUNDS).is_ok());
    let shown = inspected(&daemon, "mine")?;
    let worlds = json!([{ "name": "planner", "granted": false }, { "name": "stateful", "granted": true }]);
    ensure!(shown.pointer("/grants/worlds") == Some(&worlds), "{shown}");
    ensure!(shown.pointer("/grants/effects") == Some(&json!(["assign-prefix"])), "{shown}");
    ensure!(text(&shown, "/notice").contains("the world planner is not granted to it"), "{shown}");
    // An operator's own word grants no network that the configuration does not.
    let refused = daemon.ctl_output(&["policy", "activate", "net", "host-local"])?;
    ensure!(refused.status.success(), "host-local is not bounded");
    let refused = daemon.ctl_output(&["policy", "activate", "net", "mine", "--unchecked"])?;
    ensure!(!refused.status.success(), "mine is");
    // More than the sandbox has is refused, by its key.
    daemon.configure(&format!("{}memory_mib = 64\n", followed("mine", &hostile)))?;
    let refused = daemon.ctl_output(&["reload"])?;
    let said = String::from_utf8_lossy(&[refused.stdout, refused.stderr].concat()).into_owned();
    ensure!(said.contains("policies.mine.memory_mib: must be from 1 to sandbox.memory_mib"), "{said}");
    Ok(())
}

fn metered() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let hostile = build("tenure-hostile", &daemon)?;
    daemon.configure(&followed("mine", &hostile))?;
    daemon.start_again()?;
    let before = inspected(&daemon, "mine")?;
    ensure!(
        before.pointer("/meter/calls").is_none_or(|calls| *calls == json!(0)),
        "nobody was served: {before}"
    );
    let misbehaving = |how: &str| {
        let mut net = network("net", "mine");
        if let Some(ipam) = net.pointer_mut("/ipam").and_then(Value::as_object_mut) {
            ipam.insert("misbehave".to_owned(), json!(how));
        }
        net
    };
    add(&daemon, &misbehaving("behave"), "web-0")?.address()?;
    add(&daemon, &misbehaving("outside"), "web-1")?.error()?;
    for pod in 0..6 {
        add(&daemon, &misbehaving("trap"), &format!("trap-{pod}"))?.error()?;
    }
    let shown = inspected(&daemon, "mine")?;
    let count = |of: &Value, key: &str| of.pointer(&format!("/meter/{key}")).and_then(Value::as_u64);
    ensure!(count(&shown, "rejections/outside") == Some(1), "{shown}");
    ensure!(count(&shown, "failures/trap") >= Some(5), "{shown}");
    ensure!(count(&shown, "trial_calls") > Some(24), "the conformance suite: {shown}");
    for key in ["calls", "processor_us", "host_calls"] {
        ensure!(count(&shown, key) > count(&before, key), "{key}: {shown}");
    }
    ensure!(count(&shown, "memory_peak_bytes") > Some(64 << 10), "{shown}");
    let list = daemon.ctl(&["policy", "list"])?;
    let status = daemon.ctl(&["status"])?;
    for told in [shown.to_string(), list.to_string(), status.to_string()] {
        ensure!(told.contains("keeps failing on network net"), "{told}");
    }
    Ok(())
}

fn waited() -> anyhow::Result<()> {
    let (daemon, file, _) = following()?;
    let second = daemon.path("second.wasm");
    variant(&file, &second)?;
    daemon.configure(&format!("{}{}", followed("canary", &file), entry("second", &second)?))?;
    daemon.ctl(&["reload"])?;
    let list = daemon.ctl(&["policy", "list", "--wait", "60"])?;
    let policies = list.pointer("/policies").and_then(Value::as_array).context("no policies")?;
    ensure!(policies.len() == 4, "{list}");
    let well = |policy: &Value| text(policy, "/problem").is_empty();
    ensure!(policies.iter().all(well), "{list}");
    Ok(())
}
