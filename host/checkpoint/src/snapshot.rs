//! The snapshot: every network's book, so that the log before it can be removed.
//!
//! It is fuzzy: the books are read one after another while the log continues, and each image records the place in the
//! log up to which it is true. The log segment with the same number begins before the first book is read. If that
//! segment builds on the snapshot alone, the facts that were staged meanwhile follow the images, so that the snapshot
//! has all of a group or nothing.
//!
//! ```text
//! snapshot.0000000002.tmp ──write, sync──▶ snapshot.0000000002 ──directory sync──▶ older ones are removed
//! ```

use std::io;

use crate::chapters::{ChapterRefusal, Chapters, LineOutcome, NotTaken};
use crate::disk::{Disk, File};
use crate::frame::{self, FileLines};
use crate::header::{Header, SnapshotHeader};
use crate::line::{self, ChapterLine, RawFact, SnapshotLine};
use crate::report::Skipped;
use crate::{Error, Result, names, source};

/// A snapshot that is being written piece by piece.
pub(crate) struct SnapshotWriter {
    file: Box<dyn File>,
    number: u64,
    lines: u64,
    bytes: u64,
    /// The rest of the lines added last, still to be written.
    rest: Option<source::ChapterLines>,
}

impl SnapshotWriter {
    /// Creates a snapshot under its temporary name.
    pub(crate) fn begin(disk: &dyn Disk, header: SnapshotHeader) -> io::Result<Self> {
        let number = header.number;
        let mut bytes = Vec::new();
        Header::Snapshot(header).encode(&mut bytes)?;
        let mut file = disk.create(&names::temporary(&names::snapshot(number)))?;
        file.append(&bytes)?;
        Ok(Self { file, number, lines: 1, bytes: bytes.len() as u64, rest: None })
    }

    /// The number of the snapshot.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Adds the lines of a part of the state. Those of the part before must have been written.
    pub(crate) fn add(&mut self, lines: source::ChapterLines) {
        self.rest = Some(lines);
    }

    /// Whether all added lines have been written.
    pub(crate) fn is_drained(&self) -> bool {
        self.rest.is_none()
    }

    /// Writes and syncs about this many bytes of the added lines.
    pub(crate) fn write(&mut self, about: usize) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(about);
        while bytes.len() < about {
            let Some(line) = self.rest.as_mut().and_then(Iterator::next) else {
                self.rest = None;
                break;
            };
            line::encode_item(&mut bytes, self.lines, &line);
            self.lines += 1;
        }
        self.bytes += bytes.len() as u64;
        self.file.append(&bytes)?;
        self.file.sync_data()
    }

    /// Completes the snapshot once it is drained, and makes its bytes durable, still under the temporary name.
    /// `staged` are the facts after `before` that parts of it may contain.
    pub(crate) fn end(&mut self, before: u64, staged: &[(u64, ChapterLine)]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (place, line) in staged {
            line::encode_staged(&mut bytes, self.lines, *place, line);
            self.lines += 1;
        }
        let through = staged.last().map_or(before, |(place, _)| *place);
        line::encode_end(&mut bytes, self.lines, through);
        self.bytes += bytes.len() as u64;
        self.file.append(&bytes)?;
        self.file.sync_data()
    }

    /// Renames the completed snapshot to its final name, durably. Returns its size.
    pub(crate) fn publish(&self, disk: &dyn Disk) -> io::Result<u64> {
        let name = names::snapshot(self.number);
        disk.rename(&names::temporary(&name), &name)?;
        disk.sync_dir()?;
        Ok(self.bytes)
    }
}

/// The content of a snapshot besides the state in the chapters.
pub(crate) struct Read {
    /// Optional lines that no chapter here knows.
    pub(crate) skipped: Skipped,
    /// The last place that it may contain: it may be ahead of the log.
    pub(crate) through: u64,
    /// The checksum of the first line of its segment, if it says that.
    pub(crate) segment: Option<u32>,
}

