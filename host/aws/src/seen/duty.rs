//! The role of an interface on this host.

use crate::names::{INSTANCE_TAG, UNMANAGED_TAG};
use crate::port::Ec2Interface;

/// The role of an interface on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duty {
    /// The instance's own, which always stays.
    Primary,
    /// One that this host manages.
    Managed,
    /// Nothing is done about it, because of this.
    Foreign(String),
}

impl Duty {
    /// The duty of an interface of `instance`, by the rules of the Amazon VPC CNI.
    pub(super) fn of(interface: &Ec2Interface, instance: &str, manage_untagged: bool) -> Self {
        let place = interface.attachment.as_ref().map(|attachment| (attachment.card, attachment.device));
        let tag = |name: &str| interface.tags.get(name).map(String::as_str);
        match (place, interface.kind.as_str(), tag(UNMANAGED_TAG), tag(INSTANCE_TAG)) {
            (Some((0, 0)), ..) => Self::Primary,
            (_, kind, ..) if kind != "interface" => Self::Foreign(format!("it is of type {kind}")),
            (Some((card, _)), ..) if card > 0 => Self::Foreign(format!("it is on network card {card}")),
            (_, _, Some("true"), _) => Self::Foreign(format!("its tag {UNMANAGED_TAG} is true")),
            (_, _, Some(_), _) => Self::Managed,
            (_, _, _, Some(of)) if of == instance => Self::Managed,
            _ if manage_untagged => Self::Managed,
            _ => {
                Self::Foreign("it has no tag of this node, and interfaces.manageUntagged is false".to_owned())
            }
        }
    }

    /// Names it for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Managed => "managed",
            Self::Foreign(_) => "foreign",
        }
    }

    /// Whether addresses may be assigned to it and taken from it.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        matches!(self, Self::Primary | Self::Managed)
    }
}
