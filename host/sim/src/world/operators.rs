//! The actions of operators and the host on networks: define, activate, remove, supply.

use std::sync::Arc;

use anyhow::Result;
use tenure_engine::{Activate, Define, ReplaceState, Supply as Supplied};
use tenure_types::{Definer, NetworkConfig, NetworkName, PolicyName, PoolName};

use super::{Daemon, Outcome, Request, World, names};
use crate::oracle::{DOUBTFUL, Quarantine, Supply, Whole};
use crate::policies::{BLOCKS, HOST, POLICIES, block};

impl World {
    /// Performs one action on one network.
    pub(super) fn operate(&mut self, daemon: &mut Daemon) -> Result<()> {
        let network = self.network()?;
        match self.random.below(18) {
            14..=15 => self.send_quarantine(daemon, network, Quarantine::Add),
            16 => self.send_quarantine(daemon, network, Quarantine::Lift),
            11 => {
                Self::send_replace_state(daemon, network);
                Ok(())
            }
            8 => self.send_roll_back(daemon, network),
            9 => self.send_shadow(daemon, network),
            10 => self.send_tend(daemon),
            0 => self.send_define(daemon, network),
            1 | 7 | 12 | 13 => self.send_activate(daemon, network),
            2 => self.send_remove(daemon, network),
            3 => {
                // No new ADD is sent until then, and the removal is sent when the GC may have finished.
                let steps = 10 + self.random.below(120);
                self.leaving.insert(network.clone(), steps);
                self.send_gc_of(daemon, network, true)
            }
            _ => self.send_supply(daemon, network),
        }
    }

    /// Sends the removals of networks that have had time to become empty.
    pub(super) fn end_leaving(&mut self, daemon: &mut Daemon) -> Result<()> {
        self.leaving.values_mut().for_each(|steps| *steps -= 1);
        let due = self.leaving.extract_if(.., |_, steps| *steps == 0);
        let due: Vec<NetworkName> = due.map(|(network, _)| network).collect();
        due.into_iter().try_for_each(|network| self.send_remove(daemon, network))
    }

    fn send_define(&mut self, daemon: &mut Daemon, network: NetworkName) -> Result<()> {
        let by = if self.random.below(2) == 0 { Definer::Operator } else { Definer::Configuration };
        let apply = self.random.below(4) > 0;
        let define = Define {
            network: network.clone(),
            policy: PolicyName::new(POLICIES[0])?,
            config: Arc::new(NetworkConfig { ipam: "{}".to_owned(), attributes: Vec::new() }),
            by,
            apply,
            change_ranges: true,
        };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon
            .executor
            .spawn(async move { Outcome::Changed(engine.define_network(&define).await.map(drop)) });
        if apply {
            self.oracle.change_sent(id, &network, Whole::Define);
            daemon.asked.insert(id, Request::Change(network));
        }
        Ok(())
    }

    fn send_activate(&mut self, daemon: &mut Daemon, network: NetworkName) -> Result<()> {
        // The last one, which stands for the delegate, more often than the others.
        let number = usize::try_from(self.random.below(POLICIES.len() as u64 + 2))?.min(POLICIES.len() - 1);
        let policy = PolicyName::new(POLICIES.get(number).copied().unwrap_or_default())?;
        // Unless ranges may change, it fails if they would.
        let change_ranges = self.random.below(4) > 0;
        // The suite takes many steps.
        let unchecked = self.random.below(4) > 0;
        let activate = Activate {
            network: network.clone(),
            policy: policy.into(),
            change_ranges,
            unchecked,
            empty_state: false,
            reason: String::new(),
        };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon
            .executor
            .spawn(async move { Outcome::Changed(engine.activate(&activate).await.map(drop)) });
        self.oracle.change_sent(id, &network, Whole::Activate(number));
        daemon.asked.insert(id, Request::Change(network));
        Ok(())
    }

    fn send_roll_back(&mut self, daemon: &mut Daemon, network: NetworkName) -> Result<()> {
        let (engine, name) = (Arc::clone(&daemon.engine), network.clone());
        let id = daemon
            .executor
            .spawn(async move { Outcome::Changed(engine.roll_back(&name, "").await.map(drop)) });
        self.oracle.change_sent(id, &network, Whole::RollBack);
        daemon.asked.insert(id, Request::Change(network));
        Ok(())
    }

