//! The plugin and a network's configuration as `tenurectl` installs them on a node, exchanges them and removes them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::strace::Fault;
use tenure_e2e::{Attachment, Daemon, Need, Plugin, Suite, binaries, wait};

const STRACE: Need = Need::File("/usr/bin/strace", "strace");

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// How often the plugin is exchanged while it is called.
const EXCHANGES: usize = 40;

fn main() -> ExitCode {
    Suite::new()
        .test("a_network_appears_once_the_daemon_serves_and_goes_with_its_last_pod", &[], course)
        .test("a_network_that_the_daemon_refuses_takes_the_place_of_none_that_it_serves", &[], renamed)
        .test("no_call_fails_while_the_plugin_is_exchanged", &[], exchanged)
        .test("an_installation_killed_at_any_step_leaves_a_plugin_that_works", &[STRACE], killed)
        .test("a_followed_installation_brings_what_changes_and_goes_after_the_last_pod", &[], followed)
        .test("a_doctor_finds_what_is_wrong_with_a_node", &[], examined)
        .run()
}

/// A node with a daemon, and directories of CNI of its own.
struct Node {
    daemon: Daemon,
}

impl Node {
    /// A node on which nothing runs.
    fn new() -> anyhow::Result<Self> {
        Ok(Self { daemon: Daemon::prepare()? })
    }

    fn plugin_path(&self) -> PathBuf {
        self.daemon.path("bin").join("tenure")
    }

    fn configuration(&self) -> PathBuf {
        self.daemon.path("net.d").join("00-tenure.conflist")
    }

    /// The command line of a verb, with this node's directories.
    fn words(&self, verb: &[&str]) -> Vec<String> {
        let path = |name: &str| self.daemon.path(name).display().to_string();
        let mut words: Vec<String> = verb.iter().map(|word| (*word).to_owned()).collect();
        words.extend(["--record".to_owned(), path("record/installed.json")]);
        words.extend(["--cni-conf-dir".to_owned(), path("net.d")]);
        if verb.first() != Some(&"uninstall") {
            words.extend(["--cni-bin-dir".to_owned(), path("bin")]);
        }
        words
    }

