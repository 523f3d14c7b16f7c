//! Networks that are known from the files of the CNI configuration directory, in any state.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod agent;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use agent::{Agent, addresses, claim};
use anyhow::{Context, ensure};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, wait};
use tenure_rpc::v1::ClaimSpec;
use tenure_types::{Error, ErrorCode};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const FILE: &str = "10-pods.conflist";

fn main() -> ExitCode {
    Suite::new()
        .test("a_network_is_known_from_its_file_before_its_first_pod", &[], foreseen)
        .test("files_that_are_none_block_nobody_and_are_reported", &[], strange)
        .test("a_file_that_changes_defines_its_network_anew_as_an_add_would", &[], changed)
        .test("a_network_of_the_operator_is_not_changed_by_a_file", &[], fixed)
        .run()
}

/// A daemon that looks at a directory, which does not exist yet.
fn start(more: &str) -> anyhow::Result<(Daemon, Agent, PathBuf)> {
    let mut daemon = Daemon::prepare()?;
    let directory = daemon.path("net.d");
    let uid = rustix::process::geteuid().as_raw();
    let agents = format!("[agents.cilium]\nuid = {uid}\nnetworks = [\"*\"]\n");
    daemon.configure(&format!("[cni]\ndirectory = \"{}\"\n{agents}{more}", directory.display()))?;
    daemon.start_again()?;
    let agent = Agent::at(&daemon.run_directory());
    wait::holds("the agents' socket", LIMIT, || Ok(agent.lists()?.is_ok()))?;
    Ok((daemon, agent, directory))
}

fn ipam(subnet: &str) -> Value {
    json!({ "type": "tenure", "ranges": [[{ "subnet": subnet }]] })
}

/// A CNI configuration list.
fn conflist(name: &str, subnet: &str) -> String {
    let plugins = json!([{ "type": "bridge", "ipam": ipam(subnet) }, { "type": "portmap" }]);
    json!({ "cniVersion": "1.0.0", "name": name, "plugins": plugins }).to_string()
}

/// Replaces a file, as careful programs do.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    Ok(fs::rename(new, path)?)
}

fn of(network: &str, name: &str) -> ClaimSpec {
    ClaimSpec { network: network.to_owned(), ..claim(name) }
}

