//! A stand-in for the executor of effects, and an engine with a network whose policy plans.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_engine::ports::Outside;
use tenure_engine::{Outlook, Planned, Supply};
use tenure_fixtures::ports::{ManualJournal, policy, restored};
use tenure_ledger::{Book, EffectFact, Fact, Intent, LedgerFact};
use tenure_types::{Attributes, Effect, EffectKind, Error, ErrorCode, IntentId, PoolName, Range, RangeName};

use crate::support::{Bench, fits, network};

/// Numbers the intents, and refuses what a test does not allow.
#[derive(Default)]
pub(crate) struct Cloud {
    pub(crate) last: AtomicU32,
    pub(crate) refuses: Option<EffectKind>,
}

impl Outside for Cloud {
    fn new_id(&self) -> IntentId {
        IntentId::new(format!("i-{}", self.last.fetch_add(1, Ordering::Relaxed) + 1)).unwrap()
    }

    fn check(&self, effect: &Effect, _: &Book) -> Result<(), String> {
        match self.refuses {
            Some(kind) if kind == effect.kind => Err("not on this node".to_owned()),
            _ => Ok(()),
        }
    }
}

pub(crate) fn pairs(pairs: &[(&str, &str)]) -> Attributes {
    Attributes::new(pairs.iter().copied()).unwrap()
}

pub(crate) fn pool() -> PoolName {
    PoolName::new("blocks").unwrap()
}

/// The range of a block: four addresses, of which none is reserved.
pub(crate) fn block(name: &str, third: u8) -> Range {
    let at = |last: u8| std::net::IpAddr::from([10, 0, third, last]);
    let subnet = format!("10.0.{third}.0/24").parse().unwrap();
    let range = Range::new(subnet, at(16), at(19), None, 24).unwrap();
    range.named(RangeName::new(name).unwrap()).with(pairs(&[("block", name)]))
}

pub(crate) fn added(name: &str, third: u8) -> Supply {
    Supply::Add { pool: pool(), range: Box::new(block(name, third)) }
}

pub(crate) fn withdrawn(name: &str) -> Supply {
    Supply::Withdraw { pool: pool(), range: RangeName::new(name).unwrap() }
}

pub(crate) fn id(name: &str) -> IntentId {
    IntentId::new(name).unwrap()
}

impl Bench {
    pub(crate) async fn takes(&self, number: u32) -> Result<String, Error> {
        let grant = self.engine.add(self.add_with(number, "blocks", ""), fits).await?;
        Ok(grant.addresses[0].ip().to_string())
    }

    /// A bench whose network has a block.
    pub(crate) async fn with_block() -> Self {
        Self::new(8, 8).that_gets_a_block().await
    }

    pub(crate) async fn that_gets_a_block(self) -> Self {
        assert_eq!(self.takes(0).await.unwrap_err().code, ErrorCode::NotYet, "nobody attends");
        self.engine.supply(&network(), &[added("b1", 1)]).await.unwrap();
        self
    }

    pub(crate) async fn plan(&self, cloud: &Cloud, node: &[(&str, &str)]) -> Planned {
        let outlook = Outlook { attributes: pairs(node), ..Outlook::default() };
        self.engine.plan_effects(&network(), outlook, cloud).await.unwrap()
    }

    /// Gives a block back, as the policy is told to.
    pub(crate) async fn gives_back(&self, cloud: &Cloud, name: &str) -> Result<Arc<Intent>, String> {
        self.takes_away(cloud, ("give-back", name)).await
    }

    /// As [`gives_back`](Self::gives_back), by what the node's attribute names.
    pub(crate) async fn takes_away(&self, cloud: &Cloud, told: (&str, &str)) -> Result<Arc<Intent>, String> {
        let mut planned = self.plan(cloud, &[told]).await;
        match planned.refused.pop() {
            Some((_, why)) => Err(why.to_string()),
            None => Ok(planned.intents.remove(0)),
        }
    }

    pub(crate) fn waiting(&self) -> u32 {
        self.engine.demands().iter().map(|demand| demand.waiting).sum()
    }

    pub(crate) fn open(&self) -> Vec<String> {
        self.engine.intents().iter().map(|intent| format!("{} {}", intent.id, intent.kind.name())).collect()
    }

    /// The state of this engine in a new one, as after a restart.
    pub(crate) fn resumed(&self) -> Self {
        let state = restored(self.engine.images().pages(1)).unwrap();
        let journal = ManualJournal::after(self.journal.facts().len() as u64);
        Self::of(state, journal, |_| policy::catalogue(), 8, 8)
    }

    /// The last facts that were staged, in words.
    pub(crate) fn staged(&self, count: usize) -> Vec<String> {
        let facts = self.journal.facts();
        let words = |fact: &Fact| match fact {
            Fact::Ledger(LedgerFact::RangeAdded { range, .. }) => format!("added {}", range.name()),
            Fact::Ledger(LedgerFact::RangeDraining { range, draining, .. }) => {
                format!("{} {range}", if *draining { "drains" } else { "opens" })
            }
            Fact::Ledger(LedgerFact::RangeRemoved { range, .. }) => format!("removed {range}"),
            Fact::Effects(EffectFact::Intended(intent)) => format!("intended {}", intent.id),
            Fact::Effects(EffectFact::Done { id, .. }) => format!("done {id}"),
            Fact::Effects(EffectFact::Undone { id, why, .. }) => {
                format!("undone {id}: {why}")
            }
            other => format!("{other:?}"),
        };
        facts[facts.len() - count..].iter().map(words).collect()
    }
}
