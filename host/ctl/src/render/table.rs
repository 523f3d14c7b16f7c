//! Tables: typed rows under typed columns, separated by spaces, without borders, so that they work with `cut` and `awk` too.
//!
//! A table for people fits on a terminal of 100 columns: sentences and lists are folded, and then names are shortened. Addresses and digests never
//! are. `--output wide` and `--no-headers` keep everything whole.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;

use super::cell::Cell;
use super::fold::{fold, shorten};
use super::narrow::{GAP, Narrowing, exceeds, narrow};
use super::view::View;

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
    /// Sentences may be folded, and their longest words shortened.
    Prose,
    /// Lists may be folded between their items.
    List,
    /// Names may be shortened in their middle.
    Name,
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

    /// Adds a column of lists, whose items are separated by spaces and stay whole.
    pub(crate) fn list<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, ColumnKind::List, false)
    }

    /// Adds a column of names, which a narrow table shortens.
    pub(crate) fn name<C: Into<Cell>>(self, head: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.add(head, cell, ColumnKind::Name, false)
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
            if view.is_narrow() {
                narrow(&columns.iter().map(|column| column.narrowing()).collect::<Vec<_>>(), widths);
            }
        }
        if has_heads {
            line(columns.iter().map(|column| (column.head, column.kind)), widths, out);
        }
        let sorted_by = self.columns.iter().find(|column| view.sorts_by(column.head));
        let is_whole = sorted_by.is_some() || !view.has_heads;
        for row in self.order(sorted_by) {
            let texts: Vec<_> = columns
                .iter()
                .zip(widths.iter())
                .map(|(column, width)| column.text(row, is_whole, view, *width))
                .collect();
            let is_too_wide = view.is_narrow() && exceeds(&texts, widths);
            let cells: Vec<_> = texts
                .into_iter()
                .zip(columns.iter().zip(widths.iter()))
                .map(|(text, (column, width))| (column.short(text, is_too_wide, *width), column.kind))
                .collect();
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

impl Column {
    /// The text of a row's cell, folded if it is a sentence or a list.
    fn text(&self, row: usize, is_whole: bool, view: &View, width: usize) -> Cow<'_, str> {
        let text = self.cells.get(row).map_or("", |cell| cell.shown(is_whole));
        match self.kind {
            ColumnKind::Prose | ColumnKind::List if view.is_narrow() => fold(text, width),
            _ => text.into(),
        }
    }

    /// The text of a cell in a row that does not fit: a name or a sentence is shortened.
    fn short<'a>(&self, text: Cow<'a, str>, is_too_wide: bool, width: usize) -> Cow<'a, str> {
        match self.kind {
            ColumnKind::Prose | ColumnKind::Name if is_too_wide => shorten(text, width),
            _ => text,
        }
    }

    /// How much of its width the column can do without.
    fn narrowing(&self) -> Narrowing {
        let head = self.head.chars().count();
        match self.kind {
            ColumnKind::Text | ColumnKind::Number => Narrowing::Fixed,
            ColumnKind::Prose => Narrowing::Sentences { head },
            ColumnKind::List => {
                let longest = self.cells.iter().map(Cell::longest_word).max().unwrap_or_default();
                Narrowing::Lists { least: head.max(longest) }
            }
            ColumnKind::Name => Narrowing::Names { head },
        }
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
