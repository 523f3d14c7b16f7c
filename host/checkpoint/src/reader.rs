//! Reads the log while the daemon writes it, for `tenurectl log`.

use std::io;
use std::sync::Arc;

use tenure_ledger::Fact;

use crate::disk::Disk;
use crate::frame::{self, FileLines};
use crate::header::{Header, LogHeader};
use crate::line::{ChapterLine, LogLine, RawFact};
use crate::names::{self, Listing};
use crate::{Error, Result, v1};

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogItem {
    /// The start of a segment.
    Segment(LogHeader),
    /// A fact. Its group may not be durable yet.
    Fact {
        /// The fact's place in the log.
        place: u64,
        /// The places of the first and last fact of its group, which one sync makes durable.
        group: (u64, u64),
        /// The fact as it is stored.
        line: ChapterLine,
        /// The decoded fact, if this program knows its chapter and version.
        fact: Option<Fact>,
    },
}

/// Reads the existing segments, oldest first, and then follows the log.
pub struct LogReader {
    disk: Arc<dyn Disk>,
    /// The current segment; `None` before the first.
    number: Option<u64>,
    offset: u64,
    lines: Option<FileLines>,
}

impl LogReader {
    /// Starts at the oldest segment.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, number: None, offset: 0, lines: None }
    }

    /// The next entry; `None` if there are no more for now. To follow the log, call it again later.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a line that is complete but invalid; another call returns the same error.
    pub fn next_item(&mut self) -> Result<Option<LogItem>> {
        loop {
            let continued = self.lines.is_some();
            // A segment that has a successor is no longer written. So its end is final only if the successor was seen
            // before the end.
            let following = if continued { None } else { self.following()? };
            if let Some(item) = self.in_segment()? {
                return Ok(Some(item));
            }
            if continued {
                continue;
            }
            let Some(following) = following else { return Ok(None) };
            (self.number, self.offset, self.lines) = (Some(following), 0, None);
        }
    }

    fn following(&self) -> Result<Option<u64>> {
        let listing = Listing::read(self.disk.as_ref())?;
        Ok(listing.logs.into_iter().find(|number| self.number.is_none_or(|current| *number > current)))
    }

    fn in_segment(&mut self) -> Result<Option<LogItem>> {
        let Some(number) = self.number else { return Ok(None) };
        let file = names::log(number);
        let mut lines = match self.lines.take() {
            Some(lines) => lines,
            None => match self.disk.read(&file, self.offset) {
                Ok(reader) => FileLines::new(reader, self.offset),
                // Compaction has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(Error::io(format!("opening {file}"))(error)),
            },
        };
        let line = lines.next().map_err(Error::io(format!("reading {file}")))?;
        let Some(line) = line.filter(|line| line.terminated) else { return Ok(None) };
        let (offset, end) = (line.offset, line.end);
        let item = if offset == 0 {
            match Header::decode(&file, Some(line))? {
                Header::Log(header) => LogItem::Segment(header),
                Header::Snapshot(_) => {
                    return Err(Error::Damaged { file, offset, why: "it is a snapshot".to_owned() });
                }
            }
        } else {
            let damaged = |why: String| Error::Damaged { file, offset, why };
            let frame = match frame::decode(line.bytes) {
                Ok(frame) => frame,
                Err(why) => return Err(damaged(why.to_owned())),
            };
            let Some(LogLine { group, fact: RawFact { chapter, version, optional, json } }) =
                LogLine::decode(frame.json)
            else {
                return Err(damaged("the line is not a fact".to_owned()));
            };
            let known = v1::decode(chapter, version, json).transpose();
            let known = known.map_err(|why| damaged(format!("the fact: {why}")))?;
            let (chapter, json) = (chapter.to_owned().into(), json.as_bytes().to_vec());
            let line = ChapterLine { chapter, version, optional, json };
            LogItem::Fact { place: frame.place, group, line, fact: known }
        };
        self.offset = end;
        self.lines = Some(lines);
        Ok(Some(item))
    }
}
