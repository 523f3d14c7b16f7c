//! The parent's side of fetching: starts the child, reads what it sends up to a limit, and kills it when it is silent.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tenure_types::{Error, ErrorCode};

use super::Pull;
use super::child::ARGUMENT;
use super::order::{Auth, LastWords, Order, What};
use super::reference::OciReference;
use crate::clock::monotonic;

/// The size of a piece, in bytes.
const PIECE: usize = 256 << 10;

/// How many times as long as a silence a whole transfer may take.
const IN_ALL: u32 = 20;

/// The most bytes of the child's last words.
const MOST_WORDS: u64 = 16 << 10;

/// Environment variables that the child gets: proxies, and the places of certificates.
const ENVIRONMENT: [&str; 10] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// A fetcher of one reference's manifest and blobs.
pub(super) struct Fetcher<'a> {
    reference: &'a OciReference,
    auth: Auth,
    plain_http: bool,
    patience: Duration,
}

impl<'a> Fetcher<'a> {
    pub(super) fn new(reference: &'a OciReference, auth: Auth, options: Pull) -> Self {
        let plain_http = options.plain_http || reference.is_loopback();
        Self { reference, auth, plain_http, patience: options.patience }
    }

    /// Fetches one thing of at most `most` bytes. Its content is not checked.
    pub(super) fn fetch(
        &self,
        what: What,
        most: usize,
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<u8>, Error> {
        let thing = match &what {
            What::Manifest => "the manifest".to_owned(),
            What::Blob(digest) => format!("the component {digest}"),
        };
        let failed = |code, cause: &dyn std::fmt::Display| {
            Error::new(code, format_args!("{}: {thing}: {cause}", self.reference))
        };
        let cannot = |error: std::io::Error| failed(ErrorCode::InputOutput, &error);
        let mut child = self.start().map_err(cannot)?;
        let (output, words) = (child.0.stdout.take(), child.0.stderr.take());
        let words = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = words.map(|words| words.take(MOST_WORDS).read_to_end(&mut text));
            text
        });
        let order = Order {
            reference: self.reference.whole(),
            what,
            plain_http: self.plain_http,
            auth: self.auth.clone(),
            connect_seconds: self.patience.as_secs().max(1),
        };
        tell(child.0.stdin.take(), &order).map_err(cannot)?;
        let mut bytes = Vec::new();
        match read(output, most, self.patience, |piece| {
            bytes.extend_from_slice(piece);
            progress(bytes.len());
        }) {
            FetchEnd::Complete => {}
            FetchEnd::TooLong => {
                let cause = format_args!("the registry sends more than {most} bytes");
                return Err(failed(ErrorCode::RegistryMismatch, &cause));
            }
            FetchEnd::Silent => {
                let seconds = self.patience.as_secs_f64();
                let cause = format_args!("{} sent nothing for {seconds:.0} s", self.reference.registry());
                return Err(failed(ErrorCode::RegistryUnreachable, &cause));
            }
            FetchEnd::TooSlow => {
                let seconds = in_all(self.patience).as_secs();
                let cause = format_args!("{} needs more than {seconds} s", self.reference.registry());
                return Err(failed(ErrorCode::RegistryUnreachable, &cause));
            }
        }
        let status = child.0.wait().map_err(cannot)?;
        if status.success() {
            return Ok(bytes);
        }
        if status.signal() == Some(Signal::ABORT.as_raw()) {
            let cause = "the registry sends more than any answer needs";
            return Err(failed(ErrorCode::RegistryMismatch, &cause));
        }
        let words = words.join().unwrap_or_default();
        let Ok(LastWords { code, cause }) = serde_json::from_slice(&words) else {
            let words = String::from_utf8_lossy(&words);
            return Err(failed(ErrorCode::Internal, &format_args!("{status}: {}", words.trim())));
        };
        Err(failed(ErrorCode::from_name(&code).unwrap_or(ErrorCode::Internal), &cause))
    }

    /// Starts the child, which becomes a user of its own if possible. Started as another user, it would be that user's to
    /// attach to, with the registry's password in its memory.
    fn start(&self) -> std::io::Result<FetchProcess> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("tenurectl-fetch").arg(ARGUMENT).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A proxy cannot reach this machine's own registry.
        let known = ENVIRONMENT.into_iter().filter(|_| !self.reference.is_loopback());
        command.envs(known.filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.spawn().map(FetchProcess)
    }
}

/// How a transfer ended.
enum FetchEnd {
    Complete,
    TooLong,
    Silent,
    TooSlow,
}

fn tell(input: Option<ChildStdin>, order: &Order) -> std::io::Result<()> {
    let order = serde_json::to_vec(order).map_err(std::io::Error::other)?;
    match input.map(|mut input| input.write_all(&order)) {
        // A child that died early says why.
        Some(Err(error)) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// The longest that a whole transfer may take. An operator who wants to wait for ever names any number of seconds.
fn in_all(patience: Duration) -> Duration {
    patience.saturating_mul(IN_ALL)
}

/// Reads the child's output in a thread, so that it can be given up.
fn read(
    output: Option<ChildStdout>,
    most: usize,
    patience: Duration,
    mut piece: impl FnMut(&[u8]),
) -> FetchEnd {
    let pieces = pieces(output);
    let (mut left, deadline) = (most, monotonic().saturating_add(in_all(patience)));
    loop {
        let limit = patience.min(deadline.saturating_sub(monotonic()));
        match pieces.recv_timeout(limit) {
            Ok(bytes) if bytes.len() > left => return FetchEnd::TooLong,
            Ok(bytes) => {
                left -= bytes.len();
                piece(&bytes);
            }
            Err(RecvTimeoutError::Disconnected) => return FetchEnd::Complete,
            Err(RecvTimeoutError::Timeout) if limit < patience => return FetchEnd::TooSlow,
            Err(RecvTimeoutError::Timeout) => return FetchEnd::Silent,
        }
    }
}

fn pieces(output: Option<ChildStdout>) -> Receiver<Vec<u8>> {
    // One piece waits at most, so that no more than that is read ahead of the limit.
    let (sender, pieces) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let Some(mut output) = output else { return };
        let mut buffer = vec![0; PIECE];
        // The receiver may be gone, and a killed child's output ends.
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            let Some(bytes) = buffer.get(..count) else { return };
            if sender.send(bytes.to_vec()).is_err() {
                return;
            }
        }
    });
    pieces
}

/// A child that is killed when its waiter is dropped.
struct FetchProcess(Child);

impl Drop for FetchProcess {
    fn drop(&mut self) {
        // The child may already have exited and been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the whole transfer's limit overflowed, and the program panicked.
    #[test]
    fn a_silence_may_be_as_long_as_an_operator_wants() {
        let child = Command::new("echo").arg("-n").arg("words").stdout(Stdio::piped()).spawn().unwrap();
        let (mut child, mut words) = (FetchProcess(child), Vec::new());
        let end = read(child.0.stdout.take(), 5, Duration::MAX, |piece| words.extend_from_slice(piece));
        assert!(matches!(end, FetchEnd::Complete));
        assert_eq!(words, b"words");
    }
}
