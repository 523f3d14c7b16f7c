//! The container runtime's list, and its faults.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tenure_runtime::{ListedSandbox, SandboxList};
use tenure_types::{Error, ErrorCode, hold};
use tokio::time::sleep;

use super::Planted;

/// The time after which a runtime that does not answer is given up.
const DEADLINE: Duration = Duration::from_secs(10);

/// How the runtime answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuntimeMode {
    Serves,
    /// The socket is gone.
    Down,
    /// Nothing is answered.
    Silent,
    /// The list is complete and empty, as that of another runtime.
    ListsNone,
}

/// The sandboxes, and how they are listed.
#[derive(Debug)]
pub(super) struct RuntimeState {
    pub(super) mode: RuntimeMode,
    pub(super) listed: BTreeMap<String, ListedSandbox>,
    /// Whether the last answer listed nothing.
    pub(super) listed_none: bool,
}

/// The container runtime.
#[derive(Debug)]
pub(super) struct ContainerRuntime {
    state: Mutex<RuntimeState>,
    planted: Option<Planted>,
}

impl ContainerRuntime {
    pub(super) fn new(planted: Option<Planted>) -> Self {
        let state = RuntimeState { mode: RuntimeMode::Serves, listed: BTreeMap::new(), listed_none: false };
        Self { state: Mutex::new(state), planted }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RuntimeState> {
        hold(&self.state)
    }
}

#[tonic::async_trait]
impl SandboxList for ContainerRuntime {
    async fn list(&self) -> Result<Vec<ListedSandbox>, Error> {
        let mode = self.state().mode;
        if mode == RuntimeMode::Silent {
            sleep(DEADLINE).await;
        }
        let mut state = self.state();
        let answer = match mode {
            RuntimeMode::Serves => Ok(state.listed.values().cloned().collect()),
            RuntimeMode::ListsNone => Ok(Vec::new()),
            RuntimeMode::Down | RuntimeMode::Silent => Err(Error::new(ErrorCode::Unreachable, "no answer")),
        };
        let answer = match self.planted {
            Some(Planted::PodAlone) => Ok(Vec::new()),
            Some(Planted::SilenceIsEmpty) => Ok(answer.unwrap_or_default()),
            _ => answer,
        };
        state.listed_none = answer.as_ref().is_ok_and(Vec::is_empty);
        answer
    }
}
