//! A node on AWS: a daemon, an instance with interfaces, and pods through the main plugin.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::double::{Double, DoubleInterface, VPC};
use crate::command;
use crate::demo::enclave::Enclave;
use crate::demo::node::DemoNode;
use crate::demo::pod::{DemoPod, DemoRuntime};
use crate::demo::{traffic, wait};

/// The instance's type: three interfaces with three pods each.
pub(super) const KIND: &str = "t3.small";
/// The subnet of its interfaces, which is all of the VPC.
const SUBNET: &str = "10.60.0.0/24";
/// The VPC's gateway, which answers in it.
pub(super) const GATEWAY: &str = "10.60.0.1";
/// An address behind the gateway that is not in the VPC.
pub(super) const OUTSIDE: &str = "203.0.113.10";
/// The port that pods and their peers listen on.
pub(super) const PORT: u16 = 8080;

/// Nobody is at the runtime's socket. Times are shorter than on a real node, where each is a minute or half of one.
pub(super) const CONFIG: &str = r#"
[runtime]
socket = "unix:///run/nobody/containerd.sock"

[addresses]
cooldown_seconds = 1

[aws]
network = "demo"
ec2_endpoint = "http://127.0.0.1:8101"
imds_endpoint = "http://127.0.0.1:8102"
look_seconds = 2
consistency_seconds = 2

[networks.demo]
policy = "aws-eni"

[networks.demo.ipam]
idleSeconds = 1
warm = { interfaces = 0, addresses = 1 }
"#;

/// A node on AWS.
#[derive(Debug)]
pub(super) struct Instance<'a> {
    pub(super) enclave: &'a Enclave,
    pub(super) node: DemoNode<'a>,
    pub(super) double: Double,
    pub(super) pods: Vec<DemoPod>,
    runtime: DemoRuntime<'a>,
}

impl<'a> Instance<'a> {
    /// Starts the double, sets the primary interface up as an image of an operating system does, and starts the daemon.
    ///
    /// # Errors
    /// When the node does not become ready.
    pub(super) fn start(enclave: &'a Enclave, binaries: &'a Path) -> Result<Self> {
        let double = Double::start(enclave, binaries, KIND, SUBNET)?;
        let own =
            double.interfaces()?.first().and_then(DoubleInterface::own).context("no primary interface")?;
        wait::holds("the primary interface", || {
            Ok(command::succeeds(enclave.command("ip").args(["link", "show", "dev", "ens5"])))
        })?;
        let set_up = format!(
            "echo 1 > /proc/sys/net/ipv4/ip_forward
             ip address add {own}/24 dev ens5
             ip link set ens5 up
             ip route add default via {GATEWAY} dev ens5
             ip -n {VPC} address add {OUTSIDE}/32 dev lo"
        );
        command::output(enclave.command("sh").args(["-ec", &set_up]))?;
        DemoNode::configure(enclave, CONFIG)?;
        let node = DemoNode::start(enclave, binaries.to_owned())?;
        Ok(Self { enclave, node, double, pods: Vec::new(), runtime: DemoRuntime::eni(enclave, binaries)? })
    }

    /// Adds a pod as a kubelet does: what fails is tried again.
    ///
    /// # Errors
    /// When the pod has no address after a minute.
    pub(super) fn add(&mut self, name: &str) -> Result<DemoPod> {
        self.runtime.create(name)?;
        let pod = wait::until(&format!("an address for {name}"), || Ok(self.runtime.attach(name).ok()))
            .with_context(|| self.node.log())?;
        self.pods.push(pod.clone());
        self.tell_oracle()?;
        Ok(pod)
    }

    /// Deletes the oldest pods.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(super) fn delete(&mut self, count: usize) -> Result<()> {
        let gone: Vec<DemoPod> = self.pods.drain(..count.min(self.pods.len())).collect();
        // The oracle hears of it first: what it takes for used must not be free already.
        self.tell_oracle()?;
        gone.iter().try_for_each(|pod| self.runtime.delete(pod).with_context(|| self.node.log()))
    }

    fn tell_oracle(&self) -> Result<()> {
        self.double.pods_are(&self.pods.iter().map(DemoPod::bare).collect::<Vec<_>>())
    }

    /// Kills the daemon, as in a crash, and starts another on the same state.
    ///
    /// # Errors
    /// When the next one does not serve.
    pub(super) fn crash(self) -> Result<Self> {
        Ok(Self { node: self.node.crash()?, ..self })
    }

    /// The interface that carries a pod's address.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn interface_of(&self, pod: &DemoPod) -> Result<DoubleInterface> {
        let interfaces = self.double.interfaces()?;
        let found = interfaces.into_iter().find(|interface| interface.carries(pod.bare()));
        found.with_context(|| format!("no interface has {}, the address of {}", pod.address, pod.name))
    }

    /// Each pod reaches the VPC with its own address, and is reached from there.
    ///
    /// # Errors
    /// When one does not.
    pub(super) fn all_have_their_way(&self) -> Result<()> {
        let (vpc, gateway) = (self.enclave.named_network(VPC), socket(GATEWAY)?);
        for pod in &self.pods {
            let (network, own) = (self.enclave.named_network(&pod.name), socket(pod.bare())?);
            let seen = traffic::ask(&network, gateway, &vpc, gateway)
                .with_context(|| format!("from {} to the VPC", pod.name))?;
            ensure!(seen == own.ip(), "the VPC takes {} for {seen}, not {}", pod.name, own.ip());
            traffic::ask(&vpc, own, &network, own)
                .with_context(|| format!("from the VPC to {}", pod.name))?;
        }
        Ok(())
    }
}

/// The port at an address.
///
/// # Errors
/// When it is not an address.
pub(super) fn socket(address: &str) -> Result<SocketAddr> {
    let address: IpAddr = address.parse().with_context(|| format!("{address} is not an address"))?;
    Ok(SocketAddr::new(address, PORT))
}
