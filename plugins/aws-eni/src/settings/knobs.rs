//! Every setting: one row each. The book's page `aws-eni.md` is checked against this table.

use super::knob::KnobKind::{Bounded, Choice, Count, Flag, Mark, NamePrefix, Subnets, Tags, Text};
use super::knob::Role::{Both, Host, Idle, Policy, Refused};
use super::knob::{Knob, KnobKind, Role};

/// A setting with a key of its own and a name in ipamd's environment.
const fn both(key: &'static str, env: &'static str, kind: KnobKind, role: Role) -> Knob {
    Knob { key: Some(key), env: Some(env), kind, role }
}

/// A setting that ipamd does not have.
const fn own(key: &'static str, kind: KnobKind, role: Role) -> Knob {
    Knob { key: Some(key), env: None, kind, role }
}

/// A name in ipamd's environment that is not a setting here.
const fn known(env: &'static str, kind: KnobKind, role: Role) -> Knob {
    Knob { key: None, env: Some(env), kind, role }
}

const LOGGING: Role = Idle("tenured has its own log");
const METRICS: Role = Idle("tenured has its own metrics and introspection");
/// The key of the annotation and of the label by which a Node names its ENIConfig.
const ENI_CONFIG: KnobKind = Text("k8s.amazonaws.com/eniConfig");
/// Why a configuration of a network does not say where EC2 is.
pub(super) const EC2_ADDRESS: &str =
    "where signed requests go is not for a network to say; set `aws.ec2_endpoint` in tenured.toml";
const IDENTITY: Role = Idle("the host reads it from the instance's metadata");

/// The settings.
pub const KNOBS: &[Knob] = &[
    both("warm.interfaces", "WARM_ENI_TARGET", Count(Some(1)), Policy),
    both("warm.addresses", "WARM_IP_TARGET", Count(Some(0)), Policy),
    both("warm.minimum", "MINIMUM_IP_TARGET", Count(Some(0)), Policy),
    both("warm.prefixes", "WARM_PREFIX_TARGET", Count(Some(0)), Policy),
    both("prefixes", "ENABLE_PREFIX_DELEGATION", Flag(false), Policy),
    own("fallback", Flag(true), Policy),
    both("maxInterfaces", "MAX_ENI", Count(None), Policy),
    own("maxPods", Count(None), Policy),
    own("idleSeconds", Count(Some(60)), Policy),
    both("cooldownSeconds", "IP_COOLDOWN_PERIOD", Count(None), Host),
    both("ipv4", "ENABLE_IPv4", Flag(true), Policy),
    both("ipv6", "ENABLE_IPv6", Flag(false), Policy),
    both("growUnschedulable", "AWS_MANAGE_ENIS_NON_SCHEDULABLE", Flag(false), Policy),
    both("fixedSupply", "DISABLE_NETWORK_RESOURCE_PROVISIONING", Flag(false), Both),
    both("imdsOnly", "ENABLE_IMDS_ONLY_MODE", Flag(false), Both),
    both("customNetwork.enabled", "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", Flag(false), Both),
    both("customNetwork.annotation", "ENI_CONFIG_ANNOTATION_DEF", ENI_CONFIG, Host),
    both("customNetwork.label", "ENI_CONFIG_LABEL_DEF", ENI_CONFIG, Host),
    both("subnets.discover", "ENABLE_SUBNET_DISCOVERY", Flag(true), Host),
    both("interfaces.manageUntagged", "MANAGE_UNTAGGED_ENI", Flag(true), Host),
    both("interfaces.keepLeaked", "DISABLE_LEAKED_ENI_CLEANUP", Flag(false), Host),
    both("interfaces.tags", "ADDITIONAL_ENI_TAGS", Tags, Host),
    both("cluster", "CLUSTER_NAME", Text(""), Host),
    both("ec2.timeoutSeconds", "HTTP_TIMEOUT", Bounded(10, 3600, Some(10)), Host),
    both("snat.external", "AWS_VPC_K8S_CNI_EXTERNALSNAT", Flag(false), Host),
    both("snat.exclude", "AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS", Subnets, Host),
    both("snat.ports", "AWS_VPC_K8S_CNI_RANDOMIZESNAT", Choice(&["prng", "hashrandom", "none"]), Host),
    both("externalServices", "AWS_EXTERNAL_SERVICE_CIDRS", Subnets, Host),
    both("nodePorts", "AWS_VPC_CNI_NODE_PORT_SUPPORT", Flag(true), Host),
    both("connmark", "AWS_VPC_K8S_CNI_CONNMARK", Mark("0x80"), Host),
    both("mtu", "AWS_VPC_ENI_MTU", Bounded(576, 9001, Some(9001)), Host),
    both("podMtu", "POD_MTU", Bounded(576, 9001, None), Host),
    both("vethPrefix", "AWS_VPC_K8S_CNI_VETHPREFIX", NamePrefix("eni"), Host),
    known("AWS_EC2_ENDPOINT", Text(""), Refused(EC2_ADDRESS)),
    known(
        "ENABLE_POD_ENI",
        Flag(false),
        Refused("security groups for pods (trunk and branch interfaces) are not supported"),
    ),
    known(
        "POD_SECURITY_GROUP_ENFORCING_MODE",
        Text(""),
        Idle("it says how security groups for pods work, which are not supported"),
    ),
    known(
        "DISABLE_TCP_EARLY_DEMUX",
        Flag(false),
        Idle("it is for security groups for pods, which are not supported"),
    ),
    known(
        "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER",
        Flag(true),
        Idle("tenured sets `rp_filter` of the primary interface to 2"),
    ),
    known("ENABLE_MULTI_NIC", Flag(false), Refused("only the interfaces of network card 0 serve pods")),
    known("ANNOTATE_POD_IP", Flag(false), Refused("the policy does not write to the API server")),
    known(
        "ENABLE_V4_EGRESS",
        Flag(false),
        Refused("IPv6 pods get no extra IPv4 address for egress; use both families instead"),
    ),
    known(
        "ENABLE_V6_EGRESS",
        Flag(false),
        Refused("IPv4 pods get no extra IPv6 address for egress; use both families instead"),
    ),
    known("DISABLE_POD_V6", Flag(false), Refused("IPv6 inside of pods is not turned off")),
    known(
        "ENABLE_BANDWIDTH_PLUGIN",
        Flag(false),
        Refused("tenure does not write the CNI configuration; chain the bandwidth plugin there"),
    ),
    known(
        "NETWORK_POLICY_ENFORCING_MODE",
        Text("standard"),
        Refused("network policies are not enforced here"),
    ),
    known("AWS_VPC_K8S_CNI_LOGLEVEL", Text(""), LOGGING),
    known("AWS_VPC_K8S_CNI_LOG_FILE", Text(""), LOGGING),
    known("AWS_VPC_K8S_PLUGIN_LOG_LEVEL", Text(""), LOGGING),
    known("AWS_VPC_K8S_PLUGIN_LOG_FILE", Text(""), LOGGING),
    known("DISABLE_METRICS", Text(""), METRICS),
    known("DISABLE_INTROSPECTION", Text(""), METRICS),
    known("INTROSPECTION_BIND_ADDRESS", Text(""), METRICS),
    known("MY_NODE_NAME", Text(""), IDENTITY),
    known("MY_POD_NAME", Text(""), IDENTITY),
    known("VPC_ID", Text(""), IDENTITY),
    known("VPC_CNI_VERSION", Text(""), Idle("ipamd's own version")),
];

/// The setting with this key.
#[must_use]
pub fn keyed(key: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.key == Some(key))
}
