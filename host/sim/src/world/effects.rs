//! The part of the host that carries effects out: it plans, and ends what it has begun, also what was begun before a crash.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use tenure_engine::ports::Outside;
use tenure_engine::{Outlook, Planned, Supply as Supplied};
use tenure_ledger::{Book, Intent};
use tenure_types::{Attributes, Effect, Error, IntentId, NetworkName, PoolName};

use super::{Daemon, Outcome, Request, World};
use crate::oracle::Supply;
use crate::policies::{BLOCKS, BRING, HOST, TAKE, block};

/// The intents that were told to have begun, and whether nothing has been sent that may end them.
#[derive(Debug, Default)]
pub(super) struct BegunEffects(BTreeMap<IntentId, bool>);

/// Numbers the intents.
#[derive(Debug, Default)]
pub(super) struct Cloud(AtomicU64);

impl Outside for Cloud {
    fn new_id(&self) -> IntentId {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        IntentId::new(format!("intent-{number}")).unwrap_or_else(|_| unreachable!("the name is valid"))
    }

    fn check(&self, effect: &Effect, _: &Book) -> Result<(), String> {
        match effect.attributes.get("block") {
            Some(_) => Ok(()),
            None => Err("it names no block".to_owned()),
        }
    }
}

impl World {
    /// Plans for a network, or ends one of its intents.
    pub(super) fn carry_out(&mut self, daemon: &mut Daemon) -> Result<()> {
        let network = self.network()?;
        let mut known = daemon.engine.intents();
        // What a plan has begun is known once that is answered, or abandoned.
        let is_planned =
            daemon.asked.values().any(|asked| matches!(asked, Request::Plan(of, _) if *of == network));
        known.retain(|intent| {
            intent.network == network && (!is_planned || self.told.0.contains_key(&intent.id))
        });
        let chosen = usize::try_from(self.random.below(known.len() as u64 + 1))?;
        match known.get(chosen) {
            Some(intent) => self.send_end(daemon, intent),
            // It has to become empty.
            None if self.leaving.contains_key(&network) => Ok(()),
            None => self.send_plan(daemon, network),
        }
    }

    fn send_plan(&mut self, daemon: &mut Daemon, network: NetworkName) -> Result<()> {
        let number = usize::try_from(self.random.below(BLOCKS as u64))?;
        let takes = self.random.below(2) == 0;
        let wish = (if takes { TAKE } else { BRING }, format!("block-{number}"));
        let outlook = Outlook { attributes: Attributes::new([wish])?, ..Outlook::default() };
        let (engine, cloud, name) = (Arc::clone(&daemon.engine), Arc::clone(&self.cloud), network.clone());
        let id = daemon.executor.spawn(async move {
            Outcome::Planned(engine.plan_effects(&name, outlook, cloud.as_ref()).await)
        });
        self.oracle.supply_sent(id, &network, number, if takes { Supply::Drain } else { Supply::Look });
        daemon.asked.insert(id, Request::Plan(network, number));
        Ok(())
    }

    /// A plan was made: what it takes nobody has.
    pub(super) fn planned(
        &mut self,
        id: u64,
        network: &NetworkName,
        number: usize,
        planned: Result<Planned, Error>,
    ) -> Result<()> {
        let intents = planned.map(|planned| planned.intents).unwrap_or_default();
        self.oracle.ended(id, network, !intents.is_empty());
        for intent in intents {
            if intent.kind.takes() {
                self.oracle.taken(network, number)?;
            }
            self.tally.planned += 1;
            self.told.0.insert(intent.id.clone(), true);
        }
        Ok(())
    }

    fn send_end(&mut self, daemon: &mut Daemon, intent: &Intent) -> Result<()> {
        let (id, network) = (intent.id.clone(), intent.network.clone());
        let name = intent.attributes.get("block").unwrap_or_default();
        let number: usize = name.trim_start_matches("block-").parse()?;
        self.told.0.insert(id.clone(), false);
        let pool = PoolName::new(HOST)?;
        let (takes, is_done) = (intent.kind.takes(), self.random.below(3) > 0);
        let (changes, change) = match (takes, is_done, block(number)) {
            (true, true, Some(range)) => {
                (vec![Supplied::Withdraw { pool, range: range.name().clone() }], Supply::Withdraw)
            }
            (false, true, Some(range)) => (vec![Supplied::Add { pool, range: Box::new(range) }], Supply::Add),
            (true, false, _) if intent.takes.iter().any(|taken| taken.was_open) => {
                (Vec::new(), Supply::Undrain)
            }
            _ => (Vec::new(), Supply::Look),
        };
        let engine = Arc::clone(&daemon.engine);
        let task = daemon.executor.spawn(async move {
            Outcome::Changed(match is_done {
                true => engine.effect_done(&id, &changes).await,
                false => engine.effect_undone(&id, "nobody answered").await,
            })
        });
        self.oracle.supply_sent(task, &network, number, change);
        daemon.asked.insert(task, Request::Change(network));
        Ok(())
    }

    /// After a start: what was told to have begun is open, unless it may have been ended. All that is open is known from now on.
    pub(super) fn check_intents(&mut self, daemon: &Daemon) -> Result<()> {
        let open: Vec<IntentId> = daemon.engine.intents().iter().map(|intent| intent.id.clone()).collect();
        let lost = self.told.0.iter().find(|(id, lasts)| **lasts && !open.contains(id));
        ensure!(lost.is_none(), "I2: {lost:?} was told to have begun, and only {open:?} are open");
        self.told.0.retain(|id, _| open.contains(id));
        for id in open {
            self.told.0.entry(id).or_insert(true);
        }
        Ok(())
    }
}
