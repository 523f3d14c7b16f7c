//! The part of the configuration that the engine needs.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Bounds, ExchangeSettings, NetworkBounds, NetworkPattern, PolicyBounds, Settings};
use tenure_types::{AgentName, NetworkName, PolicyName};

use super::Config;

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
            let bounds = NetworkBounds {
                within: table.within.clone(),
                policies: table.policies.iter().filter_map(|policy| PolicyName::new(policy).ok()).collect(),
                exclusive: table.exclusive,
                configured: table.defines(),
            };
            Some((NetworkName::new(name).ok()?, bounds))
        });
        let policies = self.policies.iter().filter_map(|(name, table)| {
            let networks = table.networks.iter().filter_map(|text| NetworkPattern::new(text).ok());
            let bounds = PolicyBounds { within: table.within.clone(), networks: networks.collect() };
            Some((PolicyName::new(name).ok()?, bounds))
        });
        Bounds { networks: networks.collect(), policies: policies.collect() }
    }
}
