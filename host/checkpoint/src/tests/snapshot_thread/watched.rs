//! A disk whose operations a test hears of, holds up and refuses.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::disk::{Disk, File};
use crate::sim::SimDisk;

/// The time limit for any wait, on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// An operation: the nth with this name on a file whose name begins like this. The file of a sync of the directory is the
/// name of the thread.
#[derive(Clone, Copy)]
pub(super) struct Event {
    pub(super) operation: &'static str,
    pub(super) file: &'static str,
    pub(super) nth: u32,
}

/// The end of a hold: whether the operation is refused.
struct Release {
    refuses: bool,
}

/// An operation that waits.
pub(super) struct Held {
    /// Gets something when the operation is about to begin.
    pub(super) reached: Receiver<()>,
    release: Sender<Release>,
}

impl Held {
    pub(super) fn go_on(self) {
        self.release.send(Release { refuses: false }).unwrap();
    }

    pub(super) fn refuse(self) {
        self.release.send(Release { refuses: true }).unwrap();
    }
}

struct Watched {
    event: Event,
    reached: Sender<()>,
    release: Option<Receiver<Release>>,
}

/// The operations that a test waits for.
#[derive(Default)]
pub(super) struct Watch(Vec<Watched>);

impl Watch {
    /// Tells of an operation that is about to begin.
    pub(super) fn hear(&mut self, event: Event) -> Receiver<()> {
        let (reached, heard) = mpsc::channel();
        self.0.push(Watched { event, reached, release: None });
        heard
    }

    /// Lets an operation wait.
    pub(super) fn hold(&mut self, event: Event) -> Held {
        let (reached, heard) = mpsc::channel();
        let (release, released) = mpsc::channel();
        self.0.push(Watched { event, reached, release: Some(released) });
        Held { reached: heard, release }
    }
}

/// A simulated disk with a watch.
#[derive(Clone)]
pub(super) struct WatchedDisk {
    disk: SimDisk,
    watch: Arc<Mutex<Watch>>,
}

impl WatchedDisk {
    pub(super) fn new(disk: SimDisk, watch: Watch) -> Self {
        Self { disk, watch: Arc::new(Mutex::new(watch)) }
    }

    /// Called before each operation.
    fn begin(&self, operation: &str, file: &str) -> io::Result<()> {
        let Some(watched) = self.reached(operation, file) else { return Ok(()) };
        // The test may not care.
        _ = watched.reached.send(());
        // A test that fails drops its end, and its writer goes on.
        match watched.release.map(|release| release.recv_timeout(LIMIT * 2)) {
            Some(Ok(Release { refuses: true })) => Err(io::Error::other("refused")),
            _ => Ok(()),
        }
    }

    /// Takes the watch of an operation that has been reached.
    fn reached(&self, operation: &str, file: &str) -> Option<Watched> {
        let mut watch = self.watch.lock().unwrap();
        let is_it = |event: &Event| event.operation == operation && file.starts_with(event.file);
        let position = watch.0.iter_mut().position(|watched| {
            let is_it = is_it(&watched.event);
            watched.event.nth -= u32::from(is_it);
            is_it && watched.event.nth == 0
        })?;
        Some(watch.0.remove(position))
    }

    fn file(&self, name: &str, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(WatchedFile { file, name: name.to_owned(), disk: self.clone() })
    }
}

impl Disk for WatchedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn read(&self, name: &str, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.disk.read(name, offset)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.begin("create", name)?;
        Ok(self.file(name, self.disk.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(self.file(name, self.disk.open(name)?))
    }

    fn sync_and_forget(&self, name: &str) -> io::Result<()> {
        self.disk.sync_and_forget(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.begin("rename", from)?;
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.begin("remove", name)?;
        self.disk.remove(name)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.begin("sync directory", std::thread::current().name().unwrap_or_default())?;
        self.disk.sync_dir()
    }
}

struct WatchedFile {
    file: Box<dyn File>,
    /// The name under which it was opened; a segment is renamed later.
    name: String,
    disk: WatchedDisk,
}

impl File for WatchedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.disk.begin("append", &self.name)?;
        self.file.append(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.disk.begin("sync", &self.name)?;
        self.file.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }

    fn reserve(&mut self, up_to: u64) -> io::Result<()> {
        self.file.reserve(up_to)
    }
}
