//! A node whose EC2 is moto: the daemon, the links of its interfaces, and pods by the main plugin.

use std::collections::BTreeMap;
use std::thread;

use anyhow::{Context, anyhow, ensure};
use tenure_e2e::{Attachment, wait};

use crate::account::{Account, Interface};
use crate::eni::{LIMIT, Node};
use crate::metadata::Metadata;
use crate::pod;
use crate::server::Server;
use crate::wire::Wire;

/// A node.
pub(crate) struct MotoNode {
    /// The metadata service needs the enclave to end, as does the server.
    _metadata: Metadata,
    pub(crate) server: Server,
    pub(crate) node: Node,
    account: Account,
    wire: Wire,
    pods: BTreeMap<String, (Attachment, String)>,
}

impl MotoNode {
    /// A node whose daemon has not been started: with these keys of `[aws]`, and under this program, such as with an
    /// environment.
    pub(crate) fn prepare(kind: &str, keys: &str, under: Vec<&'static str>) -> anyhow::Result<Self> {
        let node = Node::prepare(under)?;
        let server = Server::start(&node)?;
        let account = Account::make(&server.ec2, kind)?;
        let interfaces = account.interfaces(&server.ec2)?;
        let primary = interfaces.first().context("the primary interface")?;
        let metadata = Metadata::serve(&node.own(), account.metadata(primary))?;
        let mut wire = Wire::make(&node)?;
        wire.follow(&node, &interfaces)?;
        node.daemon.configure(&format!(
            "[addresses]
             cooldown_seconds = 1
             [aws]
             network = \"pods\"
             look_seconds = 2
             consistency_seconds = 2
             {keys}
             [networks.pods]
             policy = \"aws-eni\"
             [networks.pods.ipam]
             idleSeconds = 1
             warm = {{ interfaces = 0, addresses = 1 }}\n"
        ))?;
        Ok(Self { _metadata: metadata, server, node, account, wire, pods: BTreeMap::new() })
    }

    /// Adds a pod, as a runtime does. Meanwhile, the links follow the account.
    pub(crate) fn add(&mut self, name: &str) -> anyhow::Result<String> {
        let sandbox = self.node.sandbox(name)?;
        let address = wait::until(&format!("pod {name}"), LIMIT, || {
            let Self { node, account, server, wire, .. } = self;
            let outcome = thread::scope(|scope| {
                let adding = scope.spawn(|| pod::add(node, name, &sandbox));
                wait::holds("the answer to an ADD", LIMIT, || {
                    wire.follow(node, &account.interfaces(&server.ec2)?)?;
                    Ok(adding.is_finished())
                })?;
                adding.join().map_err(|_| anyhow!("panicked"))?
            })?;
            Ok(outcome.address().ok())
        })
        .with_context(|| self.node.daemon.log(" "))?;
        let address = pod::bare(&address).to_owned();
        self.pods.insert(name.to_owned(), (sandbox, address.clone()));
        Ok(address)
    }

    /// Removes a pod.
    pub(crate) fn del(&mut self, name: &str) -> anyhow::Result<()> {
        let (sandbox, _) = self.pods.remove(name).context("a pod")?;
        pod::del(&self.node, name, &sandbox)
    }

    /// Each pod's address is on an interface, as moto says, and leads to it.
    pub(crate) fn all_is_well(&mut self) -> anyhow::Result<()> {
        let interfaces = self.interfaces()?;
        self.wire.follow(&self.node, &interfaces)?;
        for (name, (sandbox, address)) in &self.pods {
            let is_on = |interface: &Interface| interface.others.contains(address);
            ensure!(interfaces.iter().any(is_on), "{name}: {address} is on none of {interfaces:?}");
            pod::has_its_way(&self.node, name, sandbox, address)?;
        }
        Ok(())
    }

    /// The interfaces, as moto has them.
    pub(crate) fn interfaces(&self) -> anyhow::Result<Vec<Interface>> {
        self.account.interfaces(&self.server.ec2)
    }
}
