//! A machine whose systemd runs the daemon by the unit files of the repository, as they are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Daemon, Enclave, Plugin, binaries, wait};

use crate::eni::{LIMIT, Node};

/// The directory of administrators' units.
const UNITS: &str = "/etc/systemd/system";

/// A machine with the unit and these drop-ins, on which nothing has been started.
pub(crate) fn boot(drop_ins: &[&str]) -> anyhow::Result<Node> {
    let daemon = Daemon::prepare()?;
    let tenured = binaries::find("tenured")?;
    let programs = tenured.parent().context("a directory of programs")?;
    let enclave = Enclave::with_systemd(&[programs, &daemon.path("")])?;
    let node = Node::with_service(enclave, daemon)?;
    for program in ["tenured", "tenurectl"] {
        let (built, installed) = (binaries::find(program)?, format!("/usr/local/bin/{program}"));
        node.sh(&format!(": >{installed}; mount --bind {} {installed}", built.display()))?;
    }
    fs::copy(shipped("tenured.service"), node.enclave.outside(&format!("{UNITS}/tenured.service")))?;
    for drop_in in drop_ins {
        Unit(&node).install(drop_in)?;
    }
    Unit(&node).load()?;
    Ok(node)
}

/// The daemon's unit on a machine.
#[derive(Clone, Copy)]
pub(crate) struct Unit<'a>(pub(crate) &'a Node);

impl Unit<'_> {
    /// Installs a drop-in, as its first lines say.
    pub(crate) fn install(&self, drop_in: &str) -> anyhow::Result<()> {
        let directory = self.outside(&format!("{UNITS}/tenured.service.d"));
        fs::create_dir_all(&directory)?;
        fs::copy(shipped(drop_in), directory.join(drop_in))?;
        self.load()
    }

    /// Has systemd read the files, of which it must not ignore a line.
    fn load(&self) -> anyhow::Result<()> {
        self.systemctl(&["daemon-reload"])?;
        self.property("LoadState")?;
        let journal = self.0.sh("journalctl --sync; journalctl --no-pager --output=cat")?;
        let ignored: Vec<_> = journal.lines().filter(|line| line.starts_with(UNITS)).collect();
        ensure!(ignored.is_empty(), "{ignored:?}");
        Ok(())
    }

    /// Installs a drop-in of an administrator's own.
    pub(crate) fn add(&self, lines: &str) -> anyhow::Result<()> {
        let directory = self.outside(&format!("{UNITS}/tenured.service.d"));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("own.conf"), format!("[Service]\n{lines}\n"))?;
        self.load()
    }

    /// Restarts the service, and waits until the node is ready.
    pub(crate) fn restart(&self) -> anyhow::Result<()> {
        self.systemctl(&["restart", "tenured"])?;
        self.is_ready()
    }

    /// Writes the daemon's configuration where the unit has it.
    pub(crate) fn configure(&self, config: &str) -> anyhow::Result<()> {
        fs::create_dir_all(self.outside("/etc/tenure"))?;
        Ok(fs::write(self.outside("/etc/tenure/tenured.toml"), config)?)
    }

    /// Starts the service, and waits until the node is ready.
    pub(crate) fn start(&self) -> anyhow::Result<()> {
        self.systemctl(&["start", "tenured"])?;
        self.is_ready()
    }

    /// Waits until the node is ready, with its policies.
    fn is_ready(&self) -> anyhow::Result<()> {
        let output = self.0.daemon.ctl_output(&["status", "--wait", "60"])?;
        ensure!(output.status.success(), "not ready: {}", String::from_utf8_lossy(&output.stdout));
        self.0.daemon.loads_policies()
    }

    pub(crate) fn systemctl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.0.enclave.run("systemctl", arguments)
    }

    /// A property of the service, as systemd shows it.
    pub(crate) fn property(&self, name: &str) -> anyhow::Result<String> {
        let arguments = ["show", "tenured", "--value", "--property", name];
        Ok(self.systemctl(&arguments)?.trim().to_owned())
    }

    /// The service's state is this one.
    pub(crate) fn is(&self, state: &str) -> anyhow::Result<()> {
        let found = ["ActiveState", "SubState", "Result"].map(|name| self.property(name));
        let found = found.into_iter().collect::<anyhow::Result<Vec<_>>>()?.join(" ");
        ensure!(found == state, "expected {state}, found {found}");
        Ok(())
    }

    /// Kills the daemon as a crash would, and waits until systemd has started it again and the node is ready.
    pub(crate) fn crash(&self) -> anyhow::Result<()> {
        let (pid, restarts) = (self.property("MainPID")?, self.property("NRestarts")?);
        self.0.sh(&format!("kill -KILL {pid}"))?;
        wait::holds("another daemon", LIMIT, || {
            Ok(self.property("NRestarts")? != restarts && self.property("ActiveState")? == "active")
        })?;
        ensure!(self.property("MainPID")? != pid, "the daemon was not killed");
        self.is_ready()
    }

    /// The journal of the service's unit.
    pub(crate) fn journal(&self) -> anyhow::Result<String> {
        self.0.enclave.run("journalctl", &["--no-pager", "--output=cat", "--unit=tenured"])
    }

    /// The IPAM plugin.
    pub(crate) fn ipam(&self) -> anyhow::Result<Plugin> {
        let directory = self.0.daemon.plugin_directory(&["tenure", "tenure-eni"])?;
        Ok(self.0.any_plugin(&directory.join("tenure")))
    }

    fn outside(&self, path: &str) -> PathBuf {
        self.0.enclave.outside(path)
    }
}

/// A file of the repository's folder of units.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/systemd").join(name)
}

/// The configuration of a network for the IPAM plugin.
pub(crate) fn config(subnet: &str) -> Value {
    json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure", "ranges": [[{ "subnet": subnet }]] } })
}
