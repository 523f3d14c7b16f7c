//! The wing of sandboxes: the node's pods are watched, addresses that leaked are freed, and a lost state is confirmed once no pod can have an
//! address.

use std::sync::Arc;
use std::time::Duration;

use tenure_runtime::Leaks;
use tenure_supervise::Supervisor;

use super::ledger::LedgerWing;
use super::spine::Spine;
use crate::node::DaemonNode;
use crate::parts;

pub(super) fn add(parts: &mut Supervisor, spine: &Spine, ledger: &LedgerWing, node: &Arc<DaemonNode>) {
    #[cfg(feature = "cluster")]
    if let Some(pods) = &spine.pods {
        let (kubeconfig, name) =
            (spine.config.borrow().cluster.kubeconfig.clone(), spine.identity.name.clone());
        let pods = parts::PodsPart::build(kubeconfig, name, Arc::clone(pods), spine.engine.conditions());
        parts.restarted("pods", pods, &[ledger.undo]);
    }
    let Some(runtime) = spine.runtime.clone() else {
        tracing::info!(
            "runtime.socket is not set, so leaked addresses are freed only by the runtime's CNI GC"
        );
        return;
    };
    let grace = {
        let config = spine.config.clone();
        move || Duration::from_secs(config.borrow().runtime.grace_seconds.into())
    };
    let sandboxes = Arc::new(spine.sandboxes(Some(runtime.clone())));
    spine.engine.prove_predecessors(Arc::clone(&sandboxes) as _);
    let leaks = Leaks::new(Arc::clone(&spine.engine), sandboxes, Arc::clone(&spine.clock), grace);
    let leaks = leaks.kept_in(&spine.run_dir, &spine.identity.boot);
    parts.restarted("leaks", parts::LeaksPart::build(leaks), &[ledger.undo]);
    let adoption =
        parts::AdoptionPart::build(Arc::clone(node), runtime, spine.config.clone(), spine.knows_claims);
    parts.finite("adoption", adoption, &[ledger.checkpoint]);
}
