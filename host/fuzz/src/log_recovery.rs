//! The files that a start finds on the disk: arbitrary files, or a real log with a few flipped bits.
//!
//! The input is text. `== NAME` begins a file. A line `+PLACE JSON` is written with the right checksum and length,
//! because otherwise no line would pass the checksum; every other line is written unchanged. An input that begins
//! with `!` is damage to the golden log instead, with three bytes for each flipped bit.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::OnceLock;

use tenure_checkpoint::sim::SimDisk;
use tenure_checkpoint::{Error, Recovered, recover, recover_read_only};
use tenure_ledger::{Book, Image};
use tenure_types::{BootId, Moment, NetworkName};

use crate::input::Input;

type Images = BTreeMap<NetworkName, Image>;

const LOG: &str = "log.0000000001";
const GOLDEN: &[u8] = include_bytes!("../golden/log.0000000001");
const NOW: Moment = Moment { boot_ns: 5_000_000_000, wall_ms: 1_700_000_000_000 };

/// The checksum is certain to detect this many flipped bits in lines as short as the golden log's.
const MOST_FLIPS: usize = 3;

/// Recovers from the files on the disk.
///
/// # Panics
/// When recovery is not repeatable, a book contradicts itself, or a damaged log yields a state that was never written.
pub fn log_recovery(data: &[u8]) {
    match data.split_first() {
        Some((b'!', flips)) => damaged_log(flips),
        _ => any_files(data),
    }
}

fn any_files(data: &[u8]) {
    let disk = SimDisk::new(0);
    let mut file = (LOG.to_owned(), Vec::new());
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        if let Some(name) = line.strip_prefix(b"== ") {
            disk.put(&file.0, &file.1);
            file = (String::from_utf8_lossy(name).trim_end().to_owned(), Vec::new());
        } else {
            file.1.extend(framed(line).unwrap_or_else(|| line.to_vec()));
        }
    }
    disk.put(&file.0, &file.1);
    check_recovery(&disk);
}

/// The log line for `+PLACE JSON`.
fn framed(line: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line.strip_prefix(b"+")?).ok()?;
    let (place, json) = text.trim_end_matches('\n').split_once(' ')?;
    let body = format!("{place} {} {json}", json.len());
    Some(format!("{:08x} {body}\n", crc32c::crc32c(body.as_bytes())).into_bytes())
}

fn damaged_log(flips: &[u8]) {
    // Computed even if this damage is detected: a golden log that can no longer be read would prove nothing.
    let prefixes = prefixes();
    let mut log = GOLDEN.to_vec();
    let mut flips = Input::new(flips);
    for _ in 0..MOST_FLIPS {
        if flips.is_empty() {
            break;
        }
        let at = usize::from(u16::from_be_bytes(flips.bytes())) % log.len();
        if let Some(byte) = log.get_mut(at) {
            *byte ^= 1 << flips.below(8);
        }
    }
    let disk = SimDisk::new(0);
    disk.put(LOG, &log);
    if let Some(images) = check_recovery(&disk) {
        assert!(prefixes.contains(&images), "a damaged log yields a state that was never written");
    }
}

/// The books after each line of the golden log, which must be readable up to its last complete group.
fn prefixes() -> &'static [Images] {
    static PREFIXES: OnceLock<Vec<Images>> = OnceLock::new();
    PREFIXES.get_or_init(|| {
        let ends = GOLDEN.iter().enumerate().filter_map(|(at, byte)| (*byte == b'\n').then_some(at + 1));
        let prefixes: Vec<Images> = ends
            .filter_map(|end| {
                let disk = SimDisk::new(0);
                disk.put(LOG, GOLDEN.get(..end).unwrap_or_default());
                let images = check_recovery(&disk);
                assert!(images.is_some(), "the golden log can no longer be read up to byte {end}");
                images
            })
            .collect();
        let held =
            prefixes.last().into_iter().flat_map(BTreeMap::values).map(|image| image.allocations.len());
        assert!(held.sum::<usize>() > 0, "the golden log no longer contains any allocation");
        prefixes
    })
}

/// Recovers three times: read-only, with repairs, and from the repaired files.
fn check_recovery(disk: &SimDisk) -> Option<Images> {
    let boot = BootId("00000000-0000-4000-8000-000000000001".to_owned());
    let looked = images(recover_read_only(disk, &boot, NOW));
    let repaired = images(recover(disk, &boot, NOW));
    assert_eq!(looked, repaired, "read-only recovery found a different state than recovery");
    let repaired = repaired?;
    let again = recover(disk, &boot, NOW);
    assert_eq!(
        again.as_ref().map(|again| again.report.cut_bytes).ok(),
        Some(0),
        "a second recovery repaired the log again"
    );
    assert_eq!(images(again).as_ref(), Some(&repaired), "a second recovery found a different state");
    for image in repaired.values() {
        check_image(image);
    }
    Some(repaired)
}

fn images(recovered: Result<Recovered, Error>) -> Option<Images> {
    let books = recovered.ok()?.state.books;
    Some(books.iter().map(|book| (book.network().name.clone(), book.image())).collect())
}

fn check_image(image: &Image) {
    let addresses = image.allocations.iter().flat_map(|allocation| &allocation.addresses);
    let addresses: Vec<IpAddr> = addresses.map(|assigned| assigned.address.addr()).collect();
    let distinct: BTreeSet<&IpAddr> = addresses.iter().collect();
    assert_eq!(distinct.len(), addresses.len(), "an address has two owners");
    let restored = Book::restore(image.clone()).map(|book| book.image());
    assert_eq!(restored.as_ref(), Ok(image), "a book restored from its image has a different image");
}
