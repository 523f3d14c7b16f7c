//! How a policy fails a call.

/// How a policy failed, as the label of a metric and in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolicyFailure {
    /// It trapped: a panic, an endless recursion, a wrong access.
    Trap,
    /// It ran longer than a call may.
    Deadline,
    /// It wanted more memory than a call may have.
    Memory,
    /// Its answer was longer than an answer may be.
    Length,
    /// It answered with what nothing can be made of: a text that should be an address and is none.
    Nonsense,
    /// The ledger refused what it proposed or defined.
    Rejected,
}

impl PolicyFailure {
    /// Every way to fail.
    pub const ALL: [Self; 6] =
        [Self::Trap, Self::Deadline, Self::Memory, Self::Length, Self::Nonsense, Self::Rejected];

    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::Length => "length",
            Self::Nonsense => "nonsense",
            Self::Rejected => "rejected",
        }
    }
}