    /// A policy begins to run in the shadow of a network, or stops. The oracle expects no change of it.
    fn send_shadow(&mut self, daemon: &mut Daemon, network: NetworkName) -> Result<()> {
        let number = usize::try_from(self.random.below(POLICIES.len() as u64))?;
        let policy = PolicyName::new(POLICIES.get(number).copied().unwrap_or_default())?;
        let (engine, end) = (Arc::clone(&daemon.engine), self.random.below(3) == 0);
        daemon.executor.spawn(async move {
            // The network need not exist.
            match end {
                true => drop(engine.end_shadow(&network, "").await),
                false => drop(engine.shadow(&network, &policy.into(), "").await),
            }
            Outcome::Other
        });
        self.send_tend(daemon)
    }

    /// An operator reads the state and writes it back, unless it has changed meanwhile. The oracle expects the same count.
    fn send_replace_state(daemon: &mut Daemon, network: NetworkName) {
        let engine = Arc::clone(&daemon.engine);
        daemon.executor.spawn(async move {
            if let Ok(Some(memory)) = engine.states_of(&network).await {
                // Another policy may serve by now, to which the state would mean something else.
                let serves = engine.policies_of(&network).map(|served| served.now.policy);
                if serves.as_ref() == Some(&memory.now.policy) {
                    let (bytes, if_version) = (memory.now.bytes.to_vec(), Some(memory.now.version));
                    drop(
                        engine
                            .replace_state(&ReplaceState {
                                network,
                                bytes,
                                if_version,
                                reason: String::new(),
                            })
                            .await,
                    );
                }
            }
            Outcome::Other
        });
    }

    fn send_remove(&mut self, daemon: &mut Daemon, network: NetworkName) -> Result<()> {
        let apply = self.random.below(4) > 0;
        let (engine, name) = (Arc::clone(&daemon.engine), network.clone());
        let id =
            daemon.executor.spawn(async move { Outcome::Removed(engine.remove_network(&name, apply).await) });
        if apply {
            let holders = self.oracle.holders(&network);
            self.oracle.change_sent(id, &network, Whole::Remove);
            daemon.asked.insert(id, Request::Remove(network, holders));
        }
        Ok(())
    }

    /// An operator puts an address into quarantine, or takes it out.
    fn send_quarantine(
        &mut self,
        daemon: &mut Daemon,
        network: NetworkName,
        change: Quarantine,
    ) -> Result<()> {
        let number = usize::try_from(self.random.below(DOUBTFUL.len() as u64))?;
        let Some(address) = DOUBTFUL.get(number).copied() else { return Ok(()) };
        let (engine, name) = (Arc::clone(&daemon.engine), network.clone());
        let id = daemon.executor.spawn(async move {
            Outcome::Changed(match change {
                Quarantine::Lift => engine.lift(&name, address, "").await.map(drop),
                _ => engine.quarantine(&name, address, "it is odd").await.map(drop),
            })
        });
        self.oracle.quarantine_sent(id, &network, address, change);
        if change == Quarantine::Lift {
            // What is lifted is forgotten of the networks that were removed, too.
            for other in names()?.iter().filter(|other| **other != network) {
                self.oracle.quarantine_sent(id, other, address, Quarantine::Lift);
            }
        }
        daemon.asked.insert(id, Request::Change(network));
        Ok(())
    }

    /// The host supplies, drains or withdraws one or two blocks, all or none.
    pub(super) fn send_supply(&mut self, daemon: &mut Daemon, network: NetworkName) -> Result<()> {
        let first = usize::try_from(self.random.below(BLOCKS as u64))?;
        let numbers = if self.random.below(3) == 0 { vec![first, (first + 1) % BLOCKS] } else { vec![first] };
        let (mut changes, mut asked) = (Vec::new(), Vec::new());
        for number in numbers {
            let Some(range) = block(number) else { continue };
            let (pool, name) = (PoolName::new(HOST)?, range.name().clone());
            let (change, of) = match self.random.below(6) {
                0..=2 => (Supplied::Add { pool, range: Box::new(range) }, Supply::Add),
                3 => (Supplied::Drain { pool, range: name, draining: true }, Supply::Drain),
                4 => (Supplied::Drain { pool, range: name, draining: false }, Supply::Undrain),
                _ => (Supplied::Withdraw { pool, range: name }, Supply::Withdraw),
            };
            changes.push(change);
            asked.push((number, of));
        }
        let (engine, name) = (Arc::clone(&daemon.engine), network.clone());
        let id = daemon.executor.spawn(async move { Outcome::Changed(engine.supply(&name, &changes).await) });
        for (number, change) in asked {
            self.oracle.supply_sent(id, &network, number, change);
        }
        daemon.asked.insert(id, Request::Change(network));
        Ok(())
    }
}
