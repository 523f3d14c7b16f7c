//! Protection against a forgotten import: checks host-local's state before a network is created.
//!
//! If an operator installs the plugin in place of host-local and forgets the import, live addresses would be handed out again,
//! because a new book is empty. So a network is not created while host-local's directory of the same name contains addresses.
//! Networks that the ledger already has are not checked: their files were imported, or are newer.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tenure_engine::Engine;
use tenure_types::{Error, ErrorCode, NetworkName, Result};
use tokio::sync::Semaphore;

/// host-local's data directory if `ipam.dataDir` is not set.
const DEFAULT_DIRECTORY: &str = "/var/lib/cni/networks";

/// The number of directories read concurrently; a read that hangs holds up only new networks.
const AT_ONCE: usize = 8;

/// The number of networks to remember as known to the ledger; above it, the set is cleared and rebuilt.
const REMEMBERED: usize = 4096;

/// The check of host-local's directory.
#[derive(Debug)]
pub(crate) struct Unimported {
    /// Changes when the configuration is reloaded.
    ignore: AtomicBool,
    /// Networks that the ledger has. Read at each ADD; written once for each network.
    known: RwLock<HashSet<NetworkName>>,
    places: Arc<Semaphore>,
}

impl Unimported {
    /// A check that does nothing if host-local's state is ignored.
    pub(crate) fn new(ignore: bool) -> Self {
        Self {
            ignore: AtomicBool::new(ignore),
            known: RwLock::default(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Sets whether host-local's state is ignored from now on.
    pub(crate) fn ignore(&self, ignore: bool) {
        self.ignore.store(ignore, Ordering::Relaxed);
    }

    /// Refuses a network that the ledger does not have while host-local has addresses for it, in the directory that the
    /// configuration names or in its own.
    ///
    /// # Errors
    /// `NotTakenOver`, with the command that imports them.
    pub(crate) async fn check(
        &self,
        engine: &Engine,
        network: &NetworkName,
        data: Option<String>,
    ) -> Result<()> {
        let ignore = self.ignore.load(Ordering::Relaxed);
        if ignore || self.known.read().unwrap_or_else(PoisonError::into_inner).contains(network) {
            return Ok(());
        }
        if engine.book(network).await.is_some() {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(network.clone());
            return Ok(());
        }
        let data = data.map_or_else(|| PathBuf::from(DEFAULT_DIRECTORY), PathBuf::from);
        // The path is relative to the plugin's working directory, which the daemon does not know.
        if !data.is_absolute() {
            return Ok(());
        }
        let internal = |error: &dyn std::fmt::Display| Error::new(ErrorCode::Internal, error);
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|error| internal(&error))?;
        let name = network.clone();
        let look = move || {
            let found = look(&data, &name);
            drop(place);
            found
        };
        tokio::task::spawn_blocking(look).await.map_err(|error| internal(&error))?
    }
}

/// Looks for a file named after an address; one is enough. A file without an owner counts: host-local does not hand out its address
/// either.
fn look(data: &Path, network: &NetworkName) -> Result<()> {
    let directory = data.join(network.as_str());
    let refused = |what: &dyn std::fmt::Display| {
        let cause = format_args!(
            "{}: {what}; import them with `tenurectl import --apply host-local {} --config FILE`, where FILE is the network's \
             configuration",
            directory.display(),
            data.display()
        );
        Err(Error::new(ErrorCode::NotTakenOver, cause))
    };
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return refused(&error),
    };
    for entry in entries {
        let name = match entry {
            Ok(entry) => entry.file_name(),
            Err(error) => return refused(&error),
        };
        if let Some(address) = name.to_str().and_then(|name| name.parse::<IpAddr>().ok()) {
            return refused(&format_args!(
                "host-local has addresses for network {network}, such as {address}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_same_network_is_enough() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        let (pods, blue) = (NetworkName::new("pods").unwrap(), NetworkName::new("blue").unwrap());
        assert_eq!(look(data, &pods), Ok(()), "no directory");
        std::fs::create_dir(data.join("pods")).unwrap();
        for own in ["lock", "last_reserved_ip.0", "notes.txt"] {
            std::fs::write(data.join("pods").join(own), "10.1.0.2").unwrap();
        }
        assert_eq!(look(data, &pods), Ok(()), "nothing but bookkeeping");
        std::fs::write(data.join("pods/10.1.0.2"), "").unwrap();
        let refused = look(data, &pods).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotTakenOver);
        let command = format!("tenurectl import --apply host-local {} --config", data.display());
        assert!(refused.cause.contains(&command) && refused.cause.contains("10.1.0.2"), "{refused}");
        assert_eq!(look(data, &blue), Ok(()), "another network's");
        std::fs::write(data.join("blue"), "").unwrap();
        assert_eq!(look(data, &blue), Ok(()), "not a directory");
    }
}
