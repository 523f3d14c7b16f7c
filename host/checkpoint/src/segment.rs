//! Reads a log segment group by group.

use std::ops::Range;

use crate::disk::Disk;
use crate::frame::{self, FileLines};
use crate::header::{Header, LogHeader};
use crate::line::{LogLine, RawFact};
use crate::{Error, Result, names, torn};

/// A log segment that is being read.
pub(crate) struct Segment<'a> {
    disk: &'a dyn Disk,
    file: String,
    lines: FileLines,
    header: LogHeader,
    /// The expected place of the next fact.
    next: u64,
    /// The end of the last complete group.
    whole: u64,
    /// The bytes of the last complete group, or of the header.
    last_group: Vec<u8>,
    /// The positions of the last complete group's facts in its bytes.
    facts: Vec<FoundFact>,
    /// The buffer for the next group.
    spare: Vec<u8>,
}

/// A fact of a group.
struct FoundFact {
    /// The offset of its line in the file.
    offset: u64,
    chapter: Box<str>,
    version: u32,
    optional: bool,
    /// The position of its JSON in the group's bytes.
    json: Range<usize>,
}

/// The next item of a segment.
pub(crate) enum Next {
    /// A complete group; [`Segment::facts`] returns its facts.
    Group { first: u64 },
    /// The end, after a complete group.
    End,
    /// A group that a crash left incomplete, up to the end: it was never acknowledged.
    Torn { bytes: u64 },
}

impl<'a> Segment<'a> {
    /// Opens a segment and reads its header.
    pub(crate) fn open(disk: &'a dyn Disk, number: u64) -> Result<Self> {
        let file = names::log(number);
        let reader = disk.read(&file, 0).map_err(Error::io(format!("opening {file}")))?;
        let mut lines = FileLines::new(reader, 0);
        let line = lines.next().map_err(Error::io(format!("reading {file}")))?;
        let whole = line.as_ref().map_or(0, |line| line.end);
        let mut last_group = line.as_ref().map_or_else(Vec::new, |line| line.bytes.to_vec());
        last_group.push(b'\n');
        match Header::decode(&file, line)? {
            Header::Log(header) if header.number == number => {
                let (next, facts, spare) = (header.first, Vec::new(), Vec::new());
                Ok(Self { disk, file, lines, next, header, whole, last_group, facts, spare })
            }
            Header::Log(header) => {
                let why = format!("its header says that it is {}", names::log(header.number));
                Err(Error::Damaged { file, offset: 0, why })
            }
            Header::Snapshot(_) => Err(Error::Damaged {
                file,
                offset: 0,
                why: "its header says that it is a snapshot".to_owned(),
            }),
        }
    }

    pub(crate) fn header(&self) -> &LogHeader {
        &self.header
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The checksum of the first line; only before the first group is read.
    pub(crate) fn header_checksum(&self) -> u32 {
        crc32c::crc32c(&self.last_group)
    }

    /// The place of the fact after the last complete group.
    pub(crate) fn next_place(&self) -> u64 {
        self.next
    }

    /// The end of the last complete group.
    pub(crate) fn whole_length(&self) -> u64 {
        self.whole
    }

    /// The last complete group, or the header if there is none, as it was read.
    pub(crate) fn into_last_group(self) -> Vec<u8> {
        self.last_group
    }

    /// Reads the next group.
    ///
    /// # Errors
    /// [`Error::Damaged`] for anything that a crash cannot leave behind.
    pub(crate) fn next_group(&mut self) -> Result<Next> {
        let first = self.next;
        let mut place = first;
        // The state changes only once the group is complete, so a torn group leaves the end before it.
        let mut group = std::mem::take(&mut self.spare);
        group.clear();
        self.facts.clear();
        loop {
            let line = self.lines.next().map_err(Error::io(format!("reading {}", self.file)))?;
            let Some(line) = line else {
                if place == first {
                    self.spare = group;
                    return Ok(Next::End);
                }
                return self.torn_or_damaged(self.whole, "the last group is incomplete");
            };
            let (offset, end) = (line.offset, line.end);
            if !line.terminated {
                return self.torn_or_damaged(offset, "the line is truncated");
            }
            let begins = group.len();
            group.extend_from_slice(line.bytes);
            group.push(b'\n');
            let frame = match frame::decode(line.bytes) {
                Ok(frame) => frame,
                Err(why) => return self.torn_or_damaged(offset, why),
            };
            let Some(LogLine { group: (begin, last), fact }) = LogLine::decode(frame.json) else {
                return self.torn_or_damaged(offset, "the line is not a fact");
            };
            if frame.place != place || begin != first || last < place {
                let why = format!(
                    "found fact {} of group {begin}-{last} instead of fact {place} of the group that begins at {first}",
                    frame.place
                );
                return self.torn_or_damaged(offset, &why);
            }
            let RawFact { chapter, version, optional, json } = fact;
            // The JSON is a slice of the line, so this is its offset in the line.
            let at = begins + json.as_ptr().addr() - line.bytes.as_ptr().addr();
            let (chapter, json) = (chapter.into(), at..at + json.len());
            self.facts.push(FoundFact { offset, chapter, version, optional, json });
            let is_last = last == place;
            place += 1;
            if is_last {
                self.next = place;
                self.whole = end;
                self.spare = std::mem::replace(&mut self.last_group, group);
                return Ok(Next::Group { first });
            }
        }
    }

    /// The facts of the last group that was read, each with the offset of its line.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (u64, RawFact<'_>)> {
        self.facts.iter().map(|found| {
            let FoundFact { offset, chapter, version, optional, json } = found;
            // These bytes were read as UTF-8.
            let json = self.last_group.get(json.clone()).and_then(|json| str::from_utf8(json).ok());
            let json = json.unwrap_or_default();
            (*offset, RawFact { chapter, version: *version, optional: *optional, json })
        })
    }

    /// Decides whether the bytes after the last complete group are torn or damaged.
    fn torn_or_damaged(&self, offset: u64, why: &str) -> Result<Next> {
        let mut rest = Vec::new();
        self.disk
            .read(&self.file, self.whole)
            .and_then(|mut reader| reader.read_to_end(&mut rest))
            .map_err(Error::io(format!("reading {}", self.file)))?;
        if torn::is_torn(&rest, self.whole, self.next) {
            Ok(Next::Torn { bytes: rest.len() as u64 })
        } else {
            Err(Error::Damaged { file: self.file.clone(), offset, why: why.to_owned() })
        }
    }
}
