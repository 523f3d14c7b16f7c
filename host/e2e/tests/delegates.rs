//! Networks whose addresses come from somebody else's IPAM: Debian's host-local and static, and scripts that misbehave.
//!
//! The oracle is the same everywhere: what the delegate has given and not taken back is what somebody owns, one for one.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "the suite of agents uses more of it")]
mod agent;
#[path = "delegates/node.rs"]
mod node;
#[path = "delegates/script.rs"]
mod script;

use std::fs;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use agent::claim;
use anyhow::{Context, ensure};
use node::{HOST_LOCAL, LIMIT, Node, STATIC, at, pod};
use script::Script;
use serde_json::json;
use tenure_e2e::random::{self, Random};
use tenure_e2e::{Daemon, Need, Suite, wait};
use tenure_rpc::v1::{ClaimSpec, Family};
use tenure_types::ErrorCode;

fn main() -> ExitCode {
    let real: &[Need] = &[Need::PLUGINS];
    Suite::new()
        .test("host_local_serves_pods_and_agents_and_nothing_leaks_on_either_side", real, host_local)
        .test("host_local_that_has_lost_its_state_gives_nothing_twice", real, wiped)
        .test("host_local_that_remembers_what_the_node_has_forgotten_is_asked_again", real, forgotten)
        .test("a_drain_after_a_loss_of_state_gives_everything_back", real, drained)
        .test("what_host_local_gave_before_goes_back_through_tenure", real, before)
        .test("static_gives_its_address_to_one_owner_only", real, fixed)
        .test("a_pinned_delegate_that_is_replaced_on_disk_is_not_run", real, pinned)
        .test("a_delegate_that_misbehaves_fails_its_request_alone_and_gets_everything_back", &[], hostile)
        .test("a_delegate_that_hangs_holds_up_no_other_request", &[], hangs)
        .test("a_delegate_that_is_missing_is_given_back_later_what_it_gave", &[], missing)
        .test("a_kill_while_a_delegate_is_asked_leaks_nothing_on_either_side", &[], killed)
        .test("kills_at_any_time_leave_host_local_and_the_ledger_agreed", real, kills)
        .test("a_node_without_its_configuration_knows_whose_addresses_they_are", &[], unconfigured)
        .test("a_start_takes_a_delegate_for_no_policy_to_load", &[], no_policy)
        .test("a_delegate_gets_routes_in_whatever_form_it_has_them", &[], own_routes)
        .test("a_declaration_that_fails_leaves_nothing_at_the_delegate", &[], declared)
        .run()
}

fn host_local() -> anyhow::Result<()> {
    let mut node = Node::with_host_local()?;
    let added = node.add("pod-1")?;
    ensure!(at(&added, "/ips/0/address") == "10.91.0.2/24", "{added}");
    ensure!(
        at(&added, "/ips/0/gateway") == "10.91.0.1" && at(&added, "/routes/0/dst") == "0.0.0.0/0",
        "{added}"
    );
    // A repeat is answered from the ledger: host-local itself would refuse it.
    ensure!(node.add("pod-1")? == added, "a repeated ADD");
    let shim = node.daemon.shim()?;
    shim.call("CHECK", &pod("pod-1"), &node.checked(&added))?.silent()?;
    node.add("pod-2")?;
    let agent = node.agent()?;
    let router = agent.ensures(claim("router"))??;
    ensure!(agent.ensures(claim("router"))?? == router && router.len() == 1, "{router:?}");
    let routes = agent.lists()??.first().map_or(0, |claim| claim.routes.len());
    ensure!(routes == 1, "the delegate's routes are not told to the agent");
    node.agrees(3)?;

    node.daemon.kill()?;
    node.daemon.start_again()?;
    ensure!(node.agent()?.ensures(claim("router"))?? == router, "after a kill");
    shim.call("DEL", &pod("pod-2"), &node.config())?.silent()?;
    node.agrees(2)?;
    let gc = node.config_with("cni.dev/valid-attachments", json!([]));
    shim.call("GC", &pod("pod-1"), &gc)?.silent()?;
    node.agrees(1)?;
    node.add("pod-3")?;
    node.daemon.stop()?;
    node.daemon.reboot()?;
    node.daemon.start_again()?;
    // The pod has ended with the boot, and host-local's files have not.
    node.agrees(1)?;
    let agent = node.agent()?;
    ensure!(agent.ensures(claim("router"))?? == router, "after a reboot");
    ensure!(agent.releases("pods", "router")??, "there was a claim");
    node.agrees(0)
}

