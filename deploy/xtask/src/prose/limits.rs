//! The largest number of remarks that each folder may have.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result};

/// The limits by folder, and `names` for type names of more than one crate. A folder without a limit may have no remarks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProseLimits(BTreeMap<String, usize>);

impl ProseLimits {
    /// Reads the table: a folder and a number on each line.
    ///
    /// # Errors
    /// Names the first line that is not a folder and a number.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let limits = lines.map(|line| {
            let (name, limit) = line.split_once(' ').with_context(|| format!("no number in {line:?}"))?;
            Ok((name.to_owned(), limit.trim().parse().with_context(|| format!("no number in {line:?}"))?))
        });
        Ok(Self(limits.collect::<Result<_>>()?))
    }

    /// The limit of a folder.
    pub(super) fn of(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Lowers each limit to the present count, if that is lower.
    pub(super) fn lower(&mut self, counts: &BTreeMap<String, usize>) {
        for (name, limit) in &mut self.0 {
            *limit = (*limit).min(counts.get(name).copied().unwrap_or(0));
        }
        self.0.retain(|_, limit| *limit > 0);
    }
}

impl fmt::Display for ProseLimits {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            to,
            "# The most remarks of `cargo xtask prose` in each folder. Only lower them: `cargo xtask prose --lower`."
        )?;
        self.0.iter().try_for_each(|(name, limit)| writeln!(to, "{name} {limit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_only_go_down() {
        let mut limits = ProseLimits::parse("# about\nhost/a 5\nhost/b 2\nhost/c 1\n").unwrap();
        let counts = [("host/a", 3), ("host/b", 9), ("host/d", 4)];
        limits.lower(&counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect());
        assert_eq!(
            (limits.of("host/a"), limits.of("host/b"), limits.of("host/c"), limits.of("host/d")),
            (3, 2, 0, 0)
        );
        assert_eq!(ProseLimits::parse(&limits.to_string()).unwrap(), limits);
        assert!(ProseLimits::parse("host/a\n").is_err());
    }
}
