//! host-local's directory, compared with the ledger.

use std::fs::File;
use std::fs::TryLockError;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tenure_engine::ports::{IsKnown, Reservation};
use tenure_types::{ContainerId, Error, InterfaceName, NetworkName, Owner, Result};

use super::{is_nothing, letting_go, refused};
use crate::host_local::{AddressFile, DEFAULT_INTERFACE, HOST_LOCAL_NETWORK};

/// The file that host-local locks while it works.
const LOCK: &str = "lock";

/// Refuses the network if the ledger does not account for an address in its directory. A file without an owner counts: host-local
/// does not hand out its address either.
pub(super) fn look(data: &Path, network: &NetworkName, is_known: &IsKnown) -> Result<()> {
    let import = format!("{} --config FILE`, where FILE is the network's configuration", data.display());
    let let_go = letting_go(network, format_args!("host-local {}", data.display()));
    look_at(&data.join(network.as_str()), &import, network, is_known).map_err(|error| solved(error, &let_go))
}

/// Does the same with the directory of a network of host-local's that has another name.
pub(super) fn look_renamed(directory: &Path, network: &NetworkName, is_known: &IsKnown) -> Result<()> {
    let (data, of) = (directory.parent().unwrap_or(directory), directory.file_name().unwrap_or_default());
    let import = format!("{} --of {} --network {network}`", data.display(), of.display());
    let let_go = letting_go(network, format_args!("{HOST_LOCAL_NETWORK} {}", directory.display()));
    look_at(directory, &import, network, is_known).map_err(|error| solved(error, &let_go))
}

/// Names the ways out.
fn solved(error: Error, let_go: &str) -> Error {
    error.to_be_solved_by(format!(
        "import them as described above; if they are not in use, remove their files or set `host_local.ignore`; or, if the network was imported from there, {let_go}"
    ))
}

/// Does the same; `import` is the rest of the command that imports the addresses.
fn look_at(directory: &Path, import: &str, network: &NetworkName, is_known: &IsKnown) -> Result<()> {
    let unreadable = |error: &dyn std::fmt::Display| told(directory, import, error);
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_nothing(&error) => return Ok(()),
        Err(error) => return Err(unreadable(&error)),
    };
    let _lock = locked(directory)?;
    let (mut lowest, mut count) = (None::<IpAddr>, 0_usize);
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(&error))?;
        let Some(address) = entry.file_name().to_str().and_then(|name| name.parse::<IpAddr>().ok()) else {
            continue;
        };
        let path = entry.path();
        let file = match AddressFile::see(&path) {
            Ok(file) => file,
            // host-local has released it since.
            Err(error) if is_nothing(&error) => continue,
            Err(error) => return Err(unreadable(&error)),
        };
        let owner = || owner(&file, &path);
        let (claim, claimed_at_ms) = (file.claim.as_str(), file.claimed_at_ms);
        if !is_known(&Reservation { address, claim, claimed_at_ms, owner: &owner }) {
            count += 1;
            lowest = lowest.into_iter().chain([address]).min();
        }
    }
    lowest.map_or(Ok(()), |lowest| {
        let what = format_args!(
            "host-local has addresses for network {network} that were not imported, {count} in all, such as {lowest}"
        );
        Err(told(directory, import, &what))
    })
}

/// Waits for nobody: while host-local works, an address that it is about to give out does not show. Only a lock that no other user
/// can take counts.
fn locked(directory: &Path) -> Result<Option<File>> {
    let path = directory.join(LOCK);
    let Ok(lock) = File::open(&path) else { return Ok(None) };
    let is_private =
        lock.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o007 == 0);
    if !is_private {
        return Ok(None);
    }
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            Err(refused(format_args!("{}: host-local is at work on the network; try again", path.display())))
        }
        // A file system without locks has none for host-local, either.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(lock)),
    }
}

fn owner(file: &AddressFile, path: &Path) -> Option<Owner> {
    let (container, interface) = file.owner(path).ok()?.ok()?;
    let container = ContainerId::new(&container).ok()?;
    let interface = InterfaceName::new(interface.as_deref().unwrap_or(DEFAULT_INTERFACE)).ok()?;
    Some(Owner::Attachment { container, interface })
}

fn told(directory: &Path, import: &str, what: &dyn std::fmt::Display) -> Error {
    let directory = directory.display();
    refused(format_args!(
        "{directory}: {what}; import them with `tenurectl import --apply host-local {import}"
    ))
}
