//! The files of one network's decisions: `now.jsonl`, and `before.jsonl` with those before it.
//!
//! When `now` holds as many decisions as are to be kept, it becomes `before` before the next decision that needs none before it. So at
//! least that many are there, and at most about twice as many, or four times where decisions need those before them for long, as after a restart.
//! Nothing is synced: a crash of the machine may leave a torn line, which readers pass over.

use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::Deserialize;

use super::decision::DecisionHeader;
use super::queue::PendingDecision;

/// The file that is written, and the one before it.
pub(super) const NOW: &str = "now.jsonl";
pub(super) const BEFORE: &str = "before.jsonl";

/// The most bytes of a file, however few decisions it holds.
pub(super) const LARGEST: u64 = 64 << 20;

/// The files of one network.
#[derive(Debug)]
pub(super) struct NetworkFiles {
    directory: PathBuf,
    /// The decisions and bytes in `now`, once they have been counted.
    counted: Option<CountedFile>,
    /// The number of the last decision.
    last: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct CountedFile {
    decisions: u32,
    bytes: u64,
}

impl CountedFile {
    /// Whether a line is to begin the next file. A line that needs those before it stays with them, as long as the file is not twice as
    /// large as it should be.
    fn is_full(&self, line: &PendingDecision, most: u32) -> bool {
        let exceeds = |times: u32| {
            self.decisions >= most.saturating_mul(times) || self.bytes > LARGEST * u64::from(times)
        };
        exceeds(2) || line.is_whole && exceeds(1)
    }

    fn add(&mut self, line: &PendingDecision) {
        self.decisions = self.decisions.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u64::try_from(line.body.len() + 16).unwrap_or(u64::MAX));
    }
}

/// The part of a line that is needed to go on after it.
#[derive(Deserialize)]
struct NumberedLine {
    number: u64,
}

impl NetworkFiles {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, counted: None, last: 0 }
    }

    /// Appends decisions, each without its first brace. On an error, some of them may have been written.
    pub(super) fn append(
        &mut self,
        header: &DecisionHeader,
        lines: &[PendingDecision],
        most: u32,
    ) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let mut rest = lines;
        while let Some(first) = rest.first() {
            let mut file = self.open(header)?;
            let mut counted = self.counted.unwrap_or_default();
            if counted.decisions > 0 && counted.is_full(first, most) {
                self.turn()?;
                continue;
            }
            // Up to the line that begins the next file.
            let mut count = 0;
            for line in rest {
                if count > 0 && counted.is_full(line, most) {
                    break;
                }
                counted.add(line);
                count += 1;
            }
            let (these, others) = rest.split_at(count);
            let text = self.text(these);
            let written = file.write_all(&text);
            // What an unfinished write has left is counted again.
            self.counted = written.is_ok().then_some(counted);
            written?;
            rest = others;
        }
        Ok(())
    }

    fn text(&mut self, lines: &[PendingDecision]) -> Vec<u8> {
        let mut text = Vec::with_capacity(lines.iter().map(|line| line.body.len() + 32).sum());
        for PendingDecision { body, .. } in lines {
            self.last += 1;
            text.extend_from_slice(format!("{{\"number\":{},", self.last).as_bytes());
            text.extend_from_slice(body);
            text.push(b'\n');
        }
        text
    }

    /// Opens the file to append to. At first, counts what an earlier daemon has left there; a header begins a new file
    /// and what each daemon appends.
    fn open(&mut self, header: &DecisionHeader) -> io::Result<File> {
        let path = self.directory.join(NOW);
        let mut file = open(&path)?;
        if file.metadata()?.len() == 0 {
            if self.counted.is_none() && self.last == 0 {
                self.last = self.last_of(BEFORE)?;
            }
            self.counted = Some(CountedFile::default());
            file.write_all(&line(header)?)?;
        } else if self.counted.is_none() {
            let (mut counted, last, ends_with) = count(&mut file)?;
            if ends_with != Some(b'\n') {
                file.write_all(b"\n")?;
            }
            let header = line(header)?;
            file.write_all(&header)?;
            counted.bytes += u64::try_from(header.len()).unwrap_or(u64::MAX);
            self.last = self.last.max(last);
            self.counted = Some(counted);
        }
        Ok(file)
    }

    /// Makes `now` the file before it.
    fn turn(&mut self) -> io::Result<()> {
        std::fs::rename(self.directory.join(NOW), self.directory.join(BEFORE))?;
        self.counted = Some(CountedFile::default());
        Ok(())
    }

    fn last_of(&self, name: &str) -> io::Result<u64> {
        match File::open(self.directory.join(name)) {
            Ok(mut file) => Ok(count(&mut file)?.1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Opens a private file for reading and appending.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

fn line(header: &DecisionHeader) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');
    Ok(line)
}

/// Counts the decisions of a file; also returns the last one's number, and the last byte.
fn count(file: &mut File) -> io::Result<(CountedFile, u64, Option<u8>)> {
    file.seek(SeekFrom::Start(0))?;
    let bytes = file.metadata()?.len();
    let (mut counted, mut last, mut ends_with) = (CountedFile { decisions: 0, bytes }, 0, None);
    let (mut reader, mut line) = (BufReader::new(&*file).take(bytes), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Ok(NumberedLine { number }) = serde_json::from_slice(&line) {
            counted.decisions = counted.decisions.saturating_add(1);
            last = number;
        }
        ends_with = line.last().copied();
        line.clear();
    }
    Ok((counted, last, ends_with))
}

#[cfg(test)]
mod tests;
