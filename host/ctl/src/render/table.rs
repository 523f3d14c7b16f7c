//! Tables: columns with a space between, no lines, so that they read well and cut and awk take them too.

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

/// Sets numbers under each other.
pub(super) fn align_right(table: &mut Table, columns: &[usize]) {
    for index in columns {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The table's text, without blanks at the ends of lines.
pub(super) fn text(table: &Table) -> String {
    table.lines().flat_map(|line| [line.trim_end().to_owned(), "\n".to_owned()]).collect()
}
