//! The lines of a file of served DELs. Fields are only ever added.

use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tenure_engine::ports::ServedDel;
use tenure_types::{BootId, ContainerId, InterfaceName, Moment, NetworkName, Owner};

/// The first line. Times are nanoseconds of `CLOCK_BOOTTIME`.
#[derive(Serialize, Deserialize)]
pub(super) struct DelsHeader {
    pub(super) boot: String,
    /// Every DEL that was served at or after this time is in the file.
    pub(super) since: u64,
}

/// Each other line.
#[derive(Serialize, Deserialize)]
struct DelLine {
    network: String,
    container: String,
    interface: String,
    began: u64,
    served: u64,
}

/// The content of a file.
#[derive(Debug)]
pub(super) struct StoredDels {
    pub(super) since: Moment,
    pub(super) served: Vec<ServedDel>,
    /// The length of the whole lines, in bytes: a DEL whose line is cut off was not answered.
    pub(super) length: u64,
}

pub(super) fn header(header: &DelsHeader) -> Vec<u8> {
    ended(serde_json::to_vec(header))
}

/// The line of a DEL; empty for an owner that has no DELs.
pub(super) fn line(network: &NetworkName, owner: &Owner, began: Moment, served: Moment) -> Vec<u8> {
    let Some((container, interface)) = owner.attachment() else { return Vec::new() };
    ended(serde_json::to_vec(&DelLine {
        network: network.to_string(),
        container: container.to_string(),
        interface: interface.to_string(),
        began: began.boot_ns,
        served: served.boot_ns,
    }))
}

/// Strings and numbers always serialize.
fn ended(json: serde_json::Result<Vec<u8>>) -> Vec<u8> {
    let mut bytes = json.unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Reads a file; `None` if there is none of this boot.
///
/// # Errors
/// The system's error, or `InvalidData` for a file that is not such a record.
pub(super) fn read(path: &Path, boot: &BootId) -> io::Result<Option<StoredDels>> {
    let Some(text) = text_of(path)? else { return Ok(None) };
    let whole = text.rfind('\n').map_or("", |end| text.get(..=end).unwrap_or_default());
    let mut lines = whole.lines();
    let header: DelsHeader = serde_json::from_str(lines.next().unwrap_or_default())?;
    if header.boot != boot.0 {
        return Ok(None);
    }
    let served = lines.map(parsed).collect::<io::Result<Vec<_>>>()?;
    let length = u64::try_from(whole.len()).unwrap_or(u64::MAX);
    Ok(Some(StoredDels { since: at(header.since), served, length }))
}

fn text_of(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parsed(line: &str) -> io::Result<ServedDel> {
    let DelLine { network, container, interface, began, served } = serde_json::from_str(line)?;
    let invalid = |error: &dyn std::fmt::Display| io::Error::new(ErrorKind::InvalidData, error.to_string());
    let owner = Owner::Attachment {
        container: ContainerId::new(container).map_err(|error| invalid(&error))?,
        interface: InterfaceName::new(interface).map_err(|error| invalid(&error))?,
    };
    let network = NetworkName::new(network).map_err(|error| invalid(&error))?;
    Ok(ServedDel { network, owner, began: at(began), served: at(served) })
}

/// A moment of this boot. Its wall clock is not recorded, since nothing compares it.
fn at(boot_ns: u64) -> Moment {
    Moment { boot_ns, wall_ms: 0 }
}
