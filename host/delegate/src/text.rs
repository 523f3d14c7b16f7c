//! Makes a delegate's texts safe for log lines and error messages.

/// The most characters of a delegate's text that are shown.
const LONGEST: usize = 512;

/// A delegate's text on one line, truncated, and without characters that would break a line or a terminal.
pub(crate) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let harmless = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut cleaned: String =
        text.chars().take(LONGEST).map(|c| if harmless(c) { c } else { '\u{fffd}' }).collect();
    if text.chars().nth(LONGEST).is_some() {
        cleaned.push('…');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_cannot_break_a_line() {
        assert_eq!(clean(b" plain \n"), "plain");
        assert_eq!(clean("a\nb\x1b[31m\u{202e}c".as_bytes()), "a\u{fffd}b\u{fffd}[31m\u{fffd}c");
        assert_eq!(clean(&vec![b'x'; 10_000]).chars().count(), LONGEST + 1);
    }
}
