//! `IPAMClaim` of `k8s.cni.cncf.io`: the standard claim for an address that outlives its pod, which tools for virtual machines create.
//!
//! Its definition is somebody else's, and a cluster may be without it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// The asking half: one interface of one pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "k8s.cni.cncf.io",
    version = "v1alpha1",
    kind = "IPAMClaim",
    plural = "ipamclaims",
    namespaced,
    schema = "disabled",
    derive = "PartialEq",
    status = "IPAMClaimStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct IPAMClaimSpec {
    /// The name in the network's CNI configuration.
    pub network: String,
    /// The interface of the pod.
    pub interface: String,
    /// The addresses that are asked for, as CIDRs, at most one of each family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_requests: Vec<String>,
}

/// The answering half. Its definition requires the addresses and the pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IPAMClaimStatus {
    /// The addresses, as CIDRs.
    #[serde(default)]
    pub ips: Vec<String>,
    /// The name of the pod that has them; empty if none has.
    #[serde(default)]
    pub owner_pod: String,
    /// The conditions.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
