//! Loading the node's state at the start: locks both directories, recovers the checkpoint, and detects a loss of state.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use tenure_checkpoint::{BootSource, FileDisk, Lock, Mark, Pen, Recovered, recover_after};
use tenure_observe::Metrics;
use tenure_types::{BootId, Clock};

use crate::run_dir::RunDir;
use crate::state_dir;
use crate::state_seen::StateSeen;

/// The locks on both directories.
pub(crate) struct Directories {
    pub(crate) run: RunDir,
    _state: Lock,
}

/// The state that was found at the start.
pub(crate) struct RecoveredState {
    pub(crate) directories: Directories,
    pub(crate) disk: Arc<FileDisk>,
    pub(crate) recovered: Recovered,
    pub(crate) seen: Arc<StateSeen>,
    /// Whether no other daemon has served with this state or this run directory in this boot.
    pub(crate) is_first: bool,
    /// The boot that runs.
    pub(crate) boot: BootId,
}

impl RecoveredState {
    /// Locks the directories before it reads anything in them, and recovers the checkpoint. Fails if the checkpoint cannot be trusted.
    pub(crate) fn recover(
        run_dir: &Path,
        state_dir: &Path,
        source: BootSource,
        clock: &dyn Clock,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let run = RunDir::take(run_dir)?;
        let disk = FileDisk::create(state_dir)
            .with_context(|| format!("state directory {}", state_dir.display()))?;
        state_dir::check(state_dir)?;
        let lock = Lock::take(state_dir)?;
        let boot = Mark::running_boot(run_dir, &source);
        let boot = boot.context("cannot read the state mark in the run directory")?;
        let mark = Mark::read(run_dir, &boot).context("cannot read the state mark in the run directory")?;
        let recovered = recover_after(&disk, &boot, clock.now(), mark.durable());
        let mut recovered = recovered.with_context(|| {
            format!("cannot trust the checkpoint in {}, so nothing is served", state_dir.display())
        })?;
        let is_unmarked = mark == Mark::None;
        let seen =
            Arc::new(StateSeen::new(Pen::new(run_dir, &boot).with_source(source), mark, &recovered.report));
        recovered.report.lost = seen.is_lost();
        recovered.report.findings().for_each(|found| metrics.recovered(found));
        tracing::info!(networks = recovered.state.books.len(), "recovered: {}", recovered.report);
        Ok(Self {
            directories: Directories { run, _state: lock },
            disk: Arc::new(disk),
            is_first: is_unmarked && (recovered.report.fresh || recovered.report.new_boot),
            recovered,
            seen,
            boot,
        })
    }
}
