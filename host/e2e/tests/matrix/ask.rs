//! Asks a verb as its caller does, and reads the answer.

use std::process::Output;
use std::thread;

use anyhow::{Context, anyhow, ensure};
use serde_json::{Value, json};
use tenure_e2e::Outcome;
use tenure_e2e::matrix::{Cell, Verb};
use tenure_types::{Error, ErrorCode};

use crate::agent::claim;
use crate::node::Node;

/// An address of the ranges in most situations, which no verb hands out from then on.
const DOUBTFUL: &str = "10.93.0.9";

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) cell: Cell,
    /// The caller's words, for a failure of the test.
    pub(crate) words: String,
}

impl Asked {
    fn done(words: &impl ToString) -> Self {
        Self { cell: Cell::Done, words: words.to_string() }
    }

    fn refused(code: ErrorCode, words: &impl ToString) -> Self {
        Self { cell: Cell::Refused(code), words: words.to_string() }
    }
}

/// Asks a verb at the same time as a second caller does.
pub(crate) fn ask_twice(verb: Verb, node: &Node) -> anyhow::Result<Asked> {
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(|| ask(verb, node));
        (ask(verb, node), other.join())
    });
    let (one, other) = (one?, other.map_err(|_| anyhow!("the second caller panicked"))??);
    let cell = match (one.cell, other.cell) {
        (Cell::Done, Cell::Refused(code)) | (Cell::Refused(code), Cell::Done) => Cell::Once(code),
        (cell, _) => cell,
    };
    let alike = matches!(cell, Cell::Once(_)) || one.cell == other.cell;
    ensure!(alike, "{} and {}", one.words, other.words);
    Ok(Asked { cell, words: format!("{} and {}", one.words, other.words) })
}

/// Asks a verb.
pub(crate) fn ask(verb: Verb, node: &Node) -> anyhow::Result<Asked> {
    let address = |owner: &str| node.before.address(owner).unwrap_or("10.93.0.99").to_owned();
    let report = node.report.display().to_string();
    match verb {
        Verb::Status => cni(node, "STATUS", "", &node.config),
        Verb::AddAgain => cni(node, "ADD", "stays", &node.config),
        Verb::Add => cni(node, "ADD", "new", &node.config),
        Verb::Check => {
            cni(node, "CHECK", "stays", &with(&node.config, "prevResult", previous(&address("stays"))))
        }
        Verb::Del => cni(node, "DEL", "leaves", &node.config),
        Verb::Gc => cni(node, "GC", "", &with(&node.config, "cni.dev/valid-attachments", valid(node)?)),
        Verb::Ensure => Ok(agents(node.agent().ensures(claim("ensured"))?)),
        Verb::EnsureAgain => Ok(agents(node.agent().ensures(claim("router"))?)),
        Verb::ReleaseClaim => Ok(agents(node.agent().releases("pods", "released")?)),
        Verb::Declare => {
            let claims = ["router", "unwanted", "seized", "ensured", "declared"].map(claim).to_vec();
            Ok(agents(node.agent().declares(claims, false)?))
        }
        Verb::List => Ok(agents(node.agent().lists()?)),
        Verb::Watch => Ok(agents(node.agent().does(async |agent| {
            let mut watch = agent.watch("").await?;
            crate::agent::next(&mut watch).await.map(|response| response.claims.len())
        })?)),
        Verb::Inspect => ctl(node, &["check"]),
        Verb::Repair => ctl(node, &["repair", "--from", &report, "--apply"]),
        Verb::ReleasePod => release(node, &address("stray")),
        Verb::ReleaseClaimed => release(node, &address("seized")),
        Verb::ReleaseUnknown => release(node, "10.93.0.14"),
        Verb::ReleaseAgents => ctl(node, &["claims", "release", "cilium", "pods", "unwanted", "--apply"]),
        Verb::Quarantine => {
            ctl(node, &["quarantine", "add", DOUBTFUL, "--network", "pods", "--reason", "it answers ARP"])
        }
        Verb::LiftQuarantine => ctl(node, &["quarantine", "lift", DOUBTFUL]),
        Verb::Import => {
            let (networks, config) = (node.path("networks"), node.path("pods.conf"));
            ctl(node, &["import", "--apply", "host-local", &networks, "--config", &config])
        }
        Verb::Reload => ctl(node, &["reload"]),
        Verb::Define => ctl(node, &["network", "define", &node.path("pods.conf"), "--apply"]),
        Verb::Load => ctl(node, &["policy", "load", &node.path("mine.wasm"), "--name", "mine"]),
        Verb::Shadow => ctl(node, &["policy", "shadow", "pods", "mine"]),
        Verb::Promote => ctl(node, &["policy", "promote", "pods", "--now"]),
        Verb::RollBack => ctl(node, &["policy", "rollback", "pods"]),
        Verb::Activate => ctl(node, &["policy", "activate", "pods", "highest-first"]),
        Verb::Export => {
            let (file, state) = (node.path("ipam.json"), node.daemon.state_directory().display().to_string());
            ctl(node, &["export", "ipamd", &file, "--network", "pods", "--state-dir", &state, "--replace"])
        }
        Verb::Remove => ctl(node, &["network", "remove", "pods", "--apply"]),
        Verb::Adopt => ctl(node, &["adopt", "--empty"]),
    }
}

