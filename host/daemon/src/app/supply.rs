//! The wing of supply: AWS network interfaces that give a network its addresses, and the datapath that routes their packets.

use std::sync::Arc;

use tenure_supervise::Supervisor;
use tokio::sync::watch;

use super::ledger::LedgerWing;
use super::networks::NetworksWing;
use super::spine::{Spine, SupplyHandles};
use crate::parts;

/// Adds what supplies the networks with addresses.
pub(super) fn add(
    parts: &mut Supervisor,
    spine: &Spine,
    ledger: &LedgerWing,
    networks: &NetworksWing,
) -> SupplyHandles {
    let Spine { engine, config, clock, runtime, .. } = spine;
    let conditions = engine.conditions();
    let aws = config.borrow().aws.clone();
    let network = aws.network();
    let (running, executor) = watch::channel(None);
    // Without interfaces, only pods are kept.
    let (described, interfaces) = watch::channel(network.is_none().then(Arc::default));
    if let Some(network) = network {
        let given = parts::AwsInputs {
            config: aws,
            in_force: config.clone(),
            network,
            engine: Arc::clone(engine),
            clock: Arc::clone(clock),
            runtime: runtime.clone(),
            handle: running,
            node: described,
        };
        parts.restarted("aws", parts::AwsPart::build(given, conditions), &[ledger.undo, networks.configured]);
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
            handle: leasing,
        };
        spine.claims.leased_by(cluster.clone());
        let part = parts::ClusterPart::build(given, conditions);
        parts.restarted("cluster", part, &[ledger.undo, networks.configured]);
    }
    let (kept, metrics) = (Arc::clone(&spine.kept), Arc::clone(&spine.metrics));
    let datapath = parts::DatapathPart::build(Arc::clone(engine), kept, interfaces, metrics, conditions);
    parts.restarted("datapath", datapath, &[ledger.undo]);
    SupplyHandles { cloud: executor, cluster }
}
