//! DELs that were accepted while the daemon was away: the plugin writes them, the daemon replays them.
//!
//! Each is a JSON file of its own in `spool/` beside the socket, written under a name that starts with a dot, synced and
//! linked, so that a file under its own name is whole and lasts. It holds the invocation with its start time: a replayed DEL
//! frees nothing that began after it. The directory lies under /run, which a boot clears exactly when pods' allocations end.
//! A file that cannot be read is set aside, never deleted.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::LONGEST_CONFIG;
use crate::v1::Invocation;

/// What a spooled file's name ends with.
const EXTENSION: &str = "json";

/// How many files may have the same start time and process id.
const MOST_NAMESAKES: u32 = 64;

/// What is put behind the name of a file that cannot be read.
const SET_ASIDE: &str = "unreadable";

/// The directory of spooled DELs. Any number of writers and one reader may use it at once.
#[derive(Debug, Clone)]
pub struct Spool {
    directory: PathBuf,
}

/// A DEL that waits for the daemon.
#[derive(Debug, Clone, PartialEq)]
pub struct Spooled {
    /// The file that holds it.
    pub path: PathBuf,
    /// What to do.
    pub invocation: Invocation,
}

/// A file as it is written. Fields are only ever added.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(default)]
    container_id: String,
    #[serde(default)]
    netns: String,
    #[serde(default)]
    interface: String,
    #[serde(default)]
    args: String,
    #[serde(default)]
    path: String,
    config: String,
    #[serde(default)]
    started_at_boot_ms: u64,
    #[serde(default)]
    started_at_boot_ns: u64,
}

impl Spool {
    /// The spool of a daemon's socket.
    #[must_use]
    pub fn beside(socket: &Path) -> Self {
        Self { directory: socket.with_file_name("spool") }
    }

    /// Writes a DEL so that it outlives the caller; when this returns, it will be done.
    ///
    /// # Errors
    /// Whatever kept it from being durable.
    pub fn write(&self, invocation: &Invocation) -> io::Result<()> {
        let config = String::from_utf8(invocation.config.clone())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the configuration is not UTF-8"))?;
        let written = Written {
            container_id: invocation.container_id.clone(),
            netns: invocation.netns.clone(),
            interface: invocation.interface.clone(),
            args: invocation.args.clone(),
            path: invocation.path.clone(),
            config,
            started_at_boot_ms: invocation.started_at_boot_ms,
            started_at_boot_ns: invocation.started_at_boot_ns,
        };
        DirBuilder::new().recursive(true).mode(0o750).create(&self.directory)?;
        // Two plugins in two pid namespaces may start in the same nanosecond under the same id; neither replaces the other.
        let started = invocation.started_at_boot_ns;
        for attempt in 0..MOST_NAMESAKES {
            let name = format!("{started:020}-{}-{attempt}.{EXTENSION}", std::process::id());
            match self.write_as(&name, &written) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result,
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every name is taken"))
    }

    /// Writes a file under a name that nobody has.
    fn write_as(&self, name: &str, written: &Written) -> io::Result<()> {
        let draft = self.directory.join(format!(".{name}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        // A rename would replace; a link does not.
        let result = serde_json::to_vec(written)
            .map_err(io::Error::from)
            .and_then(|bytes| file.write_all(&bytes))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&draft, self.directory.join(name)));
        // The draft is no use to anyone now, whole or not.
        fs::remove_file(&draft).ok();
        result?;
        File::open(&self.directory)?.sync_all()
    }

    /// The DELs that wait, oldest first. Unreadable files are set aside and named in the second list.
    ///
    /// # Errors
    /// When the directory cannot be read; that it does not exist is no error.
    pub fn read(&self) -> io::Result<(Vec<Spooled>, Vec<PathBuf>)> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => return Err(error),
        };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| {
            let is_draft = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            !is_draft && path.extension().is_some_and(|extension| extension == EXTENSION)
        });
        // Names begin with the start time, at a fixed width.
        paths.sort_unstable();

        let (mut waiting, mut unreadable) = (Vec::new(), Vec::new());
        for path in paths {
            match read_file(&path) {
                Ok(invocation) => waiting.push(Spooled { path, invocation }),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let aside = path.with_extension(format!("{EXTENSION}.{SET_ASIDE}"));
                    fs::rename(&path, &aside)?;
                    unreadable.push(aside);
                }
                Err(error) => return Err(error),
            }
        }
        Ok((waiting, unreadable))
    }

    /// Removes a DEL that was done.
    ///
    /// # Errors
    /// When it cannot be removed; doing it again later does no harm.
    pub fn settle(&self, spooled: &Spooled) -> io::Result<()> {
        fs::remove_file(&spooled.path)
    }
}

