//! The ends of intents: with the ranges that they brought or took, in one group with the end.

use std::time::Duration;

use ipnet::IpNet;
use tenure_engine::Supply;
use tenure_ledger::{Book, Intent};
use tenure_types::EffectKind;

use super::core::Core;
use crate::names;
use crate::port::Interface;
use crate::reconcile;
use crate::situation::{Situation, ranges};
use crate::steps::Change;

/// How often an end is tried with its ranges; after that, reconciliation brings what is missing.
const MOST_TRIES: u32 = 5;

impl Core {
    /// Ends an intent that was done.
    pub(super) async fn done(&self, intent: &Intent, change: &Change) {
        match change {
            Change::Detached(interface) => self.state().seen.detached(interface, self.now()),
            Change::Released(interface, net) => self.state().seen.unassigned(interface, *net, self.now()),
            Change::Attached(_) | Change::Assigned(..) => {}
        }
        let mut tries = 0;
        loop {
            let changes = match self.book().await {
                Some(book) if tries < MOST_TRIES => self.supply_of(intent, change, &book),
                _ => Vec::new(),
            };
            match self.engine.effect_done(&intent.id, &changes).await {
                Ok(()) => break,
                Err(_) if !self.is_open(intent) => break,
                Err(error) => tracing::warn!(intent = %intent.id, %error, "an end has to be repeated"),
            }
            tries += 1;
            self.rest(Duration::from_secs(1)).await;
        }
        tracing::info!(intent = %intent.id, kind = intent.kind.name(), "done");
        self.forget(intent, "done");
    }

    /// Ends an intent of which nothing is left; `made` is the interface that it made and deleted.
    pub(super) async fn undone(&self, intent: &Intent, why: &str, made: Option<&str>) {
        if let Some(made) = made {
            self.state().seen.detached(made, self.now());
        }
        while let Err(error) = self.engine.effect_undone(&intent.id, why).await {
            if !self.is_open(intent) {
                break;
            }
            tracing::warn!(intent = %intent.id, %error, "an end has to be repeated");
            self.rest(Duration::from_secs(1)).await;
        }
        tracing::warn!(intent = %intent.id, kind = intent.kind.name(), why, "undone");
        if intent.kind == EffectKind::AttachInterface {
            // Should anything of it be left after all, it is found soon.
            self.state().sweeps = 0;
        }
        self.forget(intent, "undone");
    }

    fn is_open(&self, intent: &Intent) -> bool {
        self.engine.intents().iter().any(|open| open.id == intent.id)
    }

    fn forget(&self, intent: &Intent, outcome: &'static str) {
        let mut state = self.state();
        state.steps.remove(intent.id.as_str());
        state.devices.remove(intent.id.as_str());
        *state.ends.entry((intent.kind.name(), outcome)).or_default() += 1;
    }

    /// What a change means for the ledger's supply.
    fn supply_of(&self, intent: &Intent, change: &Change, book: &Book) -> Vec<Supply> {
        let situation = self.situation(book);
        match change {
            Change::Attached(interface) => self.added(&situation, book, interface, &interface.carries),
            Change::Assigned(interface, nets) => {
                let facts = situation.seen.get(interface).and_then(|known| known.facts.as_ref());
                facts.map(|facts| self.added(&situation, book, facts, nets)).unwrap_or_default()
            }
            Change::Released(..) => {
                let taken = intent.takes.iter();
                taken.map(|taken| withdraw(&taken.pool, &taken.range)).collect()
            }
            Change::Detached(interface) => {
                let is_on = |range: &tenure_types::Range| {
                    range.attributes().get(names::INTERFACE) == Some(interface.as_str())
                };
                let on = ranges(book).filter(|(_, view)| is_on(view.range));
                on.map(|(pool, view)| withdraw(&pool.name, view.range.name())).collect()
            }
        }
    }

    fn added(&self, situation: &Situation, book: &Book, facts: &Interface, nets: &[IpNet]) -> Vec<Supply> {
        let own = situation.ledger_of(&facts.id, book);
        let mut changes = Vec::new();
        for net in nets.iter().filter(|net| !own.contains(net)) {
            match reconcile::supply(situation, book, facts, *net) {
                Ok(added) => changes.extend(added.into_iter().flatten()),
                Err(why) => {
                    tracing::error!(%net, interface = facts.id, why, "what EC2 assigned cannot be a range");
                }
            }
        }
        changes
    }
}

fn withdraw(pool: &tenure_types::PoolName, range: &tenure_types::RangeName) -> Supply {
    Supply::Withdraw { pool: pool.clone(), range: range.clone() }
}
