//! Makes a policy's texts safe for log lines and error messages.

/// The most characters of a policy's text that are shown.
const LONGEST: usize = 512;

/// A policy's text, truncated, and without characters that would break a line or a terminal.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned: String =
        text.chars().take(LONGEST).map(|c| if is_harmless(c) { c } else { '\u{fffd}' }).collect();
    if text.chars().nth(LONGEST).is_some() {
        cleaned.push('…');
    }
    cleaned
}

/// Control characters, and those that change the text direction, are harmful.
fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_cannot_break_a_line() {
        assert_eq!(clean("plain, ümlaut"), "plain, ümlaut");
        assert_eq!(clean("a\nb\x1b[31m\u{202e}c"), "a\u{fffd}b\u{fffd}[31m\u{fffd}c");
        assert_eq!(clean(&"é".repeat(10_000)).chars().count(), LONGEST + 1);
    }
}
