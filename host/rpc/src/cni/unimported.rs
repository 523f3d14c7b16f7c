//! Protection against addresses of other IPAMs that the ledger does not have: compares their state with the book whenever it
//! has changed.
//!
//! An import may be forgotten, and the other IPAM may keep working after it, or work again after the network was removed. So a
//! new owner is served only if the ledger accounts for every address of the network in host-local's directory, which is that of
//! the configuration or host-local's own, and in each source from which the network has moved over.
//!
//! ```text
//!             metadata as at the last good look                 everything is accounted for,
//!   new owner ─────────────────────────────────▶ served ◀────── and the state is not being changed ──┐
//!       │                                                                                            │
//!       └── the state is new or was changed ──▶ look: list the reservations, ask the book ───────────┤
//!                                                                                                    ▼
//!                                                                      refused: the command that imports the rest
//! ```
//!
//! A source that does not exist has no addresses. One that cannot be read, or not in time, refuses new owners. The state is not held still: an
//! invocation of host-local that begins after a look is seen by the next one only, so the runtime has to stop using it first.
//!
//! A file system may hang when its server is away, so each look is a blocking task, and one that hangs is [left alone](under_way). Only metadata
//! of a file system of this machine is read beside other requests, since no thread waits for it.

mod host_local;
mod ipamd;
mod readable;
mod under_way;

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tenure_engine::ports::{Answer, Compared, IsKnown, OtherIpams};
use tenure_types::cni::ipam_value;
use tenure_types::{Error, ErrorCode, NetworkName, Result, hold_exclusive, hold_shared};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use self::under_way::RunningLooks;
use crate::host_local::HOST_LOCAL_NETWORK;

/// The key of the `ipam` object that names host-local's data directory.
const DATA_DIRECTORY: &str = "dataDir";

/// host-local's data directory if that key is not set.
const DEFAULT_DIRECTORY: &str = "/var/lib/cni/networks";

/// The number of looks that are waited for concurrently.
const AT_ONCE: usize = 8;

/// How long a look may take before new owners are refused.
const LOOK_LIMIT: Duration = Duration::from_secs(10);

/// The file systems whose server may be away: those of Linux' `statfs`(2) that a network or another process serves.
const OF_SERVERS: [u32; 10] = [
    0x0000_6969, // NFS
    0x0000_517b, // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9P
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
    0x0bd0_0bd0, // Lustre
    0x0116_1970, // GFS2
];

/// The number of good looks to remember; above it, all are forgotten and made again.
const REMEMBERED: usize = 4096;

/// How long ago a state must have changed to be known by its metadata alone: two changes within a tick of the clock look the same.
const AT_REST_MS: u64 = 2_000;

/// The comparison with the state of other IPAMs.
#[derive(Debug)]
pub(crate) struct Unimported {
    /// Whether host-local's state is ignored. Changes when the configuration is reloaded.
    ignore: AtomicBool,
    /// The last looks that found everything accounted for. Read at each ADD of a new owner; written once for each change.
    good: RwLock<HashMap<PathBuf, GoodLook>>,
    places: Semaphore,
    running: RunningLooks,
    /// How long a look may take before new owners are refused: [`LOOK_LIMIT`], less in tests.
    limit: Duration,
}

/// A look that found everything accounted for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GoodLook {
    network: NetworkName,
    removals: u64,
    /// The metadata then; `None` if nothing was there.
    stamp: Option<Stamp>,
}

/// The metadata of a file or directory, which changes with what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The state of another IPAM.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OtherState {
    /// host-local's data directory.
    HostLocal(PathBuf),
    /// The directory of one network of host-local's, which has another name than the network here.
    HostLocalNetwork(PathBuf),
    /// ipamd's checkpoint.
    Ipamd(PathBuf),
}

impl Unimported {
    /// A comparison that leaves host-local out if its state is ignored.
    pub(crate) fn new(ignore: bool) -> Self {
        Self {
            ignore: AtomicBool::new(ignore),
            good: RwLock::default(),
            places: Semaphore::new(AT_ONCE),
            running: RunningLooks::default(),
            limit: LOOK_LIMIT,
        }
    }

