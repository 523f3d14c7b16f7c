//! Rules that protect AWS interfaces from any policy.
//!
//! Nothing is taken from an interface unless two witnesses agree: EC2 confirmed the interface and what is on it, and no
//! route, neighbour or container of this node names an address of it. The ledger's own word, that nothing is held or cooling, comes first. The
//! rules follow ipamd's nine guards; those about warm targets are the policy's, except for a floor that the node keeps.
//!
//! A value checks the effects of one plan: it counts what the plan has begun already. The count is behind a
//! `std::sync::Mutex`, held to count.

mod grow;
mod take;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tenure_effects::Ids;
use tenure_engine::ports::Outside;
use tenure_ledger::Book;
use tenure_types::{Effect, EffectKind, IntentId};

use crate::names;
use crate::situation::Situation;
use crate::witness::UseWitness;

/// The checks of one plan.
pub struct Guards<'a> {
    situation: &'a Situation,
    witness: &'a dyn UseWitness,
    ids: &'a dyn Ids,
    tally: Mutex<Tally>,
}

/// Counts of the effects that this plan has begun.
#[derive(Debug, Default)]
struct Tally {
    /// Interfaces that the plan adds.
    interfaces: u32,
    /// Addresses and prefixes, by interface and family.
    slots: BTreeMap<(String, bool), u32>,
    /// Addresses that were taken, by pool.
    taken: BTreeMap<String, u128>,
}

impl<'a> Guards<'a> {
    /// Checks a plan that is made in this situation.
    #[must_use]
    pub fn new(situation: &'a Situation, witness: &'a dyn UseWitness, ids: &'a dyn Ids) -> Self {
        Self { situation, witness, ids, tally: Mutex::default() }
    }

    fn judge(&self, effect: &Effect, book: &Book, tally: &mut Tally) -> Result<(), String> {
        if self.situation.settings.fixed {
            return Err("the settings fixedSupply or imdsOnly allow no change".to_owned());
        }
        if self.situation.seen.last().is_none() {
            return Err("EC2 has not said yet what this node has".to_owned());
        }
        match effect.kind {
            EffectKind::AttachInterface => grow::attach(self.situation, effect, book, tally),
            EffectKind::AssignAddress | EffectKind::AssignPrefix => {
                grow::assign(self.situation, effect, book, tally)
            }
            EffectKind::DetachInterface => {
                let interface = effect.attributes.get(names::INTERFACE).ok_or("it names no interface")?;
                take::detach(self.situation, self.witness, interface, book, &mut tally.taken)
            }
            EffectKind::ReleaseAddress | EffectKind::ReleasePrefix => {
                let range = effect.attributes.get(names::RANGE).ok_or("it names no range")?;
                take::release(self.situation, self.witness, range, book, &mut tally.taken)
            }
            EffectKind::RequestBlock | EffectKind::GiveBackBlock => {
                Err(format!("{} is not supported by AWS interfaces", effect.kind.name()))
            }
        }
    }
}

/// Whether EC2 has not refused a call just before.
///
/// # Errors
/// That it has, and when it is asked again.
fn not_barred(situation: &Situation, call: &str, subnet: &str) -> Result<(), String> {
    match situation.barred(call, subnet) {
        Some(barred) => {
            let (left, why) = (barred.left.as_secs(), &barred.why);
            Err(format!("EC2 refuses {call}, and is asked again in {left} s: {why}"))
        }
        None => Ok(()),
    }
}

impl Outside for Guards<'_> {
    fn new_id(&self) -> IntentId {
        self.ids.new_id()
    }

    fn check(&self, effect: &Effect, book: &Book) -> Result<(), String> {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        self.judge(effect, book, &mut tally)
    }
}

pub(crate) use self::take::{FRESH, detach, in_use, release};
