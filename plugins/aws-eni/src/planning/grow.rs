//! Growth: the whole need in one plan.

use super::action::PlanStep;
use super::rule::PoolRule;
use super::spots::Spots;
use crate::supply::{PoolCounts, PoolSupply, RangeUnit};

/// The most steps of one plan, which the largest instance type does not reach. What is left is for the next.
const MOST_STEPS: usize = 64;

/// The growth of a pool.
#[derive(Debug, Default)]
pub(super) struct Growth {
    pub(super) steps: Vec<PlanStep>,
    /// The reason why these steps are not enough.
    pub(super) lack: Option<Lack>,
}

/// Why a pool cannot grow, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lack {
    /// Nothing more fits until the state changes.
    Full(String),
    /// EC2 has nothing at present.
    Waiting(String),
}

impl Lack {
    pub(super) fn words(&self) -> &str {
        match self {
            Self::Full(words) | Self::Waiting(words) => words,
        }
    }
}

/// The growth of a pool that nothing can be assigned to.
pub(super) fn impossible(supply: &PoolSupply, rule: &PoolRule<'_>, why: &str) -> Growth {
    let counts = supply.counts(None);
    let is_short = rule.wanted(&counts) > 0;
    let lack = is_short.then(|| Lack::Full(format!("{why}; {}", rule.explain(&counts))));
    Growth { steps: Vec::new(), lack }
}

/// Plans the growth of a pool. With `only_demand`, only for requests that wait.
pub(super) fn grow(supply: &PoolSupply, rule: &PoolRule<'_>, only_demand: bool) -> Growth {
    let mut filling =
        Filling { supply, rule, only_demand, spots: Spots::of(supply), steps: Vec::new(), placed: 0 };
    let mut counts = supply.counts(Some(rule.unit));
    filling.fill(&mut counts, rule.unit);
    if filling.wanted(&counts) > 0 {
        // No more of this kind. What there is of the other kind counts, and as long as EC2 has no prefixes where there is room for
        // them, now or soon, more of it is assigned.
        counts = supply.counts(None);
        counts.grow(filling.placed);
        if rule.has_fallback && !filling.spots.may_have(rule.unit) {
            filling.fill(&mut counts, RangeUnit::Address);
        }
    }
    let lack = match filling.wanted(&counts) {
        0 => None,
        _ if filling.spots.has_slots() => {
            Some(Lack::Waiting(format!("{}; {}", filling.spots.shortage(), rule.explain(&counts))))
        }
        // What goes makes room.
        _ if supply.is_leaving() => Some(Lack::Waiting(format!(
            "no interface has room before those that are being given back have gone; {}",
            rule.explain(&counts)
        ))),
        _ => Some(match supply.doubt() {
            // What EC2 does not show may have room, and a limit that was learnt from that may be wrong.
            Some(doubt) => {
                Lack::Waiting(format!("no other interface has room, and {doubt}; {}", rule.explain(&counts)))
            }
            None => Lack::Full(format!("no interface has room, and no more fit; {}", rule.explain(&counts))),
        }),
    };
    Growth { steps: filling.steps, lack }
}

struct Filling<'a> {
    supply: &'a PoolSupply,
    rule: &'a PoolRule<'a>,
    only_demand: bool,
    spots: Spots,
    steps: Vec<PlanStep>,
    /// The addresses that the steps bring.
    placed: u32,
}

impl Filling<'_> {
    /// How many addresses are wanted, and could be used by the node's pods.
    fn wanted(&self, counts: &PoolCounts) -> u32 {
        let wanted = match self.only_demand {
            true => counts.waiting.saturating_sub(counts.free),
            false => self.rule.wanted(counts),
        };
        wanted.min(counts.room_for_pods(self.supply.most_pods))
    }

    fn fill(&mut self, counts: &mut PoolCounts, unit: RangeUnit) {
        let size = self.supply.size(unit);
        loop {
            let wanted = self.wanted(counts);
            if wanted == 0 || self.steps.len() >= MOST_STEPS {
                return;
            }
            let Some((step, count)) = self.spots.next(unit, wanted.div_ceil(size)) else { return };
            let addresses = count.saturating_mul(size);
            counts.grow(addresses);
            self.placed = self.placed.saturating_add(addresses);
            self.steps.push(step);
        }
    }
}
