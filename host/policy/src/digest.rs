//! The digest that identifies a component.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The number of hexadecimal digits of a SHA-256.
pub(crate) const DIGITS: usize = 64;

/// The SHA-256 of bytes, in lower-case hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Whether a string consists of `digits` lower-case hexadecimal digits.
pub(crate) fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
