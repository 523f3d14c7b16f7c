//! One cell of the table.

use tenure_types::ErrorCode;

/// The answer to a verb in a situation, and thereby what the ledger holds afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Success, with the verb's effect on the ledger.
    Done,
    /// Success, and the ledger stays as it was: there was nothing to do.
    Nothing,
    /// Success, with the verb's effect; those that should have had an address and had none have got one, too.
    Fresh,
    /// Accepted with a finding: the address cannot be assigned to its owner, so it is held for an unknown one.
    Doubtful,
    /// Success now; the effect comes when the situation has ended.
    Later,
    /// Refused with this error; the ledger stays as it was.
    Refused(ErrorCode),
    /// Refused with this error although the effect may have taken place: it is not known to be durable, so the caller asks again.
    Unconfirmed(ErrorCode),
    /// Of two callers, one is served with the verb's effect; the other, who comes later, is refused with this error.
    Once(ErrorCode),
    /// Of two callers, both are served with the verb's effect, or one of them is refused with this error: it depends on how far the first is
    /// when the second comes.
    Overtaken(ErrorCode),
}

impl Cell {
    /// The error that a caller gets, if one does.
    #[must_use]
    pub fn error(self) -> Option<ErrorCode> {
        match self {
            Self::Refused(code) | Self::Unconfirmed(code) | Self::Once(code) | Self::Overtaken(code) => {
                Some(code)
            }
            Self::Done | Self::Nothing | Self::Fresh | Self::Doubtful | Self::Later => None,
        }
    }

    /// The cell as the book shows it.
    #[must_use]
    pub fn shown(self) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Nothing => "nothing to do".to_owned(),
            Self::Fresh => "done, with a new address".to_owned(),
            Self::Doubtful => "held for an unknown owner".to_owned(),
            Self::Later => "done afterwards".to_owned(),
            Self::Refused(code) => format!("[`{code}`](#what-to-do)"),
            Self::Unconfirmed(code) => format!("[`{code}`](#what-to-do), unconfirmed"),
            Self::Once(code) => format!("done once; [`{code}`](#what-to-do)"),
            Self::Overtaken(code) => format!("done; or done once, [`{code}`](#what-to-do)"),
        }
    }
}
