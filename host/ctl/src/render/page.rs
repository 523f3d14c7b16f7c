//! The printed form of a report for people: text and tables, in order.

use std::fmt;

use super::table::{Grid, Table};
use super::view::View;

/// Texts and tables.
#[derive(Default)]
pub(crate) struct Page {
    parts: Vec<PageBlock>,
}

enum PageBlock {
    Text(String),
    /// A table, and what is printed instead of one without rows.
    Table(Grid, Option<&'static str>),
}

impl Page {
    /// Adds text.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(PageBlock::Text(text.into()));
        self
    }

    /// Adds a table, whose heads are printed also if it has no rows.
    pub(crate) fn table<R>(mut self, table: Table<'_, R>) -> Self {
        self.parts.push(PageBlock::Table(table.into(), None));
        self
    }

    /// Adds a table, or this text if the table has no rows.
    pub(crate) fn table_or<R>(mut self, table: Table<'_, R>, none: &'static str) -> Self {
        self.parts.push(PageBlock::Table(table.into(), Some(none)));
        self
    }

    /// Adds an empty line and text, or nothing if there is no text.
    pub(crate) fn paragraph(self, text: String) -> Self {
        if text.is_empty() { self } else { self.gap().text(text) }
    }

    /// Adds an empty line and a table, or nothing if the table has no rows.
    pub(crate) fn section<R>(self, table: Table<'_, R>) -> Self {
        let grid = Grid::from(table);
        let mut page = if grid.is_empty() { self } else { self.gap() };
        page.parts.push(PageBlock::Table(grid, Some("")));
        page
    }

    /// Adds an empty line, unless nothing is above it.
    fn gap(self) -> Self {
        let is_printed = |part: &PageBlock| match part {
            PageBlock::Text(text) => !text.is_empty(),
            PageBlock::Table(grid, none) => none.is_none_or(|none| !none.is_empty()) || !grid.is_empty(),
        };
        if self.parts.iter().any(is_printed) { self.text("\n") } else { self }
    }

    /// Adds names with their values, without heads.
    #[cfg(feature = "author")]
    pub(crate) fn list(self, lines: &[(&'static str, String)]) -> Self {
        let grid =
            Grid::from(Table::of(lines).column("", |(name, _)| *name).column("", |(_, value)| value.clone()));
        let mut text = String::new();
        grid.print(&View { has_heads: false, ..View::default() }, &mut Vec::new(), &mut text);
        self.text(text)
    }

    /// The tables as they are printed for people, without those that have no rows.
    #[cfg(test)]
    pub(crate) fn tables(&self) -> Vec<String> {
        let printed = |part: &PageBlock| match part {
            PageBlock::Table(grid, _) if !grid.is_empty() => {
                let mut text = String::new();
                grid.print(&View::default(), &mut Vec::new(), &mut text);
                Some(text)
            }
            _ => None,
        };
        self.parts.iter().filter_map(printed).collect()
    }

    /// The page as it is printed.
    ///
    /// # Errors
    /// If no table has the column to sort by; names those that there are.
    pub(crate) fn print(&self, view: &View) -> Result<String, String> {
        let grids = || {
            self.parts
                .iter()
                .filter_map(|part| if let PageBlock::Table(grid, _) = part { Some(grid) } else { None })
        };
        view.check(grids().flat_map(Grid::heads))?;
        let has_rows_only = !view.has_heads && grids().next().is_some();
        let mut out = String::new();
        for part in &self.parts {
            match part {
                PageBlock::Text(_) if has_rows_only => {}
                PageBlock::Text(text) => out.push_str(text),
                PageBlock::Table(grid, Some(none)) if grid.is_empty() => {
                    out.push_str(if view.has_heads { none } else { "" });
                }
                PageBlock::Table(grid, _) => grid.print(view, &mut Vec::new(), &mut out),
            }
        }
        Ok(out)
    }
}

impl From<String> for Page {
    fn from(text: String) -> Self {
        Self::default().text(text)
    }
}

impl fmt::Display for Page {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.print(&View::default()).unwrap_or_default())
    }
}
