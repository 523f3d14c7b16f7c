//! The id of the running boot.

use std::io;

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
/// Why it is none. The [mark](crate::Mark) is a line of words, and could not be read back with an id that has white space.
pub fn parse_boot_id(text: &str) -> Result<BootId, &'static str> {
    match text.trim() {
        "" => Err("it is empty"),
        id if id.contains(|of: char| of.is_whitespace() || of.is_control()) => {
            Err("an id has no white space and no control characters")
        }
        id => Ok(BootId(id.to_owned())),
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
}
