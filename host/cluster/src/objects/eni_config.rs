//! `ENIConfig` of `crd.k8s.amazonaws.com`: the subnet and the security groups of a node's further network interfaces, as users of the Amazon VPC
//! CNI have them.
//!
//! Its definition is somebody else's, and a cluster may be without it.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// The only half. Its definition checks next to nothing, so anything may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "crd.k8s.amazonaws.com",
    version = "v1alpha1",
    kind = "ENIConfig",
    plural = "eniconfigs",
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct ENIConfigSpec {
    /// The subnet's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<String>,
    /// The ids of the security groups; without any, those of the primary interface count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<String>>,
}
