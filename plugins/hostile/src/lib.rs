//! Negative fixtures: a policy that misbehaves as its configuration tells it to, by `"misbehave": "NAME"`.
//!
//! A name that begins with `define-` misbehaves when the network is made, any other when an address is asked for; without
//! the key the policy behaves. Each of [`MISBEHAVIOURS`] must fail its own call and nothing else.

use std::hint::black_box;
use std::net::IpAddr;

use tenure_sdk::bindings::exports::tenure::ipam::{allocation, network};
use tenure_sdk::bindings::tenure::ipam::types;
use tenure_sdk::ledger::{self, Direction};
use tenure_sdk::{Config, Pool, Refusal, ranges, warn};

/// Every way to misbehave in a proposal.
pub const MISBEHAVIOURS: [&str; 19] = [
    "behave",
    "spin",
    "grow",
    "recurse",
    "trap",
    "panic",
    "huge-text",
    "long-text",
    "long-list",
    "chatter",
    "outside",
    "held",
    "network-address",
    "broadcast",
    "gateway",
    "other-family",
    "duplicate",
    "not-an-address",
    "hesitate",
];

/// The host part of the gateway of a network that misbehaves in the first way.
///
/// A policy remembers nothing between calls and a proposal does not see the configuration, so the gateway says what to do.
const FIRST_GATEWAY: u128 = 100;

/// The policy.
#[derive(Debug)]
pub struct Hostile;

impl network::Guest for Hostile {
    fn define(config: network::Config) -> Result<network::Definition, types::Refusal> {
        let config = Config::new(&config.name, &config.ipam, &[]);
        let misbehaviour = misbehaviour(&config)?;
        let mut pools = ranges::read(&config)?;
        let mut cooling = types::Cooling::Preferred;
        match misbehaviour.strip_prefix("define-") {
            Some("long-list") => {
                let pool = pools.first().cloned().ok_or_else(|| Refusal::Other("no pool".into()))?;
                pools = vec![pool; 20_000];
            }
            Some("long-text") => cooling = types::Cooling::Other("x".repeat(4 << 20)),
            Some("unknown-cooling") => cooling = types::Cooling::Other("sometimes\x1b[2J".into()),
            Some("ugly-refusal") => return Err(types::Refusal::Other("ugly\n\x1b[2J".repeat(1000))),
            Some(name) if name.starts_with("refuse-") => return Err(refusal(name)),
            Some(name) => wreck(name),
            None => hide(&misbehaviour, &mut pools)?,
        }
        let mut pools: Vec<_> = pools.into_iter().map(types::Pool::from).collect();
        if misbehaviour == "define-not-a-subnet" {
            pools
                .iter_mut()
                .flat_map(|pool| &mut pool.ranges)
                .for_each(|range| range.subnet = "everywhere".into());
        }
        Ok(network::Definition { pools, cooling, attributes: Vec::new() })
    }
}

impl allocation::Guest for Hostile {
    fn propose(request: allocation::Request) -> Result<allocation::Proposal, types::Refusal> {
        let Some((_, pool)) = ledger::pools().next() else {
            return Err(types::Refusal::Other("no pools".into()));
        };
        let range = pool.ranges.first().ok_or_else(|| types::Refusal::Other("no ranges".into()))?;
        let free = || {
            let free = ledger::free(0, None, Direction::Ascending, 1).into_iter().next();
            free.ok_or_else(|| types::Refusal::Exhausted("nothing is free".into()))
        };
        let misbehaviour = MISBEHAVIOURS
            .into_iter()
            .zip(FIRST_GATEWAY..)
            .find_map(|(name, gateway)| (range.subnet.nth(gateway) == range.gateway).then_some(name));
        let address = match misbehaviour.unwrap_or("behave") {
            "behave" => free()?.to_string(),
            "long-text" => "1".repeat(4 << 20),
            "long-list" => {
                let assignment = allocation::Assignment { pool: 0, address: free()?.to_string() };
                return Ok(proposal(vec![assignment; 50_000]));
            }
            "outside" => IpAddr::from([8, 8, 8, 8]).to_string(),
            "held" => ledger::last(0).map_or_else(free, Ok)?.to_string(),
            "network-address" => range.subnet.network().to_string(),
            "broadcast" => range.subnet.broadcast().to_string(),
            "gateway" => range.gateway.map(|gateway| gateway.to_string()).unwrap_or_default(),
            "other-family" => "2001:db8::1".into(),
            "duplicate" => {
                let assignment = allocation::Assignment { pool: 0, address: free()?.to_string() };
                return Ok(proposal(vec![assignment; 2]));
            }
            "not-an-address" => "10.1.2.3; rm -rf /\n".into(),
            "hesitate" => {
                warn("let me think");
                if !request.requested.is_empty() {
                    (0..20_000_000).for_each(|number| {
                        black_box(number);
                    });
                }
                free()?.to_string()
            }
            name => {
                wreck(name);
                free()?.to_string()
            }
        };
        Ok(proposal(vec![allocation::Assignment { pool: 0, address }]))
    }
}

