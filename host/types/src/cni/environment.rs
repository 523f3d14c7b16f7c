//! The `CNI_*` environment of one call, checked in the reference implementation's order and with its messages.

use std::fmt;

use crate::{ContainerId, Error, ErrorCode, InterfaceName};

/// The command of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Assign addresses to an attachment.
    Add,
    /// Free an attachment's addresses.
    Del,
    /// Check that an attachment has its addresses.
    Check,
    /// Free the addresses of attachments that are not on a list.
    Gc,
    /// Check whether an ADD could be served.
    Status,
    /// List the supported versions.
    Version,
    /// Anything else. Refused only after the configuration was read, as in the reference implementation.
    Unknown(String),
}

impl Command {
    /// The command named by a text. Never fails.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text {
            "ADD" => Self::Add,
            "DEL" => Self::Del,
            "CHECK" => Self::Check,
            "GC" => Self::Gc,
            "STATUS" => Self::Status,
            "VERSION" => Self::Version,
            other => Self::Unknown(other.to_owned()),
        }
    }

    /// Whether the command is about one attachment.
    #[must_use]
    pub fn names_attachment(&self) -> bool {
        matches!(self, Self::Add | Self::Del | Self::Check)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Add => "ADD",
            Self::Del => "DEL",
            Self::Check => "CHECK",
            Self::Gc => "GC",
            Self::Status => "STATUS",
            Self::Version => "VERSION",
            Self::Unknown(text) => text,
        })
    }
}

/// The environment of one call; unset variables are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// `CNI_COMMAND`.
    pub command: Command,
    /// `CNI_CONTAINERID`.
    pub container_id: String,
    /// `CNI_NETNS`.
    pub netns: String,
    /// `CNI_IFNAME`.
    pub interface: String,
    /// `CNI_ARGS`.
    pub args: String,
    /// `CNI_PATH`.
    pub path: String,
    /// `CNI_NETNS_OVERRIDE`: the pod may be in the plugin's own network namespace.
    pub netns_override: bool,
}

impl Environment {
    /// Reads the variables with `lookup` and checks them.
    ///
    /// # Errors
    /// `InvalidEnvironment`, first for a malformed container id or interface name, then for all missing variables in
    /// one error.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let value = |name: &str| lookup(name).unwrap_or_default();
        let environment = Self {
            command: Command::new(&value("CNI_COMMAND")),
            container_id: value("CNI_CONTAINERID"),
            netns: value("CNI_NETNS"),
            interface: value("CNI_IFNAME"),
            args: value("CNI_ARGS"),
            path: value("CNI_PATH"),
            netns_override: matches!(value("CNI_NETNS_OVERRIDE").to_ascii_uppercase().as_str(), "1" | "TRUE"),
        };
        environment.check()?;
        Ok(environment)
    }

    fn check(&self) -> Result<(), Error> {
        if self.command.names_attachment() {
            if !self.container_id.is_empty() {
                ContainerId::new(&self.container_id).map_err(invalid)?;
            }
            if !self.interface.is_empty() {
                InterfaceName::new(&self.interface).map_err(invalid)?;
            }
        }
        let named = self.command.names_attachment();
        let required = [
            ("CNI_CONTAINERID", &self.container_id, named),
            ("CNI_NETNS", &self.netns, matches!(self.command, Command::Add | Command::Check)),
            ("CNI_IFNAME", &self.interface, named),
            ("CNI_PATH", &self.path, named || matches!(self.command, Command::Gc | Command::Status)),
        ];
        let missing: Vec<_> = required
            .into_iter()
            .filter_map(|(name, value, required)| (required && value.is_empty()).then_some(name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(invalid(format_args!("required env variables [{}] missing", missing.join(","))))
    }
}

fn invalid(cause: impl fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidEnvironment, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `CNI_COMMAND`, `CNI_CONTAINERID`, `CNI_NETNS`, `CNI_IFNAME` and `CNI_PATH`, in this order.
    fn read(values: [&str; 5]) -> Result<Environment, String> {
        let names = ["CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"];
        let lookup = |name: &str| {
            let index = names.iter().position(|known| *known == name)?;
            Some(values[index].to_owned())
        };
        Environment::read(lookup).map_err(|error| {
            assert_eq!(error.code, ErrorCode::InvalidEnvironment);
            error.cause
        })
    }

    #[test]
    fn each_command_has_its_required_variables() {
        for (command, missing) in [
            ("ADD", "CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH"),
            ("CHECK", "CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH"),
            ("DEL", "CNI_CONTAINERID,CNI_IFNAME,CNI_PATH"),
            ("GC", "CNI_PATH"),
            ("STATUS", "CNI_PATH"),
        ] {
            let expected = format!("required env variables [{missing}] missing");
            assert_eq!(read([command, "", "", "", ""]), Err(expected));
        }
        for command in ["VERSION", "FOO", "add"] {
            assert!(read([command, "", "", "", ""]).is_ok());
        }
        assert!(read(["DEL", "c", "", "eth0", "/bin"]).is_ok());
    }

    #[test]
    fn malformed_names_come_before_missing_variables() {
        assert_eq!(read(["ADD", "a/b", "", "", ""]).unwrap_err(), "invalid characters in containerID: a/b");
        assert_eq!(
            read(["ADD", "", "", "a:b", ""]).unwrap_err(),
            "interface name contains / or : or whitespace characters: a:b"
        );
        assert_eq!(read(["DEL", "/", "", "/", "/bin"]).unwrap_err(), "invalid characters in containerID: /");
    }

    #[test]
    fn variables_of_other_commands_are_not_checked() {
        assert!(read(["GC", "/", "", "..", "/bin"]).is_ok());
        assert!(read(["VERSION", "/", "", "..", ""]).is_ok());
    }

    #[test]
    fn the_override_is_one_or_true() {
        for (value, expected) in
            [("1", true), ("TRUE", true), ("true", true), ("0", false), ("yes", false), ("", false)]
        {
            let lookup = |name: &str| (name == "CNI_NETNS_OVERRIDE").then(|| value.to_owned());
            assert_eq!(Environment::read(lookup).unwrap().netns_override, expected, "{value}");
        }
    }
}