    fn ctl(&self, verb: &[&str]) -> anyhow::Result<Output> {
        let words = self.words(verb);
        self.daemon.ctl_output(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Runs a verb that must succeed. Returns the outcome of each file.
    fn outcomes(&self, verb: &[&str]) -> anyhow::Result<Vec<String>> {
        let output = self.ctl(verb)?;
        ensure!(output.status.success(), "{verb:?}: {output:?}");
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let files = report.get("files").and_then(Value::as_array).context("no files")?;
        let outcome = |file: &Value| file.get("outcome").and_then(Value::as_str).map(str::to_owned);
        files.iter().map(|file| outcome(file).context("no outcome")).collect()
    }

    /// The plugin as it is installed.
    fn plugin(&self) -> Plugin {
        Plugin::new(&self.plugin_path()).env("TENURE_SOCKET", self.daemon.socket())
    }

    /// Another build of the plugin: the same program with a digest of its own.
    fn other_build(&self, name: &str) -> anyhow::Result<String> {
        let path = self.daemon.path(name);
        fs::copy(binaries::find("tenure")?, &path)?;
        File::options().append(true).open(&path)?.write_all(name.as_bytes())?;
        Ok(path.display().to_string())
    }
}

fn config() -> Value {
    let ipam = json!({ "type": "tenure", "ranges": [[{ "subnet": "10.94.0.0/24" }]] });
    json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": ipam })
}

fn code(output: &Output) -> anyhow::Result<String> {
    let error: Value = serde_json::from_slice(&output.stderr).with_context(|| format!("{output:?}"))?;
    let code = error.pointer("/error/code").and_then(Value::as_str);
    Ok(code.context("no code")?.to_owned())
}

fn course() -> anyhow::Result<()> {
    let mut node = Node::new()?;
    let list = node.daemon.path("pods.conflist");
    let plugins = json!([{ "type": "bridge", "ipam": config().get("ipam") }]);
    fs::write(&list, json!({ "cniVersion": "1.1.0", "name": "pods", "plugins": plugins }).to_string())?;
    let list = list.display().to_string();
    let source = binaries::find("tenure")?.display().to_string();
    let install = ["install", "--plugin", &source, "--configuration", &list];
    let apply = [&install[..], &["--apply"]].concat();
    ensure!(node.outcomes(&install)? == ["created", "created"]);
    ensure!(
        !node.plugin_path().exists() && !node.configuration().exists(),
        "a dry run has changed something"
    );

    // The daemon comes last.
    let mut child = Command::new(binaries::find("tenurectl")?)
        .arg("--run-dir")
        .arg(node.daemon.run_directory())
        .args(node.words(&apply))
        .stdout(Stdio::null())
        .spawn()?;
    wait::holds("the plugin", LIMIT, || Ok(node.plugin_path().exists()))?;
    ensure!(child.try_wait()?.is_none() && !node.configuration().exists(), "it has not waited");
    node.daemon.start_again()?;
    ensure!(child.wait()?.success(), "the installation has failed");
    ensure!(fs::read(node.configuration())? == fs::read(&list)?, "another configuration");
    ensure!(node.outcomes(&apply)? == ["unchanged", "unchanged"], "a second installation changes something");

    let pod = Attachment::of("pod");
    node.plugin().call("ADD", &pod, &config())?.address()?;
    let refused = node.ctl(&["uninstall", "--apply"])?;
    ensure!(code(&refused)? == "addresses-in-use" && node.plugin_path().exists(), "{refused:?}");
    node.plugin().call("DEL", &pod, &config())?.silent()?;
    // Pods of a configuration that stays need the plugin.
    fs::write(node.configuration(), "{}")?;
    let left = node.ctl(&["uninstall", "--apply"])?;
    let said = String::from_utf8_lossy(&left.stdout);
    ensure!(left.status.code() == Some(1) && said.matches("\"left\"").count() == 2, "{left:?}");
    ensure!(said.contains("the configuration stays, and pods that it is for need the plugin"), "{said}");
    ensure!(node.plugin_path().exists() && node.configuration().exists(), "it was removed: {said}");
    fs::copy(&list, node.configuration())?;
    ensure!(node.outcomes(&["uninstall", "--apply"])? == ["removed", "removed"]);
    ensure!(!node.plugin_path().exists() && !node.configuration().exists(), "something is left");
    ensure!(code(&node.ctl(&["uninstall", "--apply"])?)? == "not-installed");
    Ok(())
}

/// The network of a node gets another name: its addresses are not given out a second time, and pods start as before.
fn renamed() -> anyhow::Result<()> {
    let mut node = Node::new()?;
    let defined = |name: &str| {
        let ranges = "ranges = [[{ subnet = \"10.94.0.0/24\" }]]";
        format!("[networks.{name}]\nexclusive = true\n[networks.{name}.ipam]\n{ranges}\n")
    };
    let called = |name: &str| {
        let plugins = json!([{ "type": "bridge", "ipam": config().get("ipam") }]);
        json!({ "cniVersion": "1.1.0", "name": name, "plugins": plugins }).to_string()
    };
    let list = node.daemon.path("network.conflist");
    let (path, source) = (list.display().to_string(), binaries::find("tenure")?.display().to_string());
    let apply = ["install", "--plugin", &source, "--configuration", &path, "--wait", "30", "--apply"];
    node.daemon.configure(&defined("pods"))?;
    node.daemon.start_again()?;
    fs::write(&list, called("pods"))?;
    ensure!(node.outcomes(&apply)? == ["created", "created"]);
    let add = |node: &Node, name: &str, pod: &str| {
        let config = json!({ "cniVersion": "1.1.0", "name": name, "ipam": config().get("ipam") });
        node.plugin().call("ADD", &Attachment::of(pod), &config)
    };
    let of_pod = add(&node, "pods", "pod")?.address()?;

    node.daemon.configure(&defined("blue"))?;
    let reloaded = node.daemon.ctl_output(&["reload"])?;
    ensure!(!reloaded.status.success(), "{reloaded:?}");
    fs::write(&list, called("blue"))?;
    let refused = node.ctl(&apply)?;
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(code(&refused)? == "not-ready" && words.contains("overlaps"), "{words}");
    ensure!(
        fs::read_to_string(node.configuration())? == called("pods"),
        "pods are to start without a network"
    );
    ensure!(add(&node, "pods", "next")?.address()? != of_pod);
    ensure!(!add(&node, "blue", "third")?.succeeded, "an address of another network's pods");
    for pod in ["pod", "next"] {
        node.plugin().call("DEL", &Attachment::of(pod), &config())?.silent()?;
    }
    node.daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    node.daemon.ctl(&["reload"])?;
    ensure!(node.outcomes(&apply)? == ["unchanged", "replaced"]);
    add(&node, "blue", "third")?.address()?;
    Ok(())
}

/// A verb that stays; ended when it is dropped.
struct Staying(Child);

impl Drop for Staying {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Staying {
    /// Starts a verb with what it prints in a file of the node.
    fn start(node: &Node, verb: &[&str], log: &str) -> anyhow::Result<Self> {
        let log = File::create(node.daemon.path(log))?;
        let child = Command::new(binaries::find("tenurectl")?)
            .arg("--run-dir")
            .arg(node.daemon.run_directory())
            .args(node.words(verb))
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Self(child))
    }

    /// Asks it to end, which is a success.
    fn end(mut self) -> anyhow::Result<()> {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), Signal::TERM)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

/// A configuration as the kubelet mounts a ConfigMap: a link that is switched as a whole.
fn mount(folder: &Path, version: &str, list: &str) -> anyhow::Result<()> {
    fs::create_dir_all(folder.join(version))?;
    fs::write(folder.join(version).join("network.conflist"), list)?;
    symlink(version, folder.join("..next"))?;
    fs::rename(folder.join("..next"), folder.join("..data"))?;
    let link = folder.join("network.conflist");
    if !link.is_symlink() {
        symlink("..data/network.conflist", link)?;
    }
    Ok(())
}

/// The containers of the Helm chart, without Kubernetes.
fn followed() -> anyhow::Result<()> {
    let mut node = Node::new()?;
    let folder = node.daemon.path("config");
    let list = |mtu: u32| {
        let plugins = json!([{ "type": "bridge", "mtu": mtu, "ipam": config().get("ipam") }]);
        json!({ "cniVersion": "1.1.0", "name": "pods", "plugins": plugins }).to_string()
    };
    mount(&folder, "1", &list(1400))?;
    let source = binaries::find("tenure")?.display().to_string();
    let mounted = folder.join("network.conflist").display().to_string();
    let install = ["install", "--apply", "--follow", "--plugin", &source, "--configuration", &mounted];
    let staying = Staying::start(&node, &install, "install.log")?;
    wait::holds("the plugin", LIMIT, || Ok(node.plugin_path().exists()))?;
    ensure!(!node.configuration().exists(), "the network is there before the daemon");
    node.daemon.start_again()?;
    let is = |mtu: u32| fs::read_to_string(node.configuration()).is_ok_and(|text| text == list(mtu));
    wait::holds("the network", LIMIT, || Ok(is(1400)))?;
    mount(&folder, "2", &list(1300))?;
    wait::holds("the changed network", LIMIT, || Ok(is(1300)))?;
    fs::remove_file(node.configuration())?;
    wait::holds("what somebody has removed", LIMIT, || Ok(is(1300)))?;
    staying.end()?;

    let pod = Attachment::of("pod");
    node.plugin().call("ADD", &pod, &config())?.address()?;
    let staying = Staying::start(&node, &["uninstall", "--apply", "--follow"], "uninstall.log")?;
    let said = || fs::read_to_string(node.daemon.path("uninstall.log")).unwrap_or_default();
    wait::holds("a refusal", LIMIT, || Ok(said().contains("addresses-in-use")))?;
    ensure!(is(1300) && node.plugin_path().exists(), "it is gone although a pod has an address");
    node.plugin().call("DEL", &pod, &config())?.silent()?;
    wait::holds("the end", LIMIT, || Ok(!node.configuration().exists() && !node.plugin_path().exists()))?;
    // A later round has nothing to remove.
    wait::holds("its last words", LIMIT, || Ok(said().ends_with("note: nothing is installed any more\n")))?;
    staying.end()
}

/// Adds and deletes pods with the installed plugin until `stop` is true.
fn come_and_go(plugin: &Plugin, worker: usize, stop: &AtomicBool, served: &AtomicU32) -> anyhow::Result<()> {
    for number in 0.. {
        let pod = Attachment::of(format!("pod-{worker}-{number}"));
        plugin.call("ADD", &pod, &config())?.address()?;
        plugin.call("DEL", &pod, &config())?.silent()?;
        served.fetch_add(1, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}

fn exchanged() -> anyhow::Result<()> {
    let mut node = Node::new()?;
    node.daemon.start_again()?;
    let builds = [node.other_build("one")?, node.other_build("two")?];
    let [one, two] = &builds;
    node.outcomes(&["install", "--plugin", one, "--apply"])?;
    let (stop, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let (plugin, stop, served) = (node.plugin(), Arc::clone(&stop), Arc::clone(&served));
            thread::spawn(move || come_and_go(&plugin, worker, &stop, &served))
        })
        .collect();
    let exchanges = || {
        for turn in 0..EXCHANGES {
            let before = served.load(Ordering::Relaxed);
            let verb = match turn % 2 {
                0 => vec!["install", "--plugin", two, "--apply"],
                _ => vec!["install", "--rollback", "--apply"],
            };
            let outcomes = node.outcomes(&verb)?;
            ensure!(outcomes == ["replaced"], "turn {turn}: {outcomes:?}");
            wait::holds("calls after the exchange", LIMIT, || {
                let has_ended = workers.iter().any(thread::JoinHandle::is_finished);
                Ok(has_ended || served.load(Ordering::Relaxed) > before)
            })?;
        }
        anyhow::Ok(())
    };
    let exchanges = exchanges();
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))?.context("a call failed")?;
    }
    exchanges?;
    println!("{} pods came and went", served.load(Ordering::Relaxed));
    Ok(())
}

