//! The conditions of a node, as plain data: each has a name, a start time and a next step.
//!
//! `tenurectl status`, CNI STATUS, gRPC health, `/readyz` and the metric `tenure_condition` all read the same list.

use std::fmt;

use crate::Moment;

/// How bad a condition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// ADD fails on this node.
    NotReady,
    /// ADD is served, at least on some networks, but something needs attention.
    Degraded,
}

impl Severity {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotReady => "not-ready",
            Self::Degraded => "degraded",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

macro_rules! conditions {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $severity:ident, $next:literal;)+) => {
        /// Every condition that a node can be in, worst first; each has one stable name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ConditionName {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ConditionName {
            /// Every condition, in the order in which they are listed.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The stable name: metric label, log field and `name` in the status.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// How bad it is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }

            /// The next step for an operator.
            #[must_use]
            pub fn next_step(self) -> &'static str {
                match self { $(Self::$variant => $next,)+ }
            }

            /// The meaning, for the book.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)+).trim_ascii(),)+ }
            }
        }
    };
}

conditions! {
    /// All or part of this boot's state was lost, so the addresses of live pods are not known.
    StateLost = "state-lost", NotReady,
        "restore the right state directory and restart the daemon; or drain the node or import its live addresses, then confirm with `tenurectl adopt --empty`";
    /// The daemon is stopping; it finishes requests in flight.
    Stopping = "stopping", NotReady, "nothing to do: the service manager starts the daemon again";
    /// The CNI plugin's socket is not open yet, or the default policy and those that served before the restart are being loaded;
    /// once the socket is open, ADD on other networks is served.
    Starting = "starting", NotReady, "nothing to do: it clears by itself";
    /// The checkpoint cannot be written, so nothing can be acknowledged.
    CheckpointFailed = "checkpoint-failed", NotReady,
        "check the disk under the state directory; the daemon reopens its log by itself";
    /// The disk under the state directory is full; DEL is still served.
    DiskFull = "disk-full", NotReady, "free space under the state directory; ADD works again by itself";
    /// The CNI plugin's socket is missing, or something else has replaced it.
    SocketMissing = "socket-missing", NotReady,
        "the daemon recreates it by itself; if this persists, remove the file that has replaced it";
    /// The network of the node's AWS interfaces has fewer addresses than `aws.ready_addresses`, or they are not known yet.
    SupplyMissing = "supply-missing", NotReady,
        "it clears by itself once EC2 has assigned addresses; if it persists, see `tenurectl cloud`";
    /// A network of `[cluster]` has no block of addresses.
    BlocksMissing = "blocks-missing", NotReady,
        "it clears by itself once the operator has granted a block; if it persists, see `tenurectl cluster`";
    /// A reload refused the configuration; the previous one stays in force.
    ConfigurationRefused = "configuration-refused", Degraded,
        "fix the file, or put it back, and run `tenurectl reload`; until then a restart would fail, or run without it";
    /// A non-essential part of the daemon failed and is being restarted.
    PartFailed = "part-failed", Degraded, "no immediate action is needed; please report it with the daemon's log";
    /// The kernel cannot be made or kept as the node's pods and interfaces want it; ADD of pods with a link fails.
    DatapathFailed = "datapath-failed", Degraded,
        "fix what the message names; the daemon tries again by itself";
    /// The socket of tenurectl is missing, or something else has replaced it.
    AdminSocketMissing = "admin-socket-missing", Degraded,
        "the daemon recreates it by itself; if this persists, remove the file that has replaced it";
    /// The socket of agents is missing, or something else has replaced it; their claims stay as they are.
    AgentSocketMissing = "agent-socket-missing", Degraded,
        "the daemon recreates it by itself; if this persists, remove the file that has replaced it, or check `claims.socket_group`";
    /// A policy is being loaded; until then, ADD on a network that it serves is refused with code 11.
    PoliciesLoading = "policies-loading", Degraded, "nothing to do: it clears by itself";
    /// A policy cannot be loaded; ADD on a network that needs it fails.
    PolicyUnloadable = "policy-unloadable", Degraded,
        "fix what is named above: a file, its sha256, or a signature that is missing; `tenurectl policy list` shows each policy";
    /// The configured file of a policy has changed and cannot be applied; the version before it keeps serving.
    PolicyFileRefused = "policy-file-refused", Degraded,
        "fix what the message names; the daemon looks at the file every other second";
    /// A policy keeps failing on a network, so its calls there are refused for a while.
    PolicyBenched = "policy-benched", Degraded,
        "activate another policy with `tenurectl policy activate`, and report it to the policy's author";
    /// A policy did worse than the one before it, which was put back.
    PolicyRolledBack = "policy-rolled-back", Degraded,
        "see `tenurectl policy history NETWORK`, then activate a fixed version, or the present one to confirm it";
    /// A delegate cannot be run, fails its calls, or does not take back what it gave; nothing is forgotten.
    DelegateFailing = "delegate-failing", Degraded,
        "fix the binary or `[delegates.NAME]`; the daemon tries again by itself, and `tenurectl delegates` shows what waits";
    /// The ledger refused what a delegate gave for a network, such as an address that somebody has; it was given back.
    DelegateRejected = "delegate-rejected", Degraded,
        "check whether the delegate has lost its state, or serves others from the same ranges; it clears with its next accepted answer";
    /// Agents that are no longer configured still hold claims.
    ClaimsOrphaned = "claims-orphaned", Degraded,
        "put `[agents.NAME]` back, or end the claims with `tenurectl claims release`; `tenurectl claims` lists them";
    /// EC2 or the instance metadata service does not answer; what the node has stays as it is.
    CloudUnreachable = "cloud-unreachable", Degraded,
        "check the node's network path to EC2, for which the systemd unit needs the drop-in tenure-aws.conf; the daemon tries again by itself, and `tenurectl cloud` shows the calls";
    /// EC2 refuses calls: for want of a permission or a quota, because of the configuration, or because the node's clock is wrong; what does
    /// not need them goes on.
    CloudRefused = "cloud-refused", Degraded,
        "fix what the message names; the daemon tries again by itself within a minute and a half, and `tenurectl cloud` shows the calls";
    /// Addresses of the node's interfaces are in use or may be, although EC2 no longer shows them or the ledger does not know by
    /// whom; they stay with their present holders, and no other pod gets them.
    CloudQuarantine = "cloud-quarantine", Degraded,
        "see `tenurectl cloud`: assign again what was taken from an interface, or delete its pods; import what another IPAM gave out";
    /// The API server does not serve this node; addresses of its blocks are handed out and freed as before.
    ClusterUnreachable = "cluster-unreachable", Degraded,
        "fix what the message names, such as `cluster.kubeconfig`, `node.name`, a permission, or the systemd drop-in `tenure-cluster.conf`; the daemon tries again by itself";
    /// The node wants a block of addresses, and the operator grants none.
    BlockWaited = "block-waited", Degraded,
        "see `tenurectl cluster` for the reason, and `kubectl describe nodeipam NODE`";
    /// The API server names another holder of a block that this node holds; no new address comes from it, and its pods keep theirs.
    LeaseConflict = "lease-conflict", Degraded,
        "find out whether the API server's store was restored or the machine cloned; drain one of the two nodes";
    /// The configuration, a network's `ipam.pools` and the settings of a cluster's pool contradict each other; what they agree on is served.
    PoolsDiffer = "pools-differ", Degraded,
        "name the same pools in `[cluster.networks]` and in the network's `ipam.pools`, or fix the AddressPool that the message names";
    /// The API server does not say which pods of this node exist. No address is freed by its word meanwhile.
    PodsUnknown = "pods-unknown", Degraded,
        "fix what the message names, such as `cluster.kubeconfig`, `node.name` or the permission to list pods; the daemon tries again by itself";
    /// The API server does not say what this node is, or has no ENIConfig for it. What it said last counts; without an ENIConfig, no interface is created.
    NodeUnknown = "node-unknown", Degraded,
        "fix what the message names, such as `cluster.kubeconfig`, `node.name`, a permission or the ENIConfig; the daemon tries again by itself";
    /// The container runtime does not answer, so leaked addresses are not detected.
    RuntimeUnreachable = "runtime-unreachable", Degraded,
        "start the runtime or fix `runtime.socket`; until then the daemon frees no leaked address";
    /// The container runtime answers, and lists none of the pods that live on the node; leaked addresses of such pods are freed when their network
    /// namespace is gone.
    RuntimeForeign = "runtime-foreign", Degraded,
        "check that `runtime.socket` is the socket of the runtime that the kubelet uses";
    /// A network in the configuration could not be defined; unless it already existed, its ADD is refused.
    NetworkUndefined = "network-undefined", Degraded,
        "fix what the message names and run `tenurectl reload`; the daemon also retries by itself";
    /// A file of `cni.directory` is not a CNI configuration, or its network could not be defined before its first pod.
    CniFileUnusable = "cni-file-unusable", Degraded,
        "fix the file named above; the daemon looks at it again by itself, and its first ADD would fail in the same way";
    /// The configuration no longer allows a network's ranges or policy, so its ADD is refused.
    NetworkOutOfBounds = "network-out-of-bounds", Degraded,
        "change the network's ranges or policy, or `within`, `policies` and `exclusive` in tenured.toml";
    /// A redefinition moved a network's gateway, network or broadcast address onto the address of a live allocation, so that
    /// other pods cannot use the one or reach the other.
    GatewayHeld = "gateway-held", Degraded,
        "move it back in the network's configuration, or delete the pod: `tenurectl allocation ADDRESS` shows whose it is";
    /// Addresses are in quarantine: withheld from allocation, or held by an owner that may be gone and keeps its address meanwhile.
    AddressesQuarantined = "addresses-quarantined", Degraded,
        "`tenurectl quarantine list` says why and since when; `tenurectl quarantine lift ADDRESS` ends it, and `tenurectl release ADDRESS` frees what its owner has left behind";
    /// A network has not moved over from another IPAM completely: an import is in progress or was interrupted, or the other IPAM has
    /// addresses that were not imported; ADD of new pods on the network is refused.
    MoveUnfinished = "move-unfinished", Degraded,
        "do what the message says; DEL, and ADD of pods that have their address, are served";
    /// A pool of a network has no free address; ADD on that network fails.
    PoolExhausted = "pool-exhausted", Degraded, "delete pods or add a range; `tenurectl networks` shows usage";
    /// A pool that the host supplies, such as with addresses of AWS interfaces, has no free address; ADD on that network waits for one, or fails.
    SupplyExhausted = "supply-exhausted", Degraded,
        "`tenurectl plan --explain` says what is lacking, and on AWS `tenurectl cloud` what EC2 refuses; otherwise delete pods";
    /// A pool of a network is in use to at least `addresses.nearly_full_percent`; ADD is still served.
    PoolNearlyFull = "pool-nearly-full", Degraded, "add a range before it is full; `tenurectl networks` shows usage";
    /// Metrics and health are not served over HTTP.
    MetricsListener = "metrics-listener", Degraded,
        "free the address or change `metrics.listen`; the daemon retries by itself";
}

