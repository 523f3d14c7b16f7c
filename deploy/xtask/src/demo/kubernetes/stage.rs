//! Everything that the acts play on.

use super::super::tell::Teller;
use super::cluster::Cluster;
use super::groups::ControlGroups;
use super::node::KubernetesNode;
use super::plane::ControlPlane;
use crate::workspace::Workspace;

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
