//! A cell of a table: its text, and how it sorts.

use std::cmp::Ordering;

use super::parts::{age, ago};

/// A cell. Numbers and ages sort by their value, and everything else by its text, in which `10.1.0.9` is before `10.1.0.10`.
pub(crate) struct Cell {
    value: Option<u64>,
    text: String,
    /// Whether the row above says the same, so that it is left out unless each row has to be whole.
    is_repeated: bool,
}

impl Cell {
    /// Text that sorts by a number.
    pub(crate) fn valued(text: String, value: u64) -> Self {
        Self { value: Some(value), text, is_repeated: false }
    }

    /// An age; `<1s` of what is younger than a second.
    pub(crate) fn age(milliseconds: u64) -> Self {
        Self::valued(age(milliseconds), milliseconds)
    }

    /// The time since then.
    pub(crate) fn ago(then_ms: u64, now_ms: u64) -> Self {
        Self::valued(ago(then_ms, now_ms), now_ms.saturating_sub(then_ms))
    }

    /// Text that is printed unless the row above says the same.
    pub(crate) fn unless(is_repeated: bool, text: String) -> Self {
        Self { value: None, text, is_repeated }
    }

    /// The order of two cells of a column.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.value.cmp(&other.value).then_with(|| natural(&self.text, &other.text))
    }

    /// The text to print; a row is whole if it may be read without the one above.
    pub(super) fn shown(&self, is_whole: bool) -> &str {
        if self.is_repeated && !is_whole { "" } else { &self.text }
    }

    /// The width of its longest word.
    pub(super) fn longest_word(&self) -> usize {
        self.text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or_default()
    }

    /// The width of its longest line.
    pub(super) fn width(&self) -> usize {
        self.text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
    }
}

/// Compares text with the numbers in it by their values.
fn natural(left: &str, right: &str) -> Ordering {
    let is_digit = |character: Option<char>| character.is_some_and(|character| character.is_ascii_digit());
    let (mut left, mut right) = (left, right);
    loop {
        let (a, b) = (left.chars().next(), right.chars().next());
        if is_digit(a) && is_digit(b) {
            let ((a, left_on), (b, right_on)) = (number(left), number(right));
            match a.len().cmp(&b.len()).then_with(|| a.cmp(b)) {
                Ordering::Equal => (left, right) = (left_on, right_on),
                differ => return differ,
            }
            continue;
        }
        match a.cmp(&b) {
            Ordering::Equal if a.is_none() => return Ordering::Equal,
            Ordering::Equal => (left, right) = (after_first(left), after_first(right)),
            differ => return differ,
        }
    }
}

/// The digits that a text begins with, without leading zeros, and the rest of it.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (digits.trim_start_matches('0'), rest)
}

fn after_first(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::unless(false, text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::valued(number.to_string(), number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        u64::try_from(number).unwrap_or(u64::MAX).into()
    }
}
