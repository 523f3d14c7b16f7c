//! `tenured --check-config`: checks the configuration, the files that it names and both directories as a start would, without
//! starting and without changing anything. What a start refuses is refused; what it reports as a condition is a warning.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use tenure_checkpoint::{FileDisk, Mark, recover_read_only};
use tenure_engine::ports::Clock as _;
use tenure_policy::{CatalogueSource, Compiler, Contents, PolicyRuntime, sha256};
use tenure_types::printable;

use crate::clock::KernelClock;
use crate::config::Config;
use crate::run_dir::RunDir;
use crate::{DaemonArguments, failed, identity, policies, state_dir};

/// Checks a configuration that was parsed.
pub(crate) fn check(config: &Config, arguments: &DaemonArguments) -> ExitCode {
    let DaemonArguments { run_dir, state_dir, .. } = arguments;
    // In the order of a start.
    let checked = RunDir::check(run_dir).map_err(Into::into).and_then(|()| state(config, run_dir, state_dir));
    if let Err(error) = checked.and_then(|()| sandbox(config)) {
        return failed(&error, state_dir);
    }
    for warning in warnings(config) {
        eprintln!("warning: {}", printable::line(&warning));
    }
    println!("configuration ok");
    ExitCode::SUCCESS
}

/// Lists the problems that a start would report as conditions: they can be fixed while the daemon serves.
fn warnings(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    let most = policies::limits(config).map_or(0, |limits| limits.component);
    for (name, source) in policies::files(config) {
        let (path, sha256) = match source {
            CatalogueSource::File { path, sha256 } => (path, Some(sha256)),
            CatalogueSource::Watched { path } => (path, None),
            CatalogueSource::Embedded(_) | CatalogueSource::Loaded(_) => continue,
        };
        if let Err(problem) = policy(&path, sha256.as_deref(), most) {
            warnings.push(format!("policies.{name}: {}: {problem}", path.display()));
        }
    }
    for (name, table) in &config.delegates {
        if let Err(problem) = tenure_delegate::usable(&table.path, table.sha256.as_deref()) {
            warnings.push(format!("delegates.{name}: {problem}"));
        }
    }
    if let Some(Err(error)) = config.cni.directory.as_ref().map(std::fs::read_dir) {
        let directory = config.cni.directory.as_deref().unwrap_or(Path::new(""));
        warnings.push(format!("cni.directory: {}: {error}", directory.display()));
    }
    if let Some(Err(error)) = config.runtime.path().map(std::fs::metadata) {
        let socket = config.runtime.socket.as_deref().unwrap_or_default();
        warnings.push(format!("runtime.socket: {socket}: {error}"));
    }
    warnings
}

/// Checks the state directory as a start would, and reads the state. A daemon may be running on it.
fn state(config: &Config, run_dir: &Path, directory: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(directory) {
        // A start creates it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return parent(directory),
        Err(error) => return Err(error).with_context(|| format!("state directory {}", directory.display())),
        Ok(_) => state_dir::check(directory)?,
    }
    let boot = identity::boot(&config.node)?;
    let recovered = recover_read_only(&FileDisk::existing(directory), &boot, KernelClock.now());
    let report = recovered
        .with_context(|| {
            format!("cannot trust the checkpoint in {}, so nothing would be served", directory.display())
        })?
        .report;
    // Whether a part of the state is lost is known only after its end was read from the disk itself.
    let mark = Mark::read(run_dir, &boot).context("cannot read the state mark in the run directory")?;
    if report.fresh && mark.durable().is_some_and(|durable| durable.fact > 0) {
        eprintln!(
            "warning: {} is empty, but this boot had a state: a start would report it as lost",
            directory.display()
        );
    }
    Ok(())
}

/// Checks that a directory which does not exist can be created: what is above it is a directory.
fn parent(directory: &Path) -> anyhow::Result<()> {
    let above = directory.ancestors().skip(1).find(|above| above.exists() && !above.as_os_str().is_empty());
    if let Some(above) = above.filter(|above| !above.is_dir()) {
        let error = std::io::Error::from(std::io::ErrorKind::NotADirectory);
        return Err(error)
            .with_context(|| format!("state directory {}: {}", directory.display(), above.display()));
    }
    Ok(())
}

/// Checks that this machine can provide the configured sandbox.
fn sandbox(config: &Config) -> anyhow::Result<()> {
    let limits = policies::limits(config)?;
    PolicyRuntime::new(limits, Compiler::Child).map(drop).map_err(policies::unusable)?;
    Ok(())
}

/// Checks a policy's file. A problem is only a warning, since the file may be installed later.
fn policy(path: &Path, expected: Option<&str>, most: usize) -> Result<(), String> {
    let bytes = read(path, most)?;
    let Some(expected) = expected else { return Contents::read(&bytes).map(drop) };
    match sha256(&bytes) {
        found if found == expected => Ok(()),
        found => Err(format!("the file's SHA-256 is {found}, but the configuration has {expected}")),
    }
}

/// Reads a regular file of at most `most` bytes; other kinds of files are not opened.
fn read(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let metadata = path.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() > most => Err(format!("longer than {} MiB", most >> 20)),
        Ok(_) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}
