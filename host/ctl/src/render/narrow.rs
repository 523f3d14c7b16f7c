//! Narrowing of a table to the width of a terminal.

use std::borrow::Cow;

/// The width that a table for people has at most.
const WIDTH: usize = 100;

/// The space between two columns.
pub(super) const GAP: usize = 2;

/// How much of its width a column can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Narrowing {
    /// None of it: addresses and numbers are whole.
    Fixed,
    /// Sentences may have more lines.
    Sentences {
        /// The width of the column's head.
        head: usize,
    },
    /// Lists may have more lines.
    Lists {
        /// The width of the longest item and of the column's head.
        least: usize,
    },
    /// Names may be shortened.
    Names {
        /// The width of the column's head.
        head: usize,
    },
}

/// The least width of a column in a step that goes down to a width, if the step is for columns of its kind.
type LeastWidth = fn(Narrowing, usize) -> Option<usize>;

/// The steps in which columns become narrower, each down to a width: first what costs lines, and then what costs letters.
const STEPS: [(LeastWidth, usize); 5] =
    [(sentences, 20), (lists, 0), (names, 16), (sentences, 6), (names, 4)];

/// Takes what is beyond [`WIDTH`] from the widest columns.
pub(super) fn narrow(columns: &[Narrowing], widths: &mut [usize]) {
    for (least, to) in STEPS {
        for _ in WIDTH..widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1) {
            let wide = columns.iter().zip(widths.iter_mut());
            let wide =
                wide.filter(|(column, width)| least(**column, to).is_some_and(|least| **width > least));
            let Some((_, widest)) = wide.max_by_key(|(_, width)| **width) else { break };
            *widest -= 1;
        }
    }
}

/// Whether a row does not fit: its columns have these widths, and its cells may be wider.
pub(super) fn exceeds(texts: &[Cow<'_, str>], widths: &[usize]) -> bool {
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    let cells = texts.iter().zip(widths).map(|(text, width)| longest(text).max(*width));
    cells.sum::<usize>() + GAP * widths.len().saturating_sub(1) > WIDTH
}

fn sentences(column: Narrowing, to: usize) -> Option<usize> {
    if let Narrowing::Sentences { head } = column { Some(head.max(to)) } else { None }
}

fn lists(column: Narrowing, to: usize) -> Option<usize> {
    if let Narrowing::Lists { least } = column { Some(least.max(to)) } else { None }
}

fn names(column: Narrowing, to: usize) -> Option<usize> {
    if let Narrowing::Names { head } = column { Some(head.max(to)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_spent_before_letters_and_the_widest_column_goes_first() {
        let columns = [
            Narrowing::Fixed,
            Narrowing::Names { head: 3 },
            Narrowing::Lists { least: 30 },
            Narrowing::Sentences { head: 6 },
        ];
        let narrowed = |mut widths: [usize; 4]| {
            narrow(&columns, &mut widths);
            widths
        };
        assert_eq!(narrowed([10, 20, 30, 30]), [10, 20, 30, 30], "it fits");
        assert_eq!(narrowed([10, 20, 40, 40]), [10, 20, 40, 24]);
        assert_eq!(narrowed([10, 20, 60, 40]), [10, 20, 44, 20]);
        assert_eq!(narrowed([10, 320, 60, 40]), [10, 34, 30, 20]);
        assert_eq!(narrowed([60, 320, 60, 40]), [60, 4, 30, 6], "nothing more can be spared");
    }
}
