//! A fingerprint of a file, taken without reading it.

use std::path::Path;

use crate::parts::stat::Stat;

/// Two equal prints belong to the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Print {
    /// A regular file, and the signature beside it.
    File(Stat, Option<Stat>),
    /// Not a policy file, for this reason.
    Wrong(String),
}

impl Print {
    /// Looks at a file. Blocks.
    pub(super) fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(metadata) if !metadata.is_file() => Self::Wrong("not a regular file".to_owned()),
            Ok(metadata) => {
                let signature = path.with_added_extension("minisig").metadata().ok();
                Self::File(Stat::of(&metadata), signature.as_ref().map(Stat::of))
            }
            Err(error) => Self::Wrong(error.to_string()),
        }
    }
}
