//! Reading standard input to its end, up to a maximum length and a deadline.

use std::io::Read;
use std::os::fd::AsFd;

use rustix::event::PollFlags;
use tenure_rpc::LONGEST_CONFIG;
use tenure_types::{Error, ErrorCode};

use crate::deadline::Deadline;
use crate::wait::{self, WaitOutcome};

/// Reads the network configuration.
///
/// # Errors
/// `InputOutput` if it cannot be read or is too long, `DeadlineExceeded` if it does not end in time.
pub(crate) fn read(mut source: impl Read + AsFd, deadline: Deadline) -> Result<Vec<u8>, Error> {
    let failed =
        |error| Error::new(ErrorCode::InputOutput, format_args!("error reading from stdin: {error}"));
    let mut text = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        if wait::until(&source, PollFlags::IN, deadline).map_err(failed)? == WaitOutcome::Late {
            let cause = format!("standard input was not closed within {:?}", deadline.timeout());
            return Err(Error::new(ErrorCode::DeadlineExceeded, cause));
        }
        match source.read(&mut chunk) {
            Ok(0) => return Ok(text),
            Ok(length) => text.extend(chunk.iter().take(length)),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
        if text.len() > LONGEST_CONFIG {
            let cause = format!("the network configuration is longer than {LONGEST_CONFIG} bytes");
            return Err(Error::new(ErrorCode::InputOutput, cause));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::deadline;

    fn soon(timeout: Duration) -> Deadline {
        Deadline::new(deadline::now(), timeout)
    }

    #[test]
    fn a_configuration_is_read_to_its_end() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let text = vec![b'x'; 40_000];
        writer.write_all(&text).unwrap();
        drop(writer);
        assert_eq!(read(reader, soon(Duration::from_secs(20))).unwrap(), text);
    }

    #[test]
    fn an_input_without_end_is_given_up() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"{").unwrap();
        let error = read(reader, soon(Duration::from_millis(1))).unwrap_err();
        assert_eq!(error.code, ErrorCode::DeadlineExceeded);
    }

    #[test]
    fn an_endless_input_is_cut() {
        let zeroes = std::fs::File::open("/dev/zero").unwrap();
        assert_eq!(read(zeroes, soon(Duration::from_secs(20))).unwrap_err().code, ErrorCode::InputOutput);
    }
}
