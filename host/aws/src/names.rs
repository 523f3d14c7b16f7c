//! The names that the host and policies, and the host and other users of the account, have agreed on.
//!
//! Those of plans are the host's; the tags are those of the Amazon VPC CNI; the calls are EC2's.

use ipnet::IpNet;

pub(crate) use tenure_types::agreed::{
    ADDRESSES, COUNT, DEVICE, INTERFACE, IPV6, LABEL, PREFIXES, RANGE, SUBNET, VALUE,
};

/// Tag: the instance that an interface was created for.
pub(crate) const INSTANCE_TAG: &str = "node.k8s.amazonaws.com/instance_id";
/// Tag: when an interface was created, in RFC 3339.
pub(crate) const CREATED_TAG: &str = "node.k8s.amazonaws.com/createdAt";
/// Tag: `true` keeps everybody away from an interface.
pub(crate) const UNMANAGED_TAG: &str = "node.k8s.amazonaws.com/no_manage";
/// Tag: the cluster that an interface was created for.
pub(crate) const CLUSTER_TAG: &str = "cluster.k8s.amazonaws.com/name";
/// Tag: the intent that created an interface, so that it is found again without its id.
pub(crate) const INTENT_TAG: &str = "tenure/intent";
/// Tag of a subnet: `0` keeps pods out of it, any other value invites them.
pub(crate) const ROLE_TAG: &str = "kubernetes.io/role/cni";
/// The beginning of a subnet's tags that name the clusters that may use it.
pub(crate) const CLUSTERS_TAG: &str = "cni.networking.k8s.aws/cluster/";

/// The calls that bring an interface.
pub(crate) const CREATING: [&str; 3] =
    ["CreateNetworkInterface", "AttachNetworkInterface", "ModifyNetworkInterfaceAttribute"];
/// The calls that take one away, in their order.
pub(crate) const REMOVING: [&str; 2] = [DETACH, DELETE];
/// The call that detaches an interface.
pub(crate) const DETACH: &str = "DetachNetworkInterface";
/// The call that deletes an interface.
pub(crate) const DELETE: &str = "DeleteNetworkInterface";

/// The call that takes an address or a prefix off an interface.
pub(crate) fn unassigning(net: IpNet) -> &'static str {
    if net.addr().is_ipv6() { "UnassignIpv6Addresses" } else { "UnassignPrivateIpAddresses" }
}

/// The description of an interface, which the Amazon VPC CNI and its users know it by.
pub(crate) fn description(instance: &str) -> String {
    format!("aws-K8S-{instance}")
}
