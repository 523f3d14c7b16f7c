//! How a doc comment begins.

/// First words that make a reader look for what they refer to.
const PRONOUNS: [&str; 21] = [
    "what",
    "who",
    "whose",
    "whom",
    "when",
    "where",
    "its",
    "it",
    "they",
    "their",
    "that",
    "this",
    "these",
    "those",
    "he",
    "his",
    "she",
    "her",
    "whoever",
    "whatever",
    "whichever",
];

/// Complains about the beginning of a doc comment.
pub(super) fn complaint(doc: &str) -> Option<String> {
    let mut words = doc.split_whitespace();
    let first = words.next()?;
    let plain = first.trim_matches(|character: char| !character.is_alphanumeric());
    if PRONOUNS.contains(&plain.to_lowercase().as_str()) {
        return Some(format!("a doc comment begins with a verb or the thing, not with {plain:?}"));
    }
    let is_word = first.trim_end_matches('.').chars().all(char::is_alphabetic);
    (is_word && words.next().is_none()).then(|| format!("{first:?} says nothing that the name does not say"))
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn pronouns_and_single_words_are_found() {
        for doc in ["What it does.", "Its name.", "Whose turn it is.", "Name.", "When"] {
            assert!(complaint(doc).is_some(), "{doc}");
        }
    }

    #[test]
    fn a_verb_or_a_thing_may_begin_a_doc() {
        for doc in ["Whether it is full.", "Returns what is left.", "`ipv4`.", "[`Name`]", "Item names", ""] {
            assert_eq!(complaint(doc), None, "{doc}");
        }
    }
}