/// The steps at which an installation is killed.
const STEPS: [&str; 3] = ["rename,renameat,renameat2", "fsync", "fchmod"];

fn killed() -> anyhow::Result<()> {
    let mut node = Node::new()?;
    node.daemon.start_again()?;
    let builds = [node.other_build("one")?, node.other_build("two")?];
    node.outcomes(&["install", "--plugin", builds.first().context("none")?, "--apply"])?;
    let allowed = builds.iter().map(fs::read).collect::<Result<BTreeSet<_>, _>>()?;
    let mut kills = 0;
    for calls in STEPS {
        for at in 1.. {
            // The other one of the two, whichever is installed.
            let present = fs::read(node.plugin_path())?;
            let next = builds.iter().find(|build| fs::read(build).is_ok_and(|bytes| bytes != present));
            let next = next.context("both are installed")?;
            let install = ["install", "--plugin", next, "--apply"];
            let fault = Fault { calls, effect: "signal=KILL", at };
            let words = fault.words(&node.daemon.path("trace"));
            let (program, arguments) = words.split_first().context("no words")?;
            let output = Command::new(program)
                .args(arguments)
                .arg(binaries::find("tenurectl")?)
                .args(node.words(&install))
                .output()?;
            let is_killed = output.status.signal() == Some(Signal::KILL.as_raw());
            ensure!(is_killed || output.status.success(), "{calls} {at}: {output:?}");
            let found = fs::read(node.plugin_path())?;
            ensure!(allowed.contains(&found), "{calls} {at}: the plugin is neither of the two");
            let pod = Attachment::of(format!("pod-{kills}"));
            node.plugin().call("ADD", &pod, &config())?.address()?;
            node.plugin().call("DEL", &pod, &config())?.silent()?;
            if !is_killed {
                break;
            }
            kills += 1;
            node.outcomes(&install).with_context(|| format!("again after {calls} {at}"))?;
            ensure!(fs::read(node.plugin_path())? == fs::read(next)?, "{calls} {at}: not installed");
            ensure!(node.outcomes(&["install", "--rollback", "--apply"])? == ["replaced"]);
            ensure!(fs::read(node.plugin_path())? == present, "{calls} {at}: another one was kept");
            let files = fs::read_dir(node.daemon.path("bin"))?.count();
            ensure!(files == 1, "{calls} {at}: {files} files in the directory of plugins");
        }
    }
    println!("killed at {kills} steps");
    ensure!(kills > 10, "killed at {kills} steps only");
    ensure!(node.outcomes(&["uninstall", "--apply"])? == ["removed", "removed"]);
    Ok(())
}

