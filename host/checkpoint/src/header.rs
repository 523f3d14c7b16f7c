//! The first line of each file: its kind, its format version, and the boot and node that wrote it.
//!
//! The path to the version never changes: a framed first line with `{"log":{"version":N` or
//! `{"snapshot":{"version":N`. So any version can name any other.

use serde::{Deserialize, Serialize};
use tenure_types::{BootId, Moment};

use crate::Error;
use crate::durable::Durable;
use crate::frame::{self, FileLine};

/// The format version that this program writes, and the only one that it reads.
pub const FORMAT_VERSION: u64 = 2;

/// The version from before the first release. It is recognised but not read.
const UNRELEASED: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(remote = "BootId", transparent)]
struct StoredBoot(String);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Moment")]
struct StoredMoment {
    boot_ns: u64,
    wall_ms: u64,
}

/// The base of a log segment: the state before its first fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// The previous segment, which it continues.
    Log,
    /// Only the snapshot with its own number, because writing the previous segment failed.
    Snapshot,
}

/// The header of a log segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHeader {
    /// The format version.
    pub version: u64,
    /// The program that wrote it, with its version.
    pub program: String,
    /// The segment's number.
    pub number: u64,
    /// The place of its first fact.
    pub first: u64,
    /// The base that the segment builds on.
    pub base: Base,
    /// The end of the segment that it continues, so that one that lost its end is not taken for whole. `None` for a
    /// segment that continues none, and in the headers of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Durable>,
    /// The boot that wrote it. If it differs from the previous boot, every pod allocation before this line has ended.
    #[serde(with = "StoredBoot")]
    pub boot: BootId,
    /// The node that wrote it.
    pub node: String,
    /// The creation time.
    #[serde(with = "StoredMoment")]
    pub opened: Moment,
}

/// The header of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotHeader {
    pub(crate) version: u64,
    pub(crate) program: String,
    pub(crate) number: u64,
    /// The CRC-32C of the first line of the segment with its number, so that no segment of another history is taken for
    /// it. `None` in the headers of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) segment: Option<u32>,
    #[serde(with = "StoredBoot")]
    pub(crate) boot: BootId,
    pub(crate) node: String,
    #[serde(with = "StoredMoment")]
    pub(crate) opened: Moment,
}

/// The header of either kind of file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Header {
    Log(LogHeader),
    Snapshot(SnapshotHeader),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AnyVersion {
    Log { version: u64 },
    Snapshot { version: u64 },
}

impl Header {
    /// Encodes the framed line.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        frame::encode(out, 0, &serde_json::to_vec(self)?);
        Ok(())
    }

    /// Decodes the first line of a file; `None` stands for an empty file.
    pub(crate) fn decode(file: &str, line: Option<FileLine<'_>>) -> Result<Self, Error> {
        let damaged = |why: String| Error::Damaged { file: file.to_owned(), offset: 0, why };
        let line = line.ok_or_else(|| damaged("the file is empty".to_owned()))?;
        if !line.terminated {
            return Err(damaged("the header is truncated".to_owned()));
        }
        let frame = frame::decode(line.bytes).map_err(|why| damaged(format!("the header: {why}")))?;
        let (AnyVersion::Log { version } | AnyVersion::Snapshot { version }) =
            serde_json::from_str(frame.json).map_err(|error| damaged(format!("the header: {error}")))?;
        if version == UNRELEASED {
            return Err(Error::Unreleased { file: file.to_owned() });
        }
        if version != FORMAT_VERSION {
            return Err(Error::UnknownVersion {
                file: file.to_owned(),
                found: version,
                known: FORMAT_VERSION,
            });
        }
        serde_json::from_str(frame.json).map_err(|error| damaged(format!("the header: {error}")))
    }
}
