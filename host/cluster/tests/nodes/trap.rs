//! Traps on the way to the API server: a program is killed at a request of a kind, before or after the request had its effect.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tenure_fixtures::control_plane::proxy::{FaultProxy, ProxiedRequest, ProxyFault};

/// The pause between two looks at the ledger's log.
const LOOK: Duration = Duration::from_micros(50);

/// How often it is looked for a record of the ledger: for twenty seconds at least.
const LOOKS: u32 = 400_000;

/// The moment at which a program is killed, relative to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KillMoment {
    /// The request does not arrive.
    Before,
    /// The request has its effect, and nobody hears the answer.
    After,
    /// The answer comes, and the program dies with the ledger's next record.
    Recorded,
}

/// A request as a trap sees it: the method, the path without its query, and the object.
pub(crate) struct SeenRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) object: &'a Value,
}

/// Whether a request is of the kind at which the program is killed.
type IsItHere = Box<dyn FnMut(&SeenRequest<'_>) -> bool + Send>;

/// The part that the proxy's threads share.
struct TrapState {
    /// The program; `None` once it was killed, until it runs again.
    pid: Option<Pid>,
    is_it: IsItHere,
    left: VecDeque<KillMoment>,
    /// The node's state directory.
    state: PathBuf,
}

/// A trap on a program's way.
#[derive(Clone)]
pub(crate) struct Trap(Arc<Mutex<TrapState>>);

impl Trap {
    /// Puts a trap on the way through a proxy, which catches nothing yet. The state directory is that of the node whose ledger is watched.
    pub(crate) fn on(proxy: &FaultProxy, state: &Path) -> Self {
        let (is_it, state): (IsItHere, _) = (Box::new(|_| false), state.to_owned());
        let trap = Self(Arc::new(Mutex::new(TrapState { pid: None, is_it, left: VecDeque::new(), state })));
        let shared = trap.clone();
        proxy.choose(move |request| shared.meet(request));
        trap
    }

    fn state(&self) -> MutexGuard<'_, TrapState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Catches the program at the next requests of a kind, one for each moment.
    pub(crate) fn set(
        &self,
        pid: Pid,
        moments: &[KillMoment],
        is_it: impl FnMut(&SeenRequest<'_>) -> bool + Send + 'static,
    ) {
        let mut state = self.state();
        state.pid = Some(pid);
        state.left = moments.iter().copied().collect();
        state.is_it = Box::new(is_it);
    }

    /// Whether the program was killed, and has not been started again.
    pub(crate) fn has_caught(&self) -> bool {
        self.state().pid.is_none()
    }

    /// The program runs again.
    pub(crate) fn runs(&self, pid: Pid) {
        self.state().pid = Some(pid);
    }

    /// The moments at which it was not caught.
    pub(crate) fn left(&self) -> Vec<KillMoment> {
        self.state().left.iter().copied().collect()
    }

    fn meet(&self, request: &ProxiedRequest) -> ProxyFault {
        let object = request.object().unwrap_or_default();
        let path = request.path.split('?').next().unwrap_or_default();
        let seen = SeenRequest { method: &request.method, path, object: &object };
        let mut state = self.state();
        if state.pid.is_none() || request.is_watch() || !(state.is_it)(&seen) {
            return ProxyFault::Pass;
        }
        match state.left.pop_front() {
            None => ProxyFault::Pass,
            Some(KillMoment::Recorded) => {
                let (trap, files) = (self.clone(), state.state.clone());
                std::thread::spawn(move || trap.await_record(&files));
                ProxyFault::Pass
            }
            Some(moment) => {
                state.kill();
                if moment == KillMoment::Before { ProxyFault::LoseRequest } else { ProxyFault::LoseReply }
            }
        }
    }

    /// Kills the program as soon as its ledger's log has grown.
    #[expect(clippy::disallowed_methods, reason = "the record must be seen before the step after it")]
    fn await_record(&self, files: &Path) {
        let before = log_bytes(files);
        for _ in 0..LOOKS {
            if log_bytes(files) != before {
                return self.state().kill();
            }
            std::thread::sleep(LOOK);
        }
        // The test finds that it was never caught.
        self.state().left.push_front(KillMoment::Recorded);
    }
}

impl TrapState {
    fn kill(&mut self) {
        if let Some(pid) = self.pid.take() {
            kill_process(pid, Signal::KILL).context("SIGKILL").unwrap();
        }
    }
}

/// The bytes of a ledger's logs.
fn log_bytes(files: &Path) -> u64 {
    let entries = std::fs::read_dir(files).into_iter().flatten().flatten();
    let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("log."));
    logs.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}
