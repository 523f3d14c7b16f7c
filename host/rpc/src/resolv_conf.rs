//! Reading the resolv.conf that a configuration names. Only a small regular file is read, so that reading always ends.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use tenure_types::{Error, ErrorCode};

/// The most bytes that a resolv.conf may have; real ones have a few kilobytes at most.
const LONGEST: u64 = 64 << 10;

/// The text of `ipam.resolvConf`.
///
/// # Errors
/// `InvalidConfig` if it does not exist, is not a regular file, is longer than 64 KiB, or is not UTF-8.
pub fn read(path: &str) -> Result<String, Error> {
    text(path).map_err(|error| {
        Error::new(ErrorCode::InvalidConfig, format_args!("ipam.resolvConf: {path}: {error}"))
    })
}

fn text(path: &str) -> io::Result<String> {
    // Check before opening, because opening a device may have side effects.
    check(&fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(never_waiting()).open(path)?;
    // The path may lead to another file by now.
    check(&file.metadata()?)?;
    let mut bytes = Vec::new();
    if file.take(LONGEST + 1).read_to_end(&mut bytes)? as u64 > LONGEST {
        return Err(io::Error::other("longer than 64 KiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8"))
}

fn check(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(io::Error::other("not a regular file")) }
}

/// Flags that keep an open from blocking: opening a FIFO would wait for a writer.
#[expect(clippy::cast_possible_wrap, reason = "the kernel's flags are ints")]
fn never_waiting() -> i32 {
    (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str) -> String {
        let error = read(path).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidConfig);
        error.cause
    }

    #[test]
    fn a_regular_file_is_read_by_whatever_name() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| directory.path().join(name).display().to_string());
        fs::write(&file, "nameserver 192.0.2.1\n").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&link), Ok("nameserver 192.0.2.1\n".to_owned()));
        // A file in procfs reports a size of zero.
        assert!(read("/proc/self/mounts").is_ok_and(|text| !text.is_empty()));
    }

    #[test]
    fn what_blocks_or_never_ends_or_is_too_long_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [fifo, long, binary] =
            ["fifo", "long", "binary"].map(|name| directory.path().join(name).display().to_string());
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        for path in [fifo.as_str(), "/dev/zero", "/dev/tty", "/proc/self/fd", "/"] {
            assert!(refused(path).ends_with("not a regular file"), "{}", refused(path));
        }
        fs::write(&long, vec![b'#'; 64 << 10]).unwrap();
        assert!(read(&long).is_ok());
        fs::write(&long, vec![b'#'; (64 << 10) + 1]).unwrap();
        assert_eq!(refused(&long), format!("ipam.resolvConf: {long}: longer than 64 KiB"));
        fs::write(&binary, b"\xff").unwrap();
        assert!(refused(&binary).ends_with("not UTF-8"));
        assert!(refused("/no/such/file").contains("ipam.resolvConf: /no/such/file: No such file"));
    }
}
