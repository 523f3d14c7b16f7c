//! The exchange with a running delegate: writes its input, reads its output, and ends it in time.
//!
//! It waits for the delegate itself, not for its pipes: what a delegate leaves behind may hold those for ever.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::failure::CallFailure;
use crate::process::Process;
use crate::settings::DelegateSettings;

/// The most bytes that a delegate may print on its standard output.
pub(crate) const MOST_OUTPUT: usize = 1 << 20;

/// The most bytes that it may print on its standard error.
pub(crate) const MOST_ERRORS: usize = 256 << 10;

/// The output of a delegate, and its exit status.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
    pub(crate) status: ExitStatus,
}

/// Runs a delegate to its end, on the calling thread.
pub(crate) fn run(
    settings: &DelegateSettings,
    lock: &Path,
    environment: &[(String, String)],
    input: &[u8],
) -> Result<Printed, CallFailure> {
    let broken = |error: io::Error| CallFailure::Unusable(format!("cannot run it: {error}"));
    let process = Process::start(settings, lock, environment).map_err(broken)?;
    let deadline = now().saturating_add(settings.timeout);
    let mut exchange = ChildExchange {
        process,
        to_write: input,
        output: Vec::new(),
        errors: Vec::new(),
        open: (true, true),
    };
    loop {
        let left = deadline.saturating_sub(now());
        if left.is_zero() {
            return Err(CallFailure::TimedOut(settings.timeout));
        }
        let ended = exchange.wait(left).map_err(broken)?;
        exchange.transfer().map_err(broken)?;
        exchange.check()?;
        if ended {
            return exchange.finish(broken);
        }
    }
}

/// The state of an exchange.
struct ChildExchange<'a> {
    process: Process,
    to_write: &'a [u8],
    output: Vec<u8>,
    errors: Vec<u8>,
    /// Whether its output and its errors may still come.
    open: (bool, bool),
}

impl ChildExchange<'_> {
    /// Waits until something can be read or written, the delegate has ended, or the time is over; returns whether it has ended.
    fn wait(&self, left: Duration) -> io::Result<bool> {
        let process = &self.process;
        let mut polled = vec![PollFd::new(&process.ended, PollFlags::IN)];
        let (output, errors) = self.open;
        polled.extend(output.then(|| PollFd::new(&process.output, PollFlags::IN)));
        polled.extend(errors.then(|| PollFd::new(&process.errors, PollFlags::IN)));
        if let Some(input) = &process.input {
            polled.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT));
        }
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut polled, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(polled.first().is_some_and(|ended| !ended.revents().is_empty()))
    }

    /// Writes and reads as much as is possible without blocking.
    fn transfer(&mut self) -> io::Result<()> {
        self.write();
        self.open.0 = self.open.0 && read(&mut self.process.output, &mut self.output, MOST_OUTPUT)?;
        self.open.1 = self.open.1 && read(&mut self.process.errors, &mut self.errors, MOST_ERRORS)?;
        Ok(())
    }

    /// A delegate that does not read its input is no reason to fail.
    fn write(&mut self) {
        while let Some(input) = &mut self.process.input {
            match input.write(self.to_write) {
                Ok(written) if written < self.to_write.len() && written > 0 => {
                    self.to_write = self.to_write.get(written..).unwrap_or_default();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Everything is written, or the other end is closed.
                Ok(_) | Err(_) => self.process.input = None,
            }
        }
    }

    fn check(&self) -> Result<(), CallFailure> {
        for (stream, read, most) in
            [("output", &self.output, MOST_OUTPUT), ("error", &self.errors, MOST_ERRORS)]
        {
            if read.len() > most {
                return Err(CallFailure::TooMuch { stream, most });
            }
        }
        Ok(())
    }

    /// Kills what the delegate has left behind, reads what it had printed, and tells how it ended.
    fn finish(mut self, broken: impl Fn(io::Error) -> CallFailure) -> Result<Printed, CallFailure> {
        self.process.kill();
        self.transfer().map_err(&broken)?;
        self.check()?;
        let status = self.process.status().map_err(broken)?;
        Ok(Printed { output: self.output, errors: self.errors, status })
    }
}

/// Reads what is there, up to one byte more than allowed; returns whether more may come.
fn read(from: &mut impl Read, to: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut buffer = [0; 16 << 10];
    while to.len() <= most {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(length) => to.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A monotonic reading.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}
