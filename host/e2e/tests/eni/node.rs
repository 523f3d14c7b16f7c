//! A node in an enclave: a daemon that is there, too, pods' network namespaces, and what the kernel shows.

use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Enclave, Plugin, wait};

/// The time limit for any wait, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The node's own addresses.
pub(crate) const OWN: [&str; 2] = ["10.79.0.1", "fd79::1"];

/// A node.
pub(crate) struct Node {
    pub(crate) enclave: Enclave,
    pub(crate) daemon: Daemon,
    /// `nsenter`, whose only child is the daemon.
    running: Option<Child>,
    /// How the daemon is started, such as without a capability.
    under: Vec<&'static str>,
    /// The socket that plugins are configured with, unless it is where they look for it by themselves.
    socket: Option<String>,
}

impl Node {
    pub(crate) fn start() -> anyhow::Result<Self> {
        Self::start_under(Vec::new())
    }

    /// A node whose daemon another program starts.
    pub(crate) fn start_under(under: Vec<&'static str>) -> anyhow::Result<Self> {
        let mut node = Self::prepare(under)?;
        node.start_daemon()?;
        Ok(node)
    }

    /// A node whose daemon has not been started.
    pub(crate) fn prepare(under: Vec<&'static str>) -> anyhow::Result<Self> {
        let daemon = Daemon::prepare()?;
        let socket = Some(daemon.socket());
        Self { enclave: Enclave::new()?, daemon, running: None, under, socket }.with_addresses()
    }

    /// A machine on which systemd starts the daemon.
    pub(crate) fn with_service(enclave: Enclave, daemon: Daemon) -> anyhow::Result<Self> {
        let daemon = daemon.served_in(enclave.outside("/run/tenure"));
        Self { enclave, daemon, running: None, under: Vec::new(), socket: None }.with_addresses()
    }

    fn with_addresses(self) -> anyhow::Result<Self> {
        let up = "echo 1 > /proc/sys/net/ipv4/ip_forward; ip addr add 10.79.0.1/32 dev lo
                  ip addr add fd79::1/128 dev lo nodad";
        self.sh(up)?;
        Ok(self)
    }

    /// Starts the daemon and waits until it is ready.
    pub(crate) fn start_daemon(&mut self) -> anyhow::Result<()> {
        self.launch_daemon()?;
        let output = self.daemon.ctl_output(&["status", "--wait", "60"])?;
        ensure!(output.status.success(), "not ready: {}", String::from_utf8_lossy(&output.stdout));
        Ok(())
    }