/// The conditions about files of the directory.
fn conditions(daemon: &Daemon) -> anyhow::Result<Vec<String>> {
    let status = daemon.ctl_output(&["status"])?;
    let status: Value = serde_json::from_slice(&status.stdout)?;
    let all = status.pointer("/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |condition: &Value, key: &str| condition.get(key).map(Value::to_string).unwrap_or_default();
    let of_files = all.iter().filter(|condition| text(condition, "name").contains("cni-file-unusable"));
    Ok(of_files.map(|condition| text(condition, "message")).collect())
}

/// Waits until exactly one condition is told, with these words.
fn told(daemon: &Daemon, words: &[&str]) -> anyhow::Result<()> {
    wait::holds(&format!("the condition {words:?}"), LIMIT, || {
        let told = conditions(daemon)?;
        Ok(matches!(&told[..], [only] if words.iter().all(|word| only.contains(word))))
    })
}

/// Begins to claim, and waits for as long as it takes.
fn waiting(agent: &Agent, spec: ClaimSpec) -> mpsc::Receiver<anyhow::Result<Result<Vec<String>, Error>>> {
    let (sender, answers) = mpsc::channel();
    let agent = agent.clone();
    std::thread::spawn(move || sender.send(agent.does(async move |agent| agent.ensure(spec, 55_000).await)));
    answers
}

/// The address of a claim that begins with these words.
fn is_in(claimed: &[String], words: &str) -> anyhow::Result<String> {
    let address = claimed.first().context("no address")?;
    ensure!(address.starts_with(words), "{address} instead of {words}");
    Ok(address.clone())
}

fn foreseen() -> anyhow::Result<()> {
    let (daemon, agent, directory) = start("")?;
    let answers = waiting(&agent, claim("router"));
    fs::create_dir(&directory)?;
    let file = directory.join(FILE);
    let whole = conflist("pods", "10.95.0.0/24");
    fs::write(&file, whole.get(..60).context("too short")?)?;
    told(&daemon, &[FILE, "malformed-config"])?;
    // A link to nothing, as while a ConfigMap is switched.
    fs::remove_file(&file)?;
    symlink(format!("..data/{FILE}"), &file)?;
    told(&daemon, &[FILE, "No such file"])?;
    ensure!(answers.try_recv().is_err(), "there is no network yet");
    for (version, text) in [("..broken", "{"), ("..whole", whole.as_str())] {
        fs::create_dir(directory.join(version))?;
        fs::write(directory.join(version).join(FILE), text)?;
    }
    symlink("..broken", directory.join("..data"))?;
    told(&daemon, &[FILE, "malformed-config"])?;
    symlink("..whole", directory.join("..new"))?;
    let switched = Instant::now();
    fs::rename(directory.join("..new"), directory.join("..data"))?;
    let claimed = answers.recv_timeout(LIMIT).context("no answer")???;
    println!("answered {} ms after the file appeared", switched.elapsed().as_millis());
    let address = is_in(&claimed, "10.95.0.")?;
    wait::holds("the condition to go", LIMIT, || Ok(conditions(&daemon)?.is_empty()))?;

    // The first pod finds the same network, and a broken file later takes nothing away.
    replace(&file, "{")?;
    told(&daemon, &[FILE, "malformed-config"])?;
    let pod = json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": ipam("10.95.0.0/24") });
    let of_pod = daemon.shim()?.call("ADD", &Attachment::of("pod"), &pod)?.address()?;
    ensure!(of_pod.starts_with("10.95.0.") && !of_pod.starts_with(&address), "{of_pod}");
    ensure!(agent.ensures(claim("router"))?? == claimed, "the claim has changed");
    Ok(())
}

fn strange() -> anyhow::Result<()> {
    let (daemon, agent, directory) = start("")?;
    fs::create_dir(&directory)?;
    let at = |name: &str| directory.join(name);
    fs::create_dir(at("00-directory.conf"))?;
    // Opening a pipe blocks until somebody writes to it.
    mknodat(CWD, at("01-pipe.conf"), FileType::Fifo, Mode::RWXU, 0)?;
    fs::File::create(at("02-huge.conf"))?.set_len(1 << 40)?;
    // Other people's.
    fs::write(at("03-lo.conf"), r#"{"cniVersion":"1.0.0","name":"lo","type":"loopback"}"#)?;
    fs::write(at("04-dhcp.conflist"), r#"{"name":"..","plugins":[{"type":"ptp","ipam":{"type":"dhcp"}}]}"#)?;
    fs::write(at("05-notes.txt"), "{")?;
    // A single configuration, and one with another extension.
    let single =
        json!({ "cniVersion": "0.4.0", "name": "blue", "type": "ptp", "ipam": ipam("10.96.0.0/24") });
    fs::write(at("06-blue.conf"), single.to_string())?;
    fs::write(at("07-pods.json"), conflist("pods", "10.95.0.0/24"))?;
    // The first file counts.
    fs::write(at("08-more.conflist"), conflist("pods", "10.97.0.0/24"))?;
    for (network, words) in [("blue", "10.96.0."), ("pods", "10.95.0.")] {
        let claimed =
            waiting(&agent, of(network, "router")).recv_timeout(LIMIT).context("no answer")???;
        is_in(&claimed, words)?;
    }
    wait::holds("the conditions", LIMIT, || {
        let told = conditions(&daemon)?;
        let expected = [
            ("00-directory.conf", "not a regular file"),
            ("01-pipe.conf", "not a regular file"),
            ("02-huge.conf", "longer than"),
            ("08-more.conflist", "07-pods.json defines network pods differently"),
        ];
        let is_told =
            |(file, why): &(&str, &str)| told.iter().any(|told| told.contains(file) && told.contains(why));
        Ok(told.len() == expected.len() && expected.iter().all(is_told))
    })?;
    // A directory that is none, and one that comes back.
    fs::rename(&directory, daemon.path("away"))?;
    wait::holds("the conditions to go", LIMIT, || Ok(conditions(&daemon)?.is_empty()))?;
    fs::write(&directory, "")?;
    told(&daemon, &["Not a directory"])?;
    fs::remove_file(&directory)?;
    fs::rename(daemon.path("away"), &directory)?;
    wait::holds("the conditions", LIMIT, || Ok(conditions(&daemon)?.len() == 4))?;
    ensure!(daemon.networks()?.len() == 2, "{:?}", daemon.networks()?);
    Ok(())
}

fn changed() -> anyhow::Result<()> {
    let (daemon, agent, directory) = start("")?;
    fs::create_dir(&directory)?;
    let file = directory.join(FILE);
    fs::write(&file, conflist("pods", "10.95.0.0/24"))?;
    let claimed = waiting(&agent, claim("router")).recv_timeout(LIMIT).context("no answer")???;
    is_in(&claimed, "10.95.0.")?;
    replace(&file, &conflist("pods", "10.98.0.0/24"))?;
    // Nothing is taken back silently: the agent keeps its address and is told that its range is leaving.
    wait::holds("the range to leave", LIMIT, || {
        let listed = agent.lists()??;
        let all = listed.iter().flat_map(|claim| &claim.addresses);
        Ok(listed.iter().map(addresses).collect::<Vec<_>>() == [claimed.clone()]
            && all.clone().all(|a| a.leaving))
    })?;
    is_in(&agent.ensures(claim("health"))??, "10.98.0.")?;
    // A file that cannot be applied changes nothing.
    replace(&file, &conflist("pods", "10.98.0.0/33"))?;
    told(&daemon, &[FILE, "10.98.0.0/33"])?;
    is_in(&agent.ensures(claim("ingress"))??, "10.98.0.")?;
    // Nor does one that is gone.
    fs::remove_file(&file)?;
    wait::holds("the condition to go", LIMIT, || Ok(conditions(&daemon)?.is_empty()))?;
    ensure!(agent.lists()??.len() == 3, "{:?}", agent.lists()??);
    Ok(())
}

fn fixed() -> anyhow::Result<()> {
    let network = "[networks.pods.ipam]\nranges = [[{ subnet = \"10.90.0.0/24\" }]]\n";
    let (daemon, agent, directory) = start(network)?;
    fs::create_dir(&directory)?;
    fs::write(directory.join(FILE), conflist("pods", "10.95.0.0/24"))?;
    fs::write(directory.join("20-blue.conflist"), conflist("blue", "10.96.0.0/24"))?;
    // A daemon that has this one has had the other.
    let claimed = waiting(&agent, of("blue", "router")).recv_timeout(LIMIT).context("no answer")???;
    is_in(&claimed, "10.96.0.")?;
    is_in(&agent.ensures(claim("router"))??, "10.90.0.")?;
    ensure!(conditions(&daemon)?.is_empty(), "{:?}", conditions(&daemon)?);
    ensure!(
        agent.ensures(of("green", "router"))?.is_err_and(|error| error.code == ErrorCode::UnknownNetwork),
        "a network of no file"
    );
    Ok(())
}
