//! Tables: typed rows under typed columns, separated by spaces, without borders, so that they work with `cut` and `awk` too.
//!
//! Sentences are folded, so that a table for people fits on a terminal of [`WIDTH`] columns. Names and addresses are not: they may be copied.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::cell::Cell;
use super::fold::fold;
use super::view::View;

/// The space between two columns.
const GAP: usize = 2;

/// The width that a table has at most, as far as folding its sentences achieves that.
const WIDTH: usize = 100;

/// The width below which no column is folded.
const NARROWEST: usize = 20;

/// Rows of one kind and their columns. Each column says once how a row's cell reads and sorts.
pub(crate) struct Table<'a, R> {
    rows: &'a [R],
    grid: Grid,
}

/// The columns of a table with their cells.
#[derive(Default)]
pub(crate) struct Grid {
    columns: Vec<Column>,
}

struct Column {
    head: &'static str,
    kind: ColumnKind,
    /// Whether it is printed with `--output wide` only.
    is_wide: bool,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Text,
    /// Numbers end below each other.
    Number,
    /// Sentences may be folded.
    Prose,
}

impl<'a, R> Table<'a, R> {
    /// A table without columns.
    pub(crate) fn of(rows: &'a [R]) -> Self {
        Self { rows, grid: Grid::default() }
    }

    /// Adds a column.
    pub(crate) fn column<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, ColumnKind::Text, false)
    }

    /// Adds a column of numbers.
    pub(crate) fn number<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, ColumnKind::Number, false)
    }

    /// Adds a column of sentences.
    pub(crate) fn prose<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, ColumnKind::Prose, false)
    }

    /// Adds a column that only `--output wide` prints.
    pub(crate) fn wide<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, ColumnKind::Text, true)
    }

    fn add<C: Into<Cell>>(
        mut self,
        head: &'static str,
        cell: impl Fn(&R) -> C,
        kind: ColumnKind,
        is_wide: bool,
    ) -> Self {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.grid.columns.push(Column { head, kind, is_wide, cells });
        self
    }
}

impl<R> From<Table<'_, R>> for Grid {
    fn from(table: Table<'_, R>) -> Self {
        table.grid
    }
}

impl Grid {
    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.first().is_none_or(|column| column.cells.is_empty())
    }

    /// The names that `--sort-by` takes.
    pub(super) fn heads(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.head)
    }

    /// Prints the table. Columns are at least as wide as `widths` says, and the widths that were used are left there, so that rows
    /// that arrive later can go on below.
    pub(super) fn print(&self, view: &View, widths: &mut Vec<usize>, out: &mut String) {
        let columns: Vec<_> = self.columns.iter().filter(|column| view.is_wide || !column.is_wide).collect();
        let has_heads = widths.is_empty() && view.has_heads;
        if widths.is_empty() {
            *widths = columns.iter().map(|column| column.width(has_heads)).collect();
            if !view.is_wide {
                narrow(&columns, widths);
            }
        }
        if has_heads {
            line(columns.iter().map(|column| (column.head, column.kind)), widths, out);
        }
        let sorted_by = self.columns.iter().find(|column| view.sorts_by(column.head));
        let is_whole = sorted_by.is_some() || !view.has_heads;
        for row in self.order(sorted_by) {
            let columns = columns.iter().zip(widths.iter());
            let cells: Vec<_> =
                columns.map(|(column, width)| (column.text(row, is_whole, *width), column.kind)).collect();
            let height = cells.iter().map(|(text, _)| text.lines().count()).max().unwrap_or_default().max(1);
            for at in 0..height {
                let of = cells.iter().map(|(text, kind)| (text.lines().nth(at).unwrap_or(""), *kind));
                line(of, widths, out);
            }
        }
    }

    fn order(&self, sorted_by: Option<&Column>) -> Vec<usize> {
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        let mut order: Vec<usize> = (0..rows).collect();
        if let Some(column) = sorted_by {
            order.sort_by(|a, b| match (column.cells.get(*a), column.cells.get(*b)) {
                (Some(a), Some(b)) => a.order(b),
                _ => Ordering::Equal,
            });
        }
        order
    }
}

/// Takes what is beyond [`WIDTH`] from the widest columns of sentences.
fn narrow(columns: &[&Column], widths: &mut [usize]) {
    let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    for _ in WIDTH..total {
        let prose =
            columns.iter().zip(widths.iter_mut()).filter(|(column, _)| column.kind == ColumnKind::Prose);
        let Some((_, widest)) =
            prose.max_by_key(|(_, width)| **width).filter(|(_, width)| **width > NARROWEST)
        else {
            return;
        };
        *widest -= 1;
    }
}

impl Column {
    /// The text of a row's cell, folded if it is a sentence.
    fn text(&self, row: usize, is_whole: bool, width: usize) -> Cow<'_, str> {
        let text = self.cells.get(row).map_or("", |cell| cell.shown(is_whole));
        if self.kind == ColumnKind::Prose { fold(text, width) } else { text.into() }
    }

    fn width(&self, has_head: bool) -> usize {
        let head = if has_head { self.head.chars().count() } else { 0 };
        self.cells.iter().map(Cell::width).max().unwrap_or_default().max(head)
    }
}

