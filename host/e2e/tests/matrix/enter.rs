//! Brings a node into a situation.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use anyhow::ensure;
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::matrix::Situation;
use tenure_e2e::{Attachment, bomb, mount, strace, wait};
use tenure_types::ErrorCode;

use crate::full::{fill, full_disk};
use crate::importing::{cut_off, importing};
use crate::node::{LIMIT, Node};
use crate::script::Script;
use crate::{component, starting};

/// How often a policy is benched before the verbs are asked: each time lasts twice as long as the one before, and the last one must outlast
/// the first verbs.
const BENCHED: usize = 4;

/// Brings a prepared node into a situation.
pub(crate) fn enter(situation: Situation, node: &mut Node) -> anyhow::Result<()> {
    match situation {
        Situation::Calm | Situation::TwoAtOnce => populated(node, ""),
        Situation::Down => {
            populated(node, "")?;
            node.daemon.kill()
        }
        Situation::Starting => starting::starting(node),
        Situation::Stopping => stopping(node),
        Situation::StateLost => {
            populated(node, "")?;
            node.daemon.kill()?;
            fs::remove_dir_all(node.daemon.state_directory())?;
            node.daemon.launch()
        }
        Situation::StateOlder => older(node),
        Situation::Rebooted => {
            populated(node, "")?;
            node.daemon.kill()?;
            node.daemon.reboot()?;
            node.daemon.start_again()
        }
        Situation::RunDirectoryGone => {
            populated(node, "")?;
            fs::remove_dir_all(node.daemon.run_directory())?;
            let sockets = ["cni.sock", "admin.sock", "agent/agent.sock"];
            wait::holds("the sockets", LIMIT, || {
                Ok(sockets.iter().all(|socket| node.daemon.run_directory().join(socket).exists()))
            })
        }
        Situation::ImportUnderWay => importing(node),
        Situation::ImportCutOff => {
            importing(node)?;
            cut_off(node)?;
            node.daemon.launch()
        }
        Situation::SourceGone => {
            importing(node)?;
            cut_off(node)?;
            fs::remove_dir_all(node.daemon.path("networks"))?;
            node.daemon.reboot()?;
            node.daemon.launch()
        }
        Situation::NetworkRemoved => {
            node.start("")?;
            node.write_files()?;
            node.daemon.ctl(&["network", "define", &node.path("pods.conf"), "--apply"])?;
            node.daemon.ctl(&["network", "remove", "pods", "--apply"]).map(drop)
        }
        Situation::PolicyLoading => {
            beside_a_bomb(node)?;
            ipam(node, "policy", json!("bomb"));
            node.write_files()
        }
        Situation::Benched => benched(node),
        Situation::Shadowed => {
            populated(node, "")?;
            node.daemon.ctl(&["policy", "load", &node.path("mine.wasm"), "--name", "mine"])?;
            node.daemon.ctl(&["policy", "shadow", "pods", "mine"]).map(drop)
        }
        Situation::Exchanging => exchanging(node),
        Situation::Draining => {
            populated(node, "")?;
            ipam(node, "ranges", json!([[{ "subnet": "10.94.0.0/24" }]]));
            node.daemon.shim()?.call("ADD", &Attachment::of("other"), &node.config)?.result()?;
            Ok(fs::write(node.daemon.path("pods.conf"), node.config.to_string())?)
        }
        Situation::PoolFull => fill(node, "").map(drop),
        Situation::AllCooling => {
            let shim = node.daemon.shim()?;
            for pod in fill(node, "[addresses]\ncooldown_seconds = 3600\n")? {
                shim.call("DEL", &pod, &node.config)?.silent()?;
            }
            Ok(())
        }
        Situation::DelegateFailing => {
            let script = Script::new()?;
            let delegate = format!("[delegates.foreign]\npath = \"{}\"\n", script.path());
            node.config =
                json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure", "wait": 1 } });
            populated(node, &format!("{delegate}[networks.pods]\ndelegate = \"foreign\"\n"))?;
            script.hide(true)?;
            node.causes.push(Box::new(script));
            Ok(())
        }
        Situation::DiskFull => full_disk(node),
        Situation::DiskFailing => {
            populated(node, "")?;
            let trace = node.daemon.path("trace");
            let tracer = strace::always("fdatasync,fsync", "error=EIO", node.daemon.pid()?, &trace)?;
            node.causes.push(Box::new(tracer));
            // The first failure is how the daemon learns of it.
            node.daemon.shim()?.call("ADD", &Attachment::of("fails"), &node.config)?.error().map(drop)
        }
        Situation::RuntimeSilent => {
            let socket = node.daemon.path("cri.sock");
            node.causes.push(Box::new(UnixListener::bind(&socket)?));
            populated(node, &format!("[runtime]\nsocket = \"unix://{}\"\n", socket.display()))
        }
    }
}

