//! Tells what a crash leaves behind from damage.
//!
//! A crash before the sync of a group takes bytes away: the file ends too early, or sectors that were never written
//! read as zeros. It does not change bytes, and it does not touch what was synced before. So a tail is torn only if
//! it belongs to a single group, that group is incomplete, and the only problem is that something is missing.
//! Anything else, even a flipped bit in the very last line, was acknowledged once and is damage.

use crate::frame;
use crate::line;

/// The least that a disk writes atomically.
const SECTOR: usize = 512;

/// Whether the bytes after the last complete group, from `offset` to the end of the file, are a torn group.
///
/// `next` is the place of the group's first fact.
pub(crate) fn is_torn(rest: &[u8], offset: u64, next: u64) -> bool {
    let mut pieces: Vec<&[u8]> = rest.split(|byte| *byte == b'\n').collect();
    let unterminated = pieces.pop().unwrap_or_default();
    let mut intact = true;
    let mut last = None;
    for (place, piece) in (next..).zip(pieces) {
        // A hole may have swallowed the newline before an intact line, which says whether its group is a later one.
        let line = piece.rsplit(|byte| *byte == 0).next().unwrap_or_default();
        intact &= line.len() == piece.len();
        let Some((found, group)) = group_of(line) else {
            intact = false;
            continue;
        };
        if group.0 != next {
            // A later group was written only after this one was durable.
            return false;
        }
        intact &= found == place;
        last = Some((found, group.1));
    }
    let whole = last.is_some_and(|(found, last)| found >= last);
    has_hole(rest, offset) || (intact && !whole && frame::is_beginning(unterminated))
}

fn group_of(line: &[u8]) -> Option<(u64, (u64, u64))> {
    let frame = frame::decode(line).ok()?;
    Some((frame.place, line::group_of(frame.json)?))
}

/// Whether a sector, or the part of it in these bytes, is all zeros.
fn has_hole(bytes: &[u8], offset: u64) -> bool {
    let into_sector = usize::try_from(offset % SECTOR as u64).unwrap_or_default();
    let (head, sectors) = bytes.split_at(bytes.len().min(SECTOR - into_sector));
    let zeros = |sector: &[u8]| !sector.is_empty() && sector.iter().all(|byte| *byte == 0);
    zeros(head) || sectors.chunks(SECTOR).any(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a group from 5 to 7.
    fn line(place: u64) -> Vec<u8> {
        let mut line = Vec::new();
        frame::encode(&mut line, place, br#"{"group":[5,7],"fact":{}}"#);
        line
    }

    #[test]
    fn a_hole_is_no_smaller_than_what_a_disk_writes_at_once() {
        let begun = [line(5), line(6)].concat();
        assert!(is_torn(&begun, 100, 5), "the last line is missing");
        let flipped = [&[0], &begun[..]].concat();
        assert!(!is_torn(&flipped, 100, 5), "a single byte is damage");
        let hole = [&[0; 412], &begun[..]].concat();
        assert!(is_torn(&hole, 100, 5), "the rest of a sector is missing");
    }
}
