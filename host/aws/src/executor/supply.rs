//! The effect of a finished intent on the ledger's supply.

use ipnet::IpNet;
use tenure_engine::Supply;
use tenure_ledger::{Book, Intent};

use super::core::AwsCore;
use crate::names;
use crate::port::Ec2Interface;
use crate::reconcile;
use crate::situation::{Situation, ranges};
use crate::steps::Change;

impl AwsCore {
    /// Converts a change to changes of the ledger's supply.
    pub(super) fn supply_of(&self, intent: &Intent, change: &Change, book: &Book) -> Vec<Supply> {
        let situation = self.situation_of(book);
        let added = |facts: &Ec2Interface, nets: &[IpNet]| {
            let (changes, is_all) = added(&situation, book, facts, nets);
            if !is_all {
                self.state().unranged.insert(intent.id.to_string());
            }
            changes
        };
        match change {
            Change::Attached(interface) => added(interface, &interface.carries),
            Change::Assigned(interface, nets) => {
                let facts = situation.seen.get(interface).and_then(|known| known.facts.as_ref());
                facts.map(|facts| added(facts, nets)).unwrap_or_default()
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
}

/// The supply of what an interface has got, and whether all of it can be supplied.
fn added(situation: &Situation, book: &Book, facts: &Ec2Interface, nets: &[IpNet]) -> (Vec<Supply>, bool) {
    let own = situation.ledger_of(&facts.id, book);
    let (mut changes, mut is_all) = (Vec::new(), true);
    for net in nets.iter().filter(|net| !own.contains(net)) {
        match reconcile::supply(situation, book, facts, *net) {
            Ok(added) => changes.extend(added.into_iter().flatten()),
            Err(why) => {
                is_all = false;
                tracing::error!(%net, interface = facts.id, why, "what EC2 assigned cannot be a range");
            }
        }
    }
    (changes, is_all)
}

fn withdraw(pool: &tenure_types::PoolName, range: &tenure_types::RangeName) -> Supply {
    Supply::Withdraw { pool: pool.clone(), range: range.clone() }
}
