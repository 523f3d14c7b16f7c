//! Negative fixtures: a policy that misbehaves as its configuration says, with `"misbehave": "NAME"`.
//!
//! A name that begins with `define-`, `plan-` or `state-` misbehaves in that call, any other in a proposal; without
//! the key the policy behaves. Each misbehaviour must fail only its own call.

mod wreck;

use std::hint::black_box;
use std::net::IpAddr;

use tenure_sdk::bindings::allocation::exports::tenure::ipam::allocation;
use tenure_sdk::bindings::exports::tenure::ipam::network;
use tenure_sdk::bindings::planner::exports::tenure::supply::planning;
use tenure_sdk::bindings::stateful::exports::tenure::ipam::stateful_allocation;
use tenure_sdk::bindings::tenure::ipam::types::{self, Assignment, Attribute, Proposal};
use tenure_sdk::ledger::{Direction, Shelf};
use tenure_sdk::{Config, ConfigError, Refusal, configuration, ranges, warn};

use wreck::wreck;

/// The ways to misbehave in any call: `define-spin`, `plan-spin`, `state-spin`, and `spin` in a proposal.
const WRECKING: [&str; 7] = ["spin", "grow", "recurse", "trap", "panic", "huge-text", "chatter"];

/// The other ways to misbehave in a proposal.
const PROPOSING: [&str; 17] = [
    "behave",
    "long-text",
    "long-list",
    "many-tags",
    "ugly-tag",
    "nothing",
    "outside",
    "held",
    "network-address",
    "broadcast",
    "gateway",
    "other-family",
    "duplicate",
    "not-an-address",
    "hesitate",
    "many-labels",
    "look-through",
];

/// The policy.
#[derive(Debug)]
pub struct Hostile;

impl network::Guest for Hostile {
    fn define(config: types::Config) -> Result<types::Definition, types::ConfigError> {
        let config = Config::from(config);
        let misbehaviour = misbehaviour(&config)?;
        let sets = ranges::read(&config)?;
        let mut definition: types::Definition =
            tenure_sdk::Definition::new(sets, tenure_sdk::Cooling::Preferred).into();
        match misbehaviour.strip_prefix("define-") {
            Some("ugly-refusal") => return Err(wrong("", &"ugly\n\x1b[2J".repeat(1000))),
            Some("refuse") => return Err(wrong("ipam.x", "wrong")),
            Some("refuse-silently") => return Err(wrong("", "")),
            Some(name) => {
                spoil(name, &mut definition);
                wreck(name);
            }
            None => definition.pools.iter_mut().flat_map(|pool| &mut pool.ranges).for_each(|range| {
                if ["many-labels", "look-through"].contains(&&*misbehaviour) {
                    range.attributes = vec![attribute("a", "b")];
                }
            }),
        }
        Ok(definition)
    }
}

impl allocation::Guest for Hostile {
    fn propose(request: types::Request) -> Result<Proposal, types::Refusal> {
        let misbehaviour = misbehaviour(&configuration::get()).map_err(Refusal::from)?;
        answer(&misbehaviour, &request)
    }
}

impl planning::Guest for Hostile {
    fn plan(situation: planning::Situation) -> Result<Vec<planning::Effect>, types::Refusal> {
        let effect = |kind, pool| planning::Effect { kind, pool, attributes: Vec::new() };
        let misbehaviour = misbehaviour(&configuration::get()).map_err(Refusal::from)?;
        Ok(match misbehaviour.strip_prefix("plan-") {
            Some("long-list") => vec![effect(planning::EffectKind::RequestBlock, 0); 2_000],
            Some("no-pool") => vec![effect(planning::EffectKind::RequestBlock, 7)],
            Some("unknown") => vec![effect(planning::EffectKind::Other("reboot\x1b[2J".into()), 0)],
            Some("many-attributes") => {
                let attributes = many_attributes();
                vec![planning::Effect { attributes, ..effect(planning::EffectKind::AttachInterface, 0) }]
            }
            Some("refuse") => return Err(types::Refusal::NotYet(delay("later", None))),
            Some(name) => {
                wreck(name);
                Vec::new()
            }
            None => situation.pending,
        })
    }
}

