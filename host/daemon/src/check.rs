//! `tenured --check-config`: checks the configuration, the files that it names and both directories as a start would, without
//! starting and without changing anything. What a start refuses is refused; what it reports as a condition is a warning.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use rustix::fs::Access;
use tenure_checkpoint::{FileDisk, Mark, recover_read_only};
use tenure_engine::ports::Clock as _;
use tenure_policy::{CatalogueSource, Compiler, Contents, PolicyRuntime, sha256};
use tenure_types::{BootId, printable};

use crate::clock::KernelClock;
use crate::config::Config;
use crate::run_dir::RunDir;
use crate::{DaemonArguments, failed, identity, policies, state_dir};

/// Checks a configuration that was parsed.
pub(crate) fn check(config: &Config, arguments: &DaemonArguments) -> ExitCode {
    let DaemonArguments { run_dir, state_dir, .. } = arguments;
    if let Err(error) = directories(config, run_dir, state_dir).and_then(|()| sandbox(config)) {
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
    let keys = policies::keys(config);
    for (name, source) in policies::files(config) {
        let (path, sha256) = match &source {
            CatalogueSource::File { path, sha256 } => (path, Some(sha256.as_str())),
            CatalogueSource::Watched { path } => (path, None),
            CatalogueSource::Embedded(_) | CatalogueSource::Loaded(_) => continue,
        };
        let checked = policy(path, sha256, most)
            .and_then(|bytes| keys.refusal(&name, &bytes, source.signature().as_deref()).map_or(Ok(()), Err));
        if let Err(problem) = checked {
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

/// Checks both directories in the order of a start, and that a start could write to them.
fn directories(config: &Config, run_dir: &Path, state_dir: &Path) -> anyhow::Result<()> {
    let source = identity::boot_source(&config.node, identity::boot(&config.node)?);
    RunDir::check(run_dir)?;
    writable("run directory", run_dir)?;
    let boot = Mark::running_boot(run_dir, &source);
    state(&boot.context("cannot read the state mark in the run directory")?, run_dir, state_dir)
}

/// Checks the state directory as a start would, and reads the state. A daemon may be running on it.
fn state(boot: &BootId, run_dir: &Path, directory: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(directory) {
        // A start creates it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return writable("state directory", directory);
        }
        Err(error) => return Err(error).with_context(|| format!("state directory {}", directory.display())),
        Ok(_) => state_dir::check(directory)?,
    }
    writable("state directory", directory)?;
    let recovered = recover_read_only(&FileDisk::existing(directory), boot, KernelClock.now());
    let report = recovered
        .with_context(|| {
            format!("cannot trust the checkpoint in {}, so nothing would be served", directory.display())
        })?
        .report;
    // Whether a part of the state is lost is known only after its end was read from the disk itself.
    let mark = Mark::read(run_dir, boot).context("cannot read the state mark in the run directory")?;
    if report.fresh && mark.durable().is_some_and(|durable| durable.fact > 0) {
        eprintln!(
            "warning: {} is empty, but this boot had a state: a start would report it as lost",
            directory.display()
        );
    }
    Ok(())
}

/// Checks that a directory can be written to, or that one which does not exist can be created in what is above it.
fn writable(what: &str, directory: &Path) -> anyhow::Result<()> {
    let here = |path: &Path| path.as_os_str().is_empty();
    let nearest = directory.ancestors().find(|path| here(path) || path.exists());
    let nearest = nearest.filter(|path| !here(path)).unwrap_or(Path::new("."));
    let found = if nearest.is_dir() {
        rustix::fs::access(nearest, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    };
    found.with_context(|| match nearest == directory {
        true => format!("{what} {}", directory.display()),
        false => format!("{what} {} cannot be created in {}", directory.display(), nearest.display()),
    })
}

/// Checks that this machine can provide the configured sandbox.
fn sandbox(config: &Config) -> anyhow::Result<()> {
    let limits = policies::limits(config)?;
    PolicyRuntime::new(limits, Compiler::Child).map(drop).map_err(policies::unusable)?;
    Ok(())
}

/// Checks a policy's file, and returns its bytes. A problem is only a warning, since the file may be installed later.
fn policy(path: &Path, expected: Option<&str>, most: usize) -> Result<Vec<u8>, String> {
    let bytes = read(path, most)?;
    match expected {
        None => Contents::read(&bytes).map(drop)?,
        Some(expected) => {
            let found = sha256(&bytes);
            if found != expected {
                return Err(format!("the file's SHA-256 is {found}, but the configuration has {expected}"));
            }
        }
    }
    Ok(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_created_is_named_with_what_is_above_it() {
        let root = tempfile::tempdir().unwrap();
        writable("state directory", root.path()).unwrap();
        writable("state directory", &root.path().join("a/b")).unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = writable("state directory", &file.join("a/b")).unwrap_err();
        let words =
            format!("state directory {0}/a/b cannot be created in {0}: not a directory", file.display());
        assert_eq!(crate::fault::line(&error), words);
    }
}
