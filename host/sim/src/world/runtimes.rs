//! The actions of container runtimes: ADD, DEL, GC, and abandoning a request.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tenure_engine::ports::Clock as _;
use tenure_engine::{Add, Del, Gc};
use tenure_fixtures::ports::restored;
use tenure_types::{
    AssignedAddress, ContainerId, End, Error, ErrorCode, InterfaceName, NetworkConfig, NetworkName, Owner,
    Place, PolicyName, RequestContext, Sandbox,
};

use super::{Daemon, Outcome, Request, World};
use crate::oracle::{AddRequest, Key};
use crate::policies::POLICIES;

/// The number of attachments; more than there are addresses.
const OWNERS: u64 = 20;

/// The age at which an ADD is refused because DELs of its time are no longer remembered.
const OLD: Duration = Duration::from_secs(600);

fn owner(number: u64) -> Result<Owner> {
    let container = ContainerId::new(format!("c{number}"))?;
    Ok(Owner::Attachment { container, interface: InterfaceName::new("eth0")? })
}

impl World {
    fn key(&mut self) -> Result<Key> {
        Ok((self.network()?, owner(self.random.below(OWNERS))?))
    }

    /// The namespace of a container's sandbox.
    fn netns(&self, key: &Key) -> String {
        let (network, owner) = key;
        let times = self.sandboxes.get(key).copied().unwrap_or_default();
        format!("/run/netns/{network}-{owner}-{}-{times}", self.boots)
    }

    /// A container's sandbox dies, its DEL is never sent, and its runtime creates another sandbox.
    pub(super) fn end_sandbox(&mut self) -> Result<()> {
        let key = self.key()?;
        self.gone.insert(self.netns(&key));
        *self.sandboxes.entry(key).or_default() += 1;
        Ok(())
    }

    /// Frees allocations whose namespaces are gone, as the daemon does after two independent checks.
    pub(super) fn look_for_leaks(&mut self, daemon: &mut Daemon) -> Result<()> {
        let books = restored(daemon.source.images.pages(1))?.books;
        for held in books.iter().flat_map(|book| book.image().allocations) {
            if self.gone.contains(held.netns()) {
                self.oracle.may_reap(&(held.network.clone(), held.owner.clone()), held.netns());
                let engine = Arc::clone(&daemon.engine);
                daemon.executor.spawn(async move {
                    drop(engine.reap(&held, End::Leak, "").await);
                    Outcome::Other
                });
            }
        }
        Ok(())
    }

    pub(super) fn send_add(&mut self, daemon: &mut Daemon) -> Result<()> {
        let key = self.key()?;
        self.send_add_of(daemon, key)
    }

    fn send_add_of(&mut self, daemon: &mut Daemon, key: Key) -> Result<()> {
        if self.leaving.contains_key(&key.0) {
            return Ok(());
        }
        let under_way = |request: &Request| matches!(request, Request::Add(asked) if asked.key() == key);
        let is_new = self.oracle.is_new(&key) && !daemon.asked.values().any(under_way);
        let (netns, began) = (self.netns(&key), self.began());
        let (network, owner) = key;
        let asked = AddRequest { network, owner, began, netns, is_new };
        let add = Add {
            request: tenure_types::Request {
                network: asked.network.clone(),
                owner: asked.owner.clone(),
                requested: Vec::new(),
                sandbox: Sandbox {
                    netns: asked.netns.as_str().into(),
                    netns_seen: Place::new(1, 1),
                    ..Sandbox::default()
                },
                supply_full: false,
                context: RequestContext::default(),
                requested_at: asked.began,
            },
            policy: PolicyName::new(POLICIES[0])?,
            config: Arc::new(NetworkConfig { ipam: "{}".to_owned(), attributes: Vec::new() }),
        };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move {
            let grant = engine.add(add, |_| Ok(())).await;
            Outcome::Add(grant.map(|grant| grant.addresses.iter().map(AssignedAddress::ip).collect()))
        });
        self.oracle.add_sent(id, &asked);
        daemon.asked.insert(id, Request::Add(asked));
        Ok(())
    }

    pub(super) fn add_ended(
        &mut self,
        daemon: &mut Daemon,
        id: u64,
        asked: &AddRequest,
        outcome: std::result::Result<Vec<IpAddr>, Error>,
    ) -> Result<()> {
        match outcome {
            Ok(addresses) => {
                let lives = !self.gone.contains(&asked.netns);
                self.oracle.added(id, asked, &addresses, lives)
            }
            Err(error) => {
                self.oracle.ended(id, &asked.network, false);
                let is_old = self.clock.now().since(asked.began) >= OLD;
                if error.code == ErrorCode::Superseded && !is_old {
                    self.oracle.superseded(asked, daemon.began)?;
                }
                daemon.given_up.push(asked.key());
                if error.code == ErrorCode::PolicyFailed {
                    // The runtime tries again, and the daemon looks whether that is too many.
                    self.send_add_of(daemon, asked.key())?;
                    self.send_tend(daemon)?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn send_del(&mut self, daemon: &mut Daemon) -> Result<()> {
        let key = self.key()?;
        let began = self.began();
        self.oracle.may_end(&key, began);
        let del = Del { network: key.0.clone(), owner: key.1.clone(), requested_at: began };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move { Outcome::Del(engine.del(del).await) });
        daemon.asked.insert(id, Request::Del(key, began));
        Ok(())
    }

    pub(super) fn send_gc(&mut self, daemon: &mut Daemon) -> Result<()> {
        let network = self.network()?;
        self.send_gc_of(daemon, network, false)
    }

    /// A runtime lists the live attachments of a network: about two of three, or none.
    pub(super) fn send_gc_of(
        &mut self,
        daemon: &mut Daemon,
        network: NetworkName,
        nothing_lives: bool,
    ) -> Result<()> {
        let mut valid = HashSet::new();
        let requested_at = self.began();
        for number in 0..OWNERS {
            let owner = owner(number)?;
            match owner.attachment() {
                Some((container, interface)) if !nothing_lives && self.random.below(3) > 0 => {
                    valid.insert((container.clone(), interface.clone()));
                }
                _ => self.oracle.may_end(&(network.clone(), owner), requested_at),
            }
        }
        let gc = Gc { network, valid, requested_at };
        let engine = Arc::clone(&daemon.engine);
        daemon.executor.spawn(async move {
            drop(engine.gc(gc).await);
            Outcome::Other
        });
        Ok(())
    }

    /// A caller abandons its request. The undo task is not among `asked`, so it stays.
    pub(super) fn abandon(&mut self, daemon: &mut Daemon) {
        let asked = daemon
            .asked
            .iter()
            .filter(|(_, asked)| !matches!(asked, Request::Tend | Request::Lapse | Request::Tidy));
        let ids: Vec<u64> = asked.map(|(id, _)| *id).collect();
        let pick = usize::try_from(self.random.below(ids.len().max(1) as u64)).unwrap_or_default();
        let Some(id) = ids.get(pick) else { return };
        self.tally.abandoned += 1;
        daemon.executor.cancel(*id);
        match daemon.asked.remove(id) {
            Some(Request::Add(asked)) => {
                self.oracle.ended(*id, &asked.network, false);
                daemon.given_up.push(asked.key());
            }
            Some(Request::Remove(network, _) | Request::Change(network) | Request::Plan(network, _)) => {
                self.oracle.ended(*id, &network, false);
            }
            Some(Request::Agent(asked)) => self.agent_ended(*id, &asked, false),
            Some(Request::Del(..) | Request::Lapse | Request::Tend | Request::Tidy) | None => {}
        }
    }
}
