//! The faults: of the API server, of its watch and its lists, of the runtime and of the agent.

use std::time::Duration;

use tokio::time::Instant;

use super::super::runtime::RuntimeMode;
use super::super::server::ApiMode;
use super::PodWorld;

/// The statuses of failing calls. The 404 is a proxy's, which does not know the pod.
const STATUSES: [u16; 5] = [403, 404, 410, 429, 500];

/// For how long a runtime may list nothing beside a pod that the API server lacks: two witnesses may not err together for a grace period.
const SHORT_LIE: Duration = Duration::from_secs(30);

/// The least time between two such lies, so that a look falls into it.
const BETWEEN_LIES: Duration = Duration::from_secs(90);

impl PodWorld {
    pub(super) fn break_api(&mut self) {
        let mode = match self.random.below(8) {
            0 | 1 => ApiMode::Away,
            2 => ApiMode::Silent,
            3..7 => {
                let index = usize::try_from(self.random.below(STATUSES.len() as u64)).unwrap();
                ApiMode::Fails(STATUSES[index])
            }
            _ => ApiMode::Serves,
        };
        self.api_fails_until = Instant::now() + self.seconds(5, 200);
        let latency = Duration::from_millis(self.random.below(3000));
        let mut state = self.server.state();
        (state.mode, state.latency) = (mode, latency);
    }

    /// The watch is interrupted, or late, or its version is gone.
    pub(super) fn break_watch(&mut self) {
        let (kind, lag) = (self.random.below(3), self.seconds(5, 300));
        let mut state = self.server.state();
        match kind {
            0 => state.epoch += 1,
            1 => state.lags_until = Instant::now() + lag,
            _ => (state.compacted, state.epoch) = (state.version, state.epoch + 1),
        }
    }

    /// Lists are cut off after their first page, beginning with one that is read now.
    pub(super) fn break_lists(&mut self) {
        self.api_fails_until = Instant::now() + self.seconds(5, 100);
        let mut state = self.server.state();
        (state.cuts_lists, state.epoch) = (true, state.epoch + 1);
        state.mode = ApiMode::Serves;
    }

    pub(super) fn break_runtime(&mut self) {
        let now = Instant::now();
        let (mode, length) = match self.random.below(4) {
            0 => (RuntimeMode::Down, self.seconds(5, 120)),
            1 => (RuntimeMode::Silent, self.seconds(5, 60)),
            _ => (RuntimeMode::ListsNone, self.seconds(5, 400)),
        };
        if mode == RuntimeMode::ListsNone && (now < self.lists_until || self.has_unlisted()) {
            return;
        }
        self.end_runtimes_fault();
        self.runtime.state().mode = mode;
        self.runtime_fails_until = now + length;
    }

    /// A runtime that lists nothing is back soon if the API server lacks a pod whose sandbox lives.
    pub(super) fn shorten_lies(&mut self) {
        let lies = self.runtime.state().mode == RuntimeMode::ListsNone;
        let state = self.server.state();
        if lies && self.sandboxes.values().any(|sandbox| sandbox.is_orphan(&state)) {
            self.runtime_fails_until = self.runtime_fails_until.min(Instant::now() + SHORT_LIE);
        }
    }

    /// Ends the faults whose time is over.
    pub(super) fn end_faults(&mut self) {
        let now = Instant::now();
        if now >= self.api_fails_until {
            let mut state = self.server.state();
            (state.mode, state.latency, state.cuts_lists) = (ApiMode::Serves, Duration::ZERO, false);
        }
        if now >= self.runtime_fails_until {
            self.end_runtimes_fault();
        }
    }

    pub(super) fn end_all_faults(&mut self) {
        (self.api_fails_until, self.runtime_fails_until) = (Instant::now(), Instant::now());
        self.server.state().lags_until = Instant::now();
        self.end_faults();
    }

    fn end_runtimes_fault(&mut self) {
        let before = std::mem::replace(&mut self.runtime.state().mode, RuntimeMode::Serves);
        if before == RuntimeMode::ListsNone {
            self.lists_until = Instant::now() + BETWEEN_LIES;
        }
    }

    /// The agent is killed, wherever it is, and starts again.
    pub(super) fn restart(&mut self) {
        let seed = self.random.next_number();
        self.agent.start(self.directory.path(), seed);
        self.tally.restarts += 1;
    }
}
