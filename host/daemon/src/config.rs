//! The daemon's configuration: one struct, every key with its default, nothing unknown accepted.
//!
//! The book's configuration reference is generated from the comments below (`tenured --config-reference`).

mod agents;
mod aws;
#[cfg(test)]
mod chart;
mod cluster;
mod compare;
mod delegates;
mod file;
mod metadata;
mod networks;
mod read;
mod same_caller;
mod settings;
mod subnets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_observe::http::ListenAddress;
use tenure_observe::logging::{Filter, Format};

pub(crate) use self::agents::{AgentTable, ClaimsTable};
pub(crate) use self::aws::AwsTable;
#[cfg(any(feature = "aws", test))]
pub(crate) use self::aws::is_private;
pub(crate) use self::cluster::ClusterTable;
pub(crate) use self::compare::is_live;
pub(crate) use self::delegates::DelegateTable;
pub(crate) use self::file::ConfigFile;
#[cfg(feature = "cluster")]
pub(crate) use self::metadata::PodMetadataName;
pub(crate) use self::networks::NetworkTable;
pub(crate) use self::read::ConfigFileError;
#[cfg(any(feature = "aws", test))]
pub(crate) use self::settings::AWS_ENI;
#[cfg(any(feature = "cluster", test))]
pub(crate) use self::settings::CLUSTER_RANGE;

/// The configuration file if `--config` is not given.
pub(crate) const DEFAULT_PATH: &str = "/etc/tenure/tenured.toml";

/// `tenured.toml`. An empty file, or none, is a complete configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// How the daemon treats addresses, whichever policy chose them.
    pub(crate) addresses: AddressesTable,
    /// Limits on requests and networks.
    pub(crate) limits: LimitsTable,
    /// Limits on running and compiling policies.
    pub(crate) sandbox: SandboxTable,
    /// Policies in addition to the built-in ones, by name, and bounds on what each policy may hand out. A network's configuration selects one with `"policy": "NAME"`.
    pub(crate) policies: BTreeMap<String, PolicyTable>,
    /// Observation of a network's new policy after an exchange.
    pub(crate) exchange: ExchangeTable,
    /// Signatures of policies.
    pub(crate) signatures: SignaturesTable,
    /// Networks that exist without a CNI call, and bounds that apply to a network of any origin.
    pub(crate) networks: BTreeMap<String, NetworkTable>,
    /// Agents on the node that may claim addresses of their own, by name. A caller on the agents' socket is the agent whose `uid`, `gid` and `pod` all match; of several, one with a `pod`, and then the one that matches fewest callers. Tables between which that is not clear are refused.
    pub(crate) agents: BTreeMap<String, AgentTable>,
    /// The claims of agents, and the socket on which they make them; it exists as long as there is an agent.
    pub(crate) claims: ClaimsTable,
    /// IPAM binaries of others that may be run, by name. `[networks.NAME]` names one as its `delegate`; no other binary is ever run for a network.
    pub(crate) delegates: BTreeMap<String, DelegateTable>,
    /// Identity of this node. Each key defaults to what the machine says; set them to run several nodes on one machine.
    pub(crate) node: NodeTable,
    /// The node's AWS network interfaces, whose addresses a network hands out. Without `network`, tenured uses nothing of AWS.
    pub(crate) aws: AwsTable,
    /// The cluster's API server: blocks of addresses that it leases to the node, and its word about the node and its pods. Without `networks`, `pods` and `node`, tenured asks no API server.
    pub(crate) cluster: ClusterTable,
    /// The container runtime, as a second source on which sandboxes exist.
    pub(crate) runtime: RuntimeTable,
    /// The CNI configurations of the node.
    pub(crate) cni: CniTable,
    /// The host-local plugin that tenure replaces.
    pub(crate) host_local: HostLocalTable,
    /// Metrics and health over HTTP; off unless `listen` is set.
    pub(crate) metrics: MetricsTable,
    /// The daemon's own log.
    pub(crate) log: LogTable,
}

/// How the daemon treats addresses, whichever policy chose them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AddressesTable {
    /// Seconds that a freed address cools down before it is free again.
    pub(crate) cooldown_seconds: u32,
    /// From which share of a pool in use, in percent, the condition `pool-nearly-full` is set; 100 turns it off.
    #[schemars(range(max = 100))]
    pub(crate) nearly_full_percent: u8,
}

impl Default for AddressesTable {
    fn default() -> Self {
        Self { cooldown_seconds: 30, nearly_full_percent: 90 }
    }
}