/// A call of the CNI plugin.
fn cni(node: &Node, command: &str, pod: &str, config: &Value) -> anyhow::Result<Asked> {
    let outcome = node.daemon.shim()?.call(command, &node.pod(pod), config)?;
    if outcome.succeeded {
        return Ok(Asked::done(&outcome));
    }
    Ok(Asked::refused(named(&outcome)?, &outcome))
}

/// The name of a CNI error: the first word of its details, or the only error with its code.
fn named(outcome: &Outcome) -> anyhow::Result<ErrorCode> {
    let error = outcome.error()?;
    let name = error.details.split(':').next().unwrap_or_default();
    let by_number = || ErrorCode::ALL.iter().find(|code| code.cni() == error.code).copied();
    ErrorCode::from_name(name).or_else(by_number).with_context(|| outcome.to_string())
}

fn agents<T: std::fmt::Debug>(answer: Result<T, Error>) -> Asked {
    match answer {
        Ok(answer) => Asked::done(&format!("{answer:?}")),
        Err(error) => Asked::refused(error.code, &error),
    }
}

/// A call of `tenurectl`, which prints its error as JSON.
fn ctl(node: &Node, arguments: &[&str]) -> anyhow::Result<Asked> {
    let output = node.daemon.ctl_output(&[&["--timeout", "20"], arguments].concat())?;
    let Output { status, stdout, stderr } = &output;
    let words = format!("{status} {}{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    let error: Value = serde_json::from_slice(stderr).unwrap_or_default();
    let code = error.pointer("/error/code").or_else(|| error.get("code")).and_then(Value::as_str);
    match code.and_then(ErrorCode::from_name) {
        Some(code) => Ok(Asked::refused(code, &words)),
        None => Ok(Asked::done(&words)),
    }
}

fn release(node: &Node, address: &str) -> anyhow::Result<Asked> {
    ctl(node, &["release", address, "--network", "pods", "--apply"])
}

fn with(config: &Value, key: &str, value: Value) -> Value {
    let mut config = config.clone();
    if let Some(config) = config.as_object_mut() {
        config.insert(key.to_owned(), value);
    }
    config
}

fn previous(address: &str) -> Value {
    json!({ "cniVersion": "1.1.0", "ips": [{ "address": format!("{address}/24") }] })
}

/// All pods but one. The pod whose address will be imported lives, too.
fn valid(node: &Node) -> anyhow::Result<Value> {
    let held = node.owners()?.unwrap_or_else(|| node.before.clone());
    let names = held.names().filter(|name| *name != "collected" && !name.contains(' ')).chain(["imported"]);
    Ok(names.map(|name| json!({ "containerID": name, "ifname": "eth0" })).collect())
}
