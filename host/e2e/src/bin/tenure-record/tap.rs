//! A proxy between programs and their daemon that records every call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tenure_e2e::recording::wire::{self, Answer, Answers, Call, Exchange};
use tokio::runtime::Runtime;

/// The proxy, on all sockets of a daemon.
#[derive(Debug)]
pub(crate) struct Tap {
    lines: Vec<Arc<Line>>,
    /// Serves for as long as this lives.
    _runtime: Runtime,
}

/// One socket of the daemon.
#[derive(Debug)]
struct Line {
    daemon: PathBuf,
    said: Mutex<Vec<Exchange>>,
}

impl Tap {
    /// Listens on sockets of the same names in another run directory, which must exist.
    pub(crate) fn listen(front: &Path, daemon: &Path, sockets: &[&str]) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let _guard = runtime.enter();
        let line = |name: &&str| {
            let line = Arc::new(Line { daemon: daemon.join(name), said: Mutex::default() });
            wire::serve(&front.join(name), &line)?;
            Ok(line)
        };
        let lines = sockets.iter().map(line).collect::<anyhow::Result<_>>()?;
        Ok(Self { lines, _runtime: runtime })
    }

    /// Takes the exchanges since the last call. A program uses one socket only, so they are in the order of its calls.
    pub(crate) fn said(&self) -> Vec<Exchange> {
        let said = self.lines.iter().flat_map(|line| std::mem::take(&mut *line.said()));
        said.collect()
    }
}

impl Line {
    fn said(&self) -> std::sync::MutexGuard<'_, Vec<Exchange>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers for Line {
    async fn answer(&self, call: Call) -> anyhow::Result<Answer> {
        let answer = wire::ask(&self.daemon, &call).await.inspect_err(|error| eprintln!("{error:#}"))?;
        // Recorded before the program gets the answer, so nothing is missing when the program exits.
        self.said().push(Exchange { call, answer: answer.clone() });
        Ok(answer)
    }
}

/// A container runtime that runs no container.
#[derive(Debug)]
pub(crate) struct NoContainers;

impl Answers for NoContainers {
    async fn answer(&self, _: Call) -> anyhow::Result<Answer> {
        // An empty list, encoded.
        Ok(Answer { messages: vec![wire::Message(Vec::new())], status: wire::Status::default() })
    }
}
