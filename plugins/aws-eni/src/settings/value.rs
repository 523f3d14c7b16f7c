//! The value of a setting, as the configuration has it.

use tenure_sdk::{ConfigError, Json, Node, Subnet};

use super::knob::KnobKind;

/// The longest value of a definition's attribute, in bytes.
const LONGEST: usize = 512;

/// Tags that the host sets itself.
const RESERVED_TAGS: [&str; 3] = ["node.k8s.amazonaws.com/", "cluster.k8s.amazonaws.com/", "eks:eni:owner"];

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A number.
    Count(u32),
    /// Yes or no.
    Flag(bool),
    /// Anything else, as a definition's attribute has it.
    Text(String),
}

impl Value {
    /// The default of a kind; none if there is none.
    pub(super) fn default(kind: KnobKind) -> Option<Self> {
        match kind {
            KnobKind::Count(default) | KnobKind::Bounded(_, _, default) => default.map(Self::Count),
            KnobKind::Flag(default) => Some(Self::Flag(default)),
            _ => Some(kind.default()).filter(|default| !default.is_empty()).map(Self::Text),
        }
    }

    /// Reads a value under a key of our own.
    ///
    /// # Errors
    /// With the key's path.
    pub(super) fn own(kind: KnobKind, node: &Node) -> Result<Self, ConfigError> {
        let value = match kind {
            KnobKind::Count(_) => Self::Count(node.count()?),
            KnobKind::Bounded(least, most, _) => match node.count()? {
                count if (least..=most).contains(&count) => Self::Count(count),
                _ => return Err(node.wrong(format!("must be from {least} to {most}"))),
            },
            KnobKind::Flag(_) => match node.value() {
                Json::Bool(flag) => Self::Flag(*flag),
                _ => return Err(node.wrong("must be true or false")),
            },
            KnobKind::Text(_) => Self::Text(node.text()?.into()),
            KnobKind::Choice(names) => match node.text()? {
                text if names.contains(&text) => Self::Text(text.into()),
                _ => return Err(node.wrong(format!("must be one of: {}", names.join(", ")))),
            },
            KnobKind::Mark(_) => match mark(node.text()?) {
                Some(mark) => Self::Text(mark),
                None => return Err(node.wrong("must be bits of a mark, such as \"0x80\"")),
            },
            KnobKind::NamePrefix(_) => {
                let text = node.text()?;
                name_prefix(text).map_err(|message| node.wrong(message))?;
                Self::Text(text.into())
            }
            KnobKind::Subnets => {
                let mut subnets = Vec::new();
                for item in node.items()? {
                    let subnet = ipv4(item.text()?);
                    subnets.push(subnet.ok_or_else(|| item.wrong("must be an IPv4 subnet"))?);
                }
                Self::Text(subnets.join(","))
            }
            KnobKind::Tags => Self::Text(tags(node)?.0),
        };
        value.bounded(node)
    }

    /// Returns the value, if the host can keep it.
    ///
    /// # Errors
    /// With the key's path.
    pub(super) fn bounded(self, node: &Node) -> Result<Self, ConfigError> {
        match &self {
            Self::Text(text) if text.len() > LONGEST => {
                Err(node.wrong(format!("is {} bytes long, and the limit is {LONGEST}", text.len())))
            }
            _ => Ok(self),
        }
    }

    /// The value of a definition's attribute.
    pub(super) fn attribute(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// An IPv4 subnet as text, without host bits.
pub(super) fn ipv4(text: &str) -> Option<String> {
    let subnet: Subnet = text.trim().parse().ok()?;
    let network = subnet.network();
    network.is_ipv4().then(|| format!("{network}/{}", subnet.prefix_length()))
}

/// A mark in hexadecimal, from decimal or hexadecimal text.
pub(super) fn mark(text: &str) -> Option<String> {
    let text = text.trim();
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.ok().filter(|mark| *mark != 0).map(|mark| format!("{mark:#x}"))
}

/// Checks the beginning of the names of pods' interfaces, by the rules of ipamd.
pub(super) fn name_prefix(text: &str) -> Result<(), String> {
    let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match text {
        "eth" | "lo" | "vlan" => Err(format!("{text:?} is used by other interfaces")),
        _ if text.len() > 4 || !is_name => Err("must be 1 to 4 letters or digits".into()),
        _ => Ok(()),
    }
}

/// Tags as JSON text without the reserved ones, and the names of those.
pub(super) fn tags(node: &Node) -> Result<(String, Vec<String>), ConfigError> {
    let (mut kept, mut reserved) = (Vec::new(), Vec::new());
    for (name, value) in node.entries()? {
        match RESERVED_TAGS.iter().any(|start| name.starts_with(start)) {
            true => reserved.push(name),
            false => kept.push(format!("{}:{}", quoted(&name), quoted(value.text()?))),
        }
    }
    let text = if kept.is_empty() { String::new() } else { format!("{{{}}}", kept.join(",")) };
    Ok((text, reserved))
}

/// A string in JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
