//! The wing that leases blocks from the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_effects::{End, Ids, PlanStatus, Step, Target, Wing};
use tenure_engine::ports::Outside;
use tenure_engine::{Outlook, Supply};
use tenure_ledger::{Book, Intent};
use tenure_types::{Attributes, Effect, EffectKind, IntentId, InvalidAttributes, PoolName, Range, RangeName};

use crate::server::Server;

/// Leases blocks.
pub(crate) struct Blocks(pub(crate) Arc<Server>);

/// An intent that is being carried out.
pub(crate) struct Work {
    token: String,
    /// The block to give back; `None` while none is leased yet.
    block: Option<String>,
    gives_back: bool,
    asked: bool,
    is_over: bool,
}

/// A call.
pub(crate) enum Call {
    Lease,
    GiveBack(String),
}

/// A change that an intent made.
pub(crate) enum Change {
    Leased(String),
    Returned(String),
}

impl fmt::Display for Call {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease => out.write_str("lease"),
            Self::GiveBack(block) => write!(out, "give {block} back"),
        }
    }
}

/// Allows blocks, and nothing else.
struct OnlyBlocks<'a>(&'a dyn Ids);

impl Outside for OnlyBlocks<'_> {
    fn new_id(&self) -> IntentId {
        self.0.new_id()
    }

    fn check(&self, effect: &Effect, _: &Book) -> Result<(), String> {
        match effect.kind {
            EffectKind::RequestBlock | EffectKind::GiveBackBlock => Ok(()),
            other => Err(format!("{} is not an effect on blocks", other.name())),
        }
    }
}

pub(crate) fn pool() -> PoolName {
    PoolName::new("blocks").unwrap()
}

fn range_name(block: &str) -> RangeName {
    RangeName::new(block).unwrap()
}

/// The range of a block.
fn range(block: &str) -> Range {
    let third: u8 = block[1..].parse().unwrap();
    let at = |last: u8| std::net::IpAddr::from([10, 0, third, last]);
    let subnet = format!("10.0.{third}.0/24").parse().unwrap();
    let range = Range::new(subnet, at(16), at(19), None, 24).unwrap();
    range.named(range_name(block)).with(Attributes::new([("block", block)]).unwrap())
}

/// The blocks of a book.
pub(crate) fn blocks(book: &Book) -> Vec<String> {
    book.ranges(0).map(|view| view.range.name().to_string()).collect()
}

impl Wing for Blocks {
    type Situation = ();
    type Work = Work;
    type Action = Call;
    type Change = Change;

    fn start(&self, _: &Book) {}

    fn may_change(&self) -> bool {
        true
    }

    async fn look(&self) {}

    fn next_look(&self, last: Duration) -> Duration {
        last + Duration::from_secs(60)
    }

    fn readiness(&self) -> Result<(), String> {
        Ok(())
    }

    fn situation(&self, _: &Book) -> Result<((), Outlook), InvalidAttributes> {
        let wanted = self.0.leases().wanted.clone();
        let attributes = Attributes::new(wanted.map(|block| ("give-back", block)))?;
        Ok(((), Outlook { attributes, ..Outlook::default() }))
    }

    fn outside<'a>(&'a self, (): &'a (), ids: &'a dyn Ids) -> impl Outside + 'a {
        OnlyBlocks(ids)
    }

    fn planned(&self, (): &(), _: &PlanStatus) {}

    fn target(&self, intent: &Intent, _: Option<&Book>) -> Target {
        Target { name: intent.attributes.get("block").map(str::to_owned), shares: false }
    }

    async fn begin(&self, intent: &Intent, _: bool) -> Result<Work, String> {
        let gives_back = match intent.kind {
            EffectKind::RequestBlock => false,
            EffectKind::GiveBackBlock => true,
            other => return Err(format!("{} is not an effect on blocks", other.name())),
        };
        let block = intent.attributes.get("block").or(intent.reached.get("block"));
        Ok(Work {
            token: intent.id.to_string(),
            block: block.map(str::to_owned),
            gives_back,
            asked: intent.reached.get("asked").is_some(),
            is_over: false,
        })
    }

    fn reached(&self, work: &Work) -> Result<Attributes, InvalidAttributes> {
        let leased = work.block.as_ref().filter(|_| !work.gives_back);
        let asked = work.asked.then_some(("asked", "true"));
        Attributes::new(asked.into_iter().chain(leased.map(|block| ("block", block.as_str()))))
    }

    async fn next(&self, work: &mut Work) -> Step<Call, Change> {
        match (&work.block, work.gives_back) {
            (Some(block), true) if work.is_over => Step::Done(Change::Returned(block.clone())),
            (Some(block), true) => Step::Act(Call::GiveBack(block.clone())),
            (None, true) => Step::Undone("it names no block".to_owned()),
            (Some(block), false) => Step::Done(Change::Leased(block.clone())),
            (None, false) => Step::Act(Call::Lease),
        }
    }

    fn waited(&self, _: &mut Work) {}

    async fn prepare(&self, work: &mut Work, _: &Call) -> Result<(), String> {
        work.asked = true;
        Ok(())
    }

    async fn act(&self, work: &mut Work, call: Call) {
        match call {
            Call::Lease => work.block = Some(self.0.lease(&work.token).await),
            Call::GiveBack(block) => {
                self.0.give_back(&block).await;
                work.is_over = true;
            }
        }
    }

    fn changes(&self, _: &Intent, change: &Change, book: &Book) -> Vec<Supply> {
        let has = |block: &String| blocks(book).contains(block);
        match change {
            Change::Leased(block) if !has(block) => {
                vec![Supply::Add { pool: pool(), range: Box::new(range(block)) }]
            }
            Change::Returned(block) if has(block) => {
                vec![Supply::Withdraw { pool: pool(), range: range_name(block) }]
            }
            Change::Leased(_) | Change::Returned(_) => Vec::new(),
        }
    }

    fn ending(&self, _: &Intent, _: &End<'_, Self>) {}

    fn ended(&self, _: &Intent, _: bool) {}

    fn jittered(&self, wait: Duration) -> Duration {
        wait
    }
}
