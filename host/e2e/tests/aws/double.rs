//! EC2, its metadata service and a VPC in an enclave: the real `tenure-ec2-double`, and its control port.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Enclave, binaries, request, wait};

use crate::node::LIMIT;
use crate::pod::VPC;

const CONTROL: &str = "127.0.0.1:8100";
const EC2: &str = "127.0.0.1:8101";

/// A running double.
pub(crate) struct Double {
    child: Child,
    /// Read no further, and not closed either.
    _told: BufReader<ChildStdout>,
    netns: PathBuf,
}

impl Double {
    /// Starts it in an enclave, with an instance of a type in a subnet.
    pub(crate) fn start(enclave: &Enclave, kind: &str, subnet: &str) -> anyhow::Result<Self> {
        let mut command = enclave.command(binaries::find("tenure-ec2-double")?);
        command.args(["--instance", kind, "--subnet", subnet, "--wire", VPC]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut told = BufReader::new(child.stdout.take().context("its output")?);
        let mut line = String::new();
        while line.trim() != "ready" {
            line.clear();
            ensure!(told.read_line(&mut line)? > 0, "the double ended");
        }
        let double = Self { child, _told: told, netns: enclave.netns() };
        let timing = json!({ "create_ms": 50, "attach_ms": 200, "detach_ms": 200, "move_ms": 50 });
        double.ask("PUT", "/timing", &timing)?;
        double.ask(
            "PUT",
            "/terms",
            &json!({ "cooldown_ms": 1000, "idle_ms": 0, "calls_per_minute": 600 }),
        )?;
        Ok(double)
    }

    /// Asks the control port.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.send(CONTROL, &format!("{method} {path}"), "application/json", &body)?;
        serde_json::from_str(&answer).with_context(|| format!("{method} {path}: {answer}"))
    }

    /// Has the account assign addresses to the primary interface, as another daemon would; returns them.
    pub(crate) fn assign(&self, count: usize) -> anyhow::Result<Vec<String>> {
        let primary = self.interfaces()?;
        let id = primary[0]["id"].as_str().context("the primary interface")?;
        self.call("AssignPrivateIpAddresses", id, &format!("SecondaryPrivateIpAddressCount={count}"))?;
        let addresses = self.interfaces()?;
        let addresses = addresses[0]["ipv4"].as_array().context("its addresses")?;
        Ok(addresses.iter().skip(1).filter_map(|of| of.as_str().map(str::to_owned)).collect())
    }

    /// Makes a call about an interface, as somebody else in the account.
    pub(crate) fn call(&self, action: &str, interface: &str, parameters: &str) -> anyhow::Result<()> {
        self.ask("PUT", "/signature", &json!({ "required": false }))?;
        let call = format!("Action={action}&Version=2016-11-15&NetworkInterfaceId={interface}&{parameters}");
        self.send(EC2, "POST /", "application/x-www-form-urlencoded", &call)?;
        self.ask("PUT", "/signature", &json!({ "required": true }))?;
        Ok(())
    }

    /// Sends a request, and returns the body of the answer.
    fn send(&self, to: &str, what: &str, kind: &str, body: &str) -> anyhow::Result<String> {
        let head = [format!("Content-Type: {kind}")];
        let answer = request::ask(&self.netns, to, what, &head, body)?;
        ensure!(answer.status == 200, "{what}: {answer:?}");
        Ok(answer.body)
    }

    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask("GET", path, &Value::Null)
    }

    /// How often EC2 was asked for an action, and did it.
    pub(crate) fn calls(&self, action: &str) -> anyhow::Result<usize> {
        let journal = self.get("/journal")?;
        let done = |call: &&Value| call["call"] == action && call["refused"].is_null();
        Ok(journal.as_array().context("a list of calls")?.iter().filter(done).count())
    }

    /// The attached interfaces, as the double has them.
    pub(crate) fn interfaces(&self) -> anyhow::Result<Vec<Value>> {
        let state = self.get("/state")?;
        let all = state["interfaces"].as_array().context("a list of interfaces")?;
        Ok(all.iter().filter(|interface| !interface["attachment"].is_null()).cloned().collect())
    }

    /// The number of interfaces in the account, attached or not.
    pub(crate) fn known(&self) -> anyhow::Result<usize> {
        let state = self.get("/state")?;
        Ok(state["interfaces"].as_array().context("a list of interfaces")?.len())
    }

    /// Nothing that must never happen has happened. `pods` are the addresses that the node's pods use.
    pub(crate) fn all_is_well(&self, pods: &[String]) -> anyhow::Result<()> {
        let state = self.get("/state")?;
        let instance = state["instances"][0]["id"].as_str().context("an instance")?;
        self.ask("PUT", &format!("/instances/{instance}/pods"), &json!(pods))?;
        // An interface that was created at this moment is attached by the next call; one that stays attached to nothing is a violation.
        let is_at_once = |violation: &Value| violation["violation"] != "without_owner";
        let mut verdict = Value::Null;
        let judged = wait::holds("each interface to be attached", LIMIT, || {
            verdict = self.get("/oracle")?;
            let violations = verdict["violations"].as_array().context("a list of violations")?;
            Ok(violations.is_empty() || violations.iter().any(is_at_once))
        });
        ensure!(judged.is_ok() && verdict["violations"] == json!([]), "{verdict:#}");
        Ok(())
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        // It ends with the enclave at the latest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