    /// Sets whether host-local's state is ignored from now on.
    pub(crate) fn ignore(&self, ignore: bool) {
        self.ignore.store(ignore, Ordering::Relaxed);
    }

    /// The states to compare a network with.
    fn states(&self, compared: &Compared) -> Vec<OtherState> {
        let mut states = Vec::with_capacity(1);
        let ignore = self.ignore.load(Ordering::Relaxed);
        let own = data_directory(&compared.config.ipam);
        // A relative path would be one of the plugin's working directory, which the daemon does not know.
        states.extend(Some(OtherState::HostLocal(own)).filter(|_| !ignore));
        for state in compared.sources.iter().filter_map(|source| OtherState::of(source, ignore)) {
            if !states.contains(&state) {
                states.push(state);
            }
        }
        states.retain(|state| state.path().is_absolute());
        states
    }

    fn is_good(&self, path: &Path, compared: &Compared) -> bool {
        let good = hold_shared(&self.good).get(path).and_then(|look| {
            let is_same = look.network == compared.network && look.removals == compared.removals;
            is_same.then_some(look.stamp)
        });
        // Only paths of this machine's file systems are remembered.
        good.is_some_and(|before| Stamp::of(path).is_ok_and(|now| now == before))
    }

    fn remember(&self, path: PathBuf, look: GoodLook) {
        let mut good = hold_exclusive(&self.good);
        if good.len() >= REMEMBERED {
            good.clear();
        }
        good.insert(path, look);
    }

    async fn compare(&self, compared: &Compared, is_known: IsKnown) -> Result<()> {
        let look = self.look_once(compared, is_known, Instant::now());
        let looked = timeout(self.limit, look).await;
        looked.unwrap_or_else(|_| {
            let network = &compared.network;
            let list: Vec<String> =
                self.states(compared).iter().map(|state| state.path().display().to_string()).collect();
            let (list, seconds) = (list.join(", "), self.limit.as_secs());
            Err(refused(format_args!(
                "the addresses of network {network} that another IPAM may have could not be read within {seconds} s: {list}"
            )))
        })
    }

    /// Refuses a network while an earlier look hangs at one of its paths: nobody waits for that, and no thread is spent on it again.
    fn is_read(&self, network: &NetworkName, paths: &[PathBuf]) -> Result<()> {
        self.running.hanging(paths, self.limit).map_or(Ok(()), |path| {
            let (path, seconds) = (path.display(), self.limit.as_secs());
            Err(refused(format_args!(
                "the addresses of network {network} that another IPAM may have could not be read within {seconds} s, and are still being read: {path}"
            )))
        })
    }

    async fn look_once(&self, compared: &Compared, is_known: IsKnown, since: Instant) -> Result<()> {
        let internal = |error: &dyn std::fmt::Display| Error::new(ErrorCode::Internal, error);
        let (states, network) = (self.states(compared), compared.network.clone());
        let watched: Vec<PathBuf> = states.iter().map(|state| state.watched(&network)).collect();
        self.is_read(&network, &watched)?;
        // Given back with the wait, even if the look hangs: that must not hold up other networks.
        let _place = self.places.acquire().await.map_err(|error| internal(&error))?;
        // Somebody else may have looked meanwhile, or may be hanging.
        if self.is_unchanged(compared) {
            return Ok(());
        }
        self.is_read(&network, &watched)?;
        let running = self.running.begin(since);
        let look = move || {
            let look = |state: OtherState| {
                let path = state.watched(&network);
                running.read(&path);
                // From before the look, so that a change meanwhile shows.
                let stamp = Stamp::of(&path);
                state.look(&network, &is_known)?;
                let is_known_later = is_of_this_machine(&path);
                Ok(stamp.ok().filter(|_| is_known_later).map(|stamp| (path, stamp)))
            };
            states.into_iter().map(look).collect::<Result<Vec<_>>>()
        };
        let looks = tokio::task::spawn_blocking(look).await.map_err(|error| internal(&error))??;
        for (path, stamp) in looks.into_iter().flatten() {
            if stamp.is_none_or(|stamp| stamp.is_at_rest(compared.now_ms)) {
                let look = GoodLook { network: compared.network.clone(), removals: compared.removals, stamp };
                self.remember(path, look);
            }
        }
        Ok(())
    }
}

