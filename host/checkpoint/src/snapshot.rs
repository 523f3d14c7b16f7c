//! The snapshot: every network's book at one time, so that the log before it can go.
//!
//! It is fuzzy: the books are imaged one after another while the log goes on, and each image says the place in the log
//! that it is true as of. The log segment of the same number is begun before the first book is looked at.
//!
//! ```text
//! snapshot.0000000002.tmp ──write, sync──▶ snapshot.0000000002 ──directory sync──▶ the one before the last goes
//! ```

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_ledger::Image;
use tenure_types::{Allocation, Generation, Moment, Network};

use crate::books::Books;
use crate::disk::{Disk, File};
use crate::frame::{self, Lines};
use crate::header::{Header, SnapshotHeader};
use crate::{Error, Result, names};

/// How many cooling addresses, or claims that ended, a line has.
const IN_A_LINE: usize = 256;

/// A line after the header.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Item {
    /// A network begins; what follows is of it.
    Network(Box<NetworkItem>),
    /// Addresses that cool, least recently freed first.
    Cooling(Vec<(IpAddr, Moment)>),
    /// A live allocation.
    Allocation(Arc<Allocation>),
    /// Claims of other IPAMs that were taken over and have ended, by address.
    Settled(Vec<(IpAddr, Arc<str>)>),
    /// The end, with the number of lines before it: a snapshot without it is not whole.
    End { lines: u64 },
}

#[derive(Serialize, Deserialize)]
struct NetworkItem {
    through: u64,
    next_generation: Generation,
    last: Vec<Option<IpAddr>>,
    network: Network,
}

/// A snapshot that is being written, a piece at a time.
pub(crate) struct SnapshotWriter {
    file: Box<dyn File>,
    number: u64,
    lines: u64,
    bytes: u64,
    items: VecDeque<Item>,
}

impl SnapshotWriter {
    /// Begins a snapshot under its temporary name.
    pub(crate) fn begin(disk: &dyn Disk, header: SnapshotHeader) -> io::Result<Self> {
        let number = header.number;
        let mut bytes = Vec::new();
        Header::Snapshot(header).encode(&mut bytes)?;
        let mut file = disk.create(&names::temporary(&names::snapshot(number)))?;
        file.append(&bytes)?;
        Ok(Self { file, number, lines: 1, bytes: bytes.len() as u64, items: VecDeque::new() })
    }

    /// Takes a network in; its allocations are shared with the book, not copied.
    pub(crate) fn add(&mut self, image: Image) {
        let Image { through, network, next_generation, last, cooling, allocations, settled } = image;
        self.items.push_back(Item::Network(Box::new(NetworkItem {
            through,
            next_generation,
            last,
            network,
        })));
        self.items.extend(cooling.chunks(IN_A_LINE).map(|chunk| Item::Cooling(chunk.to_vec())));
        self.items.extend(allocations.into_iter().map(Item::Allocation));
        self.items.extend(settled.chunks(IN_A_LINE).map(|chunk| Item::Settled(chunk.to_vec())));
    }

    /// Whether everything taken in is written.
    pub(crate) fn is_drained(&self) -> bool {
        self.items.is_empty()
    }

    /// Writes and syncs about as many bytes of what was taken in.
    pub(crate) fn write(&mut self, about: usize) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(about);
        while bytes.len() < about {
            let Some(item) = self.items.pop_front() else { break };
            self.encode(&mut bytes, &item)?;
        }
        self.file.append(&bytes)?;
        self.file.sync_data()
    }

    fn encode(&mut self, bytes: &mut Vec<u8>, item: &Item) -> io::Result<()> {
        let before = bytes.len();
        frame::encode(bytes, self.lines, &serde_json::to_vec(item)?);
        self.lines += 1;
        self.bytes += (bytes.len() - before) as u64;
        Ok(())
    }

    /// Ends the snapshot, once it is drained, and makes its bytes durable, still under the temporary name.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes, &Item::End { lines: self.lines })?;
        self.file.append(&bytes)?;
        self.file.sync_data()
    }

    /// Gives the ended snapshot its name, durably. Returns its size.
    pub(crate) fn publish(self, disk: &dyn Disk) -> io::Result<u64> {
        let name = names::snapshot(self.number);
        disk.rename(&names::temporary(&name), &name)?;
        disk.sync_dir()?;
        Ok(self.bytes)
    }

    /// Gives the snapshot up.
    pub(crate) fn abandon(self, disk: &dyn Disk) {
        // What stays behind is swept by the next start.
        let _ = disk.remove(&names::temporary(&names::snapshot(self.number)));
    }
}

/// Reads a snapshot.
///
/// # Errors
/// [`Error::Damaged`] for a snapshot that is not what was written, the end included: it had its name only when it was durable.
pub(crate) fn read(disk: &dyn Disk, number: u64) -> Result<Books> {
    let file = names::snapshot(number);
    let reader = disk.read(&file, 0).map_err(Error::io(format!("opening {file}")))?;
    let reading = || Error::io(format!("reading {file}"));
    let mut lines = Lines::new(reader, 0);
    let header = match Header::decode(&file, lines.next().map_err(reading())?)? {
        Header::Snapshot(header) if header.number == number => header,
        Header::Snapshot(_) | Header::Log(_) => {
            let why = "its header says that it is another file".to_owned();
            return Err(Error::Damaged { file, offset: 0, why });
        }
    };
    let contradiction = |conflict| Error::Contradiction { file: file.clone(), place: 0, conflict };
    let mut books = Books::default();
    books.enter(&header.boot, header.opened).map_err(contradiction)?;
    let mut image: Option<Image> = None;
    let mut expected = 1;
    let mut ended = false;
    while let Some(line) = lines.next().map_err(reading())? {
        let offset = line.offset;
        let damaged = |why: &str| Error::Damaged { file: file.clone(), offset, why: why.to_owned() };
        if ended {
            return Err(damaged("something stands behind the end"));
        }
        if !line.terminated {
            return Err(damaged("the line is cut off"));
        }
        let frame = frame::decode(line.bytes).map_err(damaged)?;
        if frame.place != expected {
            return Err(damaged("a line is missing"));
        }
        expected += 1;
        match (serde_json::from_str(frame.json).map_err(|error| damaged(&error.to_string()))?, &mut image) {
            (Item::Network(network), _) => {
                if let Some(image) = image.take() {
                    books.restore(image).map_err(contradiction)?;
                }
                let NetworkItem { through, next_generation, last, network } = *network;
                image = Some(Image {
                    through,
                    network,
                    next_generation,
                    last,
                    cooling: Vec::new(),
                    allocations: Vec::new(),
                    settled: Vec::new(),
                });
            }
            (Item::Cooling(addresses), Some(image)) => image.cooling.extend(addresses),
            (Item::Allocation(allocation), Some(image)) => image.allocations.push(allocation),
            (Item::Settled(claims), Some(image)) => image.settled.extend(claims),
            (Item::End { lines }, _) if lines + 1 == expected => ended = true,
            (Item::End { .. }, _) => return Err(damaged("the end counts other lines")),
            (Item::Cooling(_) | Item::Allocation(_) | Item::Settled(_), None) => {
                return Err(damaged("it is of no network"));
            }
        }
    }
    if !ended {
        return Err(Error::Damaged { file, offset: 0, why: "its end is missing".to_owned() });
    }
    if let Some(image) = image {
        books.restore(image).map_err(contradiction)?;
    }
    Ok(books)
}
