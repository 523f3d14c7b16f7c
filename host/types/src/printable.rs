//! Text from outside, made harmless before a person sees it: the one place that says which characters are not.
//!
//! Control characters move a terminal's cursor and break a line of a log. Bidirectional and zero-width ones make a text
//! look like another one: a name that contains them can be shown as the name of somebody else's pod. What is stored
//! stays as it was; these functions are for the doors through which text leaves: the log, tenurectl's output, errors
//! and conditions.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character shows itself, takes its own place and leaves those beside it alone.
#[must_use]
pub fn is_harmless(character: char) -> bool {
    let is_invisible = matches!(
        character,
        // A soft hyphen, a joiner, the Arabic letter mark, fillers, Mongolian separators.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        // Zero-width spaces and joiners, marks of direction; line and paragraph separators, embeddings and overrides.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        // Word joiners, invisible operators, isolates, deprecated controls.
        | '\u{2060}'..='\u{206f}'
        // A filler, variation selectors, the byte order mark, another filler, specials.
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        // Musical controls; tags and more variation selectors.
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    !character.is_control() && !is_invisible
}

/// Text on one line: what is harmful is escaped as in Rust, such as `\n` and `\u{202e}`.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_harmless)
}

/// The same for text of several lines, whose line breaks and tabs stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t') || is_harmless(character))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if stays(character) {
            escaped.push(character);
        } else {
            // Others than line breaks, tabs and quotes are escaped by their number.
            escaped.extend(character.escape_default());
        }
    }
    Cow::Owned(escaped)
}

/// Serialized JSON with what is harmful in its strings escaped as JSON does it, so that a reader gets the same values. The
/// breaks and tabs between its values stay.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let stays = |character: char| character != '\u{7f}' && (character.is_ascii() || is_harmless(character));
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if stays(character) {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

/// The beginning of an untrusted program's text on one line, of at most `most` characters, and `…` if that is not all. A line break or a
/// tab becomes a space; what is otherwise harmful is escaped as by [`line()`], so that its author sees what it was.
#[must_use]
pub fn excerpt(text: &str, most: usize) -> String {
    let (mut excerpt, mut room) = (String::new(), most);
    for character in text.chars() {
        let character = if matches!(character, '\n' | '\r' | '\t') { ' ' } else { character };
        let width = if is_harmless(character) { 1 } else { character.escape_default().len() };
        let Some(left) = room.checked_sub(width) else {
            excerpt.push('…');
            break;
        };
        room = left;
        if is_harmless(character) {
            excerpt.push(character);
        } else {
            excerpt.extend(character.escape_default());
        }
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, and the bounds of each block that issue 24 names.
    const HARMFUL: &str = "\0\u{7}\u{8}\t\n\r\u{1b}\u{7f}\u{80}\u{85}\u{9b}\u{9f}\u{ad}\u{61c}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2064}\u{2066}\u{2067}\u{2068}\u{2069}\u{206f}\u{feff}\u{fff9}\u{e0001}\u{e0020}\u{e007f}\u{e0100}";

    #[test]
    fn what_is_harmful_is_never_shown() {
        for character in HARMFUL.chars() {
            assert!(!is_harmless(character), "{character:?}");
            let text = format!("a{character}b");
            for shown in [line(&text).into_owned(), json(&text).into_owned(), excerpt(&text, 9)] {
                let is_left = |shown: &str| shown.chars().any(|c| !c.is_ascii_control() && !is_harmless(c));
                assert!(!is_left(&shown), "{character:?}: {shown:?}");
            }
            assert!(line(&text).chars().all(is_harmless), "{character:?}");
        }
        assert_eq!(line("a\u{1b}[31mb\nc\u{9b}d\u{202e}é"), "a\\u{1b}[31mb\\nc\\u{9b}d\\u{202e}é");
        assert_eq!(lines("a\n\tb\r\u{200b}"), "a\n\tb\\r\\u{200b}");
    }

    #[test]
    fn what_is_harmless_stays_as_it_is() {
        for text in
            ["", "plain", "ümlaut é 日本語 עברית العربية Ελληνικά", "\u{fffd}", "\"'\\`|&", "naïve 😀"]
        {
            assert!(matches!(line(text), Cow::Borrowed(_)), "{text}");
            assert_eq!((json(text).as_ref(), excerpt(text, 99).as_str()), (text, text));
        }
    }

    #[test]
    fn json_has_the_same_values() {
        let value = serde_json::json!({ HARMFUL: [HARMFUL, "é"], "n": 1 });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = json(&text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            assert!(shown.chars().all(|c| c == '\n' || is_harmless(c)), "{shown:?}");
        }
    }

    #[test]
    fn an_excerpt_is_bounded() {
        assert_eq!(excerpt("a\nb\u{1b}[31m\u{202e}c", 99), "a b\\u{1b}[31m\\u{202e}c");
        // As a panic is told.
        let panic = "panicked at src/lib.rs:3:5:\nindex out of bounds\r\n\tthe len is 0";
        assert_eq!(excerpt(panic, 99), "panicked at src/lib.rs:3:5: index out of bounds   the len is 0");
        let long = "é".repeat(10_000);
        assert_eq!(excerpt(&long, 512), format!("{}…", "é".repeat(512)));
        assert_eq!(excerpt(&"é".repeat(512), 512), "é".repeat(512));
        // An escape is shown whole or not at all.
        assert_eq!((excerpt("ab\u{1b}", 8), excerpt("ab\u{1b}", 7)), ("ab\\u{1b}".into(), "ab…".into()));
    }
}