fn wiped() -> anyhow::Result<()> {
    let node = Node::with_host_local()?;
    let (one, two) = (node.add("pod-1")?, node.add("pod-2")?);
    fs::remove_dir_all(node.data.join("pods"))?;
    // It begins from the start, and both addresses are somebody's.
    for _ in 0..2 {
        let refused = node.refused("pod-3")?;
        ensure!(refused.code == ErrorCode::DelegateRejected.cni(), "{refused:?}");
        ensure!(refused.msg.contains("which somebody else has"), "{refused:?}");
        node.condition("delegate-rejected", true)?;
    }
    let three = node.add("pod-3")?;
    ensure!(three != one && three != two, "{three}");
    ensure!(at(&three, "/ips/0/address") == "10.91.0.4/24", "{three}");
    node.condition("delegate-rejected", false)?;
    for name in ["pod-1", "pod-2", "pod-3"] {
        node.daemon.shim()?.call("DEL", &pod(name), &node.config())?.silent()?;
    }
    node.agrees(0)
}

fn forgotten() -> anyhow::Result<()> {
    let mut node = Node::with_host_local()?;
    let before = node.add("pod-1")?;
    node.daemon.kill()?;
    fs::remove_dir_all(node.daemon.state_directory())?;
    node.daemon.reboot()?;
    node.daemon.start_again()?;
    node.ready()?;
    // host-local refuses an ADD of an attachment that it knows; it is told DEL first.
    let after = node.add("pod-1")?;
    ensure!(before != after, "host-local goes round");
    node.agrees(1)
}

fn drained() -> anyhow::Result<()> {
    let mut node = Node::with_host_local()?;
    node.add("pod-1")?;
    node.add("pod-2")?;
    let agent = node.agent()?;
    agent.ensures(claim("router"))??;
    node.daemon.kill()?;
    fs::remove_dir_all(node.daemon.state_directory())?;
    node.daemon.launch()?;
    let shim = node.daemon.shim()?;
    for name in ["pod-1", "pod-2"] {
        shim.call("DEL", &pod(name), &node.config())?.silent()?;
    }
    ensure!(node.given()?.len() == 3, "nothing ends before the loss is confirmed");
    node.daemon.ctl(&["adopt", "--empty"])?;
    wait::holds("the pods' addresses to go back", LIMIT, || Ok(node.given()?.len() == 1))?;
    node.ready()?;
    // The agent has not asked yet, and still uses its address.
    let gc = node.config_with("cni.dev/valid-attachments", json!([]));
    shim.call("GC", &pod("pod-1"), &gc)?.silent()?;
    ensure!(node.given()?.values().all(|owner| owner.contains("-router-")), "{:?}", node.given());
    node.agent()?.ensures(claim("router"))??;
    node.agrees(1)
}

/// The CNI configuration named host-local until now; its pods live on.
fn before() -> anyhow::Result<()> {
    let node = Node::with_host_local()?;
    for name in ["pod-1", "pod-2"] {
        host_local_adds(&node, name)?;
    }
    ensure!(node.given()?.len() == 2, "{:?}", node.given());
    let three = node.add("pod-3")?;
    ensure!(at(&three, "/ips/0/address") == "10.91.0.4/24", "{three}");
    let shim = node.daemon.shim()?;
    for _ in 0..2 {
        shim.call("DEL", &pod("pod-1"), &node.config())?.silent()?;
    }
    wait::holds("pod-1 to be gone", LIMIT, || Ok(node.given()?.len() == 2))?;
    shim.call("DEL", &pod("pod-2"), &node.config())?.silent()?;
    node.agrees(1)
}

