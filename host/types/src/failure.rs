//! The ways in which a policy fails a call.

/// How a policy failed; used as a metric label and in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolicyFailure {
    /// The policy trapped: a panic, a stack overflow, an invalid memory access.
    Trap,
    /// The policy exceeded a call's time limit.
    Deadline,
    /// The policy exceeded a call's memory limit.
    Memory,
    /// The policy's answer exceeded the length limit.
    Length,
    /// The policy's answer was malformed, such as an invalid address.
    Nonsense,
    /// The ledger refused its proposal or definition.
    Rejected,
}

impl PolicyFailure {
    /// Every kind of failure.
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