    /// Starts the daemon.
    pub(crate) fn launch_daemon(&mut self) -> anyhow::Result<()> {
        let command = self.daemon.command()?;
        let log = std::fs::File::options().append(true).create(true).open(self.daemon.path("tenured.log"))?;
        let mut inside = self.enclave.command("env");
        inside.args(&self.under).arg(command.get_program()).args(command.get_args());
        inside.stdin(std::process::Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.running = Some(inside.spawn()?);
        Ok(())
    }

    /// Kills the daemon, as a crash would.
    pub(crate) fn kill_daemon(&mut self) -> anyhow::Result<()> {
        let pid = self.pid()?;
        let mut nsenter = self.running.take().context("the daemon is not running")?;
        kill_process(Pid::from_raw(pid).context("a process ID")?, Signal::KILL)?;
        nsenter.wait()?;
        Ok(())
    }

    fn pid(&self) -> anyhow::Result<i32> {
        let nsenter = self.running.as_ref().context("the daemon is not running")?.id();
        let children = format!("/proc/{nsenter}/task/{nsenter}/children");
        Ok(std::fs::read_to_string(children)?.trim().parse()?)
    }

    /// The peak resident memory of the daemon, in KiB.
    pub(crate) fn peak_rss(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no such line")?;
        Ok(peak.trim().trim_end_matches(" kB").parse()?)
    }

    /// The plugin under the name of the main plugin.
    pub(crate) fn plugin(&self, pod: &str) -> anyhow::Result<Plugin> {
        let bin = self.daemon.plugin_directory(&["tenure", "tenure-eni"])?;
        Ok(self
            .any_plugin(&bin.join("tenure-eni"))
            .env("CNI_ARGS", format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod}")))
    }

    /// A plugin inside of the node.
    pub(crate) fn any_plugin(&self, path: &std::path::Path) -> Plugin {
        let plugin = Plugin::new(path).under(&self.enclave.command("env"));
        match &self.socket {
            Some(socket) => plugin.env("TENURE_SOCKET", socket),
            None => plugin,
        }
    }

    /// The sandbox of a pod, in a new network namespace.
    pub(crate) fn sandbox(&self, name: &str) -> anyhow::Result<Attachment> {
        Ok(Attachment::in_netns(name, self.enclave.add_netns(name)?))
    }

    /// Runs a script on the node.
    pub(crate) fn sh(&self, script: &str) -> anyhow::Result<String> {
        Ok(self.enclave.run("sh", &["-ec", script])?.trim().to_owned())
    }

    /// The path of a pod's network namespace for the test.
    pub(crate) fn pod(&self, sandbox: &Attachment) -> PathBuf {
        self.enclave.outside(&sandbox.netns)
    }

    /// The path of the node's network namespace for the test.
    pub(crate) fn own(&self) -> PathBuf {
        self.enclave.netns()
    }

    /// The node's links to pods.
    pub(crate) fn links(&self) -> anyhow::Result<Vec<String>> {
        let all = self.sh("ip -o link show type veth")?;
        let name = |line: &str| Some(line.split(": ").nth(1)?.split('@').next()?.to_owned());
        let mut names: Vec<String> = all.lines().filter_map(name).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The links that pods' routes lead to, one for each route of a family.
    pub(crate) fn routes(&self, family: &str) -> anyhow::Result<Vec<String>> {
        let all = self.sh(&format!("ip {family} route show table 9000 2>/dev/null || true"))?;
        let device = |line: &str| Some(line.split(" dev ").nth(1)?.split(' ').next()?.to_owned());
        let mut devices: Vec<String> = all.lines().filter_map(device).collect();
        devices.sort_unstable();
        Ok(devices)
    }

    /// Waits until the node has as many links and routes as there are allocations of the network.
    pub(crate) fn is_settled(&self, network: &str) -> anyhow::Result<()> {
        wait::holds("links and routes as the ledger says", LIMIT, || {
            let allocations = self.daemon.allocations(network)?.len();
            let (links, routes) = (self.links()?, self.routes("-4")?);
            Ok(links.len() == allocations && routes == links)
        })
        .with_context(|| format!("links {:?}, routes {:?}", self.links(), self.routes("-4")))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.running.is_some() {
            // It ends with the enclave at the latest.
            let _ = self.kill_daemon();
        }
    }
}

/// A configuration of a version, for these subnets.
pub(crate) fn config_of(version: &str, subnets: &[&str]) -> Value {
    let ranges: Vec<Value> = subnets.iter().map(|subnet| json!([{ "subnet": subnet }])).collect();
    json!({
        "cniVersion": version, "name": "pods", "type": "tenure-eni", "mtu": 9001,
        "ipam": { "type": "tenure", "ranges": ranges }
    })
}

/// A dual-stack configuration.
pub(crate) fn config() -> Value {
    config_of("1.1.0", &["10.80.0.0/24", "fd80::/64"])
}

/// The same with the result of the ADD, as a runtime passes it to CHECK and to the plugins that follow.
pub(crate) fn with_result(config: &Value, result: &Value) -> Value {
    let mut config = config.clone();
    if let Some(object) = config.as_object_mut() {
        object.insert("prevResult".to_owned(), result.clone());
    }
    config
}
