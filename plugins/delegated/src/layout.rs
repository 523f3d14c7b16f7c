//! Which addresses are for whom: each range gets a label, and ranges are split where a part of them is for somebody else.

use std::net::IpAddr;

use tenure_sdk::{Config, ConfigError, Definition, Node, PoolDefinition, Range};

/// The attribute that says whom a range is for.
pub(crate) const FOR: &str = "for";
pub(crate) const AGENTS: &str = "agents";
pub(crate) const EVERYBODY: &str = "*";

/// The label of an agent's own address.
pub(crate) fn agent_label(name: &str) -> String {
    format!("claim {name}")
}

/// The label of a pod's own address.
pub(crate) fn pod_label(name: &str) -> String {
    format!("pod {name}")
}

/// Labels and splits the ranges as the configuration says.
pub(crate) fn lay_out(definition: &mut Definition, config: &Config) -> Result<(), ConfigError> {
    let root = config.root()?;
    for range in definition.ranges_mut() {
        match range.attributes.get(FOR) {
            None => range.attributes.set(FOR, EVERYBODY),
            Some(AGENTS) => {}
            Some(other) => {
                let message =
                    format!("ranges are for \"agents\" or, without `for`, for everybody; not for {other:?}");
                return Err(root.wrong(message));
            }
        }
    }
    let agents = root.get("agents")?;
    let (mut first, mut quota, mut fixed_claims) = (None, None, None);
    if let Some(agents) = &agents {
        (first, quota, fixed_claims) = (agents.get("first")?, agents.get("quota")?, agents.get("fixed")?);
    }
    if let Some(quota) = quota {
        for (_, quota) in quota.entries()? {
            quota.count()?;
        }
    }
    if let Some(first) = first {
        let count = first.count()?;
        for pool in &mut definition.pools {
            reserve_first(pool, count, &first)?;
        }
    }
    for (fixed, label) in [(fixed_claims, agent_label as fn(&str) -> String), (root.get("fixed")?, pod_label)]
    {
        let Some(fixed) = fixed else { continue };
        for (name, node) in fixed.entries()? {
            fix(definition, &label(&name), &node)?;
        }
    }
    Ok(())
}

/// Reserves the first addresses of a pool's first range for everybody that can be assigned.
fn reserve_first(pool: &mut PoolDefinition, count: u32, node: &Node) -> Result<(), ConfigError> {
    let is_shared = |range: &&Range| range.attributes.get(FOR) == Some(EVERYBODY);
    let Some(range) = pool.ranges.0.iter().find(is_shared).cloned() else { return Ok(()) };
    let mut left = count;
    let mut last = range.first;
    while left > 0 {
        if !is_reserved(&range, last) {
            left -= 1;
        }
        if left == 0 {
            break;
        }
        last =
            next(last).filter(|next| range.contains(*next)).ok_or_else(|| too_many(node, &range, count))?;
    }
    if count == 0 {
        return Ok(());
    }
    if last == range.last {
        return Err(too_many(node, &range, count));
    }
    carve(pool, range.first, last, AGENTS);
    Ok(())
}

fn too_many(node: &Node, range: &Range, count: u32) -> ConfigError {
    node.wrong(format!("{range} has no {count} addresses and one more for the pods"))
}

/// Whether an address is never assigned.
fn is_reserved(range: &Range, address: IpAddr) -> bool {
    range.gateway == Some(address)
        || address == range.subnet.network()
        || address.is_ipv4() && address == range.subnet.broadcast()
}

/// Gives a label one address, inside a range or next to those of the same subnet.
fn fix(definition: &mut Definition, label: &str, node: &Node) -> Result<(), ConfigError> {
    let address = node.address()?.ok_or_else(|| node.wrong("an address is missing"))?;
    for pool in &mut definition.pools {
        let inside = pool.ranges.range_of(address).cloned();
        let beside = pool.ranges.0.iter().find(|range| range.subnet.contains(address)).cloned();
        let Some(range) = inside.clone().or(beside) else { continue };
        if is_reserved(&range, address) {
            return Err(node.wrong(format!("{address} is the gateway, or the subnet's own address")));
        }
        match inside {
            Some(range) if range.attributes.get(FOR).is_some_and(|of| of != EVERYBODY && of != AGENTS) => {
                return Err(node.wrong(format!("{address} is somebody else's already")));
            }
            Some(_) => carve(pool, address, address, label),
            None => {
                let only = Range { gateway: range.gateway, ..Range::new(range.subnet, address, address) };
                let attributes = only.attributes.clone().with(FOR, label);
                pool.ranges.0.push(Range { attributes, ..only });
            }
        }
        return Ok(());
    }
    Err(node.wrong(format!("{address} is in no range's subnet")))
}

/// Splits the range that contains both ends, and gives the part between them another label.
fn carve(pool: &mut PoolDefinition, from: IpAddr, to: IpAddr, label: &str) {
    let Some(index) = pool.ranges.0.iter().position(|range| range.contains(from) && range.contains(to))
    else {
        return;
    };
    let whole = pool.ranges.0.remove(index);
    // A part is no longer what the name of the whole stands for.
    let part = |first: IpAddr, last: IpAddr| Range { name: String::new(), first, last, ..whole.clone() };
    let mut middle = part(from, to);
    middle.attributes.set(FOR, label);
    let before = (whole.first < from).then(|| previous(from)).flatten().map(|last| part(whole.first, last));
    let after = (to < whole.last).then(|| next(to)).flatten().map(|first| part(first, whole.last));
    let parts = before.into_iter().chain([middle]).chain(after);
    pool.ranges.0.splice(index..index, parts);
}

fn next(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => u32::from(address).checked_add(1).map(|next| IpAddr::V4(next.into())),
        IpAddr::V6(address) => u128::from(address).checked_add(1).map(|next| IpAddr::V6(next.into())),
    }
}

fn previous(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => u32::from(address).checked_sub(1).map(|next| IpAddr::V4(next.into())),
        IpAddr::V6(address) => u128::from(address).checked_sub(1).map(|next| IpAddr::V6(next.into())),
    }
}
