//! The part of the configuration that the engine needs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{
    Bounds, ConfiguredNetwork, ExchangeSettings, NetworkBounds, PolicyBounds, SettingPattern, Settings,
};
use tenure_types::{AgentName, NamePattern, NetworkName, PolicyName};

use super::Config;
use super::networks::NetworkDefinition;

/// The policy for AWS network interfaces.
pub(crate) const AWS_ENI: &str = "aws-eni";

/// The policy for blocks that a cluster leases.
pub(crate) const CLUSTER_RANGE: &str = "cluster-range";

/// The attributes of a network's definition by which the host itself works: how links are made, what the kernel does with packets, and
/// how interfaces of AWS are managed.
pub(crate) const HOST_SETTINGS: &[&str] = &[
    "cluster",
    "cluster.gateway",
    "connmark",
    "customNetwork.annotation",
    "customNetwork.enabled",
    "customNetwork.label",
    "ec2.timeoutSeconds",
    "externalServices",
    "fixedSupply",
    "imdsOnly",
    "interfaces.keepLeaked",
    "interfaces.manageUntagged",
    "interfaces.tags",
    "mtu",
    "nodePorts",
    "podMtu",
    "snat.exclude",
    "snat.external",
    "snat.ports",
    "subnets.discover",
    "vethPrefix",
];

impl Config {
    /// The engine's settings.
    pub(crate) fn settings(&self) -> Settings {
        // usize has at least 32 bits on all supported machines.
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Settings {
            cooldown: Duration::from_secs(self.addresses.cooldown_seconds.into()),
            nearly_full_percent: self.addresses.nearly_full_percent,
            in_flight: number(self.limits.in_flight),
            queue: number(self.limits.queue),
            networks: number(self.limits.networks),
            bounds: Arc::new(self.bounds()),
            exchange: ExchangeSettings {
                watch: Duration::from_secs(self.exchange.watch_seconds.into()),
                worse_percent: self.exchange.worse_percent,
            },
            reserved: Duration::from_secs(self.claims.reserved_seconds.into()),
            agents: Some(self.agents.keys().filter_map(|name| AgentName::new(name).ok()).collect()),
        }
    }

    /// The bounds on networks and policies. Names were checked when the configuration was read.
    fn bounds(&self) -> Bounds {
        let networks = self.networks.iter().filter_map(|(name, table)| {
            let defined = table.definition().ok().flatten();
            let bounds = NetworkBounds {
                within: table.within.clone(),
                policies: table.policies.iter().filter_map(|policy| PolicyName::new(policy).ok()).collect(),
                exclusive: table.exclusive,
                configured: defined
                    .map(|NetworkDefinition { policy, config }| ConfiguredNetwork { policy, config }),
            };
            Some((NetworkName::new(name).ok()?, bounds))
        });
        let mut networks: BTreeMap<NetworkName, NetworkBounds> = networks.collect();
        // The addresses of interfaces are those of one network: another that had them before keeps them from it.
        if let Some(name) = self.aws.network() {
            networks.entry(name).or_default().exclusive = true;
        }
        let policies = self.policies.iter().filter_map(|(name, table)| {
            let networks = table.networks.iter().filter_map(|text| NamePattern::of_networks(text).ok());
            let settings = table.settings.iter().filter_map(|text| SettingPattern::new(text, HOST_SETTINGS));
            let bounds = PolicyBounds {
                within: table.within.clone(),
                networks: networks.collect(),
                settings: settings.collect(),
            };
            Some((PolicyName::new(name).ok()?, bounds))
        });
        let mut policies: BTreeMap<PolicyName, PolicyBounds> = policies.collect();
        for (name, pattern) in [(self.built_in_aws(), "*"), (self.built_in_cluster(), "cluster.gateway")] {
            let Some(name) = name.and_then(|name| PolicyName::new(name).ok()) else { continue };
            let bounds = policies.entry(name).or_default();
            if bounds.settings.is_empty() {
                bounds.settings = SettingPattern::new(pattern, HOST_SETTINGS).into_iter().collect();
            }
        }
        Bounds { networks, policies, host_settings: HOST_SETTINGS }
    }

    /// The name of the built-in policy for AWS interfaces, if it is in use. What a file of that name may do is for the configuration
    /// to say, as for any file.
    pub(crate) fn built_in_aws(&self) -> Option<&'static str> {
        self.aws.network.as_ref()?;
        self.policies.get(AWS_ENI).is_none_or(|table| table.path.is_none()).then_some(AWS_ENI)
    }

    /// The name of the built-in policy for leased blocks, if it is in use.
    pub(crate) fn built_in_cluster(&self) -> Option<&'static str> {
        let is_used = !self.cluster.networks.is_empty();
        let is_built_in = self.policies.get(CLUSTER_RANGE).is_none_or(|table| table.path.is_none());
        (is_used && is_built_in).then_some(CLUSTER_RANGE)
    }
}