/// Restores a snapshot into the chapters, which must be empty.
///
/// # Errors
/// [`Error::Damaged`] if the snapshot is not what was written, or its end is missing: it got its name only once it
/// was durable.
pub(crate) fn read(disk: &dyn Disk, number: u64, chapters: &mut Chapters<'_, '_>) -> Result<Read> {
    let file = names::snapshot(number);
    let reader = disk.read(&file, 0).map_err(Error::io(format!("opening {file}")))?;
    let reading = || Error::io(format!("reading {file}"));
    let mut lines = FileLines::new(reader, 0);
    let header = match Header::decode(&file, lines.next().map_err(reading())?)? {
        Header::Snapshot(header) if header.number == number => header,
        Header::Snapshot(_) | Header::Log(_) => {
            let why = "its header names another file".to_owned();
            return Err(Error::Damaged { file, offset: 0, why });
        }
    };
    chapters.enter(&header.boot, header.opened).map_err(|refused| refused.into_error(&file, 0, 0))?;
    let mut read = Read { skipped: Skipped::default(), through: 0, segment: header.segment };
    let mut expected = 1;
    let mut next = Next::Item;
    while let Some(line) = lines.next().map_err(reading())? {
        let offset = line.offset;
        let damaged = |why: &str| Error::Damaged { file: file.clone(), offset, why: why.to_owned() };
        if next == Next::Nothing {
            return Err(damaged("there is data after the end"));
        }
        if !line.terminated {
            return Err(damaged("the line is truncated"));
        }
        let frame = frame::decode(line.bytes).map_err(damaged)?;
        if frame.place != expected {
            return Err(damaged("a line is missing"));
        }
        expected += 1;
        let line = SnapshotLine::decode(frame.json)
            .ok_or_else(|| damaged("the line is not an item, a fact or the end"))?;
        if next == Next::Item && !matches!(line, SnapshotLine::Item(_)) {
            chapters.restored().map_err(|refused| refused.into_error(&file, 0, 0))?;
            next = Next::Fact;
        }
        let (place, given, taken) = match line {
            SnapshotLine::Item(item) if next == Next::Item => (0, item, chapters.restore(&item)),
            SnapshotLine::Item(_) => return Err(damaged("an item follows a fact")),
            SnapshotLine::Fact { place, fact } => (place, fact, chapters.apply(place, &fact)),
            SnapshotLine::End { lines, through } if lines + 1 == expected => {
                (next, read.through) = (Next::Nothing, through);
                continue;
            }
            SnapshotLine::End { .. } => return Err(damaged("the end has the wrong line count")),
        };
        match taken {
            Ok(LineOutcome::Kept) => {}
            Ok(LineOutcome::Skipped) => read.skipped.add(given.chapter, given.version),
            Err(NotTaken::Unknown) => return Err(unknown(&file, offset, &given, &header.program)),
            Err(NotTaken::Refused(refused)) => return Err(refused.into_error(&file, offset, place)),
        }
    }
    if next != Next::Nothing {
        return Err(Error::Damaged { file, offset: 0, why: "its end is missing".to_owned() });
    }
    Ok(read)
}

/// The lines that may follow in a snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Item,
    Fact,
    Nothing,
}

/// The error for a line that this program does not know and that is not optional.
pub(crate) fn unknown(file: &str, offset: u64, given: &RawFact<'_>, program: &str) -> Error {
    Error::UnknownChapter {
        file: file.to_owned(),
        offset,
        chapter: given.chapter.to_owned(),
        version: given.version,
        program: program.to_owned(),
    }
}

impl ChapterRefusal {
    /// The error for a line that its chapter refuses.
    pub(crate) fn into_error(self, file: &str, offset: u64, place: u64) -> Error {
        let file = file.to_owned();
        match self {
            Self::Version => Error::Damaged { file, offset, why: "its version changed".to_owned() },
            Self::Malformed(why) => Error::Damaged { file, offset, why },
            Self::Conflict(conflict) => Error::Contradiction { file, place, conflict },
        }
    }
}
