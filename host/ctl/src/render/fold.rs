//! Folding of sentences to a width.

use std::borrow::Cow;

/// The same words in lines of at most `width` characters. A longer word has a line of its own.
pub(super) fn fold(text: &str, width: usize) -> Cow<'_, str> {
    if text.lines().all(|line| line.chars().count() <= width) {
        return text.into();
    }
    let mut folded = String::new();
    for line in text.lines() {
        let mut used = 0;
        for word in line.split_whitespace() {
            let length = word.chars().count();
            let fits = used + 1 + length <= width;
            if !folded.is_empty() {
                folded.push(if fits && used > 0 { ' ' } else { '\n' });
            }
            used = if fits && used > 0 { used + 1 + length } else { length };
            folded.push_str(word);
        }
    }
    folded.into()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn lines_end_between_words() {
        assert_eq!(fold("one two three", 13), "one two three");
        assert_eq!(fold("one two three", 7), "one two\nthree");
        assert_eq!(fold("one\ntwo three", 8), "one\ntwo\nthree");
        assert_eq!(fold("immeasurable one two", 7), "immeasurable\none two");
    }
}
