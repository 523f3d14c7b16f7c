//! Agents, their claims, and the engine as they see it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Agent, Ask, Claimed, Define};
use tenure_fixtures::ports::{ManualJournal, policy, restored};
use tenure_ledger::{Book, ClaimKey, LedgerState, Wish};
use tenure_types::{AgentName, ClaimName, Definer, Error, ErrorCode, NetworkConfig, NetworkName, PolicyName};

use crate::support::{Bench, network};

pub(crate) fn agent(name: &str) -> Agent {
    Agent::new(AgentName::new(name).unwrap(), 4)
}

pub(crate) fn named(name: &str) -> NetworkName {
    NetworkName::new(name).unwrap()
}

pub(crate) fn ask(name: &str) -> Ask {
    Ask { network: network(), name: ClaimName::new(name).unwrap(), wish: Wish::default() }
}

pub(crate) fn wanting(name: &str, addresses: &[&str]) -> Ask {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Ask { wish: Wish { addresses, ..Wish::default() }, ..ask(name) }
}

pub(crate) fn leasing(name: &str, seconds: u64) -> Ask {
    Ask { wish: Wish { lease: Some(Duration::from_secs(seconds)), ..Wish::default() }, ..ask(name) }
}

pub(crate) fn key(agent: &str, name: &str) -> ClaimKey {
    ClaimKey {
        agent: AgentName::new(agent).unwrap(),
        network: network(),
        name: ClaimName::new(name).unwrap(),
    }
}

pub(crate) fn addresses(claimed: &Claimed) -> Vec<IpAddr> {
    claimed.places.iter().map(|place| place.assigned.ip()).collect()
}

pub(crate) fn names<'a>(claims: impl IntoIterator<Item = &'a Claimed>) -> Vec<String> {
    claims.into_iter().map(|claimed| claimed.claim.key.name.to_string()).collect()
}

impl Bench {
    /// A bench with a network of five addresses, 10.0.0.2 to 10.0.0.6.
    pub(crate) async fn with_network() -> Self {
        let bench = Self::new(8, 8);
        bench.define("net", "10.0.0.0/29").await;
        bench
    }

    pub(crate) async fn define(&self, name: &str, ipam: &str) {
        self.define_with(name, "first", ipam).await;
    }

    /// A network that this policy serves.
    pub(crate) async fn define_with(&self, name: &str, policy: &str, ipam: &str) {
        let define = Define {
            network: named(name),
            policy: PolicyName::new(policy).unwrap(),
            config: Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() }),
            by: Definer::Operator,
            apply: true,
            change_ranges: true,
        };
        self.engine.define_network(&define).await.unwrap();
    }

    pub(crate) async fn claimed(&self, agent_name: &str, ask: &Ask) -> Result<String, Error> {
        let claimed = self.engine.ensure(&agent(agent_name), ask).await?;
        Ok(addresses(&claimed)[0].to_string())
    }

    pub(crate) fn code(&self, result: Result<String, Error>) -> ErrorCode {
        result.unwrap_err().code
    }

    /// The state of this engine in a new one, as after a restart or, if `boots`, a reboot.
    pub(crate) fn restarted(&self, boots: bool) -> Self {
        let state = self.state(boots);
        let books = state.books.iter().map(Book::through);
        let last = books.chain([state.node.through()]).max().unwrap();
        Self::of(state, ManualJournal::after(last), |_| policy::catalogue(), 8, 8)
    }

    /// The state of this engine, as a restart or, if `boots`, a reboot would find it.
    pub(crate) fn state(&self, boots: bool) -> LedgerState {
        let mut state = restored(self.engine.images().pages(1)).unwrap();
        if boots {
            state.books.iter_mut().for_each(|book| _ = book.enter_boot(self.now()).unwrap());
            state.node.claims.enter_boot(self.now());
        }
        state
    }
}
