//! Reading the configuration, and the checks that its types cannot express.

use std::path::{Path, PathBuf};

use tenure_engine::SettingPattern;
use tenure_policy::TrustedKey;
use tenure_policy::decisions::MOST_RECORDED;
use tenure_types::{
    AgentName, DelegateName, EffectKind, Error, ErrorCode, InvalidName, NamePattern, NetworkName, PolicyName,
};

use super::metadata::PodMetadataName;
use super::settings::HOST_SETTINGS;
use super::{Config, PolicyTable, same_caller};

/// The message for an invalid digest.
pub(super) const SHA256: &str = "must be 64 hexadecimal digits; `sha256sum FILE` prints them";

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigFileError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file does not exist, and must.
    #[error("{path}: the file does not exist; create it: an empty file selects the defaults")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A key is unknown or missing, or its value is invalid.
    #[error("{path}: {key}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The key's path, such as `policies.mine.sha256`.
        key: String,
        /// Description of the problem.
        message: String,
    },
}

impl ConfigFileError {
    /// The error of a reload. Where no key is at fault, the next step is about the file.
    pub(crate) fn of_a_reload(&self) -> Error {
        let error = Error::new(ErrorCode::InvalidConfig, self);
        match self {
            Self::Missing { .. } => {
                error.to_be_solved_by("put the file back, or create an empty one for the defaults")
            }
            Self::Unreadable { .. } => error.to_be_solved_by("let tenured read the file, and reload again"),
            Self::Invalid { .. } => error,
        }
    }
}

impl Config {
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, ConfigFileError> {
        let invalid = |key: &str, message: String| ConfigFileError::Invalid {
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

    /// Checks what the types cannot express; returns the invalid key and the reason.
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
            ("exchange.worse_percent", self.exchange.worse_percent, 100),
            ("addresses.nearly_full_percent", self.addresses.nearly_full_percent.into(), 100),
        ];
        if let Some((key, _, most)) = at_most.into_iter().find(|(_, value, most)| value > most) {
            return Err((key.to_owned(), format!("must be at most {most}")));
        }
        let identity = [
            ("node.name", &self.node.name),
            ("node.machine_id", &self.node.machine_id),
            ("node.system_uuid", &self.node.system_uuid),
        ];
        if let Some((key, _)) = identity.into_iter().find(|(_, value)| value.as_deref() == Some("")) {
            return Err((
                key.to_owned(),
                "must not be empty; without the key, the machine's own counts".to_owned(),
            ));
        }
        if self.runtime.path().is_some_and(|path| !path.is_absolute()) {
            let message = "must be an absolute path, such as unix:///run/containerd/containerd.sock";
            return Err(("runtime.socket".to_owned(), message.to_owned()));
        }
        if self.cni.directory.as_ref().is_some_and(|directory| !directory.is_absolute()) {
            return Err(("cni.directory".to_owned(), "must be an absolute path".to_owned()));
        }
        for (index, key) in self.signatures.keys.iter().enumerate() {
            TrustedKey::new(key).map_err(|message| (format!("signatures.keys[{index}]"), message))?;
        }
        for (name, table) in &self.policies {
            let key = |field: &str| format!("policies.{name}{field}");
            let policy_name = PolicyName::new(name).map_err(|error| (key(""), error.to_string()))?;
            if policy_name.delegate().is_some() {
                let message = "names that begin with `delegate.` stand for delegates; see `[delegates.NAME]`";
                return Err((key(""), message.to_owned()));
            }
            policy(table).map_err(|(field, message)| (key(field), message))?;
            self.grants(table).map_err(|(field, message)| (key(&field), message))?;
        }
        self.aws.check().map_err(|(field, message)| (format!("aws.{field}"), message))?;
        self.cluster.check().map_err(|(field, message)| (format!("cluster.{field}"), message))?;
        if self.cluster.pods == Some(true) && self.runtime.socket.is_none() {
            let message = "needs `runtime.socket`: the API server's word alone frees nothing";
            return Err(("cluster.pods".to_owned(), message.to_owned()));
        }
        if self.cluster.node && self.aws.network.is_none() {
            let message = "needs `aws.network`: what the API server says of the node is for AWS interfaces";
            return Err(("cluster.node".to_owned(), message.to_owned()));
        }
        if let Some(network) =
            self.aws.network.as_ref().filter(|name| self.cluster.networks.contains_key(*name))
        {
            let message = "is the network of [aws], too: a network has its addresses from one of them";
            return Err((format!("cluster.networks.{network}"), message.to_owned()));
        }
        self.claims.check().map_err(|(field, message)| (format!("claims.{field}"), message))?;
        for (name, table) in &self.agents {
            let key = |field: &str| format!("agents.{name}{field}");
            AgentName::new(name).map_err(|error| (key(""), error.to_string()))?;
            table.check().map_err(|(field, message)| (key(&field), message))?;
            if table.pod.is_some() && self.runtime.socket.is_none() {
                return Err((key(".pod"), "needs `runtime.socket`, which knows the pods".to_owned()));
            }
        }
        same_caller::check(&self.agents)?;
        for (name, table) in &self.delegates {
            let key = |field: &str| format!("delegates.{name}{field}");
            DelegateName::new(name).map_err(|error| (key(""), error.to_string()))?;
            table.check().map_err(|(field, message)| (key(field), message))?;
        }
        for (name, table) in &self.networks {
            let key = |field: &str| format!("networks.{name}{field}");
            NetworkName::new(name).map_err(|error| (key(""), error.to_string()))?;
            let definition =
                table.definition().map_err(|(field, message)| (key(&format!(".{field}")), message))?;
            if let Some(definition) = definition {
                let compared = self.cluster.compare(name, &definition);
                compared.map_err(|message| (key(".ipam.pools"), message))?;
            }
            if let Some(delegate) = table.delegate.as_ref().filter(|name| !self.delegates.contains_key(*name))
            {
                return Err((key(".delegate"), format!("there is no `[delegates.{delegate}]`")));
            }
            if table.record > MOST_RECORDED {
                return Err((key(".record"), format!("must be at most {MOST_RECORDED}")));
            }
            for (index, policy) in table.policies.iter().enumerate() {
                let key = || key(&format!(".policies[{index}]"));
                PolicyName::new(policy).map_err(|error| (key(), error.to_string()))?;
            }
        }
        Ok(())
    }

