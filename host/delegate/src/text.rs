//! Makes a delegate's texts safe for log lines and error messages.

use tenure_types::printable;

/// The most characters of a delegate's text that are shown.
const LONGEST: usize = 512;

/// A delegate's text on one line, truncated, and without characters that could deceive a reader.
pub(crate) fn clean(bytes: &[u8]) -> String {
    printable::excerpt(String::from_utf8_lossy(bytes).trim(), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_trimmed_and_need_not_be_utf_8() {
        assert_eq!(clean(b" plain \n"), "plain");
        assert_eq!(clean(b"a\nb\xff"), "a b\u{fffd}");
    }
}
