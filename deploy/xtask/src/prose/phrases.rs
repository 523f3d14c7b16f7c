//! Phrases that read as translated, each with what to write instead.

/// A phrase in lower case; `|` parts alternatives, `*` is any word.
struct Phrase {
    words: &'static str,
    instead: &'static str,
    /// Words that make the phrase idiomatic, before it, after it or at its end.
    unless: &'static str,
}

/// Shortens the table.
const fn phrase(words: &'static str, instead: &'static str, unless: &'static str) -> Phrase {
    Phrase { words, instead, unless }
}

const PHRASES: &[Phrase] = &[
    phrase(
        "is|are|was|were|be no *",
        "write \"is not a\"",
        "there than longer more less better worse different such way need point reason room one help telling",
    ),
    phrase("is|are|was|were none", "write \"is not one\" or \"is invalid\"", "there here of"),
    phrase("is|are|was nothing that|which", "write that it is not supported, or is not one", "there"),
    phrase("shall", "write must, should or will", ""),
    phrase("whoever", "name the subject", ""),
    phrase("whomever", "name the object", ""),
    phrase("whatever", "name the thing", ""),
    phrase("anew", "write again, or the verb itself: overwrite, recompute", ""),
    phrase("mend|mends|mended|mending", "write fix or repair", ""),
    phrase("told|tell|tells|telling of", "write tell about, notify or report", ""),
    phrase("has|have|had not so|a|an|the|any|enough|its|that|one", "write \"does not have\"", ""),
    phrase("nought", "write zero", ""),
    phrase("gone|going|goes|go on with", "write resume or continue", ""),
    phrase("be|is|are led to", "write route", ""),
    phrase("what was|is to be", "name the thing", ""),
    phrase("what was|is wanted", "name the thing", ""),
    phrase("nobody says|asks|else's", "name the subject", ""),
    phrase("lest|wherefrom|whereto|thereof|hereof|hither|thither", "write it in today's words", ""),
];

/// Each phrase in a text that reads as translated, with what to write instead.
pub(super) fn complaints(text: &str) -> Vec<String> {
    let words = words(text);
    let mut found = Vec::new();
    for phrase in PHRASES {
        let pattern: Vec<&str> = phrase.words.split(' ').collect();
        for (at, window) in words.windows(pattern.len()).enumerate() {
            let fits = pattern.iter().zip(window).all(|(expected, word)| {
                !word.is_empty() && (*expected == "*" || expected.split('|').any(|choice| choice == word))
            });
            let beside =
                [at.checked_sub(1).and_then(|before| words.get(before)), words.get(at + pattern.len())];
            let last = window.last();
            let is_idiom =
                |word: &String| phrase.unless.split(' ').any(|idiom| !idiom.is_empty() && idiom == word);
            if fits && !beside.into_iter().flatten().chain(last).any(is_idiom) {
                found.push(format!("{:?}: {}", window.join(" "), phrase.instead));
            }
        }
    }
    found
}

/// The words of a text in lower case. Code in backquotes and the end of a sentence each are an empty word, so that no phrase
/// reaches across them.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            words.push(String::new());
            continue;
        }
        for word in part.split_whitespace() {
            let plain = word.trim_matches(|character: char| !character.is_alphanumeric());
            words.push(plain.to_lowercase());
            if word.trim_end_matches(['*', '_', '"']).ends_with(['.', ':', ';', ',', '?', '!', ')']) {
                words.push(String::new());
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::complaints;

    #[test]
    fn phrases_that_read_as_translated_are_found() {
        for text in [
            "its configuration is no JSON object",
            "10.0.0.1 is no address of the pool",
            "The subnet has not so many free addresses.",
            "pass --replace to write it anew",
            "What was to be made is made.",
            "Whoever holds it may go on with it.",
            "the link shall\nbe up",
            "its answer is none: {why}",
            "names that no plan can be told of",
        ] {
            assert!(!complaints(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn idioms_code_and_other_sentences_are_left_alone() {
        for text in [
            "there is no such network",
            "the policy is no longer active",
            "which has not been seen",
            "**Names that say what they are.** No two crates share one.",
            "If there is none, the default.",
            "The answer is. No one else is here.",
            "the value is `no` here",
            "it is `None`",
            "marshalled, amended",
        ] {
            assert_eq!(complaints(text), [""; 0], "{text}");
        }
    }
}