/// An ADD by host-local itself.
fn host_local_adds(node: &Node, name: &str) -> anyhow::Result<()> {
    let ipam =
        json!({ "type": "host-local", "dataDir": node.data, "ranges": [[{ "subnet": "10.91.0.0/24" }]] });
    let config = json!({ "cniVersion": "0.4.0", "name": "pods", "type": "bridge", "ipam": ipam });
    let mut child = Command::new(HOST_LOCAL)
        .env("CNI_COMMAND", "ADD")
        .env("CNI_CONTAINERID", name)
        .env("CNI_IFNAME", "eth0")
        .env("CNI_NETNS", "/run/netns/none")
        .env("CNI_PATH", "/usr/lib/cni")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().context("no input")?.write_all(config.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

fn fixed() -> anyhow::Result<()> {
    let config = json!({ "addresses": [{ "address": "10.91.8.5/24", "gateway": "10.91.8.1" }] });
    let node = Node::start(STATIC, "", &config)?;
    let added = node.add("pod-1")?;
    ensure!(at(&added, "/ips/0/address") == "10.91.8.5/24", "{added}");
    let refused = node.refused("pod-2")?;
    ensure!(refused.code == ErrorCode::DelegateRejected.cni(), "{refused:?}");
    node.daemon.shim()?.call("DEL", &pod("pod-1"), &node.config())?.silent()?;
    // At once: whether an address may be reused is the delegate's business.
    ensure!(node.add("pod-2")? == added, "the next owner");
    Ok(())
}

fn pinned() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let binary = directory.path().join("host-local");
    fs::copy(HOST_LOCAL, &binary)?;
    let sha256 = node::sha256(&binary)?;
    let data = directory.path().join("data");
    let config = json!({ "dataDir": data, "ranges": [[{ "subnet": "10.91.0.0/24" }]] });
    let path = binary.display().to_string();
    let node = Node::start(&path, &format!("sha256 = \"{sha256}\"\n"), &config)?;
    node.add("pod-1")?;
    let evil = directory.path().join("evil");
    fs::write(&evil, "#!/bin/sh\ntouch \"$(dirname \"$CNI_PATH/x\")/ran\"\n")?;
    fs::set_permissions(&evil, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    fs::rename(&evil, &binary)?;
    let refused = node.refused("pod-2")?;
    ensure!(refused.code == 11 && refused.msg.contains("its SHA-256 is"), "{refused:?}");
    ensure!(!directory.path().join("ran").exists(), "it ran");
    node.condition("delegate-failing", true)?;
    // What has an address keeps it; the binary comes back, and so does the delegate.
    node.add("pod-1")?;
    fs::copy(HOST_LOCAL, directory.path().join("new"))?;
    fs::rename(directory.path().join("new"), &binary)?;
    node.condition("delegate-failing", false)?;
    node.add("pod-2").map(drop)
}

fn hostile() -> anyhow::Result<()> {
    let script = Script::new()?;
    let node = Node::start(&script.path(), "timeout_ms = 4000\n", &json!({}))?;
    for (mode, code) in [
        ("garbage", ErrorCode::DelegateFailed),
        ("nothing", ErrorCode::DelegateFailed),
        ("error", ErrorCode::DelegateFailed),
        ("later", ErrorCode::DelegateUnavailable),
        ("endless", ErrorCode::DelegateFailed),
        ("dies", ErrorCode::DelegateFailed),
        ("hang", ErrorCode::DelegateUnavailable),
    ] {
        script.mode(mode)?;
        let refused = node.refused("pod-1").with_context(|| mode.to_owned())?;
        ensure!(refused.code == code.cni(), "{mode}: {refused:?}");
        ensure!(refused.msg.contains("delegate foreign"), "{mode}: {refused:?}");
        script.mode("")?;
        wait::holds(mode, LIMIT, || Ok(script.given()?.is_empty() && node.delegations()?.is_empty()))?;
        ensure!(node.daemon.allocations("pods")?.is_empty(), "{mode}: something is allocated");
    }
    // A child that holds its pipes is not waited for.
    script.mode("leaves")?;
    node.add("pod-1")?;
    script.end_left()?;
    script.mode("")?;
    node.add("pod-2")?;
    ensure!(script.given()?.len() == 2, "{:?}", script.given()?);
    Ok(())
}

fn hangs() -> anyhow::Result<()> {
    let script = Script::new()?;
    let more = "[networks.other.ipam]\nranges = [[{ subnet = \"10.93.0.0/24\" }]]\n";
    let node = Node::start_with(&script.path(), "timeout_ms = 60000\nparallel = 8\n", &json!({}), more)?;
    script.mode("waits")?;
    let shim = node.daemon.shim()?;
    let config = node.config();
    let waiting = shim.start("ADD", &pod("pod-1"), &serde_json::to_vec(&config)?)?;
    wait::holds("the delegate is asked", LIMIT, || Ok(script.given()?.len() == 1))?;
    // Another network is served, and so is another attachment of the same one.
    let other = json!({ "cniVersion": "1.0.0", "name": "other", "ipam": { "type": "tenure" } });
    shim.call("ADD", &pod("pod-2"), &other)?.address()?;
    script.mode("")?;
    node.add("pod-2")?;
    shim.call("DEL", &pod("pod-2"), &config)?.silent()?;
    script.go()?;
    waiting.finish()?.address()?;
    ensure!(script.given()?.len() == 1, "{:?}", script.given()?);
    Ok(())
}

fn missing() -> anyhow::Result<()> {
    let script = Script::new()?;
    let mut node = Node::start(&script.path(), "", &json!({}))?;
    node.add("pod-1")?;
    script.hide(true)?;
    // The runtime's DEL succeeds, and the ledger has freed the address.
    node.daemon.shim()?.call("DEL", &pod("pod-1"), &node.config())?.silent()?;
    ensure!(node.daemon.allocations("pods")?.is_empty(), "it is still allocated");
    let waits = || -> anyhow::Result<bool> {
        let left = node.delegations()?;
        let left = left.first().context("it was forgotten")?;
        Ok(at(left, "/phase") == "leaving"
            && left.pointer("/attempts").and_then(serde_json::Value::as_u64) > Some(0))
    };
    wait::holds("it waits for its delegate", LIMIT, waits)?;
    node.condition("delegate-failing", true)?;
    let refused = node.refused("pod-2")?;
    ensure!(refused.code == 11 && refused.msg.contains("No such file"), "{refused:?}");
    node.daemon.kill()?;
    node.daemon.start_again()?;
    ensure!(node.delegations()?.len() == 1, "a crash made it forgotten");
    script.hide(false)?;
    wait::holds("it was given back", LIMIT, || Ok(node.delegations()?.is_empty()))?;
    ensure!(script.given()?.is_empty(), "{:?}", script.given()?);
    node.condition("delegate-failing", false)
}

fn killed() -> anyhow::Result<()> {
    let script = Script::new()?;
    let mut node = Node::start(&script.path(), "timeout_ms = 60000\n", &json!({}))?;
    for mode in ["waits-before", "waits"] {
        script.mode(mode)?;
        let shim = node.daemon.shim()?;
        let waiting = shim.start("ADD", &pod("pod-1"), &serde_json::to_vec(&node.config())?)?;
        wait::holds("the delegate is asked", LIMIT, || Ok(script.waits()))?;
        node.daemon.kill()?;
        ensure!(!waiting.finish()?.succeeded, "an ADD was answered");
        script.mode("")?;
        node.daemon.start_again()?;
        node.ready()?;
        ensure!(node.delegations()?.len() == 1, "it was undone while the delegate was still at it");
        // The delegate has outlived the daemon, and gives what nobody waits for any more.
        script.go()?;
        wait::holds("the delegate ends by itself", LIMIT, || Ok(script.is_done()))?;
        wait::holds("it was undone", LIMIT, || {
            Ok(script.given()?.is_empty() && node.delegations()?.is_empty())
        })?;
        node.add("pod-1")?;
        ensure!(script.given()?.len() == 1, "{mode}: {:?}", script.given()?);
        node.daemon.shim()?.call("DEL", &pod("pod-1"), &node.config())?.silent()?;
    }
    Ok(())
}

fn kills() -> anyhow::Result<()> {
    random::seeds("delegates")?.try_for_each(kills_of)
}

fn kills_of(seed: u64) -> anyhow::Result<()> {
    let mut node = Node::with_host_local()?;
    let mut random = Random::new(seed);
    for round in 0..8 {
        let shim = node.daemon.shim()?;
        let config = serde_json::to_vec(&node.config())?;
        let mut running = Vec::new();
        for number in 0..6 {
            let name = format!("pod-{round}-{number}");
            running.push(shim.start("ADD", &pod(&name), &config)?);
            if round > 0 {
                let name = format!("pod-{}-{number}", round - 1);
                running.push(shim.start("DEL", &pod(&name), &config)?);
            }
        }
        let answered = random.below(6);
        for call in running.drain(..usize::try_from(answered)?) {
            call.finish()?;
        }
        node.daemon.kill()?;
        drop(running);
        node.daemon.start_again()?;
        node.ready()?;
        node.settles().with_context(|| format!("round {round}, TENURE_SEED={seed}"))?;
    }
    Ok(())
}

fn unconfigured() -> anyhow::Result<()> {
    let script = Script::new()?;
    let mut node = Node::start(&script.path(), "", &json!({}))?;
    node.add("pod-1")?;
    node.add("pod-2")?;
    node.daemon.stop()?;
    let config = fs::read_to_string(node.daemon.path("tenured.toml"))?;
    node.daemon.configure("")?;
    node.daemon.start_again()?;
    let shown = node.delegations()?;
    ensure!(shown.len() == 2 && shown.iter().all(|shown| at(shown, "/delegate") == "foreign"), "{shown:?}");
    let refused = node.refused("pod-3")?;
    ensure!(refused.code == 11 && refused.msg.contains("delegates.foreign is not in"), "{refused:?}");
    node.daemon.shim()?.call("DEL", &pod("pod-1"), &node.config())?.silent()?;
    ensure!(script.given()?.len() == 2, "there is nobody to tell");
    node.daemon.configure(&config)?;
    node.daemon.ctl(&["reload"])?;
    wait::holds("it was given back", LIMIT, || Ok(script.given()?.len() == 1))?;
    node.add("pod-3").map(drop)
}

fn no_policy() -> anyhow::Result<()> {
    let script = Script::new()?;
    let mut node = Node::start(&script.path(), "", &json!({}))?;
    node.daemon.stop()?;
    node.daemon.start_again()?;
    // What has served before is loaded first; each of it is loaded or has failed by then.
    node.condition("starting", false)?;
    node.condition("policies-loading", false)?;
    let conditions = node.conditions()?;
    ensure!(conditions.is_empty(), "{conditions:?}");
    node.add("pod-1").map(drop)
}

fn own_routes() -> anyhow::Result<()> {
    let script = Script::new()?;
    let node = Node::start(&script.path(), "", &json!({ "routes": ["10.0.0.0/8"] }))?;
    let added = node.add("pod-1")?;
    ensure!(added.get("routes").is_none(), "{added}");
    Ok(())
}

fn declared() -> anyhow::Result<()> {
    let script = Script::new()?;
    let node = Node::start(&script.path(), "", &json!({}))?;
    let agent = node.agent()?;
    let refused = agent.declares(vec![claim("a")], true)?;
    ensure!(
        refused.is_err_and(|error| error.code == ErrorCode::ClaimInvalid),
        "a dry run asked the delegate"
    );
    script.mode("second-fails")?;
    let refused = agent.declares(vec![claim("a"), claim("b")], false)?;
    ensure!(refused.is_err_and(|error| error.code == ErrorCode::DelegateFailed), "one claim failed");
    ensure!(agent.lists()??.is_empty(), "all or nothing");
    wait::holds("it was given back", LIMIT, || Ok(script.given()?.is_empty()))?;
    script.mode("")?;
    let made = agent.declares(vec![claim("a"), claim("b")], false)??;
    ensure!(made.created.len() == 2 && script.given()?.len() == 2, "{made:?}");
    // Nobody can know whether the delegate would give the family that is missing.
    let both = ClaimSpec { optional_families: vec![Family::Ipv6.into()], ..claim("b") };
    agent.ensures(both)??;
    let listed = agent.lists()??;
    let missing = listed.iter().flat_map(|claim| &claim.missing_families);
    let missing: Vec<_> = missing.map(|missing| missing.reason.as_str()).collect();
    ensure!(missing == ["unknown"], "{listed:?}");
    let kept = agent.declares(vec![claim("b")], false)??;
    ensure!(kept.kept.len() == 1 && kept.released.len() == 1, "{kept:?}");
    wait::holds("what is no longer declared goes back", LIMIT, || Ok(script.given()?.len() == 1))?;
    ensure!(node.delegations()?.len() == 1, "{:?}", node.delegations()?);
    drop::<Daemon>(node.daemon);
    Ok(())
}
