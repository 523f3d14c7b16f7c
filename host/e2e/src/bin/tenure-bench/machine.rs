//! Describes the machine of a measurement.

use std::fs;
use std::path::Path;

use anyhow::ensure;

/// Describes the machine and the directory's file system in one line.
///
/// # Errors
/// If a disk is needed and the directory is in memory, where a sync costs nothing.
pub(crate) fn describe(state: &Path, needs_disk: bool) -> anyhow::Result<String> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    // The longest matching mount point applies; of two equal ones, the later.
    let mount = fields
        .filter_map(|fields| Some((fields.get(1)?.to_string(), fields.get(2)?.to_string())))
        .filter(|(point, _)| state.starts_with(point))
        .max_by_key(|(point, _)| point.len());
    let file_system = mount.map_or_else(|| "an unknown file system".to_owned(), |(_, kind)| kind);
    ensure!(
        !needs_disk || file_system != "tmpfs",
        "{} is in memory, where a sync costs nothing: set TMPDIR to a directory on a disk",
        state.display()
    );
    let processors = std::thread::available_parallelism()?;
    let information = fs::read_to_string("/proc/cpuinfo")?;
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "{processors} processors ({}), Linux {}, {file_system}",
        model.map_or("unnamed", |(_, name)| name),
        kernel.split('-').next().unwrap_or_default().trim()
    ))
}
