//! The daemon's configuration: one struct, every key with its default, nothing unknown accepted.
//!
//! The book's configuration reference is generated from the comments below (`tenured --config-reference`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_observe::http::Address;
use tenure_observe::logging::{Filter, Format};
use tenure_types::PolicyName;

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
    /// Policies beside the built-in ones, by name. A network's configuration chooses one with `"policy": "NAME"`.
    pub(crate) policies: BTreeMap<String, PolicyFile>,
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
    /// Networks that there may be; the first ADD of one more is refused. A network exists from its first ADD on.
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

/// A policy in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFile {
    /// The component's absolute path.
    pub(crate) path: PathBuf,
    /// The component's sha256 in hexadecimal. A file that is not this is not loaded.
    pub(crate) sha256: String,
}

/// The container runtime, as a second source of which sandboxes there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Runtime {
    /// Its CRI socket, such as `unix:///run/containerd/containerd.sock`. Without it, nothing that leaked is freed but by GC.
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

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A key is unknown, missing or of the wrong kind; the text says where.
    #[error("{path}: {key}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The key's path, such as `policies.mine.sha256`.
        key: String,
        /// What is wrong with it.
        message: String,
    },
}

impl Config {
    /// Reads the named file, or the default one if it is there, or takes the defaults.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the key and what is wrong with it.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, ConfigError> {
        let (path, optional) = match path {
            Some(path) => (path, false),
            None => (Path::new(DEFAULT_PATH), true),
        };
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if optional && error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Unreadable { path: path.into(), source }),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let invalid = |key: &str, message: String| ConfigError::Invalid {
            path: path.into(),
            key: if key == "." { "the file".into() } else { key.into() },
            message,
        };
        let syntax =
            |error: toml::de::Error| invalid(".", error.to_string().trim_end().replace('\n', "\n  "));
        let config: Self = serde_path_to_error::deserialize(toml::Deserializer::parse(text).map_err(syntax)?)
            .map_err(|error| invalid(&error.path().to_string(), error.inner().message().to_owned()))?;
        config.check().map_err(|(key, message)| invalid(&key, message))?;
        Ok(config)
    }

    /// What the types cannot say.
    fn check(&self) -> Result<(), (String, String)> {
        let at_least_one = [
            ("limits.in_flight", self.limits.in_flight),
            ("limits.queue", self.limits.queue),
            ("limits.networks", self.limits.networks),
            ("sandbox.deadline_ms", self.sandbox.deadline_ms),
            ("sandbox.memory_mib", self.sandbox.memory_mib),
            ("sandbox.concurrency", self.sandbox.concurrency),
            ("sandbox.compile_seconds", self.sandbox.compile_seconds),
        ];
        if let Some((key, _)) = at_least_one.into_iter().find(|(_, value)| *value == 0) {
            return Err((key.to_owned(), "must be at least 1".to_owned()));
        }
        let at_most = [
            ("sandbox.memory_mib", self.sandbox.memory_mib, 4096),
            ("sandbox.concurrency", self.sandbox.concurrency, 4096),
        ];
        if let Some((key, _, most)) = at_most.into_iter().find(|(_, value, most)| value > most) {
            return Err((key.to_owned(), format!("must be at most {most}")));
        }
        if self.runtime.path().is_some_and(|path| !path.is_absolute()) {
            let message = "must be an absolute path, such as unix:///run/containerd/containerd.sock";
            return Err(("runtime.socket".to_owned(), message.to_owned()));
        }
        for (name, file) in &self.policies {
            let key = |field: &str| format!("policies.{name}{field}");
            PolicyName::new(name).map_err(|error| (key(""), error.to_string()))?;
            if !file.path.is_absolute() {
                return Err((key(".path"), "must be an absolute path".to_owned()));
            }
            if file.sha256.len() != 64 || !file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err((
                    key(".sha256"),
                    "must be 64 hexadecimal digits; `sha256sum FILE` prints them".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Config::parse(Path::new("tenured.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn nothing_at_all_is_a_configuration() {
        assert_eq!(Config::parse(Path::new("x"), "").unwrap(), Config::default());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        assert_eq!(
            refusal("[limits]\nqueues = 3"),
            "tenured.toml: limits.queues: unknown field `queues`, expected one of `in_flight`, `queue`, `networks`, `drain_seconds`"
        );
        assert_eq!(refusal("[limits]\nqueue = 0"), "tenured.toml: limits.queue: must be at least 1");
        assert!(
            refusal("[limits]\nqueue = \"many\"").starts_with("tenured.toml: limits.queue: invalid type")
        );
        assert!(
            refusal("[runtime]\nsocket = \"unix://cri.sock\"")
                .contains("runtime.socket: must be an absolute path")
        );
        assert_eq!(
            refusal("[sandbox]\nmemory_mib = 5000"),
            "tenured.toml: sandbox.memory_mib: must be at most 4096"
        );
        assert_eq!(
            refusal("[log]\nlevel = \"verbose\""),
            "tenured.toml: log.level: there is no level \"verbose\"; the levels are off, error, warn, info, debug and trace"
        );
        let policy = |body: &str| refusal(&format!("[policies.mine]\n{body}"));
        assert!(
            policy("path = \"mine.wasm\"\nsha256 = \"\"")
                .contains("policies.mine.path: must be an absolute path")
        );
        assert!(
            policy("path = \"/mine.wasm\"\nsha256 = \"12\"").contains("policies.mine.sha256: must be 64")
        );
        assert!(policy("path = \"/mine.wasm\"").contains("missing field `sha256`"));
    }
}
