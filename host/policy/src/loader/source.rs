//! The source of a policy's bytes: the program itself or a file, read with a size limit.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::sandbox::CallLimits;

/// The extension of a signature's file.
pub(crate) const SIGNATURE: &str = "minisig";

/// The longest signature file, in bytes.
const LONGEST_SIGNATURE: usize = 16 << 10;

/// The source of a policy of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogueSource {
    /// The program itself.
    Embedded(&'static [u8]),
    /// A file, pinned by its digest.
    File {
        /// The file's path.
        path: PathBuf,
        /// The file's expected SHA-256, in lower-case hexadecimal.
        sha256: String,
    },
    /// A file whose changes are followed: its name stands for what was last taken from it, of which the node has a copy.
    Watched {
        /// The file's path.
        path: PathBuf,
    },
    /// The node's own copy of a component that an operator loaded, and where that came from.
    Loaded(String),
}

impl CatalogueSource {
    /// The signature that lies beside a file, as minisign names it; `None` if there is none.
    #[must_use]
    pub fn signature(&self) -> Option<String> {
        let (Self::File { path, .. } | Self::Watched { path }) = self else { return None };
        let path = path.with_added_extension(SIGNATURE);
        let bytes = read_file(&path, LONGEST_SIGNATURE).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Reads the bytes, of which there may be at most `most`.
    pub(crate) fn read(&self, most: usize) -> Result<Cow<'static, [u8]>, String> {
        match self {
            Self::Embedded(bytes) => Ok(Cow::Borrowed(bytes)),
            Self::Loaded(_) => Err("the node's own copy is missing or damaged: load the policy again".into()),
            Self::File { path, .. } | Self::Watched { path } => {
                read_file(path, most).map(Cow::Owned).map_err(|error| format!("{}: {error}", path.display()))
            }
        }
    }
}

impl std::fmt::Display for CatalogueSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Embedded(_) => formatter.write_str("embedded"),
            Self::Loaded(source) => source.fmt(formatter),
            Self::File { path, .. } | Self::Watched { path } => path.display().fmt(formatter),
        }
    }
}

/// Reads a component from a regular file that is not larger than a node accepts. It never blocks.
///
/// # Errors
/// Errors of the file system; `InvalidInput` unless it is a regular file, and `FileTooLarge`.
pub fn read_component(path: &Path) -> io::Result<Vec<u8>> {
    read_file(path, CallLimits::default().component)
}

/// Reads a regular file of at most `most` bytes. It never blocks: a FIFO without a writer opens at once and is then
/// refused.
fn read_file(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(nonblocking()).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let too_large = |size: u64| {
        let (size, most) = (size.div_ceil(1 << 20), limit >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, format!("it is {size} MiB, and the limit is {most} MiB"))
    };
    if metadata.len() > limit {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(too_large(limit.saturating_add(1)));
    }
    Ok(bytes)
}

#[expect(clippy::cast_possible_wrap, reason = "the kernel's flags are ints")]
fn nonblocking() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_a_regular_file_of_the_right_size_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("small"), "12345678").unwrap();
        assert_eq!(read_file(&path("small"), 8).unwrap(), b"12345678");
        assert!(read_file(&path("small"), 7).unwrap_err().to_string().contains("the limit is"));

        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(read_file(&path("fifo"), 8).unwrap_err().to_string(), "not a regular file");
        assert_eq!(read_file(directory.path(), 8).unwrap_err().to_string(), "not a regular file");
        assert_eq!(read_file(Path::new("/dev/zero"), 8).unwrap_err().to_string(), "not a regular file");

        File::create(path("sparse")).unwrap().set_len(3 << 30).unwrap();
        let refusal = read_file(&path("sparse"), 64 << 20).unwrap_err().to_string();
        assert_eq!(refusal, "it is 3072 MiB, and the limit is 64 MiB");
        assert_eq!(read_file(&path("none"), 8).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