/// Limits on requests and networks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsTable {
    /// Requests served concurrently.
    #[schemars(range(min = 1))]
    pub(crate) in_flight: u32,
    /// Requests that may wait beyond `in_flight`, at most three quarters of them for one network; further ones are refused with CNI code 11.
    #[schemars(range(min = 1))]
    pub(crate) queue: u32,
    /// Maximum number of networks; the first ADD of another one is refused. A network exists once it is defined: by its first ADD, by `[networks.NAME]`, or by `tenurectl network define`.
    #[schemars(range(min = 1))]
    pub(crate) networks: u32,
    /// Seconds that a stopping daemon waits for requests in flight to finish. The shipped unit of systemd (`TimeoutStopSec`) and the chart end the daemon after 30 seconds.
    pub(crate) drain_seconds: u32,
}

impl Default for LimitsTable {
    fn default() -> Self {
        Self { in_flight: 256, queue: 4096, networks: 4096, drain_seconds: 10 }
    }
}

/// Limits on running and compiling policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxTable {
    /// Milliseconds of CPU time that a call may take.
    #[schemars(range(min = 1))]
    pub(crate) deadline_ms: u32,
    /// Mebibytes of memory that a call may use; at most 4096, which is all that a policy can address.
    #[schemars(range(min = 1, max = 4096))]
    pub(crate) memory_mib: u32,
    /// Policy calls that may run at once over all networks; at most 4096, since each reserves address space.
    #[schemars(range(min = 1, max = 4096))]
    pub(crate) concurrency: u32,
    /// Seconds of CPU time that compiling a policy may take; the limit on elapsed time is three times that.
    #[schemars(range(min = 1))]
    pub(crate) compile_seconds: u32,
}

impl Default for SandboxTable {
    fn default() -> Self {
        Self { deadline_ms: 50, memory_mib: 16, concurrency: 32, compile_seconds: 20 }
    }
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PolicyTable {
    /// The component's absolute path. A built-in policy needs none, and neither does one that is loaded with `tenurectl policy load`.
    pub(crate) path: Option<PathBuf>,
    /// The component's SHA-256 in hexadecimal. A file that does not match it is not loaded. Without it, the file is watched: a changed file is exchanged for the old one on the networks that the policy serves, as `tenurectl policy activate` does.
    pub(crate) sha256: Option<String>,
    /// Subnets such as `["10.0.0.0/8"]`; each range that this policy defines must lie in one of them. Without any, all ranges are allowed.
    #[schemars(with = "Vec<String>")]
    #[serde(deserialize_with = "subnets::subnets")]
    pub(crate) within: Vec<IpNet>,
    /// The networks that it may serve: names, or patterns such as `blue-*`, in which `*` stands for any characters. Without any, it may serve all.
    pub(crate) networks: Vec<String>,
    /// The worlds that it may use besides `policy`, if it exports them: `planner`, `stateful`. By default none if there is a `path`, and both for a policy that is loaded with `tenurectl policy load`. One that is not granted is never called: without `stateful`, a policy that only proposes with a state fails each request.
    pub(crate) worlds: Option<Vec<World>>,
    /// The kinds of effects that its plans may contain, such as `assign-prefix`; a plan with any other fails. The built-in `aws-eni` may do all that concerns interfaces, if `aws.network` is set and this table does not name others.
    #[schemars(with = "Vec<String>")]
    pub(crate) effects: Vec<String>,
    /// The labels and annotations of pods and their namespaces that its requests contain, by key: `pod.label.KEY`, `pod.annotation.KEY`, `pod.namespace.label.KEY`, `pod.namespace.annotation.KEY`. Needs `cluster.networks` or `cluster.pods`. While the API server does not say a pod's labels, its ADD is refused, and the runtime tries again.
    pub(crate) metadata: Vec<String>,
    /// The settings of the host that its networks' definitions may have, such as `mtu`, or beginnings such as `snat.*`. A definition with any other is refused. The built-in `aws-eni` may have all, if `aws.network` is set and this table does not name some.
    pub(crate) settings: Vec<String>,
    /// Milliseconds of CPU time that one of its calls may take; at most, and by default, `sandbox.deadline_ms`.
    #[schemars(range(min = 1))]
    pub(crate) deadline_ms: Option<u32>,
    /// Mebibytes of memory that one of its calls may use, such as the tier that `tenurectl policy check` prints; at most, and by default, `sandbox.memory_mib`.
    #[schemars(range(min = 1, max = 4096))]
    pub(crate) memory_mib: Option<u32>,
    /// Whether it may serve without passing the conformance suite: as `tenurectl policy activate --unchecked`, where a configuration names it.
    pub(crate) unchecked: bool,
}

/// A world that a policy may export besides `policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum World {
    /// The policy plans changes of a network's supply.
    Planner,
    /// The policy keeps state.
    Stateful,
}

