use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tenure_engine::{Add, Define, Del};
use tenure_fixtures::ports::ManualClock;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::{PoolKey, Uid};
use tenure_types::{
    ContainerId, Definer, InterfaceName, NetworkConfig, NetworkName, Owner, PolicyName, Request,
    RequestContext, Sandbox,
};

use super::*;
use crate::NodeIPAM;
use crate::agent::records::HeldLease;
use crate::agent::sample::{agent_with, network, unreachable};

fn lease() -> HeldLease {
    HeldLease {
        name: "default.10-0-0-0.26".parse().unwrap(),
        uid: Uid(6),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: None,
    }
}

fn owner(container: &str) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

fn blue() -> NetworkName {
    NetworkName::new("blue").unwrap()
}

impl AgentCore {
    /// The operator tells the settings of the pool.
    fn is_told(&self) {
        let pool = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 1 });
        let spec =
            json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
        let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool] } });
        let object: NodeIPAM = serde_json::from_value(object).unwrap();
        self.state().see(Some(object));
    }

    async fn takes(&self, network: NetworkName, container: &str) -> Option<String> {
        let request = Request {
            network,
            owner: owner(container),
            requested: Vec::new(),
            sandbox: Sandbox::default(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: self.engine.now(),
        };
        let config = Arc::new(NetworkConfig { ipam: "".into(), attributes: Vec::new() });
        let add = Add { request, policy: PolicyName::new("names").unwrap(), config };
        let granted = self.engine.add(add, |_| Ok(())).await.ok()?;
        granted.addresses.first().map(|assigned| assigned.ip().to_string())
    }

    async fn supply_all(&self) {
        self.leave_networks().await.unwrap();
        for network in self.settings.networks.keys() {
            self.supply(network).await.unwrap();
        }
    }

    async fn row_of_block(&self) -> BlockUsage {
        let book = self.book_of("names").await;
        self.row(&lease(), book.as_deref()).usage
    }
}

/// Regression: the network of the new name gave the addresses of living pods out again, and their block looked empty to the cluster.
#[tokio::test]
async fn a_block_is_its_former_networks_while_a_pod_there_has_an_address_of_it() {
    for next in [Some(blue()), None] {
        let clock = Arc::new(ManualClock::default());
        let (mut core, _abandoned) = agent_with(unreachable(), Arc::clone(&clock) as _, 1).await;
        core.record(&lease()).await.unwrap();
        core.is_told();
        core.supply_all().await;
        let first = core.takes(network(), "first").await.unwrap();
        // As a daemon that has started with another configuration.
        core.settings.networks = next.iter().map(|next| (next.clone(), vec!["names".to_owned()])).collect();
        if let Some(next) = &next {
            let define = Define {
                network: next.clone(),
                policy: PolicyName::new("names").unwrap(),
                config: Arc::new(NetworkConfig { ipam: "".into(), attributes: Vec::new() }),
                by: Definer::Configuration,
                apply: true,
                change_ranges: false,
            };
            core.engine.define_network(&define).await.unwrap();
        }
        for _ in 0..3 {
            core.supply_all().await;
            assert_eq!(core.row_of_block().await.in_use, 1, "{first} is in use");
            assert_eq!(
                core.takes(network(), "second").await,
                None,
                "nothing more comes from the former network"
            );
            assert_eq!(core.takes(blue(), "third").await, None, "{first} would be next");
        }
        let del = Del { network: network(), owner: owner("first"), requested_at: core.engine.now() };
        core.engine.del(del).await.unwrap();
        core.supply_all().await;
        assert!(!core.row_of_block().await.is_empty(), "{first} cools down");
        clock.advance(Duration::from_secs(3_600));
        core.engine.wake_for_room(&network()).await;
        core.supply_all().await;
        core.supply_all().await;
        assert!(core.row_of_block().await.is_empty(), "nobody uses it");
        assert_eq!(core.takes(blue(), "third").await.is_some(), next.is_some());
    }
}
