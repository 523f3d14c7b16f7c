//! A sketch for AWS network interfaces: assign addresses of the fullest one, and keep `"warm": 16` addresses free by
//! assigning prefixes.

use tenure_sdk::ledger::{Direction, Shelf, room};
use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Effect, EffectKind, Planner, Policy, PoolDefinition, Proposal,
    Refusal, Request, SupplySituation, configuration,
};

/// The only pool, and the label that names a range's interface.
const POOL: u32 = 0;
const INTERFACE: &str = "interface";

/// The addresses of a prefix.
const PREFIX: u32 = 16;

/// Assigns addresses of network interfaces.
#[derive(Debug)]
pub struct AwsEni;

impl Policy for AwsEni {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let warm = config.root()?.get("warm")?.map(|warm| warm.count()).transpose()?.unwrap_or(PREFIX);
        let mut definition = Definition::of(vec![PoolDefinition::supplied("ipv4")], Cooling::Strict);
        definition.attributes.set("warm", warm.to_string());
        Ok(definition)
    }

    fn propose(_: &Request) -> Result<Proposal, Refusal> {
        let interfaces = Shelf::of(POOL).usage_by(INTERFACE).filter(|(_, usage)| room(usage) > 0);
        let fullest = interfaces.min_by_key(|(_, usage)| room(usage)).map(|(interface, _)| interface);
        let free = fullest.and_then(|interface| {
            let shelf = Shelf::of(POOL).labelled(INTERFACE, &interface);
            shelf.free(shelf.last(), Direction::Ascending, 1).first().copied()
        });
        let mut proposal = Proposal::new();
        proposal.assign(POOL, free.ok_or_else(|| Refusal::not_yet("no interface has a free address yet"))?);
        Ok(proposal)
    }
}

impl Planner for AwsEni {
    fn plan(situation: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
        let warm = configuration::definition_attributes().get("warm").and_then(|warm| warm.parse().ok());
        let wanted = situation.waiting(POOL).saturating_add(warm.unwrap_or(PREFIX));
        let free = room(&Shelf::of(POOL).usage());
        let mut effects = Vec::new();
        if situation.is_pending(POOL) {
            return Ok(effects);
        }
        if free >= wanted.saturating_add(PREFIX) {
            let unused = Shelf::of(POOL).ranges().find(|view| view.is_open && room(&view.usage) == PREFIX);
            effects
                .extend(unused.map(|view| effect(EffectKind::ReleasePrefix).with("range", view.range.name)));
        }
        let mut short = wanted.saturating_sub(free).div_ceil(PREFIX);
        for interface in situation.objects(INTERFACE) {
            let count = interface.number("slots.free").unwrap_or(0).min(short);
            if count > 0 {
                let assign = effect(EffectKind::AssignPrefix).with(INTERFACE, &interface.name);
                effects.push(assign.with("count", count.to_string()));
                short -= count;
            }
        }
        if short > 0 && situation.number("interfaces.free").is_some_and(|free| free > 0) {
            effects.push(effect(EffectKind::AttachInterface).with("prefixes", short.to_string()));
        }
        Ok(effects)
    }
}

fn effect(kind: EffectKind) -> Effect {
    Effect::new(kind, POOL)
}

tenure_sdk::export!(AwsEni);
tenure_sdk::export_planner!(AwsEni);
