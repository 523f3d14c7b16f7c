//! A node without its daemon: with CNI 1.0.0 a runtime cannot ask whether there is one, so the event of the pod must name the cause.

use std::fs;

use anyhow::{Result, ensure};

use super::super::wait;
use super::stage::{AGENT, NAMESPACE, Stage};

/// The network's configuration, on the machine.
pub(super) const CONFIGURATION: &str = "/etc/cni/net.d/00-tenure.conflist";

/// Has the node serve CNI 1.0.0, takes the daemon away, restarts a pod, and gives the daemon back.
///
/// # Errors
/// When the event does not name the cause.
pub(super) fn play(stage: &mut Stage<'_>) -> Result<()> {
    stage.tell.act("7. No daemon, with CNI 1.0.0");
    stage.cluster.apply(&stage.manifests()?)?;
    stage.cluster.run(&["--namespace", NAMESPACE, "rollout", "restart", AGENT])?;
    stage.cluster.rolled_out(NAMESPACE, AGENT)?;
    let configuration = stage.node.machine.outside(CONFIGURATION);
    wait::holds("the configuration", || Ok(fs::read_to_string(&configuration)?.contains("\"1.0.0\"")))?;
    select(stage, "\"true\"")?;
    wait::holds("the end of the daemon", || {
        let pods = ["pods", "--namespace", NAMESPACE];
        Ok(stage.cluster.list(&pods)?.is_empty())
    })?;
    stage.tell.turn("the DaemonSet selects no node; kubectl delete pod store-0");
    let (before, _) = stage.cluster.failed_sandboxes()?;
    stage.cluster.run(&["delete", "pod", "store-0"])?;
    let message = wait::until("the event of the pod", || {
        stage.node.check()?;
        let (failed, message) = stage.cluster.failed_sandboxes()?;
        Ok((failed > before).then_some(message))
    })?;
    for cause in ["cannot reach tenured", "daemon-unreachable"] {
        ensure!(message.contains(cause), "the event does not name the cause: {message}");
    }
    stage.tell.good("the event of the pod names the cause: cannot reach tenured, daemon-unreachable");
    select(stage, "null")?;
    stage.cluster.rolled_out(NAMESPACE, AGENT)
}

/// Sets a label that the DaemonSet's nodes need, or takes it back.
fn select(stage: &Stage<'_>, label: &str) -> Result<()> {
    let patch =
        format!("{{\"spec\":{{\"template\":{{\"spec\":{{\"nodeSelector\":{{\"absent\":{label}}}}}}}}}}}");
    stage
        .cluster
        .run(&["--namespace", NAMESPACE, "patch", AGENT, "--type=merge", "--patch", &patch])
        .map(drop)
}
