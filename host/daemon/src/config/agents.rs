//! Agents in the configuration: who may claim addresses, and which.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_types::NetworkName;

/// The user and the group as which the kernel shows those that are unknown in the daemon's user namespace: anybody's.
const OVERFLOW: u32 = 65_534;

/// The longest pattern.
const LONGEST_PATTERN: usize = 256;

/// An agent that may claim addresses of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentTable {
    /// The user that it runs as, outside of user namespaces. At least one of `uid`, `gid` and `pod` must be set.
    pub(crate) uid: Option<u32>,
    /// The group that it runs as.
    pub(crate) gid: Option<u32>,
    /// Pod of the agent, as `NAMESPACE/NAME`; each may have `*` for any characters, as in `kube-system/cilium-*`. Needs `runtime.socket`.
    pub(crate) pod: Option<String>,
    /// The networks that it may claim addresses of, with `*` for any characters. Without any, it may claim nothing.
    pub(crate) networks: Vec<String>,
    /// The names that its claims may have, with `*` for any characters.
    pub(crate) names: Vec<String>,
    /// The most claims that it may have.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) claims: u32,
    /// Whether it may ask for particular addresses.
    pub(crate) addresses: bool,
    /// Whether it may have claims by running the CNI plugin `tenure` in its own container, as Cilium does.
    pub(crate) cni: bool,
}

impl Default for AgentTable {
    fn default() -> Self {
        Self {
            uid: None,
            gid: None,
            pod: None,
            networks: Vec::new(),
            names: vec!["*".to_owned()],
            claims: 16,
            addresses: false,
            cni: false,
        }
    }
}

/// The claims of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClaimsTable {
    /// Seconds after a reboot for which a claim is kept for an agent that has not asked for it again.
    pub(crate) reserved_seconds: u32,
    /// The mode of the agents' socket, `agent/agent.sock` in the run directory, in octal. `[agents.NAME]` says who may claim what.
    pub(crate) socket_mode: String,
    /// The number of the group of the agents' socket; by default the daemon's own.
    pub(crate) socket_group: Option<u32>,
}

impl Default for ClaimsTable {
    fn default() -> Self {
        Self { reserved_seconds: 86_400, socket_mode: "0600".to_owned(), socket_group: None }
    }
}

impl ClaimsTable {
    /// Checks what the types cannot express; returns the invalid field and the reason.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        match self.mode() {
            Some(_) => Ok(()),
            None => Err(("socket_mode", "must be between \"0600\" and \"0666\"".to_owned())),
        }
    }

    /// The mode of the socket; `None` if the text is not one that it may have.
    pub(crate) fn mode(&self) -> Option<u32> {
        let mode = u32::from_str_radix(&self.socket_mode, 8).ok()?;
        (mode & !0o666 == 0 && mode & 0o600 == 0o600).then_some(mode)
    }
}

impl AgentTable {
    /// Checks what the types cannot express; returns the invalid field and the reason.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        if self.uid.is_none() && self.gid.is_none() && self.pod.is_none() {
            let message = "set `uid`, `gid` or `pod`, by which the agent is known";
            return Err((String::new(), message.to_owned()));
        }
        for (key, id) in [(".uid", self.uid), (".gid", self.gid)] {
            if id == Some(OVERFLOW) {
                return Err((
                    key.to_owned(),
                    format!("{OVERFLOW} stands for all that the daemon cannot tell apart"),
                ));
            }
        }
        if let Some(pod) = &self.pod {
            let is_pod = matches!(pod.split_once('/'), Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/'));
            if !is_pod || pod.len() > LONGEST_PATTERN {
                return Err((
                    ".pod".to_owned(),
                    "must be NAMESPACE/NAME, as in kube-system/cilium-*".to_owned(),
                ));
            }
        }
        if !(1..=1000).contains(&self.claims) {
            return Err((".claims".to_owned(), "must be from 1 to 1000".to_owned()));
        }
        for (list, patterns) in [("networks", &self.networks), ("names", &self.names)] {
            for (index, pattern) in patterns.iter().enumerate() {
                // With its stars replaced by a letter, it must be a name.
                let example = pattern.replace('*', "a");
                NetworkName::new(example)
                    .map_err(|error| (format!(".{list}[{index}]"), error.to_string()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Config;

    fn refusal(text: &str) -> String {
        Config::parse(Path::new("tenured.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn an_agent_needs_something_to_be_known_by_and_valid_patterns() {
        let base = "[agents.cilium]\nuid = 0\n";
        Config::parse(Path::new("tenured.toml"), base).unwrap();
        for (text, expected) in [
            (
                "[agents.cilium]\nclaims = 3\n",
                "agents.cilium: set `uid`, `gid` or `pod`, by which the agent is known",
            ),
            ("[agents.\"a b\"]\nuid = 0\n", "agents.a b: an agent name has at most 64 letters"),
            (
                "[agents.cilium]\nuid = 65534\n",
                "agents.cilium.uid: 65534 stands for all that the daemon cannot tell apart",
            ),
            (&format!("{base}claims = 0\n"), "agents.cilium.claims: must be from 1 to 1000"),
            (
                &format!("{base}[agents.backup]\nuid = 0\n"),
                "agents.cilium: the same caller could be agents.backup: tell them apart by `uid`, `gid` or `pod`",
            ),
            (
                &format!("{base}networks = [\"pods\", \"a b\"]\n"),
                "agents.cilium.networks[1]: invalid characters",
            ),
            (&format!("{base}pod = \"cilium\"\n"), "agents.cilium.pod: must be NAMESPACE/NAME"),
            (&format!("{base}pod = \"kube-system/cilium-*\"\n"), "agents.cilium.pod: needs `runtime.socket`"),
            (
                "[claims]\nsocket_mode = \"0777\"\n",
                "claims.socket_mode: must be between \"0600\" and \"0666\"",
            ),
        ] {
            assert!(refusal(text).contains(expected), "{}", refusal(text));
        }
    }
}