impl stateful_allocation::Guest for Hostile {
    fn propose(request: types::Request, state: Vec<u8>) -> Result<types::Outcome, types::Refusal> {
        let misbehaviour = misbehaviour(&configuration::get()).map_err(Refusal::from)?;
        let state = match misbehaviour.strip_prefix("state-") {
            Some("long") => vec![7; 256 << 10],
            Some(name) => {
                wreck(name);
                state
            }
            None => state,
        };
        Ok(types::Outcome {
            proposal: answer(&misbehaviour, &request)?,
            state: Some(state),
            attributes: Vec::new(),
        })
    }

    fn migrate(state: Vec<u8>, _: Vec<Attribute>) -> Result<Vec<u8>, types::Refusal> {
        match state.as_slice() {
            b"long" => Ok(vec![7; 256 << 10]),
            _ => Err(types::Refusal::Other(reason("not mine"))),
        }
    }
}

/// Makes a definition invalid, or suspicious.
fn spoil(misbehaviour: &str, definition: &mut types::Definition) {
    if misbehaviour == "long-list" {
        let pools = definition.pools.first().cloned();
        definition.pools = pools.into_iter().cycle().take(20_000).collect();
    }
    match misbehaviour {
        "long-text" => definition.cooling = types::Cooling::Other("x".repeat(4 << 20)),
        "unknown-cooling" => definition.cooling = types::Cooling::Other("sometimes\x1b[2J".into()),
        "many-attributes" => definition.attributes = many_attributes(),
        "long-attribute" => definition.attributes = vec![attribute("note", "x".repeat(600))],
        "ugly-attribute" => definition.attributes = vec![attribute("no\nte", "x")],
        _ => {}
    }
    for pool in &mut definition.pools {
        match misbehaviour {
            "unknown-supply" => pool.supply = types::Supply::Other("elsewhere".into()),
            "unknown-need" => pool.need = types::Need::Other("maybe".into()),
            "supplied-ranges" => pool.supply = types::Supply::Host,
            "ugly-pool" => pool.name = "a pool\n".into(),
            _ => {}
        }
        for range in &mut pool.ranges {
            match misbehaviour {
                "not-a-subnet" => range.subnet = "everywhere".into(),
                "ugly-range" => range.name = "a range\n".into(),
                "elsewhere" => elsewhere(range),
                "twice-an-attribute" => range.attributes = vec![attribute("a", "1"), attribute("a", "2")],
                _ => {}
            }
        }
    }
}

/// A range that is not in the configuration: a policy may define one, but an operator must learn of it.
fn elsewhere(range: &mut types::AddressRange) {
    range.subnet = "10.5.5.0/24".into();
    (range.first, range.last) = ("10.5.5.1".into(), "10.5.5.254".into());
    (range.name, range.gateway) = (String::new(), None);
}

/// Refuses a request, or proposes.
fn answer(misbehaviour: &str, request: &types::Request) -> Result<Proposal, types::Refusal> {
    match misbehaviour.starts_with("refuse-") {
        true => Err(refusal(misbehaviour)),
        false => Ok(propose(misbehaviour, request)?),
    }
}

fn propose(misbehaviour: &str, request: &types::Request) -> Result<Proposal, Refusal> {
    let range = || {
        let first = Shelf::of(0).ranges().next().ok_or_else(|| Refusal::Other("no ranges".into()))?;
        Ok::<_, Refusal>(first.range)
    };
    let free = || {
        let free = Shelf::of(0).free(None, Direction::Ascending, 1).into_iter().next();
        free.ok_or_else(|| Refusal::exhausted("nothing is free"))
    };
    let mut count = 1;
    let mut tags = Vec::new();
    let address = match misbehaviour {
        "long-text" => "1".repeat(4 << 20),
        "outside" => IpAddr::from([8, 8, 8, 8]).to_string(),
        "held" => Shelf::of(0).last().map_or_else(free, Ok)?.to_string(),
        "network-address" => range()?.subnet.network().to_string(),
        "broadcast" => range()?.subnet.broadcast().to_string(),
        "gateway" => range()?.gateway.map(|gateway| gateway.to_string()).unwrap_or_default(),
        "other-family" => "2001:db8::1".into(),
        "not-an-address" => "10.1.2.3; rm -rf /\n".into(),
        name => {
            match name {
                "long-list" => count = 50_000,
                "duplicate" => count = 2,
                "nothing" => count = 0,
                "many-tags" => tags = many_attributes(),
                "hesitate" => hesitate(!request.requested.is_empty()),
                "many-labels" => many_labels(),
                "look-through" => look_through(!request.requested.is_empty()),
                "ugly-tag" => tags = vec![attribute("tag", "x\x1b[2J")],
                name => wreck(name),
            }
            free()?.to_string()
        }
    };
    let assignment = Assignment { pool: 0, address, attributes: Vec::new() };
    Ok(Proposal { assignments: vec![assignment; count], tags, attributes: Vec::new() })
}

