//! Delegates in the configuration: the IPAM binaries of others that may be run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_delegate::DelegateSettings;
use tenure_types::DelegateName;

use super::Config;
use super::read::{SHA256, is_sha256};

/// An IPAM binary of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DelegateTable {
    /// The binary's absolute path, such as `/opt/cni/bin/azure-ipam`. Only root or the daemon's user may be able to write it.
    pub(crate) path: PathBuf,
    /// The binary's SHA-256 in hexadecimal. If it is set, the bytes that were checked are those that run, from memory; a file with others is not run.
    pub(crate) sha256: Option<String>,
    /// Milliseconds that one of its calls may take; then it is killed with everything that it has started.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout_ms: u32,
    /// Variables of its environment, besides those of CNI and `PATH`. It gets no other.
    pub(crate) environment: BTreeMap<String, String>,
    /// How many of its calls may run at once; others wait, for at most `timeout_ms`.
    #[schemars(range(min = 1, max = 256))]
    pub(crate) parallel: u32,
    /// The network namespace that it is told for agents' claims, for a delegate that needs a real one. By default a path at which there is none.
    pub(crate) netns: Option<String>,
}

impl Default for DelegateTable {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            sha256: None,
            timeout_ms: 10_000,
            environment: BTreeMap::new(),
            parallel: 4,
            netns: None,
        }
    }
}

impl DelegateTable {
    /// Checks what the types cannot express; returns the invalid field and the reason.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.path.as_os_str().is_empty() {
            return Err((".path", "is required: the absolute path of the binary".to_owned()));
        }
        if !self.path.is_absolute() {
            return Err((".path", "must be an absolute path".to_owned()));
        }
        if self.sha256.as_ref().is_some_and(|sha256| !is_sha256(sha256)) {
            return Err((".sha256", SHA256.to_owned()));
        }
        if !(1..=600_000).contains(&self.timeout_ms) {
            return Err((".timeout_ms", "must be from 1 to 600000".to_owned()));
        }
        if !(1..=256).contains(&self.parallel) {
            return Err((".parallel", "must be from 1 to 256".to_owned()));
        }
        if self.netns.as_ref().is_some_and(|netns| !netns.starts_with('/')) {
            return Err((".netns", "must be an absolute path".to_owned()));
        }
        for (name, value) in &self.environment {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err((".environment", format!("{name:?} cannot be a variable")));
            }
            if name.starts_with("CNI_") {
                return Err((".environment", format!("{name} is set by the daemon")));
            }
        }
        Ok(())
    }
}

impl Config {
    /// The delegates that may be run. Names were checked when the configuration was read.
    pub(crate) fn allowed(&self) -> BTreeMap<DelegateName, DelegateSettings> {
        let settings = |table: &DelegateTable| DelegateSettings {
            sha256: table.sha256.as_ref().map(|sha256| sha256.to_ascii_lowercase()),
            timeout: Duration::from_millis(table.timeout_ms.into()),
            environment: table.environment.clone(),
            parallel: usize::try_from(table.parallel).unwrap_or(1),
            netns: table.netns.clone(),
            ..DelegateSettings::new(table.path.clone())
        };
        let all = self.delegates.iter();
        all.filter_map(|(name, table)| Some((DelegateName::new(name).ok()?, settings(table)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_delegate_is_named_by_its_key() {
        let base = "[delegates.azure]\npath = \"/opt/cni/bin/azure-ipam\"\n";
        let refusal = |text: &str| Config::parse(Path::new("tenured.toml"), text).unwrap_err().to_string();
        assert!(Config::parse(Path::new("tenured.toml"), base).is_ok());
        for (text, expected) in [
            ("[delegates.azure]\n".to_owned(), "delegates.azure.path: is required: the absolute path"),
            ("[delegates.\"a b\"]\npath = \"/a\"\n".to_owned(), "delegates.a b: a delegate name has"),
            (format!("{base}sha256 = \"0\"\n"), "delegates.azure.sha256: must be 64 hexadecimal digits"),
            (format!("{base}timeout_ms = 0\n"), "delegates.azure.timeout_ms: must be from 1 to 600000"),
            (format!("{base}parallel = 0\n"), "delegates.azure.parallel: must be from 1 to 256"),
            (format!("{base}netns = \"host\"\n"), "delegates.azure.netns: must be an absolute path"),
            (format!("{base}environment.CNI_ARGS = \"\"\n"), "CNI_ARGS is set by the daemon"),
            (
                format!("{base}[networks.pods]\ndelegate = \"other\"\n"),
                "networks.pods.delegate: there is no `[delegates.other]`",
            ),
            ("[policies.\"delegate.azure\"]\n".to_owned(), "names that begin with `delegate.`"),
        ] {
            assert!(refusal(&text).contains(expected), "{}", refusal(&text));
        }
    }
}
