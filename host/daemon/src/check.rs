//! `tenured --check-config`: checks the configuration and the files that it names as a start would, without starting.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use tenure_policy::{CatalogueSource, Compiler, Contents, Runtime, sha256};

use crate::config::Config;
use crate::{fault, policies};

/// Checks a configuration that was parsed.
pub(crate) fn check(config: &Config) -> ExitCode {
    if let Err(error) = sandbox(config) {
        eprintln!("tenured: {error:#}");
        return ExitCode::from(fault::PERMANENT);
    }
    let most = policies::limits(config).map_or(0, |limits| limits.component);
    for (name, source) in policies::files(config) {
        let (path, sha256) = match source {
            CatalogueSource::File { path, sha256 } => (path, Some(sha256)),
            CatalogueSource::Watched { path } => (path, None),
            CatalogueSource::Embedded(_) | CatalogueSource::Loaded(_) => continue,
        };
        if let Err(problem) = policy(&path, sha256.as_deref(), most) {
            eprintln!("warning: policies.{name}: {}: {problem}", path.display());
        }
    }
    println!("configuration ok");
    ExitCode::SUCCESS
}

/// Checks that this machine can provide the configured sandbox.
fn sandbox(config: &Config) -> anyhow::Result<()> {
    let limits = policies::limits(config)?;
    Runtime::new(limits, Compiler::Child).map(drop).map_err(policies::unusable)?;
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