/// Observation of a network's new policy after an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExchangeTable {
    /// Seconds that a policy is watched after it began to serve a network. Meanwhile each request that it does not answer is put to the previous policy, too. 0: it is not watched.
    pub(crate) watch_seconds: u32,
    /// A watched policy is rolled back when more than this percentage of the requests, and at least three, failed that the previous policy would have answered. 100: never.
    #[schemars(range(max = 100))]
    pub(crate) worse_percent: u32,
}

impl Default for ExchangeTable {
    fn default() -> Self {
        Self { watch_seconds: 300, worse_percent: 1 }
    }
}

/// Signatures of policies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SignaturesTable {
    /// Public keys in minisign's format: the second line of a `.pub` file. With any, every policy but the built-in ones must be signed by one of them: a file by `FILE.minisig` beside it. Without any, signatures are not checked.
    pub(crate) keys: Vec<String>,
    /// Whether a signature must name the policy and its version, as those of `tenurectl policy sign` do. Otherwise one that does not is accepted for any name, as long as no version of that name was accepted. Without `keys`, this means nothing.
    pub(crate) require_version: bool,
}

/// The container runtime, as a second source on which sandboxes exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RuntimeTable {
    /// The runtime's CRI socket, such as `unix:///run/containerd/containerd.sock`. Without it, only the runtime's CNI GC frees leaked addresses.
    pub(crate) socket: Option<String>,
    /// Seconds that a sandbox must be gone, according to the runtime and to its network namespace or the API server, before its addresses are freed.
    pub(crate) grace_seconds: u32,
    /// Whether nothing else starts containers on this node: no podman, no nerdctl. If set, the runtime alone can confirm a lost state; otherwise no network namespace but the host's may be left either.
    pub(crate) exclusive: bool,
}

impl Default for RuntimeTable {
    fn default() -> Self {
        Self { socket: None, grace_seconds: 60, exclusive: false }
    }
}

impl RuntimeTable {
    /// The socket's path.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.socket.as_deref().map(|socket| Path::new(socket.strip_prefix("unix://").unwrap_or(socket)))
    }
}

/// Identity of this node. Each key defaults to what the machine says; set them to run several nodes on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeTable {
    /// The node's name, which is that of its Kubernetes Node. By default the host's name.
    pub(crate) name: Option<String>,
    /// The file with the id of the running boot, which must change with each boot and never otherwise: one word without white space. By default `/proc/sys/kernel/random/boot_id`. To name another file is not a boot: until its content changes or the kernel boots, the daemon keeps the id that it knows.
    pub(crate) boot_id_file: Option<PathBuf>,
    /// The machine id. By default what `/etc/machine-id` has.
    pub(crate) machine_id: Option<String>,
    /// The machine's UUID. By default as a kubelet says it of its Node: what `/sys/class/dmi/id/product_uuid` has, which only root can read, or else the device tree or the machine id.
    pub(crate) system_uuid: Option<String>,
}

/// The CNI configurations of the node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CniTable {
    /// The directory from which the runtime reads CNI configurations, such as `/etc/cni/net.d`. The networks in it whose `ipam.type` is `tenure`, or whose plugin is `tenure-eni`, are defined before their first pod, so that agents can claim addresses of them, and defined again when their file changes, by the same rules as an ADD. Of several files for one network, the first counts. Without it, a network waits for its first pod.
    pub(crate) directory: Option<PathBuf>,
}

/// The host-local plugin that tenure replaces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HostLocalTable {
    /// Whether to serve a network's first ADD while host-local still has addresses of it in `ipam.dataDir`. By default such an ADD is refused until `tenurectl import` has taken them over.
    pub(crate) ignore: bool,
}

/// Metrics and health over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MetricsTable {
    /// The address to listen on: a loopback address such as `127.0.0.1:9477`, or `unix:/run/tenure/metrics.sock`.
    #[schemars(with = "Option<String>")]
    pub(crate) listen: Option<ListenAddress>,
}

/// The daemon's own log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogTable {
    /// The least severe level to write (`off`, `error`, `warn`, `info`, `debug`, `trace`), optionally by module: `info,tenure_policy=debug`.
    #[schemars(with = "String")]
    pub(crate) level: Filter,
    /// `text` for people, `journal` for systemd, `json` for programs; `auto` is `journal` under systemd and `text` otherwise.
    #[schemars(with = "String")]
    pub(crate) format: Format,
}
