//! The wing of supply: AWS network interfaces that give a network its addresses, and the datapath that routes their packets.

use std::sync::Arc;

use tenure_supervise::Supervisor;
use tenure_types::NetworkName;
use tokio::sync::watch;

use super::ledger::LedgerWing;
use super::networks::NetworksWing;
use super::spine::{Spine, SupplyHandles};
use crate::aws::ToldNode;
use crate::parts;

/// Adds what supplies the networks with addresses.
pub(super) fn add(
    parts: &mut Supervisor,
    spine: &Spine,
    ledger: &LedgerWing,
    networks: &NetworksWing,
) -> SupplyHandles {
    let Spine { engine, config, clock, runtime, .. } = spine;
    // A state that is not the node's knows neither all pods, whose rules and routes would be left over, nor all interfaces and blocks.
    let confirmed = spine.state_seen.confirmed();
    let conditions = engine.conditions();
    let aws = config.borrow().aws.clone();
    let network = aws.network();
    let (running, executor) = watch::channel(None);
    // Without interfaces, only pods are kept.
    let (described, interfaces) = watch::channel(network.is_none().then(Arc::default));
    if let Some(network) = network.clone() {
        let told = told(parts, spine, ledger, networks, &network);
        let given = parts::AwsInputs {
            config: aws,
            in_force: config.clone(),
            told,
            network,
            engine: Arc::clone(engine),
            clock: Arc::clone(clock),
            runtime: runtime.clone(),
            handle: running,
            node: described,
        };
        let part = confirmed.before(parts::AwsPart::build(given, conditions));
        parts.restarted("aws", part, &[ledger.undo, networks.configured]);
    }
    let (leasing, cluster) = watch::channel(None);
    #[cfg(not(feature = "cluster"))]
    drop(leasing);
    #[cfg(feature = "cluster")]
    if !config.borrow().cluster.networks.is_empty() {
        let given = parts::ClusterInputs {
            config: config.borrow().cluster.clone(),
            identity: spine.identity.clone(),
            engine: Arc::clone(engine),
            clock: Arc::clone(clock),
            pods: spine.pods.clone(),
            held_back: spine.held_back.clone(),
            confirmed: confirmed.clone(),
            handle: leasing,
        };
        spine.claims.leased_by(cluster.clone());
        // While the state is lost, the agent says so, and its executors wait.
        let part = parts::ClusterPart::build(given, conditions);
        parts.restarted("cluster", part, &[ledger.undo, networks.configured]);
    }
    let (kept, metrics) = (Arc::clone(&spine.kept), Arc::clone(&spine.metrics));
    let given =
        parts::DatapathInputs { engine: Arc::clone(engine), kept, node: interfaces, network, metrics };
    let datapath = parts::DatapathPart::build(given, conditions);
    parts.restarted("datapath", confirmed.before(datapath), &[ledger.undo]);
    SupplyHandles { cloud: executor, cluster }
}

/// The API server's word about the node, for the network of AWS interfaces: what was kept of it, and what is read from now on. Nothing, if it is
/// not asked.
#[cfg(feature = "cluster")]
fn told(
    parts: &mut Supervisor,
    spine: &Spine,
    ledger: &LedgerWing,
    networks: &NetworksWing,
    network: &NetworkName,
) -> watch::Receiver<ToldNode> {
    let config = spine.config.borrow().clone();
    if !config.cluster.node {
        return watch::channel(ToldNode::default()).1;
    }
    let (told, word) = watch::channel(ToldNode::kept(&spine.engine));
    let given = parts::OwnNodeInputs {
        kubeconfig: config.cluster.kubeconfig.clone(),
        node: spine.identity.name.clone(),
        startup_taint: config.cluster.startup_taint.clone(),
        network: network.clone(),
        names_subnet: config.aws.subnet.is_some(),
        engine: Arc::clone(&spine.engine),
        told,
    };
    let part = parts::OwnNodePart::build(given, spine.engine.conditions());
    parts.restarted(
        "own-node",
        spine.state_seen.confirmed().before(part),
        &[ledger.undo, networks.configured],
    );
    word
}

/// The same of a daemon that asks no API server.
#[cfg(not(feature = "cluster"))]
fn told(
    _: &mut Supervisor,
    _: &Spine,
    _: &LedgerWing,
    _: &NetworksWing,
    _: &NetworkName,
) -> watch::Receiver<ToldNode> {
    watch::channel(ToldNode::default()).1
}
