//! What ends an allocation, by the kind of its owner: the only place that says so.

use crate::Owner;

/// Why an allocation may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The runtime gives its addresses back.
    Del,
    /// The runtime no longer lists it.
    Gc,
    /// The ADD that made it was given up before it was answered.
    Undone,
    /// Two witnesses say that it is gone, and have for a while.
    Leak,
    /// Two witnesses say that it is gone, and an operator has asked.
    Repair,
    /// An operator's word.
    Operator,
    /// The source that it was taken over from says by now whose the address really is.
    Import,
    /// The machine was booted: nothing that ran before runs still.
    Reboot,
    /// The agent that claimed it gives it back.
    Agent,
}

impl End {
    /// The reason that a record of it has.
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
        }
    }

    /// Whether it ends an allocation of this owner.
    ///
    /// An attachment ends in each of these ways. An unknown owner is on nobody's list, so that neither a DEL nor a list that
    /// does not have it says anything of it. A claim is its agent's to give back: no runtime knows of it, a boot does not end
    /// the agent's need, and nothing that could leak has it.
    #[must_use]
    pub fn ends(self, owner: &Owner) -> bool {
        match owner {
            Owner::Attachment { .. } => self != Self::Agent,
            Owner::Claim { .. } => matches!(self, Self::Agent | Self::Undone | Self::Operator),
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

    const ALL: [End; 9] = [
        End::Del,
        End::Gc,
        End::Undone,
        End::Leak,
        End::Repair,
        End::Operator,
        End::Import,
        End::Reboot,
        End::Agent,
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
        assert_eq!(ends(&claim), ["undone", "operator", "agent"]);
        let unknown = Owner::Unknown { address: [10, 0, 0, 2].into() };
        assert_eq!(ends(&unknown), ["leak", "repair", "operator", "import", "reboot"]);
    }
}
