//! The parent's side: starts the child, which gives up its privileges itself, feeds it, and kills it at its deadline.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::child::ARGUMENT;
use crate::text::clean;

/// The most bytes of compiled code; the largest policies that other languages' tools produce need a quarter of it.
const MOST_CODE: u64 = 256 << 20;

/// The most bytes of the child's error output.
const MOST_WORDS: u64 = 4 << 10;

/// The child's wall-clock limit as a multiple of its processor time, since it yields to everything else.
const BY_THE_CLOCK: u32 = 3;

/// Compiles in a child that may use this much processor time.
pub(super) fn compile(bytes: &[u8], time: Duration) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("cannot start the compiler: {error}");
    let too_long = || format!("it takes more than {} s to compile (sandbox.compile_seconds)", time.as_secs());
    let mut child = CompilerChild(start(time).map_err(cannot)?);
    let (pid, input) = (Pid::from_child(&child.0), child.0.stdin.take());
    let (output, words) = (child.0.stdout.take(), child.0.stderr.take());
    let (compiled, words, is_late) = thread::scope(|scope| {
        let (finished, ended) = mpsc::channel::<()>();
        let watching = scope.spawn(move || {
            let late = ended.recv_timeout(time * BY_THE_CLOCK) == Err(RecvTimeoutError::Timeout);
            if late {
                // The child has not been waited for yet, so its PID has not been reused.
                let _ = kill_process(pid, Signal::KILL);
            }
            late
        });
        scope.spawn(move || {
            // A child that died early has closed its end; its exit status says more than this error.
            input.map(|mut input| input.write_all(bytes))
        });
        let words = scope.spawn(move || {
            let mut text = Vec::new();
            let _ = words.map(|words| words.take(MOST_WORDS).read_to_end(&mut text));
            text
        });
        let mut compiled = Vec::new();
        let _ = output.map(|output| output.take(MOST_CODE + 1).read_to_end(&mut compiled));
        // The child is done either way: it has closed its output, or has exceeded the limit.
        if compiled.len() as u64 > MOST_CODE {
            let _ = kill_process(pid, Signal::KILL);
        }
        drop(finished);
        (compiled, words.join().unwrap_or_default(), watching.join().unwrap_or(false))
    });
    if compiled.len() as u64 > MOST_CODE {
        return Err(format!("it compiles to more than {} MiB of code", MOST_CODE >> 20));
    }
    let status = child.0.wait().map_err(cannot)?;
    if status.success() {
        return Ok(compiled);
    }
    if is_late || status.signal() == Some(Signal::XCPU.as_raw()) {
        return Err(too_long());
    }
    match clean(String::from_utf8_lossy(&words).trim()).as_str() {
        "" => Err(format!("the compiler failed ({status})")),
        cause => Err(cause.to_owned()),
    }
}

/// Starts the child as the daemon's own user: started as another, it would be that user's to attach to.
fn start(time: Duration) -> std::io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0("tenure-compiler")
        .arg(ARGUMENT)
        .arg(time.as_secs().to_string())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// A child that is killed when its waiter is dropped.
struct CompilerChild(Child);

impl Drop for CompilerChild {
    fn drop(&mut self) {
        // The child may already have exited and been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