    /// Checks what a policy is granted; returns the invalid field and the reason.
    fn grants(&self, table: &PolicyTable) -> Result<(), (String, String)> {
        for (field, value, most) in [
            ("deadline_ms", table.deadline_ms, self.sandbox.deadline_ms),
            ("memory_mib", table.memory_mib, self.sandbox.memory_mib),
        ] {
            let Some(value) = value else { continue };
            if value == 0 || value > most {
                let message = format!("must be from 1 to sandbox.{field}, which is {most}");
                return Err((format!(".{field}"), message));
            }
        }
        for (index, network) in table.networks.iter().enumerate() {
            let wrong = |error: InvalidName| (format!(".networks[{index}]"), error.to_string());
            NamePattern::of_networks(network).map_err(wrong)?;
        }
        for (index, setting) in table.settings.iter().enumerate() {
            if SettingPattern::new(setting, HOST_SETTINGS).is_none() {
                let message =
                    format!("no setting of the host is {setting:?}; they are {}", HOST_SETTINGS.join(", "));
                return Err((format!(".settings[{index}]"), message));
            }
        }
        for (index, name) in table.metadata.iter().enumerate() {
            let wrong = |message: &str| Err((format!(".metadata[{index}]"), message.to_owned()));
            if PodMetadataName::read(name).is_none() {
                return wrong(
                    "must be pod.label.KEY, pod.annotation.KEY, pod.namespace.label.KEY or pod.namespace.annotation.KEY",
                );
            }
            if !self.cluster.knows_pods() {
                return wrong("needs `cluster.networks` or `cluster.pods`: labels come from the API server");
            }
        }
        for (index, effect) in table.effects.iter().enumerate() {
            if EffectKind::named(effect).is_none() {
                let known: Vec<_> = EffectKind::ALL.iter().map(|kind| kind.name()).collect();
                let message = format!("unknown effect {effect:?}; the effects are {}", known.join(", "));
                return Err((format!(".effects[{index}]"), message));
            }
        }
        Ok(())
    }
}

/// Checks what the types cannot express about a policy; returns the invalid field and the reason.
fn policy(table: &PolicyTable) -> Result<(), (&'static str, String)> {
    match (&table.path, &table.sha256) {
        // Built in, or to be loaded by an operator.
        (None, None) => Ok(()),
        (None, Some(_)) => Err((".path", "is missing, although there is a sha256".to_owned())),
        (Some(path), _) if !path.is_absolute() => Err((".path", "must be an absolute path".to_owned())),
        // Watched.
        (Some(_), None) => Ok(()),
        (Some(_), Some(sha256)) if !is_sha256(sha256) => Err((".sha256", SHA256.to_owned())),
        (Some(_), Some(_)) => Ok(()),
    }
}

pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
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
    fn a_reload_without_a_file_says_what_to_do_about_the_file() {
        let missing = ConfigFileError::Missing { path: "tenured.toml".into() }.of_a_reload();
        assert!(missing.next_step().starts_with("put the file back"), "{missing:?}");
        let invalid = Config::parse(Path::new("x"), "[limits]\nqueue = 0").unwrap_err().of_a_reload();
        assert_eq!(invalid.next_step(), ErrorCode::InvalidConfig.next_step());
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
            "tenured.toml: log.level: unknown level \"verbose\"; the levels are off, error, warn, info, debug and trace"
        );
        assert_eq!(
            refusal("[addresses]\nnearly_full_percent = 200"),
            "tenured.toml: addresses.nearly_full_percent: must be at most 100"
        );
        assert!(refusal("[node]\nname = \"\"").starts_with("tenured.toml: node.name: must not be empty"));
        let policy = |body: &str| refusal(&format!("[policies.mine]\n{body}"));
        assert!(
            policy("path = \"mine.wasm\"\nsha256 = \"\"")
                .contains("policies.mine.path: must be an absolute path")
        );
        assert!(
            policy("path = \"/mine.wasm\"\nsha256 = \"12\"").contains("policies.mine.sha256: must be 64")
        );
        assert!(policy("sha256 = \"12\"").contains("policies.mine.path: is missing"));
        assert_eq!(
            policy("memory_mib = 32"),
            "tenured.toml: policies.mine.memory_mib: must be from 1 to sandbox.memory_mib, which is 16"
        );
        assert!(policy("deadline_ms = 0").contains("policies.mine.deadline_ms: must be from 1"));
        assert!(policy("networks = [\"a\", \"a b*\"]").contains("policies.mine.networks[1]: "));
        assert!(policy("worlds = [\"planer\"]").contains("policies.mine.worlds[0]: "));
        assert!(policy("effects = [\"assign\"]").contains("policies.mine.effects[0]: unknown effect"));
        assert!(policy("settings = [\"mtu\", \"snatt.*\"]").contains(
            "policies.mine.settings[1]: no setting of the host is \"snatt.*\"; they are cluster, cluster.gateway, connmark, "
        ));
        assert!(
            refusal("[signatures]\nkeys = [\"x\"]").contains("signatures.keys[0]: not a minisign public key")
        );
        assert!(
            refusal("[exchange]\nworse_percent = 101")
                .contains("exchange.worse_percent: must be at most 100")
        );
        assert_eq!(
            policy("within = [\"10.0.0.0\"]"),
            "tenured.toml: policies.mine.within[0]: expected a subnet such as 10.1.0.0/16 or fd00::/64"
        );
    }

    #[test]
    fn a_network_is_checked_as_far_as_its_policy_need_not_be_asked() {
        let network = |body: &str| refusal(&format!("[networks.pods]\n{body}"));
        assert!(refusal("[networks.\"a b\"]").starts_with("tenured.toml: networks.a b: "));
        assert!(network("policies = [\"a/b\"]").starts_with("tenured.toml: networks.pods.policies[0]: "));
        assert!(
            network("config = \"[]\"").starts_with("tenured.toml: networks.pods.config: not a JSON object")
        );
        assert_eq!(network("record = 100001"), "tenured.toml: networks.pods.record: must be at most 100000");
        assert!(network("within = [\"10.0.0.0/33\"]").starts_with("tenured.toml: networks.pods.within[0]: "));
        let good = "[policies.host-local]\nwithin = [\"10.0.0.0/8\"]\n[networks.pods]\nexclusive = true\n[networks.pods.ipam]\nranges = []";
        let config = Config::parse(Path::new("x"), good).unwrap();
        let pods = NetworkName::new("pods").unwrap();
        assert!(config.defines(&pods) && config.definitions().count() == 1);
        let bounds = config.settings().bounds;
        assert!(bounds.networks.get(&pods).unwrap().exclusive && bounds.policies.len() == 1);
        let of_interfaces = Config::parse(Path::new("x"), "[aws]\nnetwork = \"pods\"").unwrap();
        assert!(of_interfaces.settings().bounds.networks.get(&pods).unwrap().exclusive);
    }

    #[test]
    fn the_built_in_policy_may_set_the_host_and_a_file_of_its_name_what_it_is_granted() {
        let settings = |more: &str| {
            let text = format!("[aws]\nnetwork = \"pods\"\n{more}");
            // Unchecked: a build without the feature refuses the network.
            let config: Config = toml::from_str(&text).unwrap();
            let bounds = config.settings().bounds;
            assert_eq!(bounds.host_settings, HOST_SETTINGS);
            let of = bounds.policies.get(&PolicyName::new("aws-eni").unwrap());
            of.map(|bounds| bounds.settings.clone()).unwrap_or_default()
        };
        let these = |text: &str| vec![SettingPattern::new(text, HOST_SETTINGS).unwrap()];
        assert_eq!(settings(""), these("*"));
        assert_eq!(settings("[policies.aws-eni]\nsettings = [\"snat.*\"]"), these("snat.*"));
        assert_eq!(settings("[policies.aws-eni]\npath = \"/mine.wasm\""), []);
        let file = "[policies.aws-eni]\npath = \"/mine.wasm\"\nsettings = [\"mtu\"]";
        assert_eq!(settings(file), these("mtu"));
    }
}
