//! Commands of the control port that change the account.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hyper::Method;
use ipnet::Ipv4Net;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Control, Outcome, Wrong};
use crate::faults::Fault;
use crate::journal::{Call, Face, Told};
use crate::setup::{NewInstance, launch};
use crate::state::{Refusal, Time};
use crate::world::World;

/// A move of the clock.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Move {
    /// Forward by so many milliseconds.
    AdvanceMs(u64),
    /// Forward to a moment.
    ToMs(Time),
}

/// Calls of other nodes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    action: String,
    per_second: u32,
}

/// Another VPC: what is left out stays.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedAccount {
    cidrs: Option<Vec<Ipv4Net>>,
    groups: Option<Vec<String>>,
}

impl Control {
    /// Answers a call that changes something; `None` if there is no such path.
    pub(super) fn change(&self, method: &Method, path: &[&str], body: &[u8]) -> Result<Option<Value>, Wrong> {
        let done = Ok(Some(json!({ "done": true })));
        match (method.as_str(), path) {
            ("POST", ["clock"]) => return self.move_clock(&read(body)?).map(Some),
            ("POST", ["faults"]) => {
                let fault: Fault = read(body)?;
                return Ok(Some(json!({ "id": self.with(|world, _| world.faults.add(fault)) })));
            }
            ("DELETE", ["faults"]) => self.with(|world, _| world.faults.clear()),
            ("DELETE", ["faults", number]) => {
                let number = number.parse().map_err(|error| Wrong::new(400, error))?;
                if !self.with(|world, _| world.faults.remove(number)) {
                    return Err(Wrong::new(404, format!("there is no fault {number}")));
                }
            }
            ("DELETE", ["held", number]) => {
                let number = number.parse().map_err(|error| Wrong::new(400, error))?;
                if !self.with(|world, _| world.held.release(number)) {
                    return Err(Wrong::new(404, format!("there is no held call {number}")));
                }
            }
            ("DELETE", ["journal"]) => self.with(|world, _| world.journal.clear()),
            ("PUT", ["consistency"]) => self.set(body, |world, new| world.state.consistency = new)?,
            ("PUT", ["timing"]) => self.set(body, |world, new| world.state.timing = new)?,
            ("PUT", ["rules"]) => self.set(body, |world, new| world.state.rules = new)?,
            ("PUT", ["permissions"]) => self.set(body, |world, new| world.permissions = new)?,
            ("PUT", ["signature"]) => self.set(body, |world, new| world.signature = new)?,
            ("PUT", ["terms"]) => self.set(body, |world, new| world.oracle.terms = new)?,
            ("PUT", ["account"]) => self.set(body, |world, ChangedAccount { cidrs, groups }| {
                let account = &mut world.state.account;
                cidrs.into_iter().for_each(|cidrs| account.cidrs = cidrs);
                groups.into_iter().for_each(|groups| account.groups = groups);
            })?,
            ("PUT", ["load"]) => {
                let Load { action, per_second } = read(body)?;
                self.with(|world, now| world.state.throttle.set_load(&action, per_second, now));
            }
            ("PUT", ["instances", id, "type"]) => {
                let kind: String = read(body)?;
                self.with(|world, _| world.state.retype(id, &kind)).map_err(refused)?;
            }
            ("PUT", ["instances", id, "pods"]) => {
                let pods: BTreeSet<IpAddr> = read(body)?;
                self.pods(id, &pods)?;
            }
            ("POST", ["instances", id, what @ ("stop" | "start" | "terminate")]) => {
                self.instance(id, what)?;
            }
            _ => return Ok(None),
        }
        done
    }

    /// Launches an instance, and opens its metadata service.
    pub(super) async fn launch(&self, body: &[u8]) -> Outcome {
        let new: NewInstance = read(body)?;
        let id = self.with(|world, now| {
            let launched = launch(&mut world.state, &new, now);
            if let (Ok(id), Some(namespace)) = (&launched, &new.namespace) {
                world.namespaces.insert(id.clone(), namespace.clone());
            }
            write_down(world, "launch", launched.as_deref().unwrap_or_default(), now);
            launched
        });
        let id = id.map_err(refused)?;
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let imds = self.doors.open(&id, any).await.map_err(|error| Wrong::new(500, error))?;
        Ok(json!({ "id": id, "imds": imds }))
    }

    fn move_clock(&self, to: &Move) -> Outcome {
        let clock = &self.shared.clock;
        let time = match to {
            Move::AdvanceMs(milliseconds) => clock.now().after(*milliseconds),
            Move::ToMs(time) => *time,
        };
        if !clock.move_to(time) {
            return Err(Wrong::new(409, "the clock is real: start the double with --virtual-time"));
        }
        Ok(self.with(|_, now| json!({ "now_ms": now })))
    }

    fn pods(&self, id: &str, addresses: &BTreeSet<IpAddr>) -> Result<(), Wrong> {
        self.with(|world, now| {
            let World { oracle, state, .. } = world;
            if !state.instances().contains_key(id) {
                return Err(refused(Refusal::no_instance(id)));
            }
            oracle.pods_are(id, addresses, state, now);
            Ok(())
        })
    }

    fn instance(&self, id: &str, what: &str) -> Result<(), Wrong> {
        let result = self.with(|world, now| {
            let result = match what {
                "stop" => world.state.stop(id, now),
                "start" => world.state.start(id, now),
                _ => world.state.terminate(id, now),
            };
            if result.is_ok() && what != "start" {
                // Its pods end with it; what happens to its interfaces takes nothing from them.
                world.oracle.pods_are(id, &BTreeSet::new(), &world.state, now);
            }
            write_down(world, what, id, now);
            result
        });
        result.map_err(refused)
    }

    /// Replaces a setting.
    fn set<T: DeserializeOwned>(&self, body: &[u8], change: impl FnOnce(&mut World, T)) -> Result<(), Wrong> {
        let new = read(body)?;
        self.with(|world, _| change(world, new));
        Ok(())
    }

    fn with<T>(&self, change: impl FnOnce(&mut World, Time) -> T) -> T {
        let result = self.shared.with(change);
        self.shared.changed();
        result
    }
}

fn write_down(world: &mut World, what: &str, instance: &str, now: Time) {
    let call = Call {
        face: Face::Control,
        caller: String::new(),
        call: what.to_owned(),
        parameters: BTreeMap::from([("instance".to_owned(), instance.to_owned())]),
        refused: None,
        told: Told::Answer,
    };
    world.journal.add(call, now);
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Wrong> {
    serde_json::from_slice(body).map_err(|error| Wrong::new(400, error))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn refused(refusal: Refusal) -> Wrong {
    Wrong::new(409, format!("{}: {}", refusal.code, refusal.message))
}
