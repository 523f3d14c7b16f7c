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
        }
    }

    /// Whether it ends an allocation of this owner.
    ///
    /// An attachment ends in each of these ways. An unknown owner is on nobody's list, so that neither a DEL nor a list that
    /// does not have it says anything of it.
    #[must_use]
    pub fn ends(self, owner: &Owner) -> bool {
        match (owner, self) {
            (Owner::Attachment { .. }, _)
            | (
                Owner::Unknown { .. },
                Self::Leak | Self::Repair | Self::Operator | Self::Import | Self::Reboot,
            ) => true,
            (Owner::Unknown { .. }, Self::Del | Self::Gc | Self::Undone) => false,
        }
    }
}
