//! Reasons, as they are kept.

/// The longest reason that is kept, in bytes.
const LONGEST_REASON: usize = 1024;

/// A reason, cut to what is kept.
pub(crate) fn shortened(why: &str) -> String {
    match why.len() {
        ..=LONGEST_REASON => why.to_owned(),
        _ => format!("{}...", &why[..why.floor_char_boundary(LONGEST_REASON)]),
    }
}
