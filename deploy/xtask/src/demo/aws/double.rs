//! EC2, the metadata service and a VPC in the enclave: the built `tenure-ec2-double`, and its control port.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::demo::enclave::Enclave;
use crate::demo::traffic;

/// The network namespace that plays the VPC.
pub(super) const VPC: &str = "vpc";
/// The double's default.
const CONTROL: &str = "127.0.0.1:8100";

/// A running double. It ends with the enclave.
#[derive(Debug)]
pub(super) struct Double {
    /// The network namespace of the double's control port.
    network: PathBuf,
    /// Read no further, and not closed either.
    _told: BufReader<ChildStdout>,
}

/// An attached network interface.
#[derive(Debug)]
pub(super) struct DoubleInterface {
    pub(super) id: String,
    /// The number of the device; the primary interface is 0.
    pub(super) device: u64,
    /// The interface's IPv4 addresses; the first is its own.
    pub(super) addresses: Vec<String>,
}

impl Double {
    /// Starts it with one instance of a type in a subnet.
    ///
    /// # Errors
    /// When it does not become ready.
    pub(super) fn start(enclave: &Enclave, binaries: &Path, kind: &str, subnet: &str) -> Result<Self> {
        let mut command = enclave.command(binaries.join("tenure-ec2-double"));
        command.args(["--instance", kind, "--subnet", subnet, "--wire", VPC]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut told = BufReader::new(child.stdout.take().context("the double has no output")?);
        let mut line = String::new();
        while line.trim() != "ready" {
            line.clear();
            ensure!(told.read_line(&mut line)? > 0, "the double ended");
        }
        let double = Self { network: enclave.network(), _told: told };
        // EC2 takes seconds for these; the demonstration does not.
        let timing = json!({ "create_ms": 50, "attach_ms": 200, "detach_ms": 200, "move_ms": 50 });
        double.ask("PUT", "/timing", &timing)?;
        double.ask("PUT", "/terms", &json!({ "cooldown_ms": 1000, "calls_per_minute": 600 }))?;
        Ok(double)
    }

    /// Asks the control port.
    ///
    /// # Errors
    /// When it refuses, or does not answer JSON over HTTP.
    pub(super) fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {CONTROL}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = traffic::inside(&self.network, || {
            let mut stream = TcpStream::connect(CONTROL)?;
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        })?;
        let (head, body) = answer.split_once("\r\n\r\n").context("the double did not answer HTTP")?;
        ensure!(head.starts_with("HTTP/1.1 200"), "{method} {path}: {answer}");
        serde_json::from_str(body).with_context(|| format!("{method} {path}: {body}"))
    }

    /// The attached interfaces, the primary one first.
    ///
    /// # Errors
    /// When the double does not answer.
    pub(super) fn interfaces(&self) -> Result<Vec<DoubleInterface>> {
        let state = self.ask("GET", "/state", &Value::Null)?;
        let all = state.get("interfaces").and_then(Value::as_array).context("a state without interfaces")?;
        let mut attached: Vec<DoubleInterface> = all.iter().filter_map(DoubleInterface::read).collect();
        attached.sort_by_key(|interface| interface.device);
        Ok(attached)
    }

    /// How often EC2 was asked for one of these actions, and did it.
    ///
    /// # Errors
    /// When the double does not answer.
    pub(super) fn calls(&self, actions: &[&str]) -> Result<usize> {
        let journal = self.ask("GET", "/journal", &Value::Null)?;
        let calls = journal.as_array().context("a journal without calls")?;
        let done = |call: &&Value| {
            let action = call.get("call").and_then(Value::as_str).unwrap_or_default();
            actions.contains(&action) && call.get("refused").is_none_or(Value::is_null)
        };
        Ok(calls.iter().filter(done).count())
    }

    /// Tells the oracle of the addresses that the instance's pods use.
    ///
    /// # Errors
    /// When the double does not answer.
    pub(super) fn pods_are(&self, addresses: &[&str]) -> Result<()> {
        let state = self.ask("GET", "/state", &Value::Null)?;
        let instance = state.pointer("/instances/0/id").and_then(Value::as_str).context("no instance")?;
        self.ask("PUT", &format!("/instances/{instance}/pods"), &json!(addresses)).map(|_| ())
    }

    /// Asks the oracle for what must never happen and did.
    ///
    /// # Errors
    /// When there is something.
    pub(super) fn nothing_is_lost(&self) -> Result<()> {
        let verdict = self.ask("GET", "/oracle", &Value::Null)?;
        let found = verdict.get("violations").and_then(Value::as_array).context("no verdict")?;
        ensure!(found.is_empty(), "what must never happen has happened: {verdict:#}");
        Ok(())
    }
}

impl DoubleInterface {
    /// An attached interface of the double's state.
    fn read(interface: &Value) -> Option<Self> {
        let addresses = interface.get("ipv4")?.as_array()?.iter().filter_map(Value::as_str);
        Some(Self {
            id: interface.get("id")?.as_str()?.to_owned(),
            device: interface.pointer("/attachment/device")?.as_u64()?,
            addresses: addresses.map(str::to_owned).collect(),
        })
    }

    /// The name of its link, as an instance with predictable names has it.
    pub(super) fn link(&self) -> String {
        format!("ens{}", self.device.saturating_add(5))
    }

    /// The interface's own address.
    pub(super) fn own(&self) -> Option<String> {
        self.addresses.first().cloned()
    }

    pub(super) fn carries(&self, address: &str) -> bool {
        self.addresses.iter().any(|carried| carried == address)
    }
}
