//! Recovery: rebuilds the state from the files before a daemon serves anything.
//!
//! [`look`] reads and decides, and changes nothing; [`recover`] then carries out the decisions:
//!
//! | found | decided |
//! |---|---|
//! | a complete group | kept, whether or not it was acknowledged |
//! | a torn group at the end of the last segment | cut off, after its bytes were quarantined |
//! | a last group that is not on the disk | ignored |
//! | damage anywhere else | stop; a copy is quarantined, nothing is changed |
//! | a damaged snapshot | use the one before it and all segments since then, which have the same facts |
//! | a missing segment or snapshot | stop |
//! | a segment that ends before the next one begins, or before the snapshot that was taken beside it | stop |
//! | another format version | stop |
//! | a fact of an unknown chapter or version | stop and name the program that wrote it; if it is optional, skip and report it |
//! | another boot | all attachments end, all cooling restarts |
//! | less than a [`Witness`](crate::Witness) has recorded | kept, and reported as lost: the caller must not serve new requests |
//! | a segment begun after a failure, its snapshot not durable | quarantined: nothing was acknowledged since |

use tenure_ledger::LedgerState;
use tenure_types::{BootId, Moment};

use crate::chapters::{Chapters, LineOutcome, NotTaken, RecoverChapter};
use crate::continuity::{Reached, Snapshot};
use crate::disk::Disk;
use crate::durable::{Durable, LogEnd};
use crate::header::Base;
use crate::names::Listing;
use crate::report::RecoveryReport;
use crate::segment::{Next, Segment};
use crate::v1::RecoveringChapters;
use crate::{Error, Result, names, quarantine, snapshot};

/// How often a reader retries. A running daemon may sweep old files between the listing and the reading. A retry
/// helps, since snapshots are rare in comparison; real damage stays.
const MORE_LOOKS: u32 = 3;

/// The position in the log at which writing resumes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    /// The last segment; 0 if there is none.
    pub(crate) number: u64,
    /// The segment's length.
    pub(crate) length: u64,
    /// The group at its end, or its header, as it was read.
    last_group: Vec<u8>,
    /// The place of its last fact, or of the last one before it.
    last: u64,
    /// The place of the next fact.
    pub(crate) next: u64,
    /// Whether the last segment can be continued: it is of this boot, and the next fact is the one after its last.
    pub(crate) resumable: bool,
}

impl Tail {
    /// The end of the last segment.
    pub(crate) fn end(&self) -> LogEnd {
        LogEnd::of(&self.last_group)
    }

    /// The same for the header of the next segment; `None` if there is no segment.
    pub(crate) fn durable(&self) -> Option<Durable> {
        (self.number > 0).then(|| self.end().durable(self.last, self.number, self.length))
    }
}

/// The recovered state, and how it was found.
pub struct Recovered {
    /// The state.
    pub state: LedgerState,
    /// The findings of the recovery, and its repairs.
    pub report: RecoveryReport,
    /// The position in the log at which writing resumes.
    pub tail: Tail,
}

/// The findings in the files, and the repairs to make; the state is in the chapters.
struct RecoveryFindings {
    report: RecoveryReport,
    tail: Tail,
    reached: Reached,
    repairs: Vec<FileRepair>,
}

enum FileRepair {
    /// Cut off the bytes after the last complete group.
    Cut { file: String, length: u64 },
    /// Remove a file without state.
    Remove(String),
    /// Rename a file into quarantine.
    PutAside(String),
}

/// Rebuilds the books and repairs what a crash left behind. The caller holds the state directory's
/// [`Lock`](crate::Lock).
///
/// # Errors
/// [`Error`] if the state is not known for certain. Then a copy of a damaged file is quarantined and nothing is
/// changed.
pub fn recover(disk: &dyn Disk, boot: &BootId, now: Moment) -> Result<Recovered> {
    recover_after(disk, boot, now, None)
}

/// The same, with the last durable end that a [`Witness`](crate::Witness) recorded: reports whether any of that is
/// lost.
///
/// # Errors
/// As [`recover`]; also if bytes of a lost state have to be cut off and no copy of them can be quarantined.
pub fn recover_after(
    disk: &dyn Disk,
    boot: &BootId,
    now: Moment,
    last: Option<&Durable>,
) -> Result<Recovered> {
    recover_with(disk, boot, now, last, &mut [])
}

/// The same with other chapters in addition to the ledger's own. They must be empty, and have their state on return.
///
/// # Errors
/// As [`recover_after`].
pub fn recover_with(
    disk: &dyn Disk,
    boot: &BootId,
    now: Moment,
    last: Option<&Durable>,
    others: &mut [&mut dyn RecoverChapter],
) -> Result<Recovered> {
    rebuild(others, |chapters| recover_chapters(disk, boot, now, last, chapters))
}

/// Recovers into all chapters.
fn rebuild(
    others: &mut [&mut dyn RecoverChapter],
    read: impl FnOnce(&mut Chapters<'_, '_>) -> Result<(RecoveryReport, Tail)>,
) -> Result<Recovered> {
    let mut chapters = RecoveringChapters::default();
    let mut all = chapters.each();
    for other in others {
        all.push(&mut **other);
    }
    let (report, tail) = read(&mut Chapters::new(&mut all))?;
    Ok(Recovered { state: chapters.into_state(), report, tail })
}

