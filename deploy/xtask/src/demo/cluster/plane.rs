//! The control plane of the demonstration: etcd, kube-apiserver and the operator, inside the enclave.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::super::enclave::{Enclave, child_of};
use super::super::wait;
use crate::command;

/// Everything of the control plane, inside the enclave.
const FOLDER: &str = "/run/plane";
/// The API server, which nothing outside of the enclave reaches.
const URL: &str = "https://127.0.0.1:6443";
/// How many lines of a log are shown for a failure.
const LOG_LINES: usize = 20;

/// The kubeconfig of the operator and the agents, inside the enclave.
pub(crate) const KUBECONFIG: &str = "/run/plane/kubeconfig";

/// A running control plane.
#[derive(Debug)]
pub(crate) struct DemoPlane<'a> {
    enclave: &'a Enclave,
    /// The folder of etcd and kube-apiserver.
    programs: PathBuf,
    server: Option<Child>,
}

impl<'a> DemoPlane<'a> {
    /// Starts etcd and the API server, and waits until it answers.
    ///
    /// # Errors
    /// When one of them does not start.
    pub(crate) fn start(enclave: &'a Enclave, programs: PathBuf) -> Result<Self> {
        let folder = enclave.outside(FOLDER);
        fs::create_dir(&folder)?;
        fs::write(folder.join("tokens.csv"), "admin,admin,1,\"system:masters\"\n")?;
        fs::write(
            enclave.outside(KUBECONFIG),
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: demo\nclusters:\n- name: demo\n  cluster:\n    certificate-authority: {FOLDER}/certificates/apiserver.crt\n    server: {URL}\n\
                 users:\n- name: demo\n  user: {{token: admin}}\ncontexts:\n- name: demo\n  context: {{cluster: demo, user: demo}}\n"
            ),
        )?;
        let mut plane = Self { enclave, programs, server: None };
        // It ends with the enclave.
        let _etcd =
            plane.run("etcd", &[format!("--data-dir={FOLDER}/etcd"), "--unsafe-no-fsync".to_owned()])?;
        plane.start_server()?;
        Ok(plane)
    }

    /// Starts the API server, on the data that are there.
    ///
    /// # Errors
    /// When it does not answer within a minute.
    pub(crate) fn start_server(&mut self) -> Result<()> {
        let key = format!("{FOLDER}/certificates/apiserver.key");
        let arguments = [
            "--etcd-servers=http://127.0.0.1:2379".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--cert-dir={FOLDER}/certificates"),
            format!("--service-account-key-file={key}"),
            format!("--service-account-signing-key-file={key}"),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--token-auth-file={FOLDER}/tokens.csv"),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        ];
        self.server = Some(self.run("kube-apiserver", &arguments)?);
        let ready = wait::holds("the API server", || Ok(self.get("/readyz").is_ok()));
        ready.with_context(|| self.log("kube-apiserver"))
    }

    /// Kills the API server; etcd stays.
    ///
    /// # Errors
    /// When it is not running.
    pub(crate) fn stop_server(&mut self) -> Result<()> {
        let mut server = self.server.take().context("the API server is not running")?;
        let inside = i32::try_from(child_of(server.id())?)?;
        kill_process(Pid::from_raw(inside).context("the API server is gone")?, Signal::KILL)?;
        server.wait()?;
        Ok(())
    }

    /// Starts a program of a folder inside the enclave, which ends with it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn run_in(
        &self,
        programs: &std::path::Path,
        name: &str,
        arguments: &[String],
    ) -> Result<Child> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.enclave.outside(&format!("/run/{name}.log")))?;
        let mut command = self.enclave.command(programs.join(name));
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.spawn().with_context(|| format!("cannot start {name}"))
    }

    fn run(&self, name: &str, arguments: &[String]) -> Result<Child> {
        self.run_in(&self.programs, name, arguments)
    }

    /// The end of a program's log.
    pub(crate) fn log(&self, name: &str) -> String {
        let log = fs::read_to_string(self.enclave.outside(&format!("/run/{name}.log"))).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default().join("\n")
    }

    /// Applies an object in YAML, server-side.
    ///
    /// # Errors
    /// With the API server's answer.
    pub(crate) fn apply(&self, path: &str, yaml: &str) -> Result<Value> {
        let at = format!("{path}?fieldManager=demo&force=true");
        self.call(&at, "PATCH", Some(("application/apply-patch+yaml", yaml)))
    }

    /// Changes an object by a merge.
    ///
    /// # Errors
    /// With the API server's answer.
    pub(crate) fn change(&self, path: &str, patch: &Value) -> Result<Value> {
        self.call(path, "PATCH", Some(("application/merge-patch+json", &patch.to_string())))
    }

    /// Creates an object.
    ///
    /// # Errors
    /// With the API server's answer.
    pub(crate) fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.call(path, "POST", Some(("application/json", &object.to_string())))
    }

    /// The nodes of the leased blocks, with their phases.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub(crate) fn blocks(&self) -> Result<Vec<DemoBlock>> {
        let list = self.get("/apis/ipam.tenure.dev/v1alpha1/ipblocks")?;
        let items = list.get("items").and_then(Value::as_array).context("a list without items")?;
        let text = |item: &Value, path: &str| {
            item.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let block = |item: &Value| DemoBlock {
            cidr: text(item, "/spec/cidr"),
            node: text(item, "/spec/nodeName"),
            phase: text(item, "/status/phase"),
        };
        Ok(items.iter().map(block).collect())
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.call(path, "GET", None)
    }

    fn call(&self, path: &str, verb: &str, body: Option<(&str, &str)>) -> Result<Value> {
        let mut curl = self.enclave.command("curl");
        curl.args(["--silent", "--max-time", "15", "--request", verb, "--cacert"]);
        curl.arg(format!("{FOLDER}/certificates/apiserver.crt"));
        curl.args(["--header", "Authorization: Bearer admin"]);
        if let Some((kind, _)) = body {
            curl.args(["--header", &format!("Content-Type: {kind}"), "--data-binary", "@-"]);
        }
        curl.arg(format!("{URL}{path}"));
        let (status, printed) = command::feed(&mut curl, body.map_or("", |(_, text)| text))?;
        ensure!(status.success(), "{verb} {path}: no answer");
        let answer = serde_json::from_str(&printed).unwrap_or_else(|_| json!({ "message": printed.trim() }));
        let failed = answer.get("kind").and_then(Value::as_str) == Some("Status")
            && answer.get("status").and_then(Value::as_str) == Some("Failure");
        if failed || answer.get("kind").is_none() && printed.trim() != "ok" {
            bail!("{verb} {path}: {}", answer.get("message").and_then(Value::as_str).unwrap_or(&printed));
        }
        Ok(answer)
    }
}

/// A leased block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DemoBlock {
    pub(crate) cidr: String,
    pub(crate) node: String,
    /// Empty while it is leased.
    pub(crate) phase: String,
}
