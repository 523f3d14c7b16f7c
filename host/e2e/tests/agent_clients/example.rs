//! An example agent of an SDK: a process whose output says what it knows.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tenure_e2e::wait;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The claims that an agent knows, and their addresses.
pub(crate) type Claims = BTreeMap<String, String>;

/// A running example; dropping it kills it.
pub(crate) struct Example {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Example {
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let read = Arc::clone(&lines);
        let reader = std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                read.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Ok(Self { child, lines, reader: Some(reader) })
    }

    /// Waits until the last line begins so, and has this many claims.
    pub(crate) fn knows(&mut self, state: &str, number: usize) -> anyhow::Result<Claims> {
        let what = format!("an agent that is {state} with {number} claims");
        let found = wait::until(&what, LIMIT, || {
            ensure!(self.child.try_wait()?.is_none(), "the agent has ended");
            let last = self.lines().last().and_then(|line| claims(line, state));
            Ok(last.filter(|claims| claims.len() == number))
        });
        found.with_context(|| format!("it said {:?}", self.lines()))
    }

    /// The process of the agent, which is the only child of the command if that has given it namespaces.
    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
        let child = children.split_whitespace().next().context("the agent has ended")?;
        Ok(child.parse()?)
    }

    /// All that it has said.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Kills it, and returns all that it has said.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.end();
        self.lines()
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The output ends once the last process that has it is gone.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        self.end();
    }
}

/// The claims in a line like `current router=10.1.0.2/24 (a problem)`.
pub(crate) fn claims(line: &str, state: &str) -> Option<Claims> {
    let rest = line.strip_prefix(state)?;
    let words = rest.split(" (").next().unwrap_or_default().split_whitespace();
    words
        .map(|word| word.split_once('=').map(|(name, address)| (name.to_owned(), address.to_owned())))
        .collect()
}
