//! Tables: columns separated by spaces, without borders, so that they work with `cut` and `awk` too.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// A table with its column heads.
pub(super) fn table<const COLUMNS: usize>(heads: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(heads);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Right-aligns columns of numbers.
pub(super) fn align_right(table: &mut Table, columns: &[usize]) {
    for index in columns {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The table's text, without trailing spaces.
pub(super) fn text(table: &Table) -> String {
    table.lines().flat_map(|line| [line.trim_end().to_owned(), "\n".to_owned()]).collect()
}

/// The number of rows that determine the column widths.
const DECIDE: usize = 1000;

/// A table that is printed while its rows arrive. The first rows determine the column widths; a later, wider cell shifts the rest
/// of its row.
pub(super) struct Columns<const COLUMNS: usize> {
    widths: [usize; COLUMNS],
    /// The rows that arrived before the widths were decided.
    first: Vec<[String; COLUMNS]>,
    decided: bool,
}

impl<const COLUMNS: usize> Columns<COLUMNS> {
    /// A table with its column heads.
    pub(super) fn new(heads: [&str; COLUMNS]) -> Self {
        Self { widths: [0; COLUMNS], first: vec![heads.map(str::to_owned)], decided: false }
    }

    /// Adds a row, and appends to `out` the rows that can be printed by now.
    pub(super) fn add(&mut self, row: [String; COLUMNS], out: &mut String) {
        if self.decided {
            return self.print(&row, out);
        }
        self.first.push(row);
        if self.first.len() > DECIDE {
            self.end(out);
        }
    }

    /// Appends the rows that are not printed yet.
    pub(super) fn end(&mut self, out: &mut String) {
        self.decided = true;
        let first = std::mem::take(&mut self.first);
        for row in &first {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        first.iter().for_each(|row| self.print(row, out));
    }

    fn print(&self, row: &[String; COLUMNS], out: &mut String) {
        let begin = out.len();
        for (cell, width) in row.iter().zip(self.widths) {
            out.push_str(cell);
            out.extend(std::iter::repeat_n(' ', (width + 2).saturating_sub(cell.chars().count()).max(2)));
        }
        out.truncate(begin + out.get(begin..).unwrap_or_default().trim_end().len());
        out.push('\n');
    }
}
