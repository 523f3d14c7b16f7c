//! A podman with its own storage and networks.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Enclave, image, scratch};

/// A podman that shares nothing with the machine's.
#[derive(Debug)]
pub struct Podman {
    /// Dropped before the directory that the processes inside write to.
    enclave: Enclave,
    directory: TempDir,
}

impl Podman {
    /// Prepares podman with its CNI backend and one CNI network.
    ///
    /// # Errors
    /// When its files cannot be written.
    pub fn new(plugins: &Path, network: &Value) -> anyhow::Result<Self> {
        let directory = scratch::directory()?;
        let at = directory.path();
        fs::create_dir_all(at.join("net.d"))?;
        fs::write(at.join("net.d/10-tenure.conflist"), network.to_string())?;
        image::root(&at.join("rootfs"))?;
        // There is no systemd to manage control groups, and no journal to store events.
        let config = format!(
            "[network]\nnetwork_backend = \"cni\"\ncni_plugin_dirs = [\"{}\", \"/usr/lib/cni\"]\n\
             network_config_dir = \"{}\"\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n\
             runtime = \"runc\"\n[containers]\nlog_driver = \"k8s-file\"\n",
            plugins.display(),
            at.join("net.d").display()
        );
        fs::write(at.join("containers.conf"), config)?;
        Ok(Self { enclave: Enclave::new()?, directory })
    }

    /// Runs a podman command.
    ///
    /// # Errors
    /// When it fails; the error contains podman's output.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let at = self.directory.path();
        let config = format!("CONTAINERS_CONF={}", at.join("containers.conf").display());
        let root = at.join("storage").display().to_string();
        let mut all = vec![config.as_str(), "podman", "--root", &root, "--runroot", "/run/podman"];
        all.extend(["--tmpdir", "/run/libpod", "--storage-driver", "vfs"]);
        all.extend_from_slice(arguments);
        Ok(self.enclave.run("env", &all)?.trim().to_owned())
    }

    /// Starts a container that waits forever on a network, with further arguments for `podman run`.
    ///
    /// # Errors
    /// When podman fails.
    pub fn start(&self, name: &str, network: &str, more: &[&str]) -> anyhow::Result<()> {
        let rootfs = self.directory.path().join("rootfs").display().to_string();
        let group = self.enclave.control_group();
        let mut arguments = vec!["run", "--detach", "--name", name, "--network", network];
        arguments.extend(["--cgroup-parent", &group]);
        arguments.extend_from_slice(more);
        arguments.extend(["--rootfs", &rootfs, "/pause"]);
        self.run(&arguments)?;
        Ok(())
    }
}
