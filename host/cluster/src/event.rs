//! Events: the bounds that the API server sets.

/// The longest note that the API server takes, in bytes.
const LONGEST_NOTE: usize = 1024;

/// A text as the note of an event; what is too long is cut off between two characters.
#[must_use]
pub fn note(text: &str) -> String {
    text.get(..text.floor_char_boundary(LONGEST_NOTE)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_cut_off_between_two_characters() {
        assert_eq!(note("short"), "short");
        let long = format!("{}\u{e9}\u{e9}", "a".repeat(1023));
        assert_eq!(note(&long), "a".repeat(1023));
    }
}
