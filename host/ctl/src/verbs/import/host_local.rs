//! host-local's data directory: a directory per network, which contains a file per address, named after the address.
//!
//! What a file says is read where the daemon compares it, too ([`tenure_rpc::host_local`]).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use tenure_rpc::host_local::{AddressFile, Named};
use tenure_rpc::v1::ImportEntry;
use tenure_types::Error;

use super::found::Found;
use crate::report::{FoundAttachment, PassedOver};
use crate::verbs::file::unreadable;

/// Files that host-local keeps for itself.
const LAST_RESERVED: &str = "last_reserved_ip.";
const LOCK: &str = "lock";

/// Reads a data directory. `interface` is used for attachments whose file names none.
pub(in crate::verbs) fn read(directory: &Path, interface: &str) -> Result<Found, Error> {
    let mut found = Found::default();
    for (name, path) in listed(directory)? {
        if name.parse::<IpAddr>().is_ok() && !path.is_dir() {
            let error =
                unreadable(directory, &"it is the directory of one network, with a file for each address");
            return Err(
                error.to_be_solved_by("pass the directory above it, which has a directory for each network")
            );
        }
        let found_there = match fs::metadata(&path) {
            // A link that leads nowhere has nothing to import.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unreadable(&path, &error)),
            found => found,
        };
        if found_there.is_ok_and(|found| found.is_dir()) {
            read_network(&name, &path, interface, &mut found)?;
        } else {
            found.passed_over.push(passed_over(&path, "not a network directory"));
        }
    }
    Ok(found)
}

/// Reads one network of a data directory, for a network of ours that may have another name.
pub(super) fn read_one(directory: &Path, of: &str, network: &str, interface: &str) -> Result<Found, Error> {
    let mut found = Found::default();
    read_network(network, &directory.join(of), interface, &mut found)?;
    Ok(found)
}

fn read_network(network: &str, directory: &Path, interface: &str, found: &mut Found) -> Result<(), Error> {
    found.networks.insert(network.to_owned());
    let mut attachments: BTreeMap<(String, String), ImportEntry> = BTreeMap::new();
    let mut of_nobody = Vec::new();
    for (name, path) in listed(directory)? {
        if name == LOCK || name.starts_with(LAST_RESERVED) {
            continue;
        }
        let Ok(address) = name.parse::<IpAddr>() else {
            found.passed_over.push(passed_over(&path, "file name is not an IP address"));
            continue;
        };
        let (owner, claim, claimed_at_ms) = match owner(&path) {
            Ok(read) => read,
            // host-local has released it since the directory was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => (Err(error.to_string()), String::new(), 0),
        };
        let entry = match owner {
            Ok((container, named)) => {
                let owner = (container, named.unwrap_or_else(|| interface.to_owned()));
                attachments.entry(owner).or_default()
            }
            Err(unknown_because) => {
                of_nobody.push(ImportEntry { unknown_because, ..ImportEntry::default() });
                let Some(entry) = of_nobody.last_mut() else { continue };
                entry
            }
        };
        entry.addresses.push(address.to_string());
        entry.claims.push(claim);
        entry.claimed_at_ms = entry.claimed_at_ms.max(claimed_at_ms);
    }
    let entries = attachments.into_iter().map(|((container_id, interface), entry)| ImportEntry {
        container_id,
        interface,
        ..entry
    });
    let entries =
        entries.chain(of_nobody).map(|entry| FoundAttachment { network: network.to_owned(), entry });
    found.entries.extend(entries);
    Ok(())
}

/// A file's owner, and when it was written, as a claim and in milliseconds. Both are known of a file that cannot be read, too.
fn owner(path: &Path) -> io::Result<(Named, String, u64)> {
    let file = AddressFile::see(path)?;
    let named = match file.owner(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("the file cannot be read, so the owner is unknown: {error}"))
        }
        named => named?,
    };
    Ok((named, file.claim, file.claimed_at_ms.unwrap_or_default()))
}

/// The entries of a directory, by name.
fn listed(directory: &Path) -> Result<BTreeMap<String, std::path::PathBuf>, Error> {
    let entries = fs::read_dir(directory).map_err(|error| unreadable(directory, &error))?;
    let named = entries.map(|entry| {
        let path = entry.map_err(|error| unreadable(directory, &error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, path))
    });
    named.collect()
}

fn passed_over(path: &Path, why: &str) -> PassedOver {
    PassedOver { what: path.display().to_string(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_host_local_left_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let pods = directory.path().join("pods");
        fs::create_dir(&pods).unwrap();
        let files = [
            ("10.1.0.2", "c1\r\neth0"),
            ("fd00::2", "c1\r\neth0"),
            ("10.1.0.3", "c2"),
            ("10.1.0.4", ""),
            ("notes.txt", "c4"),
            ("last_reserved_ip.0", "10.1.0.4"),
            ("lock", ""),
        ];
        for (name, text) in files {
            fs::write(pods.join(name), text).unwrap();
        }
        fs::create_dir(pods.join("10.1.0.5")).unwrap();
        fs::write(directory.path().join("stray"), "").unwrap();

        let error = read(&pods, "net1").unwrap_err();
        assert!(error.next_step().starts_with("pass the directory above it"), "{error}");
        let found = read(directory.path(), "net1").unwrap();
        let owners: Vec<_> = found
            .entries
            .iter()
            .map(|FoundAttachment { network, entry }| {
                (
                    network.as_str(),
                    entry.container_id.as_str(),
                    entry.interface.as_str(),
                    entry.addresses.join(","),
                )
            })
            .collect();
        let expected = [
            ("pods", "c1", "eth0", "10.1.0.2,fd00::2".to_owned()),
            ("pods", "c2", "net1", "10.1.0.3".to_owned()),
            ("pods", "", "", "10.1.0.4".to_owned()),
            ("pods", "", "", "10.1.0.5".to_owned()),
        ];
        assert_eq!(owners, expected);
        let left_out: Vec<_> = found.passed_over.iter().map(|left_out| left_out.why.as_str()).collect();
        assert_eq!(left_out, ["file name is not an IP address", "not a network directory"]);
        let why: Vec<_> = found.entries.iter().map(|entry| entry.entry.unknown_because.as_str()).collect();
        assert_eq!(why, ["", "", "the file is empty, so the owner is unknown", "not a regular file"]);
        let claims: Vec<_> = found.entries.iter().flat_map(|entry| &entry.entry.claims).collect();
        assert!(claims.len() == 5 && claims.iter().all(|claim| claim.contains('.')), "{claims:?}");
        assert!(found.entries.iter().all(|entry| entry.entry.claimed_at_ms > 1_600_000_000_000));
        assert_eq!(found.networks.iter().map(String::as_str).collect::<Vec<_>>(), ["pods"]);
        let renamed = read_one(directory.path(), "pods", "ours", "net1").unwrap();
        assert!(renamed.entries.iter().all(|found| found.network == "ours"), "{renamed:?}");
        assert_eq!((renamed.entries.len(), renamed.passed_over.len()), (4, 1));
        assert!(read_one(directory.path(), "none", "ours", "net1").is_err());
    }
}