/// Prints a line, without trailing spaces.
fn line<'a>(cells: impl Iterator<Item = (&'a str, ColumnKind)>, widths: &[usize], out: &mut String) {
    let begin = out.len();
    for ((text, kind), width) in cells.zip(widths) {
        let space = width.saturating_sub(text.chars().count());
        let (before, after) = if kind == ColumnKind::Number { (space, GAP) } else { (0, space + GAP) };
        out.extend(std::iter::repeat_n(' ', before));
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', after));
    }
    out.truncate(begin + out.get(begin..).unwrap_or_default().trim_end().len());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::page::Page;
    use super::super::view::View;
    use super::Table;

    fn page() -> Page {
        let rows =
            [("pods", "10.1.0.10/24", 61_000), ("pods", "10.1.0.9/24", 3_600_000), ("blue", "-", 5_000)];
        let rows: Vec<_> = (0..).zip(rows).collect();
        let table = Table::of(&rows)
            .column("NETWORK", |(at, row)| Cell::unless(*at == 1, row.0.to_owned()))
            .column("ADDRESSES", |(_, row)| row.1)
            .number("LAST HEARD", |(_, row)| Cell::age(row.2))
            .wide("LINES", |(at, _)| if *at == 0 { "one\ntwo" } else { "" });
        Page::default().text("before\n").section(table).paragraph("after\n".to_owned())
    }

    fn sorted(column: &str) -> Result<String, String> {
        page().print(&View { sort_by: Some(column.to_owned()), has_heads: false, is_wide: false })
    }

    #[test]
    fn a_wide_table_has_more_columns_and_cells_may_have_lines() {
        insta::assert_snapshot!(page(), @"
        before

        NETWORK  ADDRESSES     LAST HEARD
        pods     10.1.0.10/24       1m 1s
                 10.1.0.9/24           1h
        blue     -                     5s

        after
        ");
        insta::assert_snapshot!(page().print(&View { is_wide: true, ..View::default() }).unwrap(), @"
        before

        NETWORK  ADDRESSES     LAST HEARD  LINES
        pods     10.1.0.10/24       1m 1s  one
                                           two
                 10.1.0.9/24           1h
        blue     -                     5s

        after
        ");
    }

    #[test]
    fn sentences_are_folded_to_the_width_of_a_terminal_and_names_are_not() {
        let name = "a-name-that-somebody-may-want-to-copy-from-here-into-a-command-line";
        let why = "the runtime and the kernel disagree about the pod, so that its address stays where it is";
        let rows = [(name, why), ("web", "-")];
        let table = || Table::of(&rows).column("POD", |row| row.0).prose("REASON", |row| row.1);
        let page = Page::default().table(table());
        insta::assert_snapshot!(page, @"
        POD                                                                  REASON
        a-name-that-somebody-may-want-to-copy-from-here-into-a-command-line  the runtime and the kernel
                                                                             disagree about the pod, so that
                                                                             its address stays where it is
        web                                                                  -
        ");
        let wide = page.print(&View { is_wide: true, ..View::default() }).unwrap();
        assert_eq!(wide.lines().count(), 3);
    }

    #[test]
    fn without_heads_there_is_nothing_but_whole_rows() {
        insta::assert_snapshot!(page().print(&View { has_heads: false, ..View::default() }).unwrap(), @"
        pods  10.1.0.10/24  1m 1s
        pods  10.1.0.9/24      1h
        blue  -                5s
        ");
    }

    #[test]
    fn a_table_without_rows_has_its_columns_and_says_what_to_do() {
        let table = || Table::of(&[] as &[&str]).column("NAME", |name| *name);
        let page = Page::default().table_or(table(), "none yet\n").section(table());
        let print = |has_heads, column: &str| {
            page.print(&View { sort_by: Some(column.to_owned()), has_heads, is_wide: false })
        };
        assert_eq!(print(true, "name").as_deref(), Ok("none yet\n"));
        assert_eq!(print(false, "name").as_deref(), Ok(""));
        assert!(print(true, "owner").is_err());
    }

    #[test]
    fn rows_are_sorted_by_what_a_cell_stands_for() {
        insta::assert_snapshot!(sorted("last-heard").unwrap(), @"
        blue  -                5s
        pods  10.1.0.10/24  1m 1s
        pods  10.1.0.9/24      1h
        ");
        insta::assert_snapshot!(sorted("Addresses").unwrap(), @"
        blue  -                5s
        pods  10.1.0.9/24      1h
        pods  10.1.0.10/24  1m 1s
        ");
        insta::assert_snapshot!(sorted("lines").unwrap(), @"
        pods  10.1.0.9/24      1h
        blue  -                5s
        pods  10.1.0.10/24  1m 1s
        ");
        insta::assert_snapshot!(sorted("owner").unwrap_err(), @r#"cannot sort by "owner"; columns: network, addresses, last-heard, lines"#);
        let text = Page::default().text("no table\n");
        let view = View { sort_by: Some("age".to_owned()), ..View::default() };
        insta::assert_snapshot!(text.print(&view).unwrap_err(), @r#"cannot sort by "age"; the output has no table"#);
    }
}
