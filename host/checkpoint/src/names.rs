//! The names of the files in a state directory.

use crate::disk::Disk;
use crate::{Error, Result};

/// The name of a log segment.
pub(crate) fn log(number: u64) -> String {
    format!("log.{number:010}")
}

/// The name of a snapshot.
pub(crate) fn snapshot(number: u64) -> String {
    format!("snapshot.{number:010}")
}

/// The name of a file until it is complete and durable.
pub(crate) fn temporary(name: &str) -> String {
    format!("{name}.tmp")
}

/// The names under which a damaged file, a copy of it, or bytes that were cut off may be quarantined, in order of
/// preference.
pub(crate) fn quarantine(name: &str, offset: u64) -> impl Iterator<Item = String> {
    let first = format!("quarantine.{name}.{offset}");
    let others = (2..).map({
        let first = first.clone();
        move |number: u64| format!("{first}.{number}")
    });
    std::iter::once(first).chain(others)
}

/// The files of a state directory, by number.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) logs: Vec<u64>,
    pub(crate) snapshots: Vec<u64>,
    pub(crate) temporaries: Vec<String>,
}

impl Listing {
    /// Lists the files.
    pub(crate) fn read(disk: &dyn Disk) -> Result<Self> {
        let mut listing = Self::default();
        for name in disk.list().map_err(Error::io("listing the state directory"))? {
            if let Some(number) = number(&name, "log.") {
                listing.logs.push(number);
            } else if let Some(number) = number(&name, "snapshot.") {
                listing.snapshots.push(number);
            } else if name
                .strip_suffix(".tmp")
                .is_some_and(|whole| number(whole, "log.").or_else(|| number(whole, "snapshot.")).is_some())
            {
                listing.temporaries.push(name);
            }
        }
        listing.logs.sort_unstable();
        listing.snapshots.sort_unstable();
        Ok(listing)
    }
}

/// The number in a name. Any other spelling of the number is not our name: it would stand for a file that does not
/// exist.
fn number(name: &str, prefix: &str) -> Option<u64> {
    let number = name.strip_prefix(prefix)?.parse().ok()?;
    (format!("{prefix}{number:010}") == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_program_would_call_a_file_is_its_own() {
        for ours in [0, 7, 9_999_999_999, 10_000_000_000, u64::MAX] {
            assert_eq!(number(&log(ours), "log."), Some(ours));
        }
        for other in [
            "log.00000000001",
            "log.1",
            "log.000000001",
            "log.+000000001",
            "log.000000000x",
            "log.0000000001.tmp",
            "log.",
        ] {
            assert_eq!(number(other, "log."), None, "{other}");
        }
    }
}
