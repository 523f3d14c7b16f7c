//! The actions of agents: they make, declare and release claims, one request at a time each, and watch them. An operator
//! releases some of them, and those whose agents are gone lapse.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use tenure_engine::ports::Clock as _;
use tenure_engine::{Agent, Ask, Changes, Claimed};
use tenure_ledger::{ClaimKey, Wish};
use tenure_types::{AgentName, ClaimName, Error, NetworkName};

use super::{Daemon, Outcome, Request, World, names};
use crate::oracle::lease_of;

const AGENTS: [&str; 2] = ["cilium", "monitor"];

/// The number of names that an agent uses on a network.
const NAMES: u64 = 2;

/// The outcome of an agent's request.
pub(super) enum Answer {
    /// The answer to a declaration: the claims with their addresses.
    Have(std::result::Result<Vec<(ClaimKey, Vec<IpAddr>)>, Error>),
    /// A claim has ended.
    Ended(std::result::Result<bool, Error>),
    /// A watch tells what has changed.
    Told(std::result::Result<Changes, Error>),
}

/// An agent's request in progress.
pub(super) enum AgentRequest {
    Ensure(ClaimKey),
    Declare(AgentName, BTreeSet<ClaimKey>),
    Release(ClaimKey),
    Watch(AgentName),
}

impl AgentRequest {
    fn agent(&self) -> &AgentName {
        match self {
            Self::Ensure(key) | Self::Release(key) => &key.agent,
            Self::Declare(agent, _) | Self::Watch(agent) => agent,
        }
    }

    /// The claims that it makes.
    fn claims(&self) -> BTreeSet<ClaimKey> {
        match self {
            Self::Ensure(key) => BTreeSet::from([key.clone()]),
            Self::Declare(_, wanted) => wanted.clone(),
            Self::Release(_) | Self::Watch(_) => BTreeSet::new(),
        }
    }

    /// The networks that it claims addresses of.
    pub(super) fn networks(&self) -> BTreeSet<NetworkName> {
        self.claims().into_iter().map(|key| key.network).collect()
    }
}

fn addresses(claimed: &Claimed) -> (ClaimKey, Vec<IpAddr>) {
    (claimed.claim.key.clone(), claimed.places.iter().map(|place| place.assigned.ip()).collect())
}

fn ask(key: &ClaimKey) -> Ask {
    let wish = Wish { lease: lease_of(key), ..Wish::default() };
    Ask { network: key.network.clone(), name: key.name.clone(), wish }
}

fn agent(name: &AgentName) -> Agent {
    Agent::new(name.clone(), 16)
}

/// The agents.
pub(super) fn agents() -> Result<Vec<AgentName>> {
    Ok(AGENTS.iter().map(|name| AgentName::new(*name)).collect::<std::result::Result<_, _>>()?)
}

impl World {
    /// An agent that waits for no answer sends a request.
    pub(super) fn send_of_agent(&mut self, daemon: &mut Daemon) -> Result<()> {
        if self.random.below(12) == 0 {
            self.send_lapse(daemon);
            return Ok(());
        }
        let index = usize::try_from(self.random.below(AGENTS.len() as u64))?;
        let name = agents()?.into_iter().nth(index).context("no such agent")?;
        let is_watch = self.random.below(4) == 0;
        let waits = |asked: &AgentRequest| {
            *asked.agent() == name && matches!(asked, AgentRequest::Watch(_)) == is_watch
        };
        if daemon.asked.values().any(|request| matches!(request, Request::Agent(asked) if waits(asked))) {
            return Ok(());
        }
        if is_watch {
            self.send_watch(daemon, name);
            return Ok(());
        }
        let network = self.network()?;
        match self.random.below(8) {
            // Networks that are to be removed have to become empty.
            _ if self.leaving.contains_key(&network) => self.send_declare(daemon, name, &[]),
            0..=3 => self.send_ensure(daemon, name, network),
            4 => self.send_declare(daemon, name, &[]),
            5 | 6 => self.send_declare(daemon, name, &names()?),
            _ => self.send_release(daemon, name, network),
        }
    }

    fn claim(&mut self, agent: AgentName, network: NetworkName) -> Result<ClaimKey> {
        let name = ClaimName::new(format!("claim-{}", self.random.below(NAMES)))?;
        Ok(ClaimKey { agent, network, name })
    }

    fn of_agent(&mut self, daemon: &mut Daemon, id: u64, asked: AgentRequest) {
        asked.networks().iter().for_each(|network| self.oracle.claiming(id, network));
        daemon.asked.insert(id, Request::Agent(asked));
    }

    fn send_ensure(&mut self, daemon: &mut Daemon, name: AgentName, network: NetworkName) -> Result<()> {
        let key = self.claim(name, network)?;
        let (engine, of) = (Arc::clone(&daemon.engine), key.clone());
        let id = daemon.executor.spawn(async move {
            let claimed = engine.ensure(&agent(&of.agent), &ask(&of)).await;
            Outcome::Agent(Answer::Have(claimed.map(|claimed| vec![addresses(&claimed)])))
        });
        self.oracle.claims.ensure_sent(&key);
        self.of_agent(daemon, id, AgentRequest::Ensure(key));
        Ok(())
    }