fn recover_chapters(
    disk: &dyn Disk,
    boot: &BootId,
    now: Moment,
    last: Option<&Durable>,
    chapters: &mut Chapters<'_, '_>,
) -> Result<(RecoveryReport, Tail)> {
    let mut found = match look_through(disk, chapters) {
        Ok(found) => found,
        Err(error) => {
            if let Error::Damaged { file, offset, .. } = &error {
                quarantine::keep_copy(disk, file, 0, *offset);
            }
            return Err(error);
        }
    };
    if let Some(last) = last {
        let is_in = last.is_in(disk, found.tail.number, found.tail.length);
        found.report.lost = !is_in.map_err(Error::io("checking the last durable group"))?;
    }
    // Newest first: a start that is interrupted here must not leave a gap between segments.
    for repair in found.repairs.iter().rev() {
        mend(disk, repair, found.report.lost)?;
    }
    // Names are made durable when writing resumes; until then the next start would decide the same.
    finish(found, chapters, boot, now)
}

/// Looks until what was read is on the disk.
///
/// A daemon that was killed before a sync, or right after a failed one, leaves a group in the page cache that the
/// disk may lack. No group follows one whose sync failed, so only the last group can be affected.
fn look_through(disk: &dyn Disk, chapters: &mut Chapters<'_, '_>) -> Result<RecoveryFindings> {
    let mut unsynced_group = false;
    loop {
        let mut found = look(disk, chapters)?;
        if found.tail.number == 0 || is_on_disk(disk, &found.tail)? {
            found.report.unsynced_group = unsynced_group;
            return Ok(found);
        }
        unsynced_group = true;
        tracing::warn!(
            log = found.tail.number,
            "the last group was only in the page cache and was never acknowledged; ignoring it"
        );
    }
}

fn is_on_disk(disk: &dyn Disk, tail: &Tail) -> Result<bool> {
    let file = names::log(tail.number);
    disk.sync_and_forget(&file).map_err(Error::io(format!("syncing {file}")))?;
    let mut group = vec![0; tail.last_group.len()];
    let begins = tail.length - group.len() as u64;
    let read = disk.read(&file, begins).and_then(|mut reader| reader.read_exact(&mut group));
    read.map_err(Error::io(format!("reading {file}")))?;
    Ok(group == tail.last_group)
}

/// Rebuilds the books as [`recover`] would, and changes nothing; a daemon may be running.
///
/// # Errors
/// As [`recover`].
pub fn recover_read_only(disk: &dyn Disk, boot: &BootId, now: Moment) -> Result<Recovered> {
    rebuild(&mut [], |chapters| {
        let mut found = look(disk, chapters);
        for _ in 0..MORE_LOOKS {
            if found.is_ok() {
                break;
            }
            found = look(disk, chapters);
        }
        finish(found?, chapters, boot, now)
    })
}

fn finish(
    mut found: RecoveryFindings,
    chapters: &mut Chapters<'_, '_>,
    boot: &BootId,
    now: Moment,
) -> Result<(RecoveryReport, Tail)> {
    // A place that a chapter may already contain is never reused: the chapter would take the fact for one that it
    // has.
    let next = found.tail.next.max(found.reached.behind_snapshot());
    found.report.new_boot = !found.report.fresh && !chapters.is_of(boot);
    found.report.new_segment = next != found.tail.next;
    found.tail.resumable = !found.report.new_boot && !found.report.new_segment;
    found.tail.next = next;
    let file = names::log(found.tail.number);
    let ended = chapters.enter(boot, now);
    found.report.ended_by_reboot = ended.map_err(|refused| refused.into_error(&file, 0, next))?;
    found.report.last = found.tail.next.saturating_sub(1);
    Ok((found.report, found.tail))
}

/// Reads all files and decides.
fn look(disk: &dyn Disk, chapters: &mut Chapters<'_, '_>) -> Result<RecoveryFindings> {
    chapters.clear();
    let listing = Listing::read(disk)?;
    let mut report = RecoveryReport::default();
    let repairs: Vec<_> = listing.temporaries.iter().cloned().map(FileRepair::Remove).collect();
    report.unfinished_files = repairs.len();
    if listing.logs.is_empty() && listing.snapshots.is_empty() {
        report.fresh = true;
        let tail = Tail { next: 1, ..Tail::default() };
        return Ok(RecoveryFindings { report, tail, reached: Reached::default(), repairs });
    }
    // Without a snapshot, everything starts with the first segment.
    let (mut base, mut reached, mut damage) = (1, Reached::default(), None);
    for number in listing.snapshots.iter().rev().copied() {
        match snapshot::read(disk, number, chapters) {
            Ok(read) => {
                report.snapshot = Some(number);
                report.skipped = read.skipped;
                base = number;
                reached.snapshot = Some(Snapshot { number, through: read.through, segment: read.segment });
                break;
            }
            Err(error @ (Error::Damaged { .. } | Error::Contradiction { .. })) => {
                damage.get_or_insert(error);
                chapters.clear();
            }
            Err(error) => return Err(error),
        }
    }
    let found = RecoveryFindings { report, tail: Tail::default(), reached, repairs };
    replay(disk, &listing, base, found, chapters, damage)
}

