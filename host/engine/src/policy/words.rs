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

/// The words for what was done, and the reasons for it that are not empty.
pub(crate) fn explained(done: &str, reasons: &[&str]) -> String {
    let reasons: Vec<_> = reasons.iter().copied().filter(|reason| !reason.is_empty()).collect();
    match reasons.is_empty() {
        true => done.to_owned(),
        false => shortened(&format!("{done}: {}", reasons.join("; "))),
    }
}