impl fmt::Display for ConditionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A condition that a node is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Which condition it is; the name implies its severity and next step.
    pub name: ConditionName,
    /// The subject, where several things can have the condition: a policy's name, a network's pool. Otherwise empty.
    pub subject: String,
    /// The cause, in one line.
    pub message: String,
    /// The time at which it began.
    pub since: Moment,
}

/// `name: message; what to do`, in one line.
impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.name, self.message, self.name.next_step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_the_worst_first_and_each_name_once() {
        let severities: Vec<_> = ConditionName::ALL.iter().map(|name| name.severity()).collect();
        assert!(severities.is_sorted(), "{severities:?}");
        assert!(ConditionName::ALL.is_sorted());
        let mut names: Vec<_> = ConditionName::ALL.iter().map(|name| name.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ConditionName::ALL.len());
    }

    #[test]
    fn the_book_has_a_row_for_each() {
        let book = include_str!("../../../deploy/book/src/conditions.md");
        for name in ConditionName::ALL {
            let row = format!("| `{name}` | {} | {} |", name.severity(), name.meaning());
            assert!(book.contains(&row), "not in the book: {row}");
        }
    }

    #[test]
    fn a_line_names_it_and_says_what_to_do() {
        let condition = Condition {
            name: ConditionName::PoolExhausted,
            subject: "pods/0".into(),
            message: "pool 0 of network pods has no address left".into(),
            since: Moment::default(),
        };
        assert_eq!(
            condition.to_string(),
            "pool-exhausted: pool 0 of network pods has no address left; delete pods or add a range; `tenurectl networks` shows usage"
        );
    }
}