/// Applies the segments from `base` on. `damage` is that of newer snapshots, which the segments may make up for.
fn replay(
    disk: &dyn Disk,
    listing: &Listing,
    base: u64,
    mut found: RecoveryFindings,
    chapters: &mut Chapters<'_, '_>,
    mut damage: Option<Error>,
) -> Result<RecoveryFindings> {
    let last = listing.logs.last().copied().unwrap_or(base).max(base);
    let mut torn: Option<Error> = None;
    for number in base..=last {
        if !listing.logs.contains(&number) {
            return Err(damage.unwrap_or(Error::Missing { file: names::log(number) }));
        }
        let mut segment = Segment::open(disk, number)?;
        if segment.header().base == Base::Snapshot && found.report.snapshot != Some(number) {
            if let Some(damage) = damage {
                return Err(damage);
            }
            if !matches!(segment.next_group()?, Next::End) {
                return Err(Error::Missing { file: names::snapshot(number) });
            }
            found.report.abandoned_segments += 1;
            found.repairs.push(FileRepair::PutAside(names::log(number)));
            continue;
        }
        if let Some(torn) = torn {
            return Err(torn);
        }
        let begins = found.reached.admits(segment.header(), segment.header_checksum());
        begins.map_err(|gap| damage.take().unwrap_or(gap))?;
        found.reached.is_alone |= segment.header().base == Base::Snapshot;
        torn = apply(&mut found, chapters, segment)?;
        found.reached.end = found.tail.durable();
        let complete = found.reached.is_complete();
        complete.map_err(|gap| damage.take().unwrap_or(gap))?;
    }
    if let Some(damage) = damage {
        // The next snapshot replaces it; until then no start should read it again.
        let file = damage.file().unwrap_or_default().to_owned();
        found.report.damaged_snapshot = Some(damage.to_string());
        found.repairs.push(FileRepair::PutAside(file));
    }
    Ok(found)
}

/// Applies one segment. Returns the error that its torn end means if another segment follows.
fn apply(
    found: &mut RecoveryFindings,
    chapters: &mut Chapters<'_, '_>,
    mut segment: Segment<'_>,
) -> Result<Option<Error>> {
    let header = segment.header();
    let entered = chapters.enter(&header.boot, header.opened);
    entered.map_err(|refused| refused.into_error(segment.file(), 0, header.first))?;
    let mut torn = None;
    loop {
        match segment.next_group()? {
            Next::Group { first } => {
                found.report.groups += 1;
                for (place, (offset, given)) in (first..).zip(segment.facts()) {
                    found.report.facts += 1;
                    match chapters.apply(place, &given) {
                        Ok(LineOutcome::Kept) => {}
                        Ok(LineOutcome::Skipped) => found.report.skipped.add(given.chapter, given.version),
                        Err(NotTaken::Unknown) => {
                            let program = &segment.header().program;
                            return Err(snapshot::unknown(segment.file(), offset, &given, program));
                        }
                        Err(NotTaken::Refused(refused)) => {
                            return Err(refused.into_error(segment.file(), offset, place));
                        }
                    }
                }
            }
            Next::End => break,
            Next::Torn { bytes } => {
                let (file, length) = (segment.file().to_owned(), segment.whole_length());
                found.report.cut_bytes = bytes;
                found.repairs.push(FileRepair::Cut { file: file.clone(), length });
                let why = "its last group is incomplete, and another segment follows".to_owned();
                torn = Some(Error::Damaged { file, offset: length, why });
                break;
            }
        }
    }
    found.report.segments += 1;
    found.tail.number = segment.header().number;
    found.tail.length = segment.whole_length();
    found.tail.next = segment.next_place();
    found.tail.last = found.tail.next.saturating_sub(1);
    found.tail.last_group = segment.into_last_group();
    Ok(torn)
}

/// Makes a repair. Bytes that are cut off a lost state may have been acknowledged, so a copy must succeed.
fn mend(disk: &dyn Disk, repair: &FileRepair, lost: bool) -> Result<()> {
    match repair {
        FileRepair::Cut { file, length } => {
            if lost {
                let copying = format!("quarantining {file} from byte {length} on");
                quarantine::copy(disk, file, *length, *length).map_err(Error::io(copying))?;
            } else {
                quarantine::keep_copy(disk, file, *length, *length);
            }
            let cutting = || Error::io(format!("truncating {file} at byte {length}"));
            let mut log = disk.open(file).map_err(cutting())?;
            log.truncate(*length).map_err(cutting())?;
            log.sync_data().map_err(cutting())
        }
        FileRepair::Remove(file) => disk.remove(file).map_err(Error::io(format!("removing {file}"))),
        FileRepair::PutAside(file) => {
            quarantine::put_aside(disk, file).map_err(Error::io(format!("quarantining {file}")))
        }
    }
}
