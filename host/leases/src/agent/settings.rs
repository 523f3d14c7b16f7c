//! The settings of a pool: which generation of its spec a node has in force.
//!
//! ```text
//!   the hint tells ...                         a quorum GET of the pool says ...     then
//!   ───────────────────────────────────────────────────────────────────────────────────────────
//!   the generation in force, or a higher one   -                                     take it
//!   a lower one                                nothing yet                           GET the pool
//!   a lower one                                the same                              take it: the store was restored
//!   a lower one                                another, or no answer                 keep: a deposed operator's late hint
//! ```
//!
//! A restore sets the generation back, and edits after it count from there. A node that waited until they pass the generation which it has in force
//! would hand out addresses that have been excluded meanwhile.

/// The consequence of a told generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsVerdict {
    /// Put the told settings in force.
    Take,
    /// Leave what is in force.
    Keep,
    /// GET the pool by a quorum read, and decide again.
    Look,
}

/// Decides about the settings of a pool that the operator's hint tells.
///
/// `known` is the generation in force, and `stored` that of the pool by a quorum GET which was made after the hint was read.
#[must_use]
pub fn take_settings(known: Option<u64>, told: u64, stored: Option<u64>) -> SettingsVerdict {
    match (known, stored) {
        (None, _) => SettingsVerdict::Take,
        (Some(known), _) if told >= known => SettingsVerdict::Take,
        (Some(_), None) => SettingsVerdict::Look,
        (Some(_), Some(stored)) if stored == told => SettingsVerdict::Take,
        (Some(_), Some(_)) => SettingsVerdict::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_generation_counts_if_the_pool_itself_has_it() {
        assert_eq!(take_settings(None, 3, None), SettingsVerdict::Take);
        assert_eq!(take_settings(Some(3), 3, None), SettingsVerdict::Take);
        assert_eq!(take_settings(Some(3), 4, Some(9)), SettingsVerdict::Take);
        assert_eq!(take_settings(Some(7), 4, None), SettingsVerdict::Look);
        assert_eq!(take_settings(Some(7), 4, Some(4)), SettingsVerdict::Take);
        assert_eq!(take_settings(Some(7), 4, Some(8)), SettingsVerdict::Keep);
    }
}
