//! Everything that the acts play on.

use std::fs;

use anyhow::Result;

use super::super::tell::Teller;
use super::cluster::Cluster;
use super::groups::ControlGroups;
use super::node::KubernetesNode;
use super::plane::ControlPlane;
use crate::workspace::Workspace;

/// The namespace of the shipped manifests.
pub(super) const NAMESPACE: &str = "tenure-system";

/// The DaemonSet of the shipped manifests.
pub(super) const AGENT: &str = "daemonset/tenure-agent";

/// The cluster and its only node.
pub(super) struct Stage<'a> {
    pub(super) workspace: &'a Workspace,
    /// Whether starts of pods are measured.
    pub(super) with_figures: bool,
    pub(super) tell: Teller,
    pub(super) groups: &'a ControlGroups,
    pub(super) plane: ControlPlane,
    pub(super) node: KubernetesNode<'a>,
    pub(super) cluster: Cluster<'a>,
}

impl Stage<'_> {
    /// The shipped manifests, as they are.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn manifests(&self) -> Result<String> {
        Ok(fs::read_to_string(self.workspace.root.join("deploy/kubernetes/manifests/single-node.yaml"))?)
    }
}
