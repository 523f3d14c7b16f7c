//! The policies of the configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_policy::{CatalogueSource, Limits, Policies};
use tenure_types::PolicyName;

use crate::config::Config;
use crate::fault::Setting;

/// What a call of a policy may use.
pub(crate) fn limits(config: &Config) -> anyhow::Result<Limits> {
    Ok(Limits {
        deadline: Duration::from_millis(config.sandbox.deadline_ms.into()),
        memory: usize::try_from(config.sandbox.memory_mib)? << 20,
        concurrency: config.sandbox.concurrency,
        compile: Duration::from_secs(config.sandbox.compile_seconds.into()),
        ..Limits::default()
    })
}

/// The built-in policies and those of the configuration.
pub(crate) fn open(config: &Config, state_dir: &Path) -> anyhow::Result<Policies> {
    let files = config.policies.iter().map(|(name, file)| {
        let path: PathBuf = file.path.clone();
        Ok((PolicyName::new(name)?, CatalogueSource::File { path, sha256: file.sha256.to_ascii_lowercase() }))
    });
    let files: Vec<_> = files.collect::<anyhow::Result<_>>()?;
    Ok(Policies::open(limits(config)?, files, state_dir).map_err(unusable)?)
}

/// The settings that a sandbox which cannot be had comes from.
pub(crate) fn unusable(error: tenure_types::Error) -> Setting {
    Setting { keys: "sandbox.memory_mib, sandbox.concurrency", cause: error.cause }
}
