//! What the tasks of an executor share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tenure_engine::Engine;
use tenure_engine::ports::Clock;
use tenure_ledger::{Book, Intent};
use tokio::sync::Notify;

use super::gathered::Gathered;
use super::ids::Numbered;
use super::state::State;
use super::{Config, Parts, Timer};
use crate::budget::Unit;
use crate::port::Ec2;
use crate::ranges::carried;
use crate::seen::Seen;
use crate::situation::{Barred, Situation, ranges};
use crate::witness::Witness;

/// What the tasks of an executor share.
pub(super) struct Core {
    pub(super) engine: Arc<Engine>,
    pub(super) ec2: Arc<dyn Ec2>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) timer: Arc<dyn Timer>,
    pub(super) witness: Arc<dyn Witness>,
    pub(super) config: Config,
    pub(super) ids: Numbered,
    /// Whoever wants EC2 to be asked.
    pub(super) look_again: Notify,
    /// What is to be taken off interfaces with one call.
    pub(super) gathered: Gathered,
    state: Mutex<State>,
}

impl Core {
    pub(super) fn new(parts: Parts, config: Config) -> Self {
        let seen = Seen::new(config.instance.clone(), config.window, true);
        let state = Mutex::new(State::new(seen, config.limits, config.seed));
        let wall = parts.clock.now().wall_ms;
        let ids = Numbered::new(&config.instance, wall, config.seed);
        let Parts { engine, ec2, clock, timer, witness } = parts;
        Self {
            engine,
            ec2,
            clock,
            timer,
            witness,
            config,
            ids,
            look_again: Notify::new(),
            gathered: Gathered::default(),
            state,
        }
    }

    /// The boot clock's reading.
    pub(super) fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now().boot_ns)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open intents of the network.
    pub(super) fn open(&self) -> Vec<Arc<Intent>> {
        let mut open = self.engine.intents();
        open.retain(|intent| intent.network == self.config.network);
        open
    }

    /// The network's book.
    pub(super) async fn book(&self) -> Option<Arc<Book>> {
        self.engine.book(&self.config.network).await
    }

    /// How many requests wait for the network's supply.
    pub(super) fn waiting(&self) -> u32 {
        let demands = self.engine.demands();
        let own = demands.iter().find(|demand| demand.network == self.config.network);
        own.map_or(0, |demand| demand.waiting)
    }

    /// Misses what the ledger has, until EC2 shows it.
    pub(super) async fn expect_the_ledgers(&self) {
        let Some(book) = self.book().await else { return };
        let now = self.now();
        let mut expected: BTreeMap<String, Vec<IpNet>> = BTreeMap::new();
        for (_, view) in ranges(&book) {
            if let Some((interface, net)) = carried(view.range) {
                expected.entry(interface.to_owned()).or_default().push(net);
            }
        }
        let mut state = self.state();
        state.read(&book, now);
        expected.into_iter().for_each(|(interface, nets)| state.seen.expect(&interface, nets, now));
    }

    /// The situation now, as this book has it.
    pub(super) fn situation(&self, book: &Book) -> Situation {
        let (now, open) = (self.now(), self.open());
        let wall = self.clock.now().wall_ms / 1000;
        let mut state = self.state();
        state.read(book, now);
        let backoffs = state.budget.backoffs(now);
        let backoffs: BTreeMap<(String, Unit), Duration> =
            backoffs.map(|(subnet, unit, left)| ((subnet.to_owned(), unit), left)).collect();
        let barred = state.budget.grudges(now).map(|(call, subnet, grudge)| Barred {
            call,
            subnet: subnet.map(str::to_owned),
            why: grudge.why.clone(),
            left: grudge.until.saturating_sub(now),
        });
        Situation {
            now,
            wall,
            seen: state.seen.clone(),
            subnets: state.subnets.clone(),
            limits: state.limits,
            settings: state.settings.clone(),
            node: state.node.clone(),
            open,
            barred: barred.collect(),
            idle: state.idle(now),
            floor: self.config.floor,
            backoffs,
        }
    }

    /// A wait, jittered.
    pub(super) async fn rest(&self, wait: Duration) {
        let wait = self.state().budget.around(wait);
        self.timer.sleep(wait).await;
    }
}
