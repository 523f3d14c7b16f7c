//! Effects: what a policy wants done outside the ledger, so that a pool's supply changes.

use crate::Attributes;

/// The kind of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// Attaches one more network interface.
    AttachInterface,
    /// Detaches a network interface and deletes it.
    DetachInterface,
    /// Assigns addresses to a network interface.
    AssignAddress,
    /// Drains an address of a network interface and unassigns it.
    ReleaseAddress,
    /// Assigns prefixes to a network interface.
    AssignPrefix,
    /// Drains a prefix of a network interface and unassigns it.
    ReleasePrefix,
    /// Leases one more block of a cluster's pool.
    RequestBlock,
    /// Drains a leased block and returns it.
    GiveBackBlock,
}

impl EffectKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::AttachInterface,
        Self::DetachInterface,
        Self::AssignAddress,
        Self::ReleaseAddress,
        Self::AssignPrefix,
        Self::ReleasePrefix,
        Self::RequestBlock,
        Self::GiveBackBlock,
    ];

    /// The kind's name in the interface, in the log and in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AttachInterface => "attach-interface",
            Self::DetachInterface => "detach-interface",
            Self::AssignAddress => "assign-address",
            Self::ReleaseAddress => "release-address",
            Self::AssignPrefix => "assign-prefix",
            Self::ReleasePrefix => "release-prefix",
            Self::RequestBlock => "request-block",
            Self::GiveBackBlock => "give-back-block",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it takes something from a pool's supply.
    #[must_use]
    pub fn takes(self) -> bool {
        matches!(
            self,
            Self::DetachInterface | Self::ReleaseAddress | Self::ReleasePrefix | Self::GiveBackBlock
        )
    }
}

/// A change that a policy wants in a pool's supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The effect's kind.
    pub kind: EffectKind,
    /// The pool's index in its network.
    pub pool: usize,
    /// The target of the effect, and how much.
    pub attributes: Attributes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_known_by_its_name() {
        for kind in EffectKind::ALL {
            assert_eq!(EffectKind::named(kind.name()), Some(kind));
        }
        assert_eq!(EffectKind::named("reboot"), None);
    }
}