impl OtherIpams for Unimported {
    fn is_unchanged(&self, compared: &Compared) -> bool {
        self.states(compared).iter().all(|state| self.is_good(&state.watched(&compared.network), compared))
    }

    fn look<'a>(&'a self, compared: &'a Compared, is_known: IsKnown) -> Answer<'a, ()> {
        Box::pin(self.compare(compared, is_known))
    }

    fn can_read<'a>(&'a self, network: &'a NetworkName, source: &'a str) -> Answer<'a, ()> {
        Box::pin(self.open(network, source))
    }
}

impl OtherState {
    /// The state that a source of imports names; `None` if networks are not compared with it.
    fn of(source: &str, ignores_host_local: bool) -> Option<Self> {
        match source.split_once(' ')? {
            ("host-local", data) if !ignores_host_local => Some(Self::HostLocal(data.into())),
            (HOST_LOCAL_NETWORK, directory) if !ignores_host_local => {
                Some(Self::HostLocalNetwork(directory.into()))
            }
            ("ipamd", file) => Some(Self::Ipamd(file.into())),
            _ => None,
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::HostLocal(path) | Self::HostLocalNetwork(path) | Self::Ipamd(path) => path,
        }
    }

    /// The path whose metadata changes with the addresses of the network.
    fn watched(&self, network: &NetworkName) -> PathBuf {
        match self {
            Self::HostLocal(data) => data.join(network.as_str()),
            Self::HostLocalNetwork(path) | Self::Ipamd(path) => path.clone(),
        }
    }

    fn look(&self, network: &NetworkName, is_known: &IsKnown) -> Result<()> {
        match self {
            Self::HostLocal(data) => host_local::look(data, network, is_known),
            Self::HostLocalNetwork(directory) => host_local::look_renamed(directory, network, is_known),
            Self::Ipamd(file) => ipamd::look(file, network, is_known),
        }
    }
}

impl Stamp {
    /// The present stamp; `None` if there is nothing.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(path) {
            Ok(found) => Ok(Some(Self {
                inode: (found.dev(), found.ino()),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            })),
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_at_rest(&self, now_ms: u64) -> bool {
        let changed = u64::try_from(self.changed.0.max(self.modified.0)).unwrap_or(u64::MAX);
        changed.saturating_add(1).saturating_mul(1000).saturating_add(AT_REST_MS) < now_ms
    }
}

/// Whether no server is asked for a path, or for the place where it would be.
fn is_of_this_machine(path: &Path) -> bool {
    let system = path.ancestors().find_map(|path| rustix::fs::statfs(path).ok());
    // The type is as wide as a word, and each number has 32 bits.
    let is_of_server = |of: i64| OF_SERVERS.iter().any(|server| i64::from(*server) == of & 0xffff_ffff);
    system.is_some_and(|system| !is_of_server(system.f_type))
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The data directory in the text of an `ipam` object.
fn data_directory(ipam: &str) -> PathBuf {
    // Most have none, and then nothing is parsed. A backslash may spell it in another way.
    let may_name = |part: &[u8]| part.eq_ignore_ascii_case(DATA_DIRECTORY.as_bytes());
    let is_named = ipam.contains('\\') || ipam.as_bytes().windows(DATA_DIRECTORY.len()).any(may_name);
    let named = is_named.then(|| ipam_value(ipam, DATA_DIRECTORY)).flatten();
    let named = named.as_ref().and_then(Value::as_str).filter(|named| !named.is_empty());
    PathBuf::from(named.unwrap_or(DEFAULT_DIRECTORY))
}

fn refused(cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::NotTakenOver, cause)
}

/// The command that ends the comparison of a network with a source.
fn letting_go(network: &NetworkName, source: std::fmt::Arguments<'_>) -> String {
    format!("`tenurectl import abandon {network} --source '{source}' --apply`")
}

#[cfg(test)]
mod tests;
