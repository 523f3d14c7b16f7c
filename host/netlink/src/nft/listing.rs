//! Reads the output of `nft --json list table` as a shape.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde_json::Value;

use super::ranges::Ranges;
use super::table::{ChainShape, Shape};

/// Reads a listing; `None` if it is not one.
pub(super) fn read(text: &str) -> Option<Shape> {
    let listing: Value = serde_json::from_str(text).ok()?;
    let mut shape = Shape::default();
    for object in listing.get("nftables")?.as_array()? {
        let (kind, object) = object.as_object()?.iter().next()?;
        match kind.as_str() {
            "metainfo" | "table" => {}
            "set" => set(object, &mut shape),
            "chain" => chain(object, &mut shape),
            "rule" => rule(object, &mut shape),
            _ => shape.other = true,
        }
    }
    Some(shape)
}

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

fn set(object: &Value, shape: &mut Shape) {
    let elements = object.get("elem").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let ranges: Option<Vec<_>> = elements.iter().map(element).collect();
    match (text(object, "name"), text(object, "type"), ranges) {
        (Some(name), Some("ipv4_addr"), Some(ranges)) => {
            shape.sets.insert(name.to_owned(), Ranges::new(ranges));
        }
        _ => shape.other = true,
    }
}

/// An element: an address, a prefix or a range.
fn element(value: &Value) -> Option<(Ipv4Addr, Ipv4Addr)> {
    if let Some(address) = value.as_str() {
        let address = address.parse().ok()?;
        return Some((address, address));
    }
    if let Some(prefix) = value.get("prefix") {
        let length = u8::try_from(prefix.get("len")?.as_u64()?).ok()?;
        let net = Ipv4Net::new(text(prefix, "addr")?.parse().ok()?, length).ok()?;
        return Some((net.network(), net.broadcast()));
    }
    let range = value.get("range")?.as_array()?;
    let end = |at: usize| range.get(at)?.as_str()?.parse().ok();
    Some((end(0)?, end(1)?))
}

fn chain(object: &Value, shape: &mut Shape) {
    let priority = object.get("prio").and_then(Value::as_i64);
    let policy = text(object, "policy");
    match (text(object, "name"), text(object, "type"), text(object, "hook"), priority, policy) {
        (Some(name), Some(kind), Some(hook), Some(priority), Some("accept")) => {
            let (kind, hook) = (kind.to_owned(), hook.to_owned());
            let chain = ChainShape { kind, hook, priority, marks: Vec::new() };
            shape.chains.insert(name.to_owned(), chain);
        }
        _ => shape.other = true,
    }
}

fn rule(object: &Value, shape: &mut Shape) {
    let chain = text(object, "chain").and_then(|name| shape.chains.get_mut(name));
    match chain {
        Some(chain) => chain.marks.push(text(object, "comment").map(str::to_owned)),
        None => shape.other = true,
    }
}
