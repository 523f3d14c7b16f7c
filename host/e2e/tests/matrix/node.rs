//! A node with a network, pods, claims, files to import and a policy to load: what the verbs are asked about.

use std::any::Any;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::mount::Mount;
use tenure_e2e::{Attachment, Daemon, wait};
use tenure_types::ErrorCode;

use crate::agent::{Agent, claim};
use crate::component;
use crate::owners::Owners;

/// The time limit for any wait, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The pods and claims that exist before the situation begins, by the verb that concerns each.
const PODS: [&str; 5] = ["stays", "leaves", "collected", "leaked", "stray"];
const CLAIMS: [&str; 5] = ["router", "released", "dropped", "unwanted", "seized"];
/// The address that is imported for an unknown owner: its file names none.
const UNKNOWN: &str = "10.93.0.14";

/// The node.
pub(crate) struct Node {
    pub(crate) daemon: Daemon,
    /// The network's configuration, as the runtime sends it.
    pub(crate) config: Value,
    /// The owners before the situation.
    pub(crate) before: Owners,
    /// A report of `tenurectl check`, which says more than is known.
    pub(crate) report: PathBuf,
    /// The causes of the situation, until it ends.
    pub(crate) causes: Vec<Box<dyn Any + Send + Sync>>,
    /// The disks that it needs also afterwards. Dropped last: the daemon uses them.
    pub(crate) disks: Vec<Mount>,
}

impl Node {
    /// Prepares a node that has not been started.
    pub(crate) fn prepare() -> anyhow::Result<Self> {
        let daemon = Daemon::prepare()?;
        let config = json!({
            "cniVersion": "1.1.0",
            "name": "pods",
            "ipam": { "type": "tenure", "wait": 1, "ranges": [[{ "subnet": "10.93.0.0/24" }]] },
        });
        let report = daemon.path("report.json");
        let before = Owners::default();
        Ok(Self { daemon, config, before, report, causes: Vec::new(), disks: Vec::new() })
    }

    /// Starts the daemon with further configuration.
    pub(crate) fn start(&mut self, more: &str) -> anyhow::Result<()> {
        self.configure(more)?;
        self.daemon.start_again()
    }

    /// Writes the daemon's configuration.
    pub(crate) fn configure(&self, more: &str) -> anyhow::Result<()> {
        let uid = rustix::process::geteuid().as_raw();
        self.daemon.configure(&format!("[agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n{more}"))
    }

    /// Gives the pods and claims their addresses, and writes the files that verbs read.
    pub(crate) fn populate(&mut self) -> anyhow::Result<()> {
        self.write_files()?;
        let shim = self.daemon.shim()?;
        fs::create_dir_all(self.daemon.path("netns"))?;
        fs::write(self.pod("leaked").netns, "")?;
        for name in PODS {
            shim.call("ADD", &self.pod(name), &self.config)?.result()?;
        }
        fs::remove_file(self.pod("leaked").netns)?;
        let agent = self.agent();
        wait::holds("the agents' socket", LIMIT, || {
            Ok(agent.lists()?.map_or_else(|error| error.code != ErrorCode::Unreachable, |_| true))
        })?;
        for name in CLAIMS {
            agent.ensures(claim(name))??;
        }
        let nobodys = self.daemon.path("networks/pods").join(UNKNOWN);
        fs::write(&nobodys, "")?;
        let (networks, config) = (self.path("networks"), self.path("pods.conf"));
        let imported = self.daemon.path("networks/pods/10.93.0.200");
        let later = self.daemon.path("imported");
        fs::rename(&imported, &later)?;
        self.daemon.ctl_output(&["import", "--apply", "host-local", &networks, "--config", &config])?;
        fs::rename(&later, &imported)?;
        fs::remove_file(&nobodys)?;
        // The check of a node without a runtime proves nothing; the report claims that it did.
        let report = String::from_utf8(self.daemon.ctl_output(&["check"])?.stdout)?;
        ensure!(report.contains("namespace-gone"), "{report}");
        fs::write(&self.report, report.replace("namespace-gone", "sandbox-gone"))?;
        self.before = Owners::read(&self.daemon.ctl(&["allocations"])?);
        ensure!(self.before.names().count() == PODS.len() + CLAIMS.len() + 1, "{}", self.before);
        Ok(())
    }

    /// Writes what import, define and load read.
    pub(crate) fn write_files(&self) -> anyhow::Result<()> {
        let networks = self.daemon.path("networks");
        fs::create_dir_all(networks.join("pods"))?;
        fs::write(networks.join("pods/10.93.0.200"), "imported\r\neth0")?;
        fs::write(self.daemon.path("pods.conf"), self.config.to_string())?;
        if !self.report.exists() {
            fs::write(&self.report, r#"{"findings":[]}"#)?;
        }
        let component = component::build("tenure-highest-first", &self.daemon)?;
        // An empty custom section makes it a component of its own, which is not built in.
        let bytes = [fs::read(&component)?.as_slice(), &[0, 1, 0]].concat();
        Ok(fs::write(self.daemon.path("mine.wasm"), bytes)?)
    }

    /// A pod's attachment. The daemon can tell that the namespace of the leaked one is gone.
    pub(crate) fn pod(&self, name: &str) -> Attachment {
        match name {
            "leaked" => Attachment::in_netns(name, self.path("netns/leaked")),
            _ => Attachment::of(name),
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.daemon.path(name).display().to_string()
    }

    pub(crate) fn agent(&self) -> Agent {
        Agent::at(&self.daemon.run_directory())
    }

    /// The owners, if the daemon answers.
    pub(crate) fn owners(&self) -> anyhow::Result<Option<Owners>> {
        let output = self.daemon.ctl_output(&["--timeout", "20", "allocations"])?;
        Ok(serde_json::from_slice(&output.stdout)
            .ok()
            .filter(|_| output.status.success())
            .map(|all| Owners::read(&all)))
    }

    /// Kills the daemon, ends the situation, and starts the daemon again.
    pub(crate) fn end(&mut self) -> anyhow::Result<()> {
        // It may be down already.
        let _ = self.daemon.kill();
        self.causes.clear();
        self.daemon.launch()
    }

    /// Waits until the ledger holds this, apart from owners of whom nothing is known.
    pub(crate) fn holds(&self, expected: &Owners, unsure: &Owners) -> anyhow::Result<()> {
        let mut expected = expected.clone();
        expected.remove(unsure);
        let mut held = None;
        let waited = wait::holds("the ledger after a kill", LIMIT, || {
            held = self.owners()?;
            if let Some(held) = &mut held {
                held.remove(unsure);
            }
            Ok(held.as_ref() == Some(&expected))
        });
        let shown = held.map_or_else(|| "nothing that can be seen".to_owned(), |held| held.to_string());
        waited.with_context(|| format!("after a kill, the ledger holds {shown}, not {expected}"))
    }
}
