//! A daemon whose network `pods` gets its addresses from a delegate.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tenure_e2e::plugin::CniError;
use tenure_e2e::{Attachment, Daemon, wait};

use crate::agent::Agent;

/// The time limit for any wait, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Debian's delegates.
pub(crate) const HOST_LOCAL: &str = "/usr/lib/cni/host-local";
pub(crate) const STATIC: &str = "/usr/lib/cni/static";

/// The node, and where its host-local keeps its state.
pub(crate) struct Node {
    pub(crate) daemon: Daemon,
    pub(crate) data: PathBuf,
    _directory: TempDir,
}

impl Node {
    /// A node with host-local, which keeps its state outside of the daemon's directories, as on a real node.
    pub(crate) fn with_host_local() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let data = directory.path().to_owned();
        let config = json!({
            "dataDir": data,
            "ranges": [[{ "subnet": "10.91.0.0/24" }]],
            "routes": [{ "dst": "0.0.0.0/0" }],
        });
        let mut node = Self::start(HOST_LOCAL, "", &config)?;
        (node.data, node._directory) = (data, directory);
        Ok(node)
    }

    /// A node with a delegate, more of the delegate's settings, and the network's `delegate_config`.
    pub(crate) fn start(path: &str, settings: &str, config: &Value) -> anyhow::Result<Self> {
        Self::start_with(path, settings, config, "")
    }

    /// The same with more in the daemon's configuration.
    pub(crate) fn start_with(path: &str, settings: &str, config: &Value, more: &str) -> anyhow::Result<Self> {
        let config = inline(config);
        let uid = rustix::process::geteuid().as_raw();
        let text = format!(
            "[delegates.foreign]\npath = \"{path}\"\n{settings}\
             [networks.pods]\ndelegate = \"foreign\"\ndelegate_config = {config}\n\
             [agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n{more}"
        );
        let directory = tempfile::tempdir()?;
        let node = Self {
            daemon: Daemon::start_with(&text)?,
            data: directory.path().to_owned(),
            _directory: directory,
        };
        node.ready()?;
        Ok(node)
    }

    /// Waits until the network exists.
    pub(crate) fn ready(&self) -> anyhow::Result<()> {
        wait::holds("the network", LIMIT, || Ok(!self.daemon.networks()?.is_empty()))
    }

    /// The agent, once its socket is open.
    pub(crate) fn agent(&self) -> anyhow::Result<Agent> {
        let agent = Agent::at(&self.daemon.run_directory());
        wait::holds("the agents' socket", LIMIT, || Ok(agent.lists()?.is_ok()))?;
        Ok(agent)
    }

    /// The configuration of CNI calls, which need not name the delegate.
    pub(crate) fn config(&self) -> Value {
        json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } })
    }

    /// The same with one more key.
    pub(crate) fn config_with(&self, key: &str, value: Value) -> Value {
        let mut config = self.config();
        if let Some(config) = config.as_object_mut() {
            config.insert(key.to_owned(), value);
        }
        config
    }

    /// The configuration of a CHECK after an ADD.
    pub(crate) fn checked(&self, added: &Value) -> Value {
        self.config_with("prevResult", added.clone())
    }

    pub(crate) fn add(&self, name: &str) -> anyhow::Result<Value> {
        self.daemon.shim()?.call("ADD", &pod(name), &self.config())?.result()
    }

    pub(crate) fn refused(&self, name: &str) -> anyhow::Result<CniError> {
        self.daemon.shim()?.call("ADD", &pod(name), &self.config())?.error()
    }

    /// The delegations that `tenurectl delegates` lists.
    pub(crate) fn delegations(&self) -> anyhow::Result<Vec<Value>> {
        let listed = self.daemon.ctl(&["delegates"])?;
        Ok(listed.get("delegations").and_then(Value::as_array).context("no list")?.clone())
    }

    /// The names of all conditions.
    pub(crate) fn conditions(&self) -> anyhow::Result<Vec<String>> {
        let status: Value =
            serde_json::from_slice(&self.daemon.ctl_output(&["status", "--output", "json"])?.stdout)?;
        let conditions = status.get("conditions").and_then(Value::as_array);
        let conditions = conditions.context("there are no conditions")?;
        Ok(conditions.iter().map(|condition| at(condition, "/name").to_owned()).collect())
    }

    /// Waits until a condition is set, or is not.
    pub(crate) fn condition(&self, name: &str, is_set: bool) -> anyhow::Result<()> {
        wait::holds(
            name,
            LIMIT,
            || Ok(self.conditions()?.iter().any(|condition| condition == name) == is_set),
        )
    }

    /// The addresses that host-local has given: each address, and to which container.
    pub(crate) fn given(&self) -> anyhow::Result<BTreeMap<IpAddr, String>> {
        let mut given = BTreeMap::new();
        let Ok(entries) = fs::read_dir(self.data.join("pods")) else { return Ok(given) };
        for entry in entries {
            let path = entry?.path();
            let Some(address) = path.file_name().and_then(|name| name.to_str()?.parse().ok()) else {
                continue;
            };
            // One that is being removed is not given.
            let Ok(text) = fs::read_to_string(&path) else { continue };
            given.insert(address, text.lines().next().unwrap_or_default().trim().to_owned());
        }
        Ok(given)
    }

    /// The addresses that host-local has given according to the ledger, all of them in use.
    fn recorded(&self) -> anyhow::Result<Option<BTreeMap<IpAddr, String>>> {
        let delegations = self.delegations()?;
        if delegations.iter().any(|delegation| at(delegation, "/phase") != "in-use") {
            return Ok(None);
        }
        let mut recorded = BTreeMap::new();
        for delegation in &delegations {
            for address in delegation.get("addresses").and_then(Value::as_array).into_iter().flatten() {
                let address = address.as_str().context("no address")?.parse()?;
                recorded.insert(address, at(delegation, "/container_id").to_owned());
            }
        }
        ensure!(
            recorded.len() == self.daemon.allocations("pods")?.len(),
            "an allocation without a delegation"
        );
        Ok(Some(recorded))
    }

    /// Waits until host-local and the ledger agree on everything, and checks how many addresses that is.
    pub(crate) fn agrees(&self, count: usize) -> anyhow::Result<()> {
        self.settles()?;
        let given = self.given()?;
        ensure!(given.len() == count, "{count} expected: {given:?}");
        Ok(())
    }

    /// Waits until host-local and the ledger agree on everything.
    pub(crate) fn settles(&self) -> anyhow::Result<()> {
        let agree =
            || Ok(self.recorded()?.is_some_and(|recorded| self.given().is_ok_and(|given| given == recorded)));
        let settled = wait::holds("host-local and the ledger agree", LIMIT, agree);
        settled.with_context(|| format!("{:?} given, {:?}", self.given(), self.delegations()))
    }
}

/// JSON as it is written within a line of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// A pod's attachment.
pub(crate) fn pod(name: &str) -> Attachment {
    Attachment::of(name)
}

pub(crate) fn at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn sha256(path: &Path) -> anyhow::Result<String> {
    Ok(format!("{:x}", Sha256::digest(fs::read(path)?)))
}
