//! Makes a policy's texts safe for log lines and error messages.

use tenure_types::printable;

/// The most characters of a policy's text that are shown.
const LONGEST: usize = 512;

/// A policy's text on one line, truncated, and without characters that could deceive a reader.
pub(crate) fn clean(text: &str) -> String {
    printable::excerpt(text, LONGEST)
}
