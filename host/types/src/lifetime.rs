//! The ways in which allocations end, by kind of owner. Defined only here.

use crate::Owner;

/// Why an allocation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The runtime sent a DEL for it.
    Del,
    /// A GC of the runtime no longer listed it.
    Gc,
    /// The ADD that made it was abandoned or could not be made durable.
    Undone,
    /// Two independent checks have found it gone for a while.
    Leak,
    /// Two independent checks found it gone, and an operator asked for the repair.
    Repair,
    /// An operator ended it.
    Operator,
    /// The source that it was imported from now names another owner for the address.
    Import,
    /// The machine was rebooted, so nothing that ran before still runs.
    Reboot,
    /// The agent that claimed it released it.
    Agent,
    /// The agent that claimed it did not renew its lease, or did not return after a reboot.
    Lapsed,
}

impl End {
    /// The reason recorded in the log.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Del => "del",
            Self::Gc => "gc",
            Self::Undone => "undone",
            Self::Leak => "leak",
            Self::Repair => "repair",
            Self::Operator => "operator",
            Self::Import => "import",
            Self::Reboot => "reboot",
            Self::Agent => "agent",
            Self::Lapsed => "lapsed",
        }
    }

    /// Whether this can end an allocation of the given owner.
    ///
    /// An attachment ends in all of these ways, except that no agent releases it or lets it lapse. An unknown owner is
    /// known to no runtime, so a DEL or a GC's list says nothing about it. A claim is released by its agent, or lapses as
    /// the agent and the operator have agreed: no runtime knows it, the agent still needs it after a reboot, and it has no
    /// sandbox that could leak.
    #[must_use]
    pub fn ends(self, owner: &Owner) -> bool {
        match owner {
            Owner::Attachment { .. } => !matches!(self, Self::Agent | Self::Lapsed),
            Owner::Claim { .. } => {
                matches!(self, Self::Agent | Self::Lapsed | Self::Undone | Self::Operator)
            }
            Owner::Unknown { .. } => {
                matches!(self, Self::Leak | Self::Repair | Self::Operator | Self::Import | Self::Reboot)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentName, ClaimName, ContainerId, InterfaceName};

    const ALL: [End; 10] = [
        End::Del,
        End::Gc,
        End::Undone,
        End::Leak,
        End::Repair,
        End::Operator,
        End::Import,
        End::Reboot,
        End::Agent,
        End::Lapsed,
    ];

    fn ends(owner: &Owner) -> Vec<&'static str> {
        ALL.into_iter().filter(|end| end.ends(owner)).map(End::reason).collect()
    }

    #[test]
    fn each_kind_of_owner_ends_in_its_own_ways() {
        let container = ContainerId::new("c").unwrap();
        let attachment = Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() };
        assert_eq!(
            ends(&attachment),
            ["del", "gc", "undone", "leak", "repair", "operator", "import", "reboot"]
        );
        let agent = AgentName::new("cilium").unwrap();
        let claim = Owner::Claim { agent, name: ClaimName::new("router").unwrap() };
        assert_eq!(ends(&claim), ["undone", "operator", "agent", "lapsed"]);
        let unknown = Owner::Unknown { address: [10, 0, 0, 2].into() };
        assert_eq!(ends(&unknown), ["leak", "repair", "operator", "import", "reboot"]);
    }
}