fn read_file(path: &Path) -> io::Result<Invocation> {
    // JSON escapes make a text at most six times as long.
    let longest = LONGEST_CONFIG as u64 * 6 + (1 << 20);
    if fs::metadata(path)?.len() > longest {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too long"));
    }
    let written: Written = serde_json::from_slice(&fs::read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Invocation {
        container_id: written.container_id,
        netns: written.netns,
        interface: written.interface,
        args: written.args,
        path: written.path,
        config: written.config.into_bytes(),
        started_at_boot_ms: written.started_at_boot_ms,
        started_at_boot_ns: written.started_at_boot_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namesakes_do_not_replace_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::beside(&directory.path().join("cni.sock"));
        for container in ["one", "two"] {
            spool.write(&Invocation { container_id: container.into(), ..invocation(7) }).unwrap();
        }
        let (waiting, _) = spool.read().unwrap();
        let containers: Vec<_> = waiting.iter().map(|del| del.invocation.container_id.as_str()).collect();
        assert_eq!(containers, ["one", "two"]);
    }

    fn invocation(started_at_boot_ns: u64) -> Invocation {
        Invocation {
            container_id: "c".into(),
            interface: "eth0".into(),
            config: br#"{"name": "net"}"#.to_vec(),
            started_at_boot_ns,
            ..Invocation::default()
        }
    }

    fn spool() -> (tempfile::TempDir, Spool) {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::beside(&directory.path().join("run/cni.sock"));
        (directory, spool)
    }

    #[test]
    fn dels_are_read_in_the_order_in_which_they_began() {
        let (_directory, spool) = spool();
        assert_eq!(spool.read().unwrap(), (vec![], vec![]));
        for started in [10_000_000, 9, 200] {
            spool.write(&invocation(started)).unwrap();
        }
        let (waiting, unreadable) = spool.read().unwrap();
        let read: Vec<_> = waiting.iter().map(|spooled| spooled.invocation.clone()).collect();
        assert_eq!(read, [invocation(9), invocation(200), invocation(10_000_000)]);
        assert!(unreadable.is_empty());

        for spooled in &waiting {
            spool.settle(spooled).unwrap();
        }
        assert_eq!(spool.read().unwrap(), (vec![], vec![]));
        assert_eq!(fs::read_dir(&spool.directory).unwrap().count(), 0, "no draft is left");
    }

    #[test]
    fn drafts_are_left_alone_and_unreadable_files_set_aside() {
        let (_directory, spool) = spool();
        spool.write(&invocation(1)).unwrap();
        fs::write(spool.directory.join(".0-1.json"), "half").unwrap();
        fs::write(spool.directory.join("0-1.json"), "not json").unwrap();
        let (waiting, unreadable) = spool.read().unwrap();
        assert_eq!(waiting.len(), 1);
        assert_eq!(unreadable, [spool.directory.join("0-1.json.unreadable")]);
        assert_eq!(fs::read_to_string(&unreadable[0]).unwrap(), "not json");
        assert!(spool.directory.join(".0-1.json").exists());
        assert_eq!(spool.read().unwrap().1, Vec::<PathBuf>::new(), "it is reported once");
    }

    #[test]
    fn a_newer_plugins_file_is_understood() {
        let (_directory, spool) = spool();
        fs::create_dir_all(&spool.directory).unwrap();
        let text = r#"{"config": "{}", "started_at_boot_ns": 5, "since_then_invented": [1]}"#;
        fs::write(spool.directory.join("5-1.json"), text).unwrap();
        assert_eq!(spool.read().unwrap().0[0].invocation.started_at_boot_ns, 5);
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let (directory, spool) = spool();
        fs::write(directory.path().join("run"), "a file").unwrap();
        assert!(spool.write(&invocation(1)).is_err());
    }
}