    /// An agent declares some of its claims on these networks.
    fn send_declare(&mut self, daemon: &mut Daemon, name: AgentName, networks: &[NetworkName]) -> Result<()> {
        let mut wanted = BTreeSet::new();
        for network in networks {
            for _ in 0..self.random.below(NAMES + 1) {
                wanted.insert(self.claim(name.clone(), network.clone())?);
            }
        }
        let apply = self.random.below(8) > 0;
        let asks: Vec<Ask> = wanted.iter().map(ask).collect();
        let (engine, of) = (Arc::clone(&daemon.engine), agent(&name));
        let id = daemon.executor.spawn(async move {
            let declared = engine.declare(&of, &asks, apply).await;
            let all = declared
                .map(|declared| declared.created.iter().chain(&declared.kept).map(addresses).collect());
            Outcome::Agent(Answer::Have(all))
        });
        // A dry run changes nothing, and the oracle learns nothing from it.
        if apply {
            self.oracle.claims.declare_sent(&name, &wanted);
            self.of_agent(daemon, id, AgentRequest::Declare(name, wanted));
        }
        Ok(())
    }

    fn send_release(&mut self, daemon: &mut Daemon, agent: AgentName, network: NetworkName) -> Result<()> {
        let key = self.claim(agent, network)?;
        let (engine, of) = (Arc::clone(&daemon.engine), key.clone());
        let id = daemon
            .executor
            .spawn(async move { Outcome::Agent(Answer::Ended(engine.release_claim(&of).await)) });
        self.oracle.claims.release_sent(&key);
        self.of_agent(daemon, id, AgentRequest::Release(key));
        Ok(())
    }

    /// An agent asks what has changed since it was told the last time.
    pub(super) fn send_watch(&mut self, daemon: &mut Daemon, name: AgentName) {
        let version = self.pictures.entry(name.clone()).or_default().version();
        let (engine, of) = (Arc::clone(&daemon.engine), name.clone());
        let id = daemon.executor.spawn(async move {
            Outcome::Agent(Answer::Told(engine.changes(&of, version.as_deref()).await))
        });
        self.of_agent(daemon, id, AgentRequest::Watch(name));
    }

    /// The daemon ends the claims whose agents are gone.
    fn send_lapse(&mut self, daemon: &mut Daemon) {
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move {
            // What could not be recorded is tried again.
            drop(engine.lapse().await);
            Outcome::Other
        });
        daemon.asked.insert(id, Request::Lapse);
    }

    /// An agent was answered. A refusal says nothing: what could not be made durable may have been done.
    pub(super) fn agent_answered(&mut self, id: u64, asked: &AgentRequest, answer: Answer) -> Result<()> {
        let mut success = false;
        match (asked, answer) {
            (AgentRequest::Ensure(_) | AgentRequest::Declare(..), Answer::Have(Ok(all))) => {
                success = true;
                let now = self.clock.now();
                for (key, addresses) in &all {
                    self.oracle.claimed(id, now, key, addresses)?;
                }
                let (agent, wanted) = (asked.agent(), asked.claims());
                let got: BTreeSet<ClaimKey> = all.into_iter().map(|(key, _)| key).collect();
                ensure!(got == wanted, "{agent} asked for {wanted:?} and got {got:?}");
                if matches!(asked, AgentRequest::Declare(..)) {
                    self.tally.declared += 1;
                    self.oracle.claims.declared(agent, &wanted);
                }
            }
            (AgentRequest::Release(key), Answer::Ended(Ok(_))) => {
                self.oracle.replies += 1;
                self.oracle.claims.ended(key);
            }
            (AgentRequest::Watch(agent), Answer::Told(Ok(changes))) => {
                self.oracle.replies += 1;
                self.pictures.entry(agent.clone()).or_default().apply(agent, changes)?;
            }
            _ => {}
        }
        self.agent_ended(id, asked, success);
        Ok(())
    }

    /// A request of an agent was answered or abandoned.
    pub(super) fn agent_ended(&mut self, id: u64, asked: &AgentRequest, success: bool) {
        asked.networks().iter().for_each(|network| self.oracle.ended(id, network, success));
    }

    /// Checks, at rest, that agents which read their watches to the end know what there is.
    pub(super) fn check_pictures(&mut self, daemon: &mut Daemon) -> Result<()> {
        for name in agents()? {
            self.send_watch(daemon, name.clone());
            self.come_to_rest(daemon)?;
            if self.disk.is_stopped() {
                return Ok(());
            }
            let picture = self.pictures.entry(name.clone()).or_default();
            picture.check(&name, daemon.engine.claims_of(Some(&name)))?;
        }
        Ok(())
    }
}
