//! One cell of the table.

use tenure_types::ErrorCode;

/// The answer to a verb in a situation, and thereby what the ledger holds afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Success, with the verb's effect on the ledger.
    Done,
    /// Success, and the ledger stays as it was: there was nothing to do.
    Nothing,
    /// Accepted with a finding: the address cannot be assigned to its owner, so it is held for an unknown one.
    Doubtful,
    /// Success now; the effect comes when the situation has ended.
    Later,
    /// Refused with this error; the ledger stays as it was.
    Refused(ErrorCode),
    /// Refused with this error although the effect may have taken place: it is not known to be durable, so the caller asks again.
    Unconfirmed(ErrorCode),
}

impl Cell {
    /// The cell as the book shows it.
    #[must_use]
    pub fn shown(self) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Nothing => "nothing to do".to_owned(),
            Self::Doubtful => "held for an unknown owner".to_owned(),
            Self::Later => "done afterwards".to_owned(),
            Self::Refused(code) => format!("[`{code}`](errors.md)"),
            Self::Unconfirmed(code) => format!("[`{code}`](errors.md), unconfirmed"),
        }
    }
}