/// Refuses in each way that there is, with a reason and without.
fn refusal(name: &str) -> types::Refusal {
    let config = |path: &str, message: &str| {
        types::Refusal::InvalidConfig(types::ConfigError { path: path.into(), message: message.into() })
    };
    match name {
        "refuse-config" => config("ipam.x", "wrong"),
        "refuse-config-silently" => config("", ""),
        "refuse-exhausted" => types::Refusal::Exhausted("all gone".into()),
        "refuse-unavailable" => types::Refusal::Unavailable("not for you".into()),
        "refuse-other" => types::Refusal::Other("not today".into()),
        _ => types::Refusal::Other(String::new()),
    }
}

fn proposal(assignments: Vec<allocation::Assignment>) -> allocation::Proposal {
    allocation::Proposal { assignments, attributes: Vec::new() }
}

fn misbehaviour(config: &Config) -> Result<String, Refusal> {
    Ok(match config.root()?.get("misbehave")? {
        Some(name) => name.text()?.to_owned(),
        None => "behave".into(),
    })
}

/// Lets the gateway say how the network's proposals misbehave.
fn hide(misbehaviour: &str, pools: &mut [Pool]) -> Result<(), Refusal> {
    let ways = MISBEHAVIOURS.into_iter().zip(FIRST_GATEWAY..);
    let Some((_, gateway)) = ways.into_iter().find(|(name, _)| *name == misbehaviour) else {
        return Err(Refusal::config("ipam.misbehave", format!("no such misbehaviour: {misbehaviour}")));
    };
    for range in pools.iter_mut().flat_map(|pool| &mut pool.ranges) {
        range.gateway = range.subnet.nth(gateway);
    }
    Ok(())
}

/// Misbehaves in a way that does not end in an answer.
fn wreck(name: &str) {
    match name {
        "spin" => loop {
            black_box(());
        },
        "grow" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(black_box(vec![1_u8; 1 << 20]));
            }
        }
        "recurse" => {
            black_box(recurse(0, black_box(u64::MAX)));
        }
        "trap" => std::process::abort(),
        #[expect(clippy::panic, reason = "to panic is this one's purpose")]
        "panic" => {
            std::panic::set_hook(Box::new(|panic| warn(&panic.to_string())));
            panic!("as told")
        }
        "huge-text" => {
            black_box("x".repeat(64 << 20));
        }
        "chatter" => loop {
            warn(black_box("blah"));
        },
        _ => {}
    }
}

/// Each step changes what the next one gives, so that no compiler makes a loop of it; none needs memory, so that it is
/// the call stack that ends.
fn recurse(depth: u64, end: u64) -> u64 {
    if depth == end { 0 } else { recurse(depth + 1, end).rotate_left(1) ^ depth }
}

#[cfg(target_family = "wasm")]
mod exported {
    use super::Hostile;
    tenure_sdk::bindings::export_component!(Hostile with_types_in tenure_sdk::bindings);
}
