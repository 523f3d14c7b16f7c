//! The policies of the configuration, and whether they can be used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_engine::ports::Catalogue;
use tenure_policy::{CatalogueSource, Limits, Policies};
use tenure_types::{ConditionName, PolicyName};

use crate::config::Config;
use crate::fault::Setting;

/// How often it is looked whether each can be used.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What a call of a policy may use.
pub(crate) fn limits(config: &Config) -> anyhow::Result<Limits> {
    Ok(Limits {
        deadline: Duration::from_millis(config.sandbox.deadline_ms.into()),
        memory: usize::try_from(config.sandbox.memory_mib)? << 20,
        concurrency: config.sandbox.concurrency,
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

/// Looks for as long as the daemon serves, and says which cannot be used.
pub(crate) async fn watch(catalogue: Arc<Policies>, engine: Arc<Engine>) {
    loop {
        let listed = Arc::clone(&catalogue);
        // Files may be read.
        let listed = tokio::task::spawn_blocking(move || listed.list()).await.unwrap_or_default();
        let unusable = listed.into_iter().filter_map(|entry| {
            let name = entry.stamp.name.to_string();
            let problem = entry.problem?;
            Some((name.clone(), format!("policy {name} of {} cannot be used: {problem}", entry.source)))
        });
        engine.conditions().replace(ConditionName::PolicyUnloadable, unusable);
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
