//! Takes a real daemon through the starts, stops and losses of a recording.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::Duration;

use super::{File, Turn};
use crate::{Daemon, wait};

/// How long a replay of the spool may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A node with a real daemon.
#[derive(Debug)]
pub struct Node {
    /// The daemon.
    pub daemon: Daemon,
}

impl Node {
    /// Configures a daemon and starts it for the first time.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(daemon: Daemon, configuration: &str) -> anyhow::Result<Self> {
        daemon.configure(configuration)?;
        let mut node = Self { daemon };
        node.turn(Turn::Start)?;
        Ok(node)
    }

    /// Starts or stops the daemon, or deletes its state.
    ///
    /// # Errors
    /// When it does not start or stop.
    pub fn turn(&mut self, turn: Turn) -> anyhow::Result<()> {
        match turn {
            Turn::Stop => self.daemon.stop().map(drop),
            Turn::LoseState => Ok(fs::remove_dir_all(self.daemon.state_directory())?),
            Turn::Start => {
                self.daemon.launch()?;
                self.daemon.loads_policies()?;
                wait::holds("the spool to be replayed", LIMIT, || self.has_replayed())
            }
        }
    }

    fn spool(&self) -> PathBuf {
        self.daemon.run_directory().join("spool")
    }

    fn has_replayed(&self) -> anyhow::Result<bool> {
        let spool = self.spool();
        if !spool.exists() {
            return Ok(true);
        }
        let left = fs::read_dir(spool)?.collect::<Result<Vec<_>, _>>()?;
        let set_aside = left.iter().find(|entry| entry.path().extension().is_none_or(|kind| kind != "json"));
        anyhow::ensure!(set_aside.is_none(), "the daemon set aside {set_aside:?}");
        Ok(left.is_empty())
    }

    /// Puts a recorded file into the spool.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn spools(&self, file: &File) -> anyhow::Result<()> {
        let spool = self.spool();
        if !spool.exists() {
            fs::DirBuilder::new().mode(0o750).create(&spool)?;
        }
        Ok(fs::write(spool.join(&file.name), &file.content)?)
    }
}
