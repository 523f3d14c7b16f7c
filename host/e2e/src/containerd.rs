//! A containerd with its own directories, network and control group, and no service manager; dropping it leaves no trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

use crate::{Enclave, evidence, image, scratch, wait};

/// The generated part of the container runtime interface.
pub mod cri {
    #![expect(missing_docs, reason = "generated; the Kubernetes project documents it")]
    tonic::include_proto!("runtime.v1");
}

use cri::runtime_service_client::RuntimeServiceClient;

/// The file with its process id, in the enclave.
const PID: &str = "/run/containerd.pid";

/// A private container runtime.
#[derive(Debug)]
pub struct Containerd {
    process: Option<Child>,
    /// Dropped before the directory that the processes inside write to.
    enclave: Enclave,
    directory: TempDir,
}

impl Containerd {
    /// Starts containerd with one CNI network and an image for its pods.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn start(plugins: &Path, network: &Value) -> anyhow::Result<Self> {
        let directory = scratch::directory()?;
        let enclave = Enclave::new()?;
        let at = directory.path();
        fs::create_dir_all(at.join("net.d"))?;
        fs::write(at.join("net.d/10-tenure.conflist"), network.to_string())?;
        // containerd takes one directory, so link the reference plugins next to tenure's.
        for entry in fs::read_dir("/usr/lib/cni")? {
            let entry = entry?;
            let link = plugins.join(entry.file_name());
            if !link.exists() {
                std::os::unix::fs::symlink(entry.path(), link)?;
            }
        }
        let config = at.join("config.toml");
        fs::write(&config, Self::config(at, plugins))?;
        let mut containerd = Self { process: None, enclave, directory };
        containerd.start_again()?;
        let archive = image::archive(containerd.directory.path())?;
        containerd.ctr(&["images", "import", &archive.display().to_string()])?;
        Ok(containerd)
    }

    /// Starts it after [`stop`](Self::stop), and waits until it answers. It knows the pods of before.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        let at = self.directory.path();
        let log = fs::File::options().create(true).append(true).open(at.join("containerd.log"))?;
        // The process inside keeps the id of the shell.
        let script = format!("echo $$ >{PID}; exec containerd --config \"$1\"");
        let process = self
            .enclave
            .command("sh")
            .args(["-c", &script, "sh"])
            .arg(at.join("config.toml"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("containerd")?;
        self.process = Some(process);
        let socket = self.socket();
        wait::holds("containerd", Duration::from_secs(30), || {
            Ok(socket.exists() && self.ctr(&["version"]).is_ok())
        })
    }

    /// Kills it. Its pods run on.
    ///
    /// # Errors
    /// When it is not running.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        let mut process = self.process.take().context("containerd is not running")?;
        self.enclave.run("sh", &["-c", &format!("kill -KILL $(cat {PID})")])?;
        process.wait()?;
        Ok(())
    }

    fn config(at: &Path, plugins: &Path) -> String {
        // `native` works on every filesystem. The score is restricted because a machine may withhold CAP_SYS_RESOURCE.
        format!(
            r#"version = 2
root = "{at}/root"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = "{at}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{plugins}"
  conf_dir = "{at}/net.d"
"#,
            at = at.display(),
            plugins = plugins.display(),
            image = image::NAME,
        )
    }

    fn ctr(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let socket = self.socket().display().to_string();
        let mut all = vec!["--address", &socket, "--namespace", "k8s.io"];
        all.extend_from_slice(arguments);
        self.enclave.run("ctr", &all)
    }

    /// The socket of its runtime interface.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("containerd.sock")
    }

    /// The enclave that containerd and its pods run in.
    #[must_use]
    pub fn enclave(&self) -> &Enclave {
        &self.enclave
    }

    /// Connects as a kubelet does.
    ///
    /// # Errors
    /// When there is no connection.
    pub async fn connect(&self) -> anyhow::Result<Pods> {
        let endpoint = Endpoint::from_shared(format!("unix://{}", self.socket().display()))?;
        let client = RuntimeServiceClient::new(endpoint.connect().await?);
        Ok(Pods { client, control_group: self.enclave.control_group() })
    }

    /// The CNI network namespaces that exist.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn namespaces(&self) -> anyhow::Result<usize> {
        match fs::read_dir(self.enclave.outside("/run/netns")) {
            Ok(entries) => Ok(entries.count()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        let log = fs::read_to_string(self.directory.path().join("containerd.log")).unwrap_or_default();
        let errors: Vec<&str> = log.lines().filter(|line| !line.contains("level=info")).collect();
        let tail = errors.get(errors.len().saturating_sub(40)..).unwrap_or_default();
        evidence::keep(format!("--- containerd's log, without level=info\n{}", tail.join("\n")));
        // This kills nsenter only; containerd ends with the enclave.
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A pod as Kubernetes names it, and which of its sandboxes is asked for.
#[derive(Debug, Clone, Copy)]
pub struct PodName<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
    /// The uid.
    pub uid: &'a str,
    /// The number of sandboxes before this one.
    pub attempt: u32,
}

/// The pods of a containerd.
#[derive(Debug, Clone)]
pub struct Pods {
    client: RuntimeServiceClient<Channel>,
    control_group: String,
}

/// A running pod.
#[derive(Debug, Clone)]
pub struct Pod {
    /// Identifier, which CNI plugins get as the container ID.
    pub id: String,
    /// Addresses, the primary one first.
    pub addresses: Vec<String>,
}

impl Pods {
    /// Starts a pod and returns its addresses.
    ///
    /// # Errors
    /// containerd's errors, as a kubelet would see them, or a timeout.
    pub async fn run(&mut self, name: &str, limit: Duration) -> anyhow::Result<Pod> {
        let uid = format!("uid-of-{name}");
        self.run_as(PodName { namespace: "tenure", name, uid: &uid, attempt: 0 }, limit).await
    }

    /// Starts a sandbox of a pod and returns its addresses.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_as(&mut self, pod: PodName<'_>, limit: Duration) -> anyhow::Result<Pod> {
        let PodName { namespace, name, uid, attempt } = pod;
        let metadata = cri::PodSandboxMetadata {
            name: name.to_owned(),
            uid: uid.to_owned(),
            namespace: namespace.to_owned(),
            attempt,
        };
        let config = cri::PodSandboxConfig {
            metadata: Some(metadata),
            hostname: name.to_owned(),
            log_directory: String::new(),
            linux: Some(cri::LinuxPodSandboxConfig { cgroup_parent: self.control_group.clone() }),
        };
        let mut request = tonic::Request::new(cri::RunPodSandboxRequest { config: Some(config) });
        request.set_timeout(limit);
        let id = self.client.run_pod_sandbox(request).await?.into_inner().pod_sandbox_id;
        let status = self
            .client
            .pod_sandbox_status(cri::PodSandboxStatusRequest { pod_sandbox_id: id.clone() })
            .await?
            .into_inner()
            .status
            .and_then(|status| status.network)
            .context("a pod without a network")?;
        ensure!(!status.ip.is_empty(), "a pod without an address");
        let more = status.additional_ips.into_iter().map(|ip| ip.ip);
        Ok(Pod { id, addresses: std::iter::once(status.ip).chain(more).collect() })
    }

    /// Stops a pod, which tears down its network.
    ///
    /// # Errors
    /// containerd's errors.
    pub async fn stop(&mut self, id: &str) -> anyhow::Result<()> {
        self.client.stop_pod_sandbox(cri::StopPodSandboxRequest { pod_sandbox_id: id.to_owned() }).await?;
        Ok(())
    }

    /// Removes a stopped pod.
    ///
    /// # Errors
    /// containerd's errors.
    pub async fn remove(&mut self, id: &str) -> anyhow::Result<()> {
        self.client
            .remove_pod_sandbox(cri::RemovePodSandboxRequest { pod_sandbox_id: id.to_owned() })
            .await?;
        Ok(())
    }
}
