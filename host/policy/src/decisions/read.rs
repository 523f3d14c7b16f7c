//! Reads recorded decisions from a file, from a network's folder, or from the folder of all networks.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::decision::{DecisionHeader, FORMAT, RecordedDecision, RecordedLimits};
use super::files::{BEFORE, NOW};

/// Why decisions cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// A file or folder cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder contains no decisions.
    #[error("{}: contains no decisions", .0.display())]
    Empty(PathBuf),
    /// The file does not begin with a header.
    #[error("{}: not a file of decisions", .0.display())]
    Foreign(PathBuf),
    /// The file has a format of a later version.
    #[error("{}: has format {format}, and this version reads up to {FORMAT}", path.display())]
    Later {
        /// The file.
        path: PathBuf,
        /// The file's format.
        format: u32,
    },
}

/// A decision, and the limits of its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The decision.
    pub decision: RecordedDecision,
    /// The limits.
    pub limits: RecordedLimits,
}

/// The decisions of some files, in order. Lines that cannot be read are passed over and counted.
#[derive(Debug)]
pub struct DecisionFiles {
    waiting: VecDeque<PathBuf>,
    open: Option<OpenFile>,
    passed_over: u64,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    lines: BufReader<File>,
    limits: Option<RecordedLimits>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PendingDecision {
    Decision(Box<RecordedDecision>),
    Header(DecisionHeader),
    /// A header of a later version, or any other JSON.
    Other {
        decisions: u32,
    },
}

impl DecisionFiles {
    /// Finds the files at a path.
    ///
    /// # Errors
    /// [`Unreadable`] if there are none.
    pub fn at(path: &Path) -> Result<Self, Unreadable> {
        let unreadable = |source| Unreadable::File { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        let mut waiting: VecDeque<PathBuf> = if metadata.is_dir() {
            let mut folders = vec![path.to_owned()];
            for entry in std::fs::read_dir(path).map_err(unreadable)? {
                folders.push(entry.map_err(unreadable)?.path());
            }
            folders.sort_unstable();
            folders.iter().flat_map(|folder| [BEFORE, NOW].map(|name| folder.join(name))).collect()
        } else {
            VecDeque::from([path.to_owned()])
        };
        if metadata.is_dir() {
            waiting.retain(|file| file.is_file());
        }
        if waiting.is_empty() {
            return Err(Unreadable::Empty(path.to_owned()));
        }
        Ok(Self { waiting, open: None, passed_over: 0 })
    }

    /// The number of lines that could not be read so far.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The next decision; `None` after the last one.
    ///
    /// # Errors
    /// [`Unreadable`] if a file is not one of decisions, or of a later version.
    pub fn next_decision(&mut self) -> Result<Option<Recorded>, Unreadable> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(path) = self.waiting.pop_front() else { return Ok(None) };
                self.open = Some(OpenFile::new(path)?);
                continue;
            };
            let Some(line) = open.line()? else {
                self.open = None;
                continue;
            };
            match (serde_json::from_slice(&line), &open.limits) {
                (Ok(PendingDecision::Header(header)), _) if header.format <= FORMAT => {
                    open.limits = Some(header.limits);
                }
                (
                    Ok(
                        PendingDecision::Header(DecisionHeader { format: decisions, .. })
                        | PendingDecision::Other { decisions },
                    ),
                    _,
                ) => {
                    return Err(Unreadable::Later { path: open.path.clone(), format: decisions });
                }
                (Ok(PendingDecision::Decision(decision)), Some(limits)) => {
                    let limits = decision.limits.as_ref().unwrap_or(limits).clone();
                    return Ok(Some(Recorded { decision: *decision, limits }));
                }
                (Ok(PendingDecision::Decision(_)) | Err(_), None) => {
                    return Err(Unreadable::Foreign(open.path.clone()));
                }
                (Err(_), Some(_)) => self.passed_over += 1,
            }
        }
    }
}

impl OpenFile {
    fn new(path: PathBuf) -> Result<Self, Unreadable> {
        match File::open(&path) {
            Ok(file) => Ok(Self { path, lines: BufReader::new(file), limits: None }),
            Err(source) => Err(Unreadable::File { path, source }),
        }
    }

    /// The next line; `None` at the end.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Unreadable> {
        let mut line = Vec::new();
        match self.lines.read_until(b'\n', &mut line) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(line)),
            Err(source) => Err(Unreadable::File { path: self.path.clone(), source }),
        }
    }
}