/// Starts the daemon with further configuration, and gives out the addresses.
pub(crate) fn populated(node: &mut Node, more: &str) -> anyhow::Result<()> {
    node.start(more)?;
    node.populate()
}

/// Sets a key of the network's `ipam` object.
pub(crate) fn ipam(node: &mut Node, key: &str, value: Value) {
    if let Some(ipam) = node.config.pointer_mut("/ipam").and_then(Value::as_object_mut) {
        ipam.insert(key.to_owned(), value);
    }
}

/// Starts a daemon whose configuration names a policy that compiles for minutes.
fn beside_a_bomb(node: &mut Node) -> anyhow::Result<()> {
    let path = node.daemon.path("bomb.wasm");
    fs::write(&path, wat::parse_str(bomb::component(2000))?)?;
    node.configure(&format!("[sandbox]\ncompile_seconds = 600\n{}", component::entry("bomb", &path)?))?;
    node.daemon.launch()?;
    let seconds = LIMIT.as_secs().to_string();
    node.daemon.ctl(&["status", "--wait", &seconds]).map(drop)
}

/// The policy that misbehaves.
fn hostile_entry(node: &Node) -> anyhow::Result<String> {
    let hostile = component::build("tenure-hostile", &node.daemon)?;
    component::entry("hostile", &hostile)
}

/// A network whose policy spins for as long as the daemon lives.
fn stopping(node: &mut Node) -> anyhow::Result<()> {
    let limits = "[limits]\ndrain_seconds = 300\n[sandbox]\ndeadline_ms = 600000\n";
    let more = format!("{limits}{}", hostile_entry(node)?);
    populated(node, &more)?;
    let spinning = json!({
        "cniVersion": "1.1.0",
        "name": "spinning",
        "ipam": { "type": "tenure", "policy": "hostile", "misbehave": "spin", "ranges": [[{ "subnet": "10.95.0.0/24" }]] },
    });
    let input = serde_json::to_vec(&spinning)?;
    let caller = node.daemon.shim()?.start("ADD", &Attachment::of("spins"), &input)?;
    node.causes.push(Box::new(caller));
    wait::holds("the request to be under way", LIMIT, || {
        Ok(node.daemon.ctl(&["status"])?.get("in_flight").and_then(Value::as_u64) > Some(0))
    })?;
    node.daemon.signal(Signal::TERM)?;
    wait::holds("the daemon to stop", LIMIT, || Ok(!node.daemon.log("stopping").is_empty()))
}

/// Puts an older copy of the state directory back.
fn older(node: &mut Node) -> anyhow::Result<()> {
    populated(node, "")?;
    ensure!(node.daemon.stop()?.success(), "the stop is not clean");
    let (state, older) = (node.daemon.state_directory(), node.daemon.path("older"));
    mount::run(Command::new("cp").arg("-a").arg(&state).arg(&older))?;
    node.daemon.start_again()?;
    node.daemon.shim()?.call("ADD", &Attachment::of("later"), &node.config)?.result()?;
    node.daemon.kill()?;
    fs::remove_dir_all(&state)?;
    fs::rename(older, state)?;
    node.daemon.launch()
}

/// Lets the network's policy fail until it is benched for long.
fn benched(node: &mut Node) -> anyhow::Result<()> {
    ipam(node, "policy", json!("hostile"));
    let more = hostile_entry(node)?;
    populated(node, &more)?;
    ipam(node, "misbehave", json!("trap"));
    let shim = node.daemon.shim()?;
    let mut number = 0;
    for _ in 0..BENCHED {
        for is_benched in [false, true] {
            wait::holds("the policy to be benched", LIMIT, || {
                number += 1;
                let pod = Attachment::of(format!("fails-{number}"));
                let refused = shim.call("ADD", &pod, &node.config)?.error()?;
                Ok(refused.details.starts_with(ErrorCode::PolicyBenched.name()) == is_benched)
            })?;
        }
    }
    Ok(())
}

/// A command that runs until it is dropped.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn exchanging(node: &mut Node) -> anyhow::Result<()> {
    beside_a_bomb(node)?;
    node.populate()?;
    let mut command = node.daemon.tenurectl(&["policy", "activate", "pods", "bomb"])?;
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    node.causes.push(Box::new(Background(child)));
    Ok(())
}
