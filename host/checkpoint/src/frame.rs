//! The framing of a line: `crc32c seq len json\n`.
//!
//! The checksum is eight hexadecimal digits and covers everything between it and the newline; the length is the
//! JSON's in bytes. The JSON contains no raw newline, so a file can be split at newlines even if it is damaged.

use std::cmp::Ordering;
use std::io::{self, BufRead, BufReader, Read, Write};

/// The longest line. It bounds the memory that reading a damaged file takes.
const LONGEST_LINE: u64 = 64 << 20;

/// A line with a valid checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// A fact's place in the log, or the number of a snapshot's line; 0 for a header.
    pub(crate) place: u64,
    /// The line's content.
    pub(crate) json: &'a str,
}

/// Appends a line to a buffer.
pub(crate) fn encode(out: &mut Vec<u8>, place: u64, json: &[u8]) {
    let start = out.len();
    let body = start + 9;
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{:08x} {place} {} ", 0, json.len());
    out.extend_from_slice(json);
    let checksum = crc32c::crc32c(out.get(body..).unwrap_or_default());
    if let Some(column) = out.get_mut(start..body) {
        column.copy_from_slice(format!("{checksum:08x} ").as_bytes());
    }
    out.push(b'\n');
}

/// Decodes a line without its newline; the error says what is wrong with it.
pub(crate) fn decode(line: &[u8]) -> Result<Frame<'_>, &'static str> {
    let (checksum, body) = split(line).ok_or("no checksum")?;
    let checksum = hexadecimal(checksum).ok_or("no checksum")?;
    if crc32c::crc32c(body) != checksum {
        return Err("the checksum does not match");
    }
    let (place, rest) = split(body).ok_or("no place")?;
    let (length, json) = split(rest).ok_or("no length")?;
    let place = decimal(place).ok_or("no place")?;
    if decimal(length) != u64::try_from(json.len()).ok() {
        return Err("the length does not match");
    }
    let json = std::str::from_utf8(json).map_err(|_| "it is not UTF-8")?;
    Ok(Frame { place, json })
}

/// Whether bytes without a newline could be an incomplete line.
pub(crate) fn is_beginning(piece: &[u8]) -> bool {
    let mut columns = piece.splitn(4, |byte| *byte == b' ');
    let (checksum, place, length, json) = (columns.next(), columns.next(), columns.next(), columns.next());
    let checksum = checksum.unwrap_or_default();
    let hexadecimal_digits = checksum.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let length_fits = if place.is_some() { checksum.len() == 8 } else { checksum.len() <= 8 };
    let digits = |column: Option<&[u8]>| column.unwrap_or_default().iter().all(u8::is_ascii_digit);
    let json_fits = json.is_none_or(|json| {
        let present = u64::try_from(json.len()).ok();
        match present.cmp(&length.and_then(decimal)) {
            Ordering::Less => true,
            Ordering::Equal => decode(piece).is_ok(),
            Ordering::Greater => false,
        }
    });
    hexadecimal_digits && length_fits && digits(place) && digits(length) && json_fits
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == b' ')?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

fn hexadecimal(column: &[u8]) -> Option<u32> {
    let lower = column.len() == 8 && column.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !lower {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(column).ok()?, 16).ok()
}

fn decimal(column: &[u8]) -> Option<u64> {
    if !column.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(column).ok()?.parse().ok()
}

/// The lines of a file, read one at a time into the same buffer.
pub(crate) struct FileLines {
    reader: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
    offset: u64,
}

/// A line of a file.
pub(crate) struct FileLine<'a> {
    /// The offset of its first byte.
    pub(crate) offset: u64,
    /// The offset of the next line.
    pub(crate) end: u64,
    /// The line's bytes, without the newline.
    pub(crate) bytes: &'a [u8],
    /// Whether its newline is there.
    pub(crate) terminated: bool,
}

impl FileLines {
    /// The lines of a file that is read from an offset.
    pub(crate) fn new(reader: Box<dyn Read + Send>, offset: u64) -> Self {
        Self { reader: BufReader::with_capacity(256 << 10, reader), buffer: Vec::new(), offset }
    }

    /// The next line; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<FileLine<'_>>> {
        self.buffer.clear();
        let read = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        let offset = self.offset;
        self.offset += read as u64;
        let terminated = self.buffer.last() == Some(&b'\n');
        let bytes = if terminated { self.buffer.get(..read - 1).unwrap_or_default() } else { &self.buffer };
        Ok(Some(FileLine { offset, end: self.offset, bytes, terminated }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_has_eight_digits() {
        let mut line = Vec::new();
        encode(&mut line, 42, br#"{"moon":"full"}"#);
        line.pop();
        assert_eq!(decode(&line).unwrap().place, 42);
        assert!(decode(&[b"0", &line[..]].concat()).is_err());
    }

    #[test]
    fn whatever_a_line_begins_with_is_a_beginning_and_nothing_else() {
        let mut line = Vec::new();
        encode(&mut line, 42, br#"{"moon":"full"}"#);
        line.pop();
        for length in 0..=line.len() {
            assert!(is_beginning(&line[..length]), "cut at {length}");
        }
        let json_flipped = [&line[..line.len() - 1], b"]"].concat();
        let longer = [&line[..], b" "].concat();
        for other in [
            &json_flipped[..],
            &longer,
            b"0123abcde",
            b"0123abc 4",
            b"0123abcde 4",
            b"0123ABCD",
            b"0123abcd x",
            b"0123abcd 42 x",
            b"0123abcd 42  {",
        ] {
            assert!(!is_beginning(other), "{}", other.escape_ascii());
        }
    }
}
