//! Objects of a small cluster for tests.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tenure_leases::{BlockName, MachineHash, Uid};

use crate::memory::OperatorMemory;
use crate::view::{BlockView, HostView, KeptObject, PoolView, SaidView, SpaceView};
use crate::writes::WriteTime;

/// The boot id of every machine.
const BOOT: u128 = 3;

/// The uid of the pool.
const POOL: Uid = Uid(1);

/// The time of all passes.
pub(super) const NOW: WriteTime = WriteTime { elapsed: Duration::ZERO, day: Timestamp::UNIX_EPOCH };

/// A leader that may grant.
pub(super) fn leader() -> OperatorMemory {
    let mut memory = OperatorMemory::default();
    memory.barrier.listed();
    memory
}

fn metadata(name: &str, uid: Uid) -> Value {
    json!({ "name": name, "uid": uid.to_string(), "resourceVersion": "1", "generation": 1 })
}

/// The pool `pods` of a range.
pub(super) fn pool(usage: &str, cidr: &str, unit: u8) -> KeptObject<PoolView> {
    pool_with(usage, cidr, unit, &json!({}))
}

/// The same with more settings.
pub(super) fn pool_with(usage: &str, cidr: &str, unit: u8, more: &Value) -> KeptObject<PoolView> {
    let mut spec = json!({ "usage": usage, "ipv4": { "cidrs": [cidr], "blockPrefix": unit } });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    let object = json!({ "metadata": metadata("pods", POOL), "spec": spec });
    KeptObject::of(serde_json::from_value(object).unwrap())
}

/// The space with that range.
pub(super) fn space(usage: &str, cidr: &str, unit: u8) -> KeptObject<SpaceView> {
    let range = json!({
        "id": "0000000000000001", "cidr": cidr, "unit": unit, "usage": usage, "state": "Open",
        "pool": { "name": "pods", "uid": POOL.to_string() },
    });
    let object = json!({ "metadata": metadata("default", Uid(2)), "spec": { "ranges": [range] } });
    KeptObject::of(serde_json::from_value(object).unwrap())
}

/// The Node of a machine with this number, under a uid.
pub(super) fn host(number: u32, uid: Uid) -> KeptObject<HostView> {
    host_with(number, uid, &json!({}))
}

/// The same with more in its parts.
pub(super) fn host_with(number: u32, uid: Uid, more: &Value) -> KeptObject<HostView> {
    let info = json!({
        "machineID": format!("m{number}"), "systemUUID": format!("s{number}"), "bootID": Uid(BOOT).to_string(),
        "operatingSystem": "linux",
    });
    let mut object =
        json!({ "metadata": metadata(&format!("n{number}"), uid), "status": { "nodeInfo": info } });
    for (part, fields) in more.as_object().into_iter().flatten() {
        for (field, value) in fields.as_object().into_iter().flatten() {
            object[part][field] = value.clone();
        }
    }
    KeptObject::of(serde_json::from_value(object).unwrap())
}

/// The words of that machine, which names this uid of its Node, and wants blocks or has turns.
pub(super) fn said(number: u32, node: Uid, want: u32, turns: &[Value]) -> KeptObject<SaidView> {
    saying(number, node, want, &json!({ "claims": turns }))
}

/// The words of that machine, which wants so many blocks, and says more besides.
pub(super) fn saying(number: u32, node: Uid, want: u32, more: &Value) -> KeptObject<SaidView> {
    telling(number, node, want, more, &Value::Null)
}

/// The same with the operator's half.
pub(super) fn telling(number: u32, node: Uid, want: u32, more: &Value, told: &Value) -> KeptObject<SaidView> {
    let machine = MachineHash::of(&format!("m{number}"), &format!("s{number}")).unwrap();
    let demand = json!({ "pool": "pods", "poolUID": POOL.to_string(), "family": "IPv4", "want": want });
    let mut spec = json!({
        "nodeUID": node.to_string(), "machine": machine.to_string(), "bootID": Uid(BOOT).to_string(),
        "demand": [demand],
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    let uid = Uid(1 << 64 | u128::from(number));
    let object = json!({ "metadata": metadata(&format!("n{number}"), uid), "spec": spec, "status": told });
    let said = KeptObject::<SaidView>::of(serde_json::from_value(object).unwrap());
    assert!(said.read.is_ok(), "{:?}", said.read);
    said
}

/// A lease of that machine.
pub(super) fn leased(
    number: u32,
    node: Uid,
    (cidr, uid): (&str, Uid),
    deleting: bool,
) -> KeptObject<BlockView> {
    let machine = MachineHash::of(&format!("m{number}"), &format!("s{number}")).unwrap();
    let name = BlockName::new("default", cidr.parse().unwrap()).unwrap().to_string();
    let mut metadata = metadata(&name, uid);
    if deleting {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let spec = json!({
        "group": "default", "cidr": cidr, "rangeID": "0000000000000001", "pool": { "name": "pods", "uid": POOL.to_string() },
        "nodeName": format!("n{number}"), "nodeUID": node.to_string(), "machine": machine.to_string(), "bootID": Uid(BOOT).to_string(),
    });
    let object = json!({ "metadata": metadata, "spec": spec });
    let block = KeptObject::<BlockView>::of(serde_json::from_value(object).unwrap());
    assert!(block.read.is_ok(), "{:?}", block.read);
    block
}
