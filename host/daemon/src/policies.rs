//! The policies of the configuration.

use std::path::Path;
use std::time::Duration;

use tenure_engine::ports::Catalogue as _;
use tenure_policy::{CatalogueSource, Compiler, Limits, Policies, Runtime, TrustedKey};
use tenure_types::PolicyName;
use tokio::time::sleep;

use crate::config::{Config, PolicyTable};
use crate::fault::Setting;

/// How often to check whether the policies are loaded.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The limits on a policy.
pub(crate) fn limits(config: &Config) -> anyhow::Result<Limits> {
    Ok(Limits {
        deadline: Duration::from_millis(config.sandbox.deadline_ms.into()),
        memory: usize::try_from(config.sandbox.memory_mib)? << 20,
        concurrency: config.sandbox.concurrency,
        compile: Duration::from_secs(config.sandbox.compile_seconds.into()),
        ..Limits::default()
    })
}

/// The policies that the configuration names, with their files.
pub(crate) fn files(config: &Config) -> Vec<(PolicyName, CatalogueSource)> {
    let file = |(name, table): (&String, &PolicyTable)| {
        let (path, sha256) = (table.path.clone()?, table.sha256.as_ref()?.to_ascii_lowercase());
        // Names were checked when the configuration was read.
        Some((PolicyName::new(name).ok()?, CatalogueSource::File { path, sha256 }))
    };
    config.policies.iter().filter_map(file).collect()
}

/// The keys that policies must be signed with. They were checked when the configuration was read.
pub(crate) fn keys(config: &Config) -> Vec<TrustedKey> {
    config.signatures.keys.iter().filter_map(|key| TrustedKey::new(key).ok()).collect()
}

/// The built-in policies and those of the configuration.
pub(crate) fn open(config: &Config, compiler: Compiler, state_dir: &Path) -> anyhow::Result<Policies> {
    let runtime = Runtime::new(limits(config)?, compiler).map_err(unusable)?;
    let runtime = runtime.with_cache(state_dir.join("compiled"));
    let policies = Policies::with_runtime(runtime, files(config), state_dir).map_err(unusable)?;
    policies.trust(keys(config));
    Ok(policies)
}

/// Waits until the policies that served before are loaded or have failed to load.
pub(crate) async fn loaded(policies: &Policies) {
    while policies.awaited().is_some() {
        sleep(LOOK_AGAIN).await;
    }
}

/// The error for a sandbox that this machine cannot provide, with the settings that ask for it.
pub(crate) fn unusable(error: tenure_types::Error) -> Setting {
    Setting { keys: "sandbox.memory_mib, sandbox.concurrency", cause: error.cause }
}
