//! Settings: the names, the permitted values, and the part of tenure that follows each.

/// A setting, by its key in the `ipam` object and by the name that ipamd's environment has for it.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// The key, such as `warm.interfaces`; none if it exists only in the environment of ipamd.
    pub key: Option<&'static str>,
    /// The name in ipamd's environment; none if ipamd has no such setting.
    pub env: Option<&'static str>,
    /// The kind of the setting's values.
    pub kind: KnobKind,
    /// The part of tenure that follows it.
    pub role: Role,
}

/// The values that a setting may have, and its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobKind {
    /// A non-negative integer.
    Count(Option<u32>),
    /// An integer between two bounds.
    Bounded(u32, u32, Option<u32>),
    /// Yes or no.
    Flag(bool),
    /// Any text.
    Text(&'static str),
    /// One of these; the first is the default.
    Choice(&'static [&'static str]),
    /// A list of IPv4 subnets.
    Subnets,
    /// Bits of a packet's mark, such as `0x80`.
    Mark(&'static str),
    /// The beginning of an interface's name.
    NamePrefix(&'static str),
    /// Tags of EC2: an object whose values are strings.
    Tags,
}

/// The part of tenure that follows a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The policy plans or proposes with it.
    Policy,
    /// The host gets it, as an attribute of the definition with the key's name.
    Host,
    /// Policy and host both follow it.
    Both,
    /// Any value but the default is refused, for this reason.
    Refused(&'static str),
    /// Known, and without effect here, for this reason.
    Idle(&'static str),
}

impl KnobKind {
    /// The default as the book's table shows it; empty if there is none.
    #[must_use]
    pub fn default(self) -> String {
        match self {
            Self::Count(default) | Self::Bounded(_, _, default) => {
                default.map(|default| default.to_string()).unwrap_or_default()
            }
            Self::Flag(default) => default.to_string(),
            Self::Text(default) | Self::Mark(default) | Self::NamePrefix(default) => default.into(),
            Self::Choice(names) => names.first().copied().unwrap_or_default().into(),
            Self::Subnets | Self::Tags => String::new(),
        }
    }
}
