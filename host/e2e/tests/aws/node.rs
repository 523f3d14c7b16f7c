//! A node on AWS: the daemon, its instance's interfaces as links in an enclave, and pods by the main plugin.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Outcome, wait};

use crate::double::Double;
use crate::eni::Node;
use crate::pod::{self, GATEWAY};

/// The time limit for any wait, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The subnet of the instance's interfaces.
const SUBNET: &str = "10.60.0.0/24";

/// A node on AWS.
pub(crate) struct AwsNode {
    pub(crate) node: Node,
    pub(crate) double: Double,
    pub(crate) pods: BTreeMap<String, (Attachment, String)>,
}

/// The configuration of a daemon: its network has these settings.
pub(crate) fn config(settings: &str, more: &str) -> String {
    format!(
        "{more}
         [addresses]
         cooldown_seconds = 1
         [aws]
         network = \"pods\"
         ec2_endpoint = \"http://127.0.0.1:8101\"
         imds_endpoint = \"http://127.0.0.1:8102\"
         look_seconds = 2
         consistency_seconds = 2
         [networks.pods]
         policy = \"aws-eni\"
         [networks.pods.ipam]
         idleSeconds = 1
         {settings}\n"
    )
}

impl AwsNode {
    /// A node whose daemon serves.
    pub(crate) fn start(kind: &str, settings: &str, more: &str) -> anyhow::Result<Self> {
        let mut node = Self::prepare(kind, &config(settings, more))?;
        node.node.start_daemon()?;
        Ok(node)
    }

    /// From now on, EC2 and its metadata answer nothing.
    pub(crate) fn silence(&self) -> anyhow::Result<()> {
        for call in ["*", "/"] {
            self.double.ask("POST", "/faults", &json!({ "call": call, "kind": "reset" }))?;
        }
        Ok(())
    }

    /// Sweeps the node's rules as systemd-networkd does it, and its tables of packets: all that was ours is gone, too.
    pub(crate) fn sweep(&self) -> anyhow::Result<()> {
        let sweep = "ip rule flush; ip rule add pref 32766 table main
                     ip rule add pref 32767 table default; nft flush ruleset";
        self.node.sh(sweep).map(drop)
    }

    /// A node whose daemon has not been started.
    pub(crate) fn prepare(kind: &str, config: &str) -> anyhow::Result<Self> {
        Self::on(Node::prepare(Vec::new())?, kind, config)
    }

    /// A node that is there, with an instance's interfaces from now on.
    pub(crate) fn on(node: Node, kind: &str, config: &str) -> anyhow::Result<Self> {
        let double = Double::start(&node.enclave, kind, SUBNET)?;
        let interfaces = double.interfaces()?;
        let own = interfaces[0]["ipv4"][0].as_str().context("the primary interface's address")?;
        wait::holds("the primary interface", LIMIT, || Ok(node.sh("ip link show dev ens5").is_ok()))?;
        // What an image of an operating system does with the card that it boots with.
        node.sh(&format!(
            "ip addr add {own}/24 dev ens5; ip link set ens5 up; ip route add default via {GATEWAY} dev ens5"
        ))?;
        node.daemon.configure(config)?;
        Ok(Self { node, double, pods: BTreeMap::new() })
    }

    /// Adds a pod, as a runtime does, which retries what the error allows.
    pub(crate) fn add(&mut self, name: &str) -> anyhow::Result<String> {
        let sandbox = self.node.sandbox(name)?;
        let address = wait::until(&format!("pod {name}"), LIMIT, || {
            let outcome = self.try_add(name, &sandbox)?;
            Ok(outcome.address().ok())
        })
        .with_context(|| self.node.daemon.log(" "))?;
        let address = pod::bare(&address).to_owned();
        self.pods.insert(name.to_owned(), (sandbox, address.clone()));
        Ok(address)
    }

    /// Calls ADD once.
    pub(crate) fn try_add(&self, name: &str, sandbox: &Attachment) -> anyhow::Result<Outcome> {
        pod::add(&self.node, name, sandbox)
    }

    /// Waits until the node has so many interfaces, and nothing is under way.
    pub(crate) fn rests_with(&self, interfaces: usize) -> anyhow::Result<()> {
        wait::holds(&format!("{interfaces} interfaces, and nothing under way"), LIMIT, || {
            let shown = self.node.daemon.ctl(&["cloud"])?;
            let is_idle = shown["intents"].as_array().is_some_and(Vec::is_empty);
            Ok(is_idle && self.double.interfaces()?.len() == interfaces)
        })
        .with_context(|| format!("{:#?}", self.node.daemon.ctl(&["cloud"])))
    }

    /// Removes a pod.
    pub(crate) fn del(&mut self, name: &str) -> anyhow::Result<()> {
        let (sandbox, _) = self.pods.remove(name).context("a pod")?;
        pod::del(&self.node, name, &sandbox)
    }

    /// Each pod reaches the VPC, and is reached from there.
    pub(crate) fn all_have_their_way(&self) -> anyhow::Result<()> {
        let mut pods = self.pods.iter();
        let ways = pods
            .try_for_each(|(name, (sandbox, address))| pod::has_its_way(&self.node, name, sandbox, address));
        ways.with_context(|| self.kernel())
    }

    /// The kernel's state on the node and in the VPC, for the reader of a failure.
    fn kernel(&self) -> String {
        let look = "ip -br addr; ip rule; ip route show table all type unicast; ip neigh; nft list ruleset
                    ip -n vpc -br addr; ip -n vpc route; ip -n vpc neigh";
        let pods: Vec<_> = self.pods.iter().map(|(name, (_, address))| format!("{name} {address}")).collect();
        let shown = self.node.sh(look).unwrap_or_else(|error| format!("{error:#}"));
        format!("{}\n{shown}", pods.join(", "))
    }

    /// Nothing that must never happen has happened, and every pod's address is on an interface of the node.
    pub(crate) fn all_is_well(&self) -> anyhow::Result<()> {
        let pods: Vec<String> = self.pods.values().map(|(_, address)| address.clone()).collect();
        self.double.all_is_well(&pods)?;
        let interfaces = self.double.interfaces()?;
        let text = json!(interfaces).to_string();
        for pod in &pods {
            // Only where addresses are assigned one by one.
            ensure!(text.contains(&format!("\"{pod}\"")), "{pod} is on no interface: {text}");
        }
        Ok(())
    }

    /// A condition's message, if the node is in it.
    pub(crate) fn condition(&self, name: &str) -> anyhow::Result<Option<String>> {
        let output = self.node.daemon.ctl_output(&["status"])?;
        let status: Value = serde_json::from_slice(&output.stdout)?;
        let conditions = status["conditions"].as_array().context("a list of conditions")?;
        let found = conditions.iter().find(|condition| condition["name"] == name);
        Ok(found.map(|condition| condition["message"].as_str().unwrap_or_default().to_owned()))
    }

    /// The VPC's network namespace.
    pub(crate) fn vpc(&self) -> PathBuf {
        pod::vpc(&self.node)
    }
}