/// Logs a line, and takes long if `long` is set.
fn hesitate(long: bool) {
    warn("let me think");
    if long {
        (0..20_000_000).for_each(|number| {
            black_box(number);
        });
    }
}

/// Asks for ranges with thousands of labels, of which they have all but the last.
fn many_labels() {
    let shelf = (0..5_000).fold(Shelf::of(0), |shelf, _| shelf.labelled("a", "b")).labelled("c", "d");
    black_box((shelf.last(), shelf.usage(), shelf.free(None, Direction::Ascending, 1)));
}

/// Logs a line, and asks what looks through all ranges if `long` is set.
fn look_through(long: bool) {
    warn("let me think");
    if long {
        black_box(Shelf::of(0).labelled("a", "b").usage_by("a").count());
    }
}

fn attribute(name: &str, value: impl Into<String>) -> Attribute {
    Attribute { name: name.into(), value: value.into() }
}

fn many_attributes() -> Vec<Attribute> {
    (0..100).map(|number| attribute(&format!("a{number}"), "")).collect()
}

fn reason(message: impl Into<String>) -> types::Reason {
    types::Reason { message: message.into(), attributes: Vec::new() }
}

fn delay(message: &str, retry_after_seconds: Option<u32>) -> types::Delay {
    types::Delay { message: message.into(), retry_after_seconds, attributes: Vec::new() }
}

fn wrong(path: &str, message: &str) -> types::ConfigError {
    types::ConfigError { path: path.into(), message: message.into(), attributes: Vec::new() }
}

/// Refuses a request in every possible way, with and without a reason.
fn refusal(name: &str) -> types::Refusal {
    match name {
        "refuse-config" => types::Refusal::InvalidConfig(wrong("ipam.x", "wrong")),
        "refuse-config-silently" => types::Refusal::InvalidConfig(wrong("", "")),
        "refuse-exhausted" => types::Refusal::Exhausted(reason("all gone")),
        "refuse-unavailable" => types::Refusal::Unavailable(reason("not for you")),
        "refuse-not-yet" => types::Refusal::NotYet(delay("soon", Some(30))),
        "refuse-denied" => types::Refusal::Denied(reason("no guests")),
        "refuse-over-quota" => types::Refusal::OverQuota(reason("red has 3 of 3")),
        "refuse-other" => types::Refusal::Other(reason("not today")),
        _ => types::Refusal::Other(reason("")),
    }
}

fn misbehaviour(config: &Config) -> Result<String, ConfigError> {
    let Some(node) = config.root()?.get("misbehave")? else { return Ok("behave".into()) };
    let name = node.text()?;
    let is_known = WRECKING.iter().chain(&PROPOSING).any(|known| *known == name)
        || ["define-", "plan-", "state-", "refuse-"].iter().any(|call| name.starts_with(call));
    if is_known { Ok(name.to_owned()) } else { Err(node.wrong(format!("no such misbehaviour: {name}"))) }
}

#[cfg(target_family = "wasm")]
mod exported {
    use super::Hostile;
    tenure_sdk::bindings::export_network_component!(Hostile with_types_in tenure_sdk::bindings);
    tenure_sdk::bindings::allocation::export_allocation_component!(Hostile with_types_in tenure_sdk::bindings::allocation);
}

#[cfg(target_family = "wasm")]
mod exported_planner {
    use super::Hostile;
    tenure_sdk::bindings::planner::export_planner_component!(Hostile with_types_in tenure_sdk::bindings::planner);
}

#[cfg(target_family = "wasm")]
mod exported_stateful {
    use super::Hostile;
    tenure_sdk::bindings::stateful::export_stateful_component!(Hostile with_types_in tenure_sdk::bindings::stateful);
}
