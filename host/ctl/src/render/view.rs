//! How tables are printed.

/// How tables are printed.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Whether columns are printed that do not fit most terminals.
    pub(crate) is_wide: bool,
    /// Whether tables have heads; without, nothing but rows is printed.
    pub(crate) has_heads: bool,
    /// The head of the column to sort by; rows are in the daemon's order without.
    pub(crate) sort_by: Option<String>,
}

impl Default for View {
    fn default() -> Self {
        Self { is_wide: false, has_heads: true, sort_by: None }
    }
}

impl View {
    /// Whether tables must fit on a terminal: those for people do, and rows without heads are for programs.
    pub(super) fn is_narrow(&self) -> bool {
        self.has_heads && !self.is_wide
    }

    /// Checks that the column to sort by is one of these.
    ///
    /// # Errors
    /// If it is not; names those that there are.
    pub(super) fn check(&self, heads: impl Iterator<Item = &'static str>) -> Result<(), String> {
        let Some(column) = &self.sort_by else { return Ok(()) };
        let heads: Vec<_> = heads.collect();
        if heads.iter().any(|head| self.sorts_by(head)) {
            return Ok(());
        }
        if heads.is_empty() {
            return Err(format!("cannot sort by {column:?}; the output has no table"));
        }
        let names: Vec<_> = heads.iter().map(|head| head.to_lowercase().replace(' ', "-")).collect();
        Err(format!("cannot sort by {column:?}; columns: {}", names.join(", ")))
    }

    /// Whether this is the column to sort by: `last-heard` is `LAST HEARD`.
    pub(super) fn sorts_by(&self, head: &str) -> bool {
        self.sort_by.as_ref().is_some_and(|column| column.replace(['-', '_'], " ").eq_ignore_ascii_case(head))
    }
}
