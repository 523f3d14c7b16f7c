//! The supported versions of the CNI specification, and the versions that commands require.

use std::fmt;

use super::Command;
use crate::{Error, ErrorCode};

/// A supported version of the CNI specification, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpecVersion {
    /// The default of a configuration without a version.
    V0_1_0,
    /// Results have at most one address per family.
    V0_2_0,
    /// Results have lists of addresses.
    V0_3_0,
    /// An editorial correction of 0.3.0.
    V0_3_1,
    /// Adds CHECK.
    V0_4_0,
    /// Addresses no longer state their family.
    V1_0_0,
    /// Adds GC and STATUS.
    V1_1_0,
}

impl SpecVersion {
    /// Every supported version, oldest first.
    pub const ALL: [Self; 7] =
        [Self::V0_1_0, Self::V0_2_0, Self::V0_3_0, Self::V0_3_1, Self::V0_4_0, Self::V1_0_0, Self::V1_1_0];

    /// The version for an answer when the request's version is unknown.
    pub const NEWEST: Self = Self::V1_1_0;

    /// The version as written in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            Self::V0_2_0 => "0.2.0",
            Self::V0_3_0 => "0.3.0",
            Self::V0_3_1 => "0.3.1",
            Self::V0_4_0 => "0.4.0",
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
        }
    }

    /// Finds the version with exactly this name; an empty string means 0.1.0.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::V0_1_0),
            text => Self::ALL.into_iter().find(|version| version.as_str() == text),
        }
    }

    /// Determines the version of a command's configuration.
    ///
    /// # Errors
    /// `IncompatibleVersion`, with the reference's message, for a version that is not supported or is too old for the
    /// command.
    pub fn settle(text: &str, command: &Command) -> Result<Self, Error> {
        let refuse = |side| {
            let cause = format!("{side} version does not allow {command}");
            Err(Error::new(ErrorCode::IncompatibleVersion, cause))
        };
        let oldest = match command {
            Command::Check => Some(Self::V0_4_0),
            Command::Gc | Command::Status => Some(Self::V1_1_0),
            Command::Add | Command::Del | Command::Version | Command::Unknown(_) => None,
        };
        let text = if text.is_empty() { Self::V0_1_0.as_str() } else { text };
        if let Some((oldest, numbers)) = oldest.zip(numbers(text)) {
            if Some(numbers) < self::numbers(oldest.as_str()) {
                return refuse("config");
            }
            if Some(numbers) > self::numbers(Self::NEWEST.as_str()) {
                return refuse("plugin");
            }
        }
        Self::find(text).ok_or_else(|| {
            let supported = Self::ALL.map(|version| format!("{:?}", version.as_str())).join(" ");
            let cause =
                format!("incompatible CNI versions: config is {text:?}, plugin supports [{supported}]");
            Error::new(ErrorCode::IncompatibleVersion, cause)
        })
    }
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl serde::Serialize for SpecVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The output of `CNI_COMMAND=VERSION`.
#[must_use]
pub fn versions() -> String {
    let supported = SpecVersion::ALL.map(|version| format!("{:?}", version.as_str())).join(",");
    format!(r#"{{"cniVersion":"{}","supportedVersions":[{supported}]}}"#, SpecVersion::NEWEST)
}

/// The output for an empty `CNI_COMMAND`: most likely a person has run the plugin by hand. Its second word is the plugin's version, which
/// `tenurectl` reads.
#[must_use]
pub fn about() -> String {
    let supported = SpecVersion::ALL.map(SpecVersion::as_str).join(", ");
    format!(
        "tenure {}, a CNI IPAM plugin; it gets addresses from the tenured daemon\n\
         under the name tenure-eni, a CNI main plugin: tenured also makes the pod's link\n\
         CNI protocol versions supported: {supported}",
        env!("CARGO_PKG_VERSION")
    )
}

/// The numbers of any version, supported or not; missing parts are zero.
fn numbers(text: &str) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split('.');
    for (number, part) in numbers.iter_mut().zip(&mut parts) {
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(text: &str, command: &Command) -> Result<SpecVersion, String> {
        SpecVersion::settle(text, command).map_err(|error| {
            assert_eq!(error.code, ErrorCode::IncompatibleVersion);
            error.cause
        })
    }

    #[test]
    fn every_version_is_found_by_its_exact_name() {
        for version in SpecVersion::ALL {
            assert_eq!(settle(version.as_str(), &Command::Add), Ok(version));
        }
        assert_eq!(settle("", &Command::Del), Ok(SpecVersion::V0_1_0));
        for foreign in ["9.9.9", "1.1", "1.1.00", " 1.1.0", "v1.1.0", "1.1.0.0", "x"] {
            let cause = settle(foreign, &Command::Add).unwrap_err();
            assert!(cause.starts_with("incompatible CNI versions: config is "), "{cause}");
        }
    }

    #[test]
    fn commands_need_the_version_that_brought_them() {
        for (command, oldest) in [
            (Command::Check, SpecVersion::V0_4_0),
            (Command::Gc, SpecVersion::V1_1_0),
            (Command::Status, SpecVersion::V1_1_0),
        ] {
            for version in SpecVersion::ALL {
                let expected = if version < oldest {
                    Err(format!("config version does not allow {command}"))
                } else {
                    Ok(version)
                };
                assert_eq!(settle(version.as_str(), &command), expected);
            }
            assert_eq!(settle("9.9.9", &command), Err(format!("plugin version does not allow {command}")));
            assert_eq!(settle("", &command), Err(format!("config version does not allow {command}")));
            assert!(settle("x", &command).unwrap_err().starts_with("incompatible"));
        }
        assert!(settle("0.4.5", &Command::Check).unwrap_err().starts_with("incompatible"));
    }

    #[test]
    fn what_is_printed() {
        insta::assert_snapshot!(versions(), @r#"{"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}"#);
        insta::assert_snapshot!(about().replacen(env!("CARGO_PKG_VERSION"), "VERSION", 1), @r"
        tenure VERSION, a CNI IPAM plugin; it gets addresses from the tenured daemon
        under the name tenure-eni, a CNI main plugin: tenured also makes the pod's link
        CNI protocol versions supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0
        ");
        insta::assert_snapshot!(settle("9.9.9", &Command::Add).unwrap_err(), @r#"incompatible CNI versions: config is "9.9.9", plugin supports ["0.1.0" "0.2.0" "0.3.0" "0.3.1" "0.4.0" "1.0.0" "1.1.0"]"#);
    }
}