/// The verdict of each check.
fn verdicts(output: &Output) -> anyhow::Result<Value> {
    let report: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    let checks = report.get("checks").and_then(Value::as_array).context("no checks")?;
    let named = checks
        .iter()
        .filter_map(|check| Some((check.get("name")?.as_str()?.to_owned(), check.get("verdict")?.clone())));
    Ok(Value::Object(named.collect()))
}

fn examined() -> anyhow::Result<()> {
    let mut node = Node::new()?;
    node.daemon.start_again()?;
    let source = binaries::find("tenure")?.display().to_string();
    node.outcomes(&["install", "--plugin", &source, "--apply"])?;
    fs::create_dir(node.daemon.path("net.d"))?;
    fs::write(
        node.configuration(),
        json!({ "name": "pods", "plugins": [{ "type": "tenure", "ipam": { "type": "tenure" } }] })
            .to_string(),
    )?;
    let verdicts = || verdicts(&node.ctl(&["doctor"])?);
    let well = verdicts()?;
    for name in ["daemon", "sockets", "run-directory", "plugin", "configurations", "listed-plugins", "clock"]
    {
        ensure!(well.get(name) == Some(&"fine".into()), "{name}: {well}");
    }
    // Somebody's own build, and then no plugin and another network.
    fs::copy(node.other_build("other")?, node.daemon.path("copy"))?;
    fs::rename(node.daemon.path("copy"), node.plugin_path())?;
    ensure!(verdicts()?.get("plugin") == Some(&"warning".into()), "{}", verdicts()?);
    fs::remove_file(node.plugin_path())?;
    fs::write(node.daemon.path("net.d").join("00-a.conf"), r#"{"name": "a", "type": "ptp"}"#)?;
    let ill = verdicts()?;
    for name in ["plugin", "configurations", "listed-plugins"] {
        ensure!(ill.get(name) == Some(&"problem".into()), "{name}: {ill}");
    }
    ensure!(node.ctl(&["doctor"])?.status.code() == Some(1), "the exit code does not tell");
    Ok(())
}
