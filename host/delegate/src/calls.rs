//! Orders the calls of one delegate, independently of who started them and who still waits for them.
//!
//! A call that has begun runs to its end or to its time limit, also if its caller goes away and if the daemon is killed: a
//! delegate that is killed in the midst of writing may keep an address that no CNI call can release. So a later call for
//! the same attachment waits for it, and a daemon begins with waiting for what an earlier one has started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_types::cni::Command;
use tenure_types::{ContainerId, DelegateCall, InterfaceName, NetworkName, hold};
use tokio::sync::{OnceCell, OwnedMutexGuard};

use crate::failure::CallFailure;
use crate::outlived;

/// The calls of one delegate.
#[derive(Debug)]
pub struct DelegateCalls {
    /// The file that each of them holds a lock on.
    file: PathBuf,
    /// Set once nothing runs any more that an earlier daemon has started.
    clear: OnceCell<()>,
    /// Whether a thread has seen that; held by the one that waits for it, which the daemon's own calls must not meet.
    seen: Arc<Mutex<bool>>,
    attachments: CallTurns<(NetworkName, ContainerId, InterfaceName)>,
    collections: CallTurns<NetworkName>,
}

/// The lock that a call holds until it has ended.
#[derive(Debug)]
pub(crate) struct CallTurn(#[expect(dead_code, reason = "held, not read")] Option<OwnedMutexGuard<()>>);

impl DelegateCalls {
    /// The calls that lock this file, which is created with its directory when it is needed.
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        Self {
            file,
            clear: OnceCell::new(),
            seen: Arc::default(),
            attachments: CallTurns::default(),
            collections: CallTurns::default(),
        }
    }

    /// The file that each call locks.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Waits until nothing runs any more that an earlier daemon has started; kills what is left after the time limit.
    pub(crate) async fn begin(&self, limit: Duration) -> Result<(), CallFailure> {
        let wait = || async {
            let (file, seen) = (self.file.clone(), Arc::clone(&self.seen));
            let waited = tokio::task::spawn_blocking(move || {
                let mut seen = hold(&seen);
                if !*seen {
                    outlived::wait(&file, limit)?;
                    *seen = true;
                }
                Ok(())
            });
            let waited = waited.await.map_err(|error| CallFailure::Unusable(error.to_string()))?;
            waited.map_err(|error: std::io::Error| {
                CallFailure::Unusable(format!("cannot wait for what an earlier daemon has started: {error}"))
            })
        };
        self.clear.get_or_try_init(wait).await.copied()
    }

    /// Waits for the turn of a call: one at a time for each attachment, and no new address while a garbage collection runs
    /// whose list cannot have it.
    pub(crate) async fn turn(&self, command: &Command, call: Option<&DelegateCall>) -> CallTurn {
        let Some(call) = call else { return CallTurn(None) };
        let network = || call.network.clone();
        let attachment = || (network(), call.container.clone(), call.interface.clone());
        match command {
            Command::Gc => CallTurn(Some(self.collections.enter(network()).await)),
            Command::Add => {
                drop(self.collections.enter(network()).await);
                CallTurn(Some(self.attachments.enter(attachment()).await))
            }
            Command::Del | Command::Check => CallTurn(Some(self.attachments.enter(attachment()).await)),
            _ => CallTurn(None),
        }
    }
}

/// One at a time for each key, first come, first served.
#[derive(Debug)]
struct CallTurns<K>(Mutex<BTreeMap<K, Arc<tokio::sync::Mutex<()>>>>);

impl<K> Default for CallTurns<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord> CallTurns<K> {
    async fn enter(&self, key: K) -> OwnedMutexGuard<()> {
        let line = {
            let mut lines = hold(&self.0);
            // Few run at once, and each call that has a turn or waits for one has a reference.
            lines.retain(|_, line| Arc::strong_count(line) > 1);
            Arc::clone(lines.entry(key).or_default())
        };
        line.lock_owned().await
    }
}
