//! The daemon's configuration: one struct, every key with its default, nothing unknown accepted.
//!
//! The book's configuration reference is generated from the comments below (`tenured --config-reference`).

mod compare;
mod networks;
mod read;
mod settings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_observe::http::Address;
use tenure_observe::logging::{Filter, Format};

pub(crate) use self::compare::is_live;
pub(crate) use self::networks::NetworkTable;

/// Where the configuration is looked for when `--config` is not given.
pub(crate) const DEFAULT_PATH: &str = "/etc/tenure/tenured.toml";

/// `tenured.toml`. An empty file, or none, is a complete configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// How addresses are treated, whichever policy chose them.
    pub(crate) addresses: Addresses,
    /// How much the daemon takes on.
    pub(crate) limits: Limits,
    /// What each call of a policy may use.
    pub(crate) sandbox: Sandbox,
    /// Policies beside the built-in ones, by name, and what each policy may hand out. A network's configuration chooses one with `"policy": "NAME"`.
    pub(crate) policies: BTreeMap<String, PolicyTable>,
    /// Networks that this node has without a CNI call, and what each network may be, whoever defines it.
    pub(crate) networks: BTreeMap<String, NetworkTable>,
    /// The container runtime, as a second source of which sandboxes there are.
    pub(crate) runtime: Runtime,
    /// The reference plugin whose place tenure takes.
    pub(crate) host_local: HostLocal,
    /// Metrics and health over HTTP; off unless `listen` is given.
    pub(crate) metrics: Metrics,
    /// What the daemon writes about itself.
    pub(crate) log: Log,
}

/// How addresses are treated, whichever policy chose them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Addresses {
    /// Seconds for which a freed address cools before it is free again.
    pub(crate) cooldown_seconds: u32,
}

impl Default for Addresses {
    fn default() -> Self {
        Self { cooldown_seconds: 30 }
    }
}

/// How much the daemon takes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    /// Requests that are served at once.
    #[schemars(range(min = 1))]
    pub(crate) in_flight: u32,
    /// Requests that may wait beyond that, three quarters of them of one network; more are refused with CNI code 11.
    #[schemars(range(min = 1))]
    pub(crate) queue: u32,
    /// Networks that there may be; the first ADD of one more is refused. A network exists once it is defined: by its first ADD, in `[networks.NAME]`, or by `tenurectl network define`.
    #[schemars(range(min = 1))]
    pub(crate) networks: u32,
    /// Seconds for which a stopping daemon lets requests under way finish.
    pub(crate) drain_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { in_flight: 256, queue: 4096, networks: 4096, drain_seconds: 10 }
    }
}

/// What each call of a policy may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sandbox {
    /// Milliseconds that a call may take.
    #[schemars(range(min = 1))]
    pub(crate) deadline_ms: u32,
    /// Mebibytes of memory that a call may use, 4096 at most: a policy can address no more.
    #[schemars(range(min = 1, max = 4096))]
    pub(crate) memory_mib: u32,
    /// Calls that may run at once, over all networks; 4096 at most, since address space is reserved for each.
    #[schemars(range(min = 1, max = 4096))]
    pub(crate) concurrency: u32,
    /// Seconds of processor time that compiling a policy may take; by the clock, three times as many.
    #[schemars(range(min = 1))]
    pub(crate) compile_seconds: u32,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self { deadline_ms: 50, memory_mib: 16, concurrency: 32, compile_seconds: 20 }
    }
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PolicyTable {
    /// The component's absolute path. A built-in policy needs none.
    pub(crate) path: Option<PathBuf>,
    /// The component's sha256 in hexadecimal. A file that is not this is not loaded.
    pub(crate) sha256: Option<String>,
    /// Subnets that ranges which this policy defines must lie in, such as `["10.0.0.0/8"]`; any, if there are none.
    #[schemars(with = "Vec<String>")]
    pub(crate) within: Vec<IpNet>,
}

/// The container runtime, as a second source of which sandboxes there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Runtime {
    /// Its CRI socket, such as `unix:///run/containerd/containerd.sock`. Without it, leaked addresses are freed only by GC.
    pub(crate) socket: Option<String>,
    /// Seconds for which a sandbox must be gone, by the runtime and by its network namespace, before its addresses are freed.
    pub(crate) grace_seconds: u32,
    /// Whether nothing else starts containers on this node: no podman, no nerdctl. Only then is a lost state confirmed by the runtime's word alone; else no network namespace but the host's may be left, either.
    pub(crate) exclusive: bool,
}

impl Default for Runtime {
    fn default() -> Self {
        Self { socket: None, grace_seconds: 60, exclusive: false }
    }
}

impl Runtime {
    /// The socket's path.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.socket.as_deref().map(|socket| Path::new(socket.strip_prefix("unix://").unwrap_or(socket)))
    }
}

/// The reference plugin whose place tenure takes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HostLocal {
    /// Whether a network's first ADD is served while host-local has addresses of it in `ipam.dataDir`; else `tenurectl import` comes first.
    pub(crate) ignore: bool,
}

/// Metrics and health over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Metrics {
    /// Where to listen: a loopback address such as `127.0.0.1:9477`, or `unix:/run/tenure/metrics.sock`.
    #[schemars(with = "Option<String>")]
    pub(crate) listen: Option<Address>,
}

/// What the daemon writes about itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Log {
    /// The least severe level that is written (`off`, `error`, `warn`, `info`, `debug`, `trace`), also by part: `info,tenure_policy=debug`.
    #[schemars(with = "String")]
    pub(crate) level: Filter,
    /// `text` for people, `journal` for systemd, `json` for programs; `auto` finds out.
    #[schemars(with = "String")]
    pub(crate) format: Format,
}
