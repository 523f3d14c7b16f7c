//! The id of the running boot, and where it comes from.

use std::io;
use std::path::Path;

use tenure_types::BootId;

/// Reads the kernel's id of the running boot.
///
/// # Errors
/// If `/proc` is not mounted.
pub fn boot_id() -> io::Result<BootId> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BootId(id.trim_end().to_owned()))
}

/// Reads the id of a boot in a file's text.
///
/// # Errors
/// The reason why it is invalid. The [mark](crate::Mark) is a line of words, and could not be read back with an id that has white space.
pub fn parse_boot_id(text: &str) -> Result<BootId, &'static str> {
    match text.trim() {
        "" => Err("it is empty"),
        id if id.contains(|of: char| of.is_whitespace() || of.is_control()) => {
            Err("an id has no white space and no control characters")
        }
        id => Ok(BootId(id.to_owned())),
    }
}

/// The id of a boot, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootSource {
    /// The text of the file.
    pub(crate) id: BootId,
    /// The kernel's id of the same boot, if known.
    kernel: Option<String>,
    /// The file, in a form without line breaks.
    file: String,
}

impl BootSource {
    /// An id that a file has in this boot of the kernel.
    #[must_use]
    pub fn of(id: BootId, file: &Path) -> Self {
        let kernel = boot_id().ok().map(|kernel| kernel.0);
        Self { id, kernel, file: file.display().to_string().escape_debug().to_string() }
    }

    /// An id from an unknown place.
    #[must_use]
    pub fn unknown(id: BootId) -> Self {
        Self { id, kernel: None, file: String::new() }
    }

    /// Whether another id says nothing about a reboot: it has another file, and the kernel has not booted.
    fn has_moved_to(&self, now: &Self) -> bool {
        self.kernel.is_some() && self.kernel == now.kernel && self.file != now.file
    }

    /// Whether this id and a later one are of the same boot.
    pub(crate) fn goes_on_as(&self, now: &Self) -> bool {
        self.id == now.id || self.has_moved_to(now)
    }

    /// The source as a line, which has the same length in a boot.
    pub(crate) fn line(&self) -> String {
        format!("{} {} {}\n", self.id.0, self.kernel.as_deref().unwrap_or("-"), self.file)
    }

    /// Reads such a line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (id, rest) = line.split_once(' ')?;
        let (kernel, file) = rest.split_once(' ')?;
        let kernel = Some(kernel.to_owned()).filter(|kernel| kernel != "-");
        Some(Self { id: BootId(id.to_owned()), kernel, file: file.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_word() {
        assert_eq!(parse_boot_id(" 7f3a-1\n"), Ok(BootId("7f3a-1".to_owned())));
        for text in ["", "\n", "2026-11-28 05:00:12\n", "a\nb", "a\u{7}b"] {
            assert!(parse_boot_id(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_source_is_read_as_it_was_written() {
        for file in ["/run/boot-id", "/run/boot id\nof this"] {
            for source in [
                BootSource::of(BootId("a".to_owned()), Path::new(file)),
                BootSource::unknown(BootId("a".to_owned())),
            ] {
                assert_eq!(
                    BootSource::parse(source.line().strip_suffix('\n').unwrap()),
                    Some(source.clone())
                );
                assert_eq!(source.line().lines().count(), 1);
            }
        }
    }
}
