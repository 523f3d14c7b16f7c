//! The policies of the configuration.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use tenure_engine::ports::Catalogue as _;
use tenure_policy::{
    CallLimits, CatalogueSource, Compiler, Grants, Policies, PolicyRuntime, TrustedKey, TrustedKeys,
};
use tenure_types::{EffectKind, PolicyName};
use tokio::time::sleep;

use crate::config::{Config, PolicyTable, World};
use crate::fault::Setting;

/// How often to check whether the policies are loaded.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The limits on a policy.
pub(crate) fn limits(config: &Config) -> anyhow::Result<CallLimits> {
    Ok(CallLimits {
        deadline: Duration::from_millis(config.sandbox.deadline_ms.into()),
        memory: usize::try_from(config.sandbox.memory_mib)? << 20,
        concurrency: config.sandbox.concurrency,
        compile: Duration::from_secs(config.sandbox.compile_seconds.into()),
        ..CallLimits::default()
    })
}

/// The default grants of the AWS policy.
const AWS_EFFECTS: [EffectKind; 6] = [
    EffectKind::AttachInterface,
    EffectKind::DetachInterface,
    EffectKind::AssignAddress,
    EffectKind::ReleaseAddress,
    EffectKind::AssignPrefix,
    EffectKind::ReleasePrefix,
];

/// The default grants of the policy for leased blocks.
const CLUSTER_EFFECTS: [EffectKind; 2] = [EffectKind::RequestBlock, EffectKind::GiveBackBlock];

/// The policies that the configuration names, with their files.
pub(crate) fn files(config: &Config) -> Vec<(PolicyName, CatalogueSource)> {
    let file = |(name, table): (&String, &PolicyTable)| {
        let path = table.path.clone()?;
        let source = match &table.sha256 {
            Some(sha256) => CatalogueSource::File { path, sha256: sha256.to_ascii_lowercase() },
            None => CatalogueSource::Watched { path },
        };
        // Names were checked when the configuration was read.
        Some((PolicyName::new(name).ok()?, source))
    };
    config.policies.iter().filter_map(file).chain(built_in(config)).collect()
}

/// The policies that are built in for what is configured.
fn built_in(config: &Config) -> impl Iterator<Item = (PolicyName, CatalogueSource)> {
    #[cfg(feature = "aws")]
    let aws = config.aws.network.as_ref().map(|_| (crate::config::AWS_ENI, tenure_policy::embedded::AWS_ENI));
    #[cfg(not(feature = "aws"))]
    let aws: Option<(&str, &'static [u8])> = None;
    #[cfg(feature = "cluster")]
    let cluster = (!config.cluster.networks.is_empty())
        .then_some((crate::config::CLUSTER_RANGE, tenure_policy::embedded::CLUSTER_RANGE));
    #[cfg(not(feature = "cluster"))]
    let cluster: Option<(&str, &'static [u8])> = None;
    let _ = config;
    let named = |(name, bytes)| Some((PolicyName::new(name).ok()?, CatalogueSource::Embedded(bytes)));
    aws.into_iter().chain(cluster).filter_map(named)
}

/// Returns the configured grants of each policy that the configuration names.
pub(crate) fn grants(config: &Config) -> HashMap<PolicyName, Grants> {
    let granted = config.policies.iter().filter_map(|(name, table)| {
        let may = |world: World| match &table.worlds {
            Some(worlds) => worlds.contains(&world),
            // Loading a policy is an operator's word for what it brings along; a file of the configuration brings less.
            None => table.path.is_none(),
        };
        let effects = table.effects.iter().filter_map(|effect| EffectKind::named(effect));
        let grants = Grants {
            planner: may(World::Planner),
            stateful: may(World::Stateful),
            effects: effects.collect(),
            metadata: table.metadata.clone(),
            deadline: table.deadline_ms.map(|ms| Duration::from_millis(ms.into())),
            memory: table.memory_mib.and_then(|mib| usize::try_from(mib).ok()).map(|mib| mib << 20),
            unchecked: table.unchecked,
        };
        Some((PolicyName::new(name).ok()?, grants))
    });
    let mut granted: HashMap<PolicyName, Grants> = granted.collect();
    let built_in: [(Option<&str>, &[EffectKind]); 2] =
        [(config.built_in_aws(), &AWS_EFFECTS), (config.built_in_cluster(), &CLUSTER_EFFECTS)];
    for (name, effects) in built_in {
        let Some(name) = name.and_then(|name| PolicyName::new(name).ok()) else { continue };
        let grants = granted.entry(name).or_default();
        if grants.effects.is_empty() {
            grants.effects = effects.to_vec();
        }
    }
    granted
}

/// The keys that policies must be signed with. They were checked when the configuration was read.
pub(crate) fn keys(config: &Config) -> TrustedKeys {
    let keys = config.signatures.keys.iter().filter_map(|key| TrustedKey::new(key).ok()).collect();
    TrustedKeys { keys, require_version: config.signatures.require_version }
}

/// The built-in policies and those of the configuration.
pub(crate) fn open(config: &Config, compiler: Compiler, state_dir: &Path) -> anyhow::Result<Policies> {
    let runtime = PolicyRuntime::new(limits(config)?, compiler).map_err(unusable)?;
    let runtime = runtime.with_cache(state_dir.join("compiled"));
    let policies = Policies::with_runtime(runtime, files(config), state_dir).map_err(unusable)?;
    policies.trust(keys(config));
    policies.grant(grants(config));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_policy_may_change_interfaces_and_a_file_of_its_name_what_it_is_granted() {
        let effects = |more: &str| {
            let text = format!("[aws]\nnetwork = \"pods\"\n{more}");
            // Unchecked: a build without the feature refuses the network.
            let config: Config = toml::from_str(&text).unwrap();
            grants(&config)
                .remove(&PolicyName::new(crate::config::AWS_ENI).unwrap())
                .unwrap_or_default()
                .effects
        };
        assert_eq!(effects(""), AWS_EFFECTS);
        assert_eq!(effects("[policies.aws-eni]\ndeadline_ms = 10"), AWS_EFFECTS);
        assert_eq!(effects("[policies.aws-eni]\neffects = [\"assign-prefix\"]"), [EffectKind::AssignPrefix]);
        assert_eq!(effects("[policies.aws-eni]\npath = \"/mine.wasm\""), []);
        let without = grants(&Config::default());
        assert!(without.is_empty(), "{without:?}");
    }
}
