//! Commands of the control port that only read.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Control, Outcome, Wrong};
use crate::state::{Interface, Time};
use crate::world::World;

/// The longest that a caller can wait for a call, in milliseconds.
const WAIT_MS: u64 = 60_000;

impl Control {
    /// Answers a GET; `None` if there is no such path.
    pub(super) async fn look(&self, path: &[&str], query: &str) -> Result<Option<Value>, Wrong> {
        let query: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let value = match path {
            ["state"] => self.state()?,
            ["journal"] => self.journal(&query).await?,
            ["held"] => {
                self.wait_until(&query, |world| world.held.all().next().is_some()).await?;
                self.shared.with(|world, _| value(&world.held.all().collect::<Vec<_>>()))?
            }
            ["oracle"] => self.shared.with(|world, now| {
                let busiest = world.journal.busiest_minute();
                let violations = world.oracle.verdict(&world.state, busiest, now);
                json!({ "violations": violations, "busiest_minute": busiest, "terms": world.oracle.terms })
            }),
            ["clock"] => self.shared.with(|world, now| {
                let next = world.state.next_event();
                json!({ "now_ms": now, "virtual": self.shared.clock.is_virtual(), "next_event_ms": next })
            }),
            ["faults"] => self.shared.with(|world, _| value(&world.faults.all().collect::<Vec<_>>()))?,
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn state(&self) -> Outcome {
        let doors = self.doors.addresses();
        self.shared.with(|world, now| {
            let World { state, oracle, permissions, .. } = world;
            let mut instances = Vec::new();
            for instance in state.instances().values() {
                let mut shown = value(instance)?;
                add(&mut shown, "imds", &doors.get(&instance.id))?;
                add(&mut shown, "pods", &oracle.pods_of(&instance.id).collect::<Vec<_>>())?;
                instances.push(shown);
            }
            let mut subnets = Vec::new();
            for subnet in state.subnets().values() {
                let mut shown = value(subnet)?;
                add(&mut shown, "free", &subnet.free())?;
                subnets.push(shown);
            }
            let interfaces: Vec<&Interface> = state.interfaces().all().map(AsRef::as_ref).collect();
            Ok(json!({
                "now_ms": now,
                "account": state.account,
                "instances": instances,
                "subnets": subnets,
                "interfaces": interfaces,
                "timing": state.timing,
                "rules": state.rules,
                "consistency": state.consistency,
                "load": state.throttle.load(),
                "permissions": permissions,
            }))
        })
    }

    /// The calls after a number, if need be after waiting for one.
    async fn journal(&self, query: &BTreeMap<String, String>) -> Outcome {
        let after = number(query, "after")?;
        self.wait_until(query, |world| !world.journal.after(after).is_empty()).await?;
        self.shared.with(|world, _: Time| value(world.journal.after(after)))
    }

    /// Waits for something, for as long as the caller asks.
    async fn wait_until(
        &self,
        query: &BTreeMap<String, String>,
        is_there: impl Fn(&World) -> bool,
    ) -> Result<(), Wrong> {
        let wait_ms = number(query, "wait_ms")?.min(WAIT_MS);
        let mut changes = self.shared.changes();
        let waiting = async {
            while !self.shared.with(|world, _| is_there(world)) {
                // The sender lives as long as the double.
                let _ = changes.changed().await;
            }
        };
        if wait_ms > 0 {
            let _ = tokio::time::timeout(Duration::from_millis(wait_ms), waiting).await;
        }
        Ok(())
    }
}

fn number(query: &BTreeMap<String, String>, name: &str) -> Result<u64, Wrong> {
    let Some(text) = query.get(name) else { return Ok(0) };
    text.parse().map_err(|error| Wrong::new(400, format!("{name}: {error}")))
}

/// Something as JSON.
pub(super) fn value<T: Serialize + ?Sized>(something: &T) -> Outcome {
    serde_json::to_value(something).map_err(|error| Wrong::new(500, error))
}

fn add<T: Serialize>(object: &mut Value, name: &str, field: &T) -> Result<(), Wrong> {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value(field)?);
    }
    Ok(())
}
