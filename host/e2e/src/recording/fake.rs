//! A fake daemon, which returns recorded answers in order and records the requests.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::ensure;
use tokio::runtime::Runtime;

use super::wire::{self, Answer, Answers, Call, Exchange, Status};

/// The sockets of a daemon.
pub const SOCKETS: [&str; 2] = ["cni.sock", "admin.sock"];

/// A fake daemon on the sockets of a real one.
#[derive(Debug)]
pub struct Fake {
    script: Arc<Script>,
    /// Serves for as long as this lives.
    _runtime: Runtime,
}

#[derive(Debug, Default)]
struct Script(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    next: VecDeque<Exchange>,
    /// Each request, with the recorded exchange that was next.
    asked: Vec<(Call, Option<Exchange>)>,
}

impl Fake {
    /// Listens in a run directory, which must exist.
    ///
    /// # Errors
    /// When a socket cannot be created.
    pub fn listen(run_directory: &Path) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let script = Arc::new(Script::default());
        let _guard = runtime.enter();
        for socket in SOCKETS {
            wire::serve(&run_directory.join(socket), &script)?;
        }
        Ok(Self { script, _runtime: runtime })
    }

    /// Runs a program and gives it these answers. Returns the program's result, and each request with the exchange that
    /// answered it.
    ///
    /// # Errors
    /// When the program cannot be run, or does not call the recorded methods, each once and in their order.
    pub fn answers<T>(
        &self,
        exchanges: &[Exchange],
        program: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<(T, Vec<(Call, Exchange)>)> {
        *self.script.lines() = Lines { next: exchanges.to_vec().into(), asked: Vec::new() };
        let result = program()?;
        let Lines { next, asked } = std::mem::take(&mut *self.script.lines());
        ensure!(next.is_empty(), "{} of {} answers were not requested", next.len(), exchanges.len());
        let mut questions = Vec::new();
        for (call, recorded) in asked {
            let Some(recorded) = recorded else { anyhow::bail!("one call too many: {}", call.method) };
            ensure!(call.method == recorded.call.method, "{}, not {}", call.method, recorded.call.method);
            questions.push((call, recorded));
        }
        Ok((result, questions))
    }
}

impl Script {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers for Script {
    async fn answer(&self, call: Call) -> anyhow::Result<Answer> {
        let mut lines = self.lines();
        let recorded = lines.next.pop_front();
        // What a real daemon answers when it does not have the method.
        let unknown = || Answer { messages: Vec::new(), status: Status::unimplemented() };
        let fits = recorded.as_ref().filter(|exchange| exchange.call.method == call.method);
        let answer = fits.map_or_else(unknown, |exchange| exchange.answer.clone());
        lines.asked.push((call, recorded));
        Ok(answer)
    }
}
