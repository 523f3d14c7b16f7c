//! The files of a directory of CNI configurations, as far as a look at them and a bounded read tell.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use tenure_rpc::LONGEST_CONFIG;

use crate::parts::stat::Stat;

/// The extensions of the files that runtimes read.
const EXTENSIONS: [&str; 3] = ["conf", "conflist", "json"];

/// The most entries of the directory to look at, and the most configurations.
const MOST_ENTRIES: usize = 4096;
const MOST_FILES: usize = 256;

/// The result of a look at a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Print {
    /// A regular file.
    File(Stat),
    /// Something that cannot be read as one, in words. What a link points to may be gone for a moment.
    Wrong(String),
}

/// The configuration files of a directory, in the order in which runtimes read them. A directory that does not exist has
/// none: a node without any network yet. Blocks.
pub(super) fn list(directory: &Path) -> io::Result<BTreeMap<PathBuf, Print>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut files = BTreeMap::new();
    for (number, entry) in entries.enumerate() {
        if number >= MOST_ENTRIES || files.len() > MOST_FILES {
            let cause = format!("more than {MOST_FILES} configurations, or {MOST_ENTRIES} files of any kind");
            return Err(io::Error::other(cause));
        }
        let path = entry?.path();
        if path.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known)) {
            let print = Print::of(&path);
            files.insert(path, print);
        }
    }
    Ok(files)
}

/// The text of a file of reasonable length. Blocks, but not for anybody who is to write to it.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // It may have been replaced by a pipe since it was looked at.
    let file = File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other(NOT_A_FILE));
    }
    let (longest, mut text) = (LONGEST_CONFIG as u64, Vec::new());
    file.take(longest + 1).read_to_end(&mut text)?;
    match text.len() > LONGEST_CONFIG {
        true => Err(io::Error::other(format!("longer than {longest} bytes"))),
        false => Ok(text),
    }
}

const NOT_A_FILE: &str = "not a regular file";

impl Print {
    fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => Self::File(Stat::of(&metadata)),
            Ok(_) => Self::Wrong(NOT_A_FILE.to_owned()),
            Err(error) => Self::Wrong(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn configurations_are_found_and_what_is_none_is_said_to_be_none() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        assert_eq!(list(&at("none")).unwrap(), BTreeMap::new(), "no directory");
        for name in ["20-b.conf", "10-a.conflist", "30-c.json", "notes.txt", "10-a.conflist.bak"] {
            fs::write(at(name), "{}").unwrap();
        }
        fs::create_dir(at("40-d.conf")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("50-e.conf")).unwrap();
        mknodat(CWD, at("60-f.conf"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let listed = list(directory.path()).unwrap();
        let told: Vec<_> = listed
            .iter()
            .map(|(path, print)| {
                (path.file_name().unwrap().to_str().unwrap(), matches!(print, Print::File(_)))
            })
            .collect();
        let expected =
            [("10-a.conflist", true), ("20-b.conf", true), ("30-c.json", true), ("40-d.conf", false)];
        assert_eq!(told, [&expected[..], &[("50-e.conf", false), ("60-f.conf", false)]].concat());
        assert_eq!(read(&at("20-b.conf")).unwrap(), b"{}");
        // Opening a pipe that nobody writes to would block.
        for name in ["40-d.conf", "50-e.conf", "60-f.conf"] {
            assert!(read(&at(name)).is_err(), "{name}");
        }
        File::create(at("70-g.conf")).unwrap().set_len(LONGEST_CONFIG as u64 + 1).unwrap();
        assert!(read(&at("70-g.conf")).unwrap_err().to_string().contains("longer than"));
    }

    #[test]
    fn a_directory_with_too_many_files_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..=MOST_FILES {
            fs::write(directory.path().join(format!("{number}.conf")), "{}").unwrap();
        }
        assert!(list(directory.path()).is_ok_and(|files| files.len() == MOST_FILES + 1));
        fs::write(directory.path().join("more.conf"), "{}").unwrap();
        assert!(list(directory.path()).unwrap_err().to_string().contains("more than 256"));
    }
}
