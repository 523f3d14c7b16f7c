//! Rotation: racks take turns, and the state records whose turn it was last. `"rangeAttributes": {"rack": "a"}` names
//! a range's rack.

use tenure_sdk::ledger::{self, Pool};
use tenure_sdk::{
    Attributes, Config, ConfigError, Cooling, Definition, Outcome, Proposal, Refusal, Request, Stateful,
};

const RACK: &str = "rack";

/// Assigns from one rack after the other.
#[derive(Debug)]
pub struct Rotation;

impl Stateful for Rotation {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Definition::configured(Cooling::Preferred)
    }

    fn propose(_: &Request, state: &[u8]) -> Result<Outcome, Refusal> {
        let last = String::from_utf8_lossy(state);
        let mut proposal = Proposal::new();
        let mut state = None;
        for pool in ledger::pools() {
            let free = next(&pool, &last);
            let (rack, address) = free.ok_or_else(|| Refusal::exhausted("no address is free in any rack"))?;
            proposal.assign(pool.index, address);
            proposal.tags.set(RACK, rack.clone());
            state = Some(rack.into_bytes());
        }
        Ok(Outcome { proposal, state })
    }

    fn migrate(state: &[u8], from: &Attributes) -> Result<Vec<u8>, Refusal> {
        match from.get("policy.name") {
            Some("rotation") => Ok(state.to_vec()),
            _ => Err(Refusal::Other("this is not the state of a rotation".into())),
        }
    }
}

/// The next rack after the last one that has a free address, and the address.
fn next(pool: &Pool, last: &str) -> Option<(String, std::net::IpAddr)> {
    let racks: Vec<String> = pool.shelf().usage_by(RACK).map(|(rack, _)| rack).collect();
    let behind = racks.iter().filter(|rack| rack.as_str() > last);
    let mut order = behind.chain(racks.iter().filter(|rack| rack.as_str() <= last));
    order.find_map(|rack| Some((rack.clone(), pool.labelled(RACK, rack).next_in_turn()?)))
}

tenure_sdk::export_stateful!(Rotation);
