//! A sketch for blocks of a cluster: assign addresses of the fullest block, request another when few are free, and
//! return an unused one. `pools` names AddressPools, whose IPv4 blocks the host supplies to pools `NAME.v4`.

use tenure_sdk::ledger::{self, Pool, room};
use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Effect, EffectKind, Planner, Policy, PoolDefinition, Proposal,
    Refusal, Request, SupplySituation,
};

/// The label that names a range's block.
const BLOCK: &str = "block";

/// A block is requested when fewer addresses than this are free.
const LOW: u32 = 8;

/// Assigns addresses of leased blocks.
#[derive(Debug)]
pub struct ClusterRange;

impl Policy for ClusterRange {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let names = config.root()?.get("pools")?.map(|pools| pools.items()).transpose()?.unwrap_or_default();
        let pools = names.iter().map(|name| Ok(PoolDefinition::supplied(format!("{}.v4", name.text()?))));
        Ok(Definition::of(pools.collect::<Result<_, ConfigError>>()?, Cooling::Strict))
    }

    fn propose(_: &Request) -> Result<Proposal, Refusal> {
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let blocks = pool.shelf().usage_by(BLOCK).filter(|(_, usage)| room(usage) > 0);
            let fullest = blocks.min_by_key(|(_, usage)| room(usage));
            let address = fullest.and_then(|(block, _)| pool.labelled(BLOCK, &block).next_in_turn());
            let leased = || Refusal::not_yet(format!("no block of {} has a free address yet", pool.name));
            proposal.assign(pool.index, address.ok_or_else(leased)?);
        }
        Ok(proposal)
    }
}

impl Planner for ClusterRange {
    fn plan(situation: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
        let idle = ledger::pools().filter(|pool| !situation.is_pending(pool.index));
        Ok(idle.filter_map(|pool| plan(&pool, situation)).collect())
    }
}

fn plan(pool: &Pool, situation: &SupplySituation) -> Option<Effect> {
    let free = room(&pool.shelf().usage());
    let wanted = situation.waiting(pool.index).saturating_add(LOW);
    if free < wanted {
        let ask = Effect::new(EffectKind::RequestBlock, pool.index);
        return Some(ask.with("addresses", (wanted - free).to_string()));
    }
    let unused = pool
        .shelf()
        .usage_by(BLOCK)
        .find(|(_, usage)| usage.total > 0 && room(usage) == usage.total && free - usage.total >= wanted);
    unused.map(|(block, _)| Effect::new(EffectKind::GiveBackBlock, pool.index).with(BLOCK, block))
}

tenure_sdk::export!(ClusterRange);
tenure_sdk::export_planner!(ClusterRange);
