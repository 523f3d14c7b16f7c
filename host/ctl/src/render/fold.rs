//! Folding of sentences to a width, and shortening of names.

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

/// The text with lines of at most `width` characters: the middle of a longer line is left out.
pub(super) fn shorten(text: Cow<'_, str>, width: usize) -> Cow<'_, str> {
    if text.lines().all(|line| line.chars().count() <= width) {
        return text;
    }
    let short = |line: &str| {
        let (length, kept) = (line.chars().count(), width.saturating_sub(1));
        if length <= width {
            return line.to_owned();
        }
        // The end tells pods of one Deployment apart.
        let before = kept / 2;
        let (begin, end) = (line.chars().take(before), line.chars().skip(length - (kept - before)));
        begin.chain(['…']).chain(end).collect()
    };
    text.lines().map(short).collect::<Vec<String>>().join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::{fold, shorten};

    #[test]
    fn a_long_name_keeps_its_beginning_and_its_end() {
        assert_eq!(shorten("shop/web-0".into(), 10), "shop/web-0");
        assert_eq!(shorten("shop/web-7d9f8b6c5-x2k4q".into(), 12), "shop/…-x2k4q");
        assert_eq!(shorten("one\nimmeasurable".into(), 4), "one\ni…le");
        assert_eq!(shorten("häuser".into(), 1), "…");
    }

    #[test]
    fn lines_end_between_words() {
        assert_eq!(fold("one two three", 13), "one two three");
        assert_eq!(fold("one two three", 7), "one two\nthree");
        assert_eq!(fold("one\ntwo three", 8), "one\ntwo\nthree");
        assert_eq!(fold("immeasurable one two", 7), "immeasurable\none two");
    }
}
