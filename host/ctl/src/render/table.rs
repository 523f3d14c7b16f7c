//! Tables: typed rows under typed columns, separated by spaces, without borders, so that they work with `cut` and `awk` too.

use std::cmp::Ordering;

use super::cell::Cell;
use super::view::View;

/// The space between two columns.
const GAP: usize = 2;

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
    /// Whether the cells are numbers, which end below each other.
    is_number: bool,
    /// Whether it is printed with `--output wide` only.
    is_wide: bool,
    cells: Vec<Cell>,
}

impl<'a, R> Table<'a, R> {
    /// A table without columns.
    pub(crate) fn of(rows: &'a [R]) -> Self {
        Self { rows, grid: Grid::default() }
    }

    /// Adds a column.
    pub(crate) fn column<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, false, false)
    }

    /// Adds a column of numbers.
    pub(crate) fn number<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, true, false)
    }

    /// Adds a column that only `--output wide` prints.
    pub(crate) fn wide<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, false, true)
    }

    fn add<C: Into<Cell>>(
        mut self,
        head: &'static str,
        cell: impl Fn(&R) -> C,
        is_number: bool,
        is_wide: bool,
    ) -> Self {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.grid.columns.push(Column { head, is_number, is_wide, cells });
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
        }
        if has_heads {
            line(columns.iter().map(|column| (column.head, column.is_number)), widths, out);
        }
        let sorted_by = self.columns.iter().find(|column| view.sorts_by(column.head));
        let is_whole = sorted_by.is_some() || !view.has_heads;
        for row in self.order(sorted_by) {
            let cells: Vec<_> = columns
                .iter()
                .map(|column| {
                    (column.cells.get(row).map_or("", |cell| cell.shown(is_whole)), column.is_number)
                })
                .collect();
            let height = cells.iter().map(|(text, _)| text.lines().count()).max().unwrap_or_default().max(1);
            for at in 0..height {
                let of =
                    cells.iter().map(|(text, is_number)| (text.lines().nth(at).unwrap_or(""), *is_number));
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

impl Column {
    fn width(&self, has_head: bool) -> usize {
        let head = if has_head { self.head.chars().count() } else { 0 };
        self.cells.iter().map(Cell::width).max().unwrap_or_default().max(head)
    }
}

/// Prints a line, without trailing spaces.
fn line<'a>(cells: impl Iterator<Item = (&'a str, bool)>, widths: &[usize], out: &mut String) {
    let begin = out.len();
    for ((text, is_number), width) in cells.zip(widths) {
        let space = width.saturating_sub(text.chars().count());
        let (before, after) = if is_number { (space, GAP) } else { (0, space + GAP) };
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
