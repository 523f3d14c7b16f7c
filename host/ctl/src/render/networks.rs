//! The networks, with their pools, the pools' usage, and the policies.

use tenure_rpc::v1::{ListNetworksResponse, Network, Pool};

use super::parts::{ago, clean, joined, or_dash, policy};
use super::table::{align_right, table, text};

/// The most ranges of a pool to show; JSON has more.
const MOST_RANGES: usize = 4;

/// The longest range that is printed on one line; two IPv6 addresses may need two lines.
const LONGEST_RANGE: usize = 40;

/// A row for each pool; below the table, each network's policy and notes.
pub(super) fn networks(answer: &ListNetworksResponse, now_ms: u64) -> String {
    if answer.networks.is_empty() {
        return "No networks yet: the first ADD, `tenurectl network define` or tenured.toml creates one.\n"
            .to_owned();
    }
    let heads = ["NETWORK", "POOL", "SUPPLY", "NEED", "HELD", "COOLING", "TOTAL", "USE", "RANGES"];
    let mut table = table(heads);
    align_right(&mut table, &[4, 5, 6, 7]);
    for network in &answer.networks {
        let mut name = clean(&network.name);
        if network.pools.is_empty() {
            let none = ["-", "-", "-", "0", "0", "0", "-", "-"].map(str::to_owned);
            table.add_row(std::iter::once(name).chain(none));
            continue;
        }
        for pool in &network.pools {
            table.add_row([
                // The network's name is printed only in the row of its first pool.
                std::mem::take(&mut name),
                or_dash(&pool.name),
                supply(&pool.supply),
                or_dash(&pool.need),
                pool.held.to_string(),
                pool.cooling.to_string(),
                total(pool.total),
                usage(pool),
                ranges(pool),
            ]);
        }
    }
    let mut out = text(&table);
    out.push('\n');
    out.extend(answer.networks.iter().flat_map(|network| notes(network, now_ms)));
    out
}

/// The source of a pool's ranges, abbreviated.
fn supply(supply: &str) -> String {
    if supply == "configuration" { "config".to_owned() } else { or_dash(supply) }
}

/// The first ranges, a line each, and the number of further ones.
fn ranges(pool: &Pool) -> String {
    let states = pool.range_states.iter();
    let mut lines: Vec<String> = states
        .map(|range| {
            let state = if range.draining { "draining " } else { "" };
            state.to_owned() + &range_text(&range.first, &range.last)
        })
        .collect();
    if lines.is_empty() {
        // An older daemon, which does not report the state of ranges.
        lines = pool.ranges.iter().map(|range| clean(range)).collect();
    }
    let count = lines.len().max(usize::try_from(pool.range_count).unwrap_or_default());
    lines.truncate(MOST_RANGES);
    match count - lines.len() {
        0 if count == 0 => return "none".to_owned(),
        0 => {}
        more => lines.push(format!("and {more} more")),
    }
    lines.join("\n")
}

fn range_text(first: &str, last: &str) -> String {
    let (first, last) = (clean(first), clean(last));
    let separator = if first.len() + last.len() < LONGEST_RANGE { "-" } else { "-\n" };
    [first.as_str(), separator, last.as_str()].concat()
}

/// The number of addresses in a pool; above 2^32, rounded to a power of two, since nobody reads twenty digits.
fn total(addresses: u64) -> String {
    match addresses {
        u64::MAX => "~2^64+".to_owned(),
        few if few <= 1 << 32 => few.to_string(),
        many => {
            // The nearest power: a range that spans a subnet is a few addresses short of one.
            let below = many.ilog2();
            let nearest = if many >> (below - 1) == 0b11 { below + 1 } else { below };
            format!("~2^{nearest}")
        }
    }
}

/// The share of a pool that is held, rounded down, so that 100% means full.
fn usage(pool: &Pool) -> String {
    match (u64::from(pool.held) * 100).checked_div(pool.total) {
        None => "-".to_owned(),
        Some(percent) => format!("{percent}%"),
    }
}

/// A network's policy, who chose it, and notes on the network.
fn notes(network: &Network, now_ms: u64) -> Vec<String> {
    let name = clean(&network.name);
    let line = |text: &str| format!("{name}: {text}\n");
    let mut notes = Vec::new();
    let chosen = match network.chosen_by.as_str() {
        // An older daemon, which reports only whether an operator chose the policy.
        "" if network.activated => ", chosen by an operator".to_owned(),
        "" => String::new(),
        by => format!(", chosen by {} {}", who(by), ago(network.chosen_at_ms, now_ms)),
    };
    let before = network.policy_before.as_ref();
    let before = before.map_or_else(String::new, |before| format!("; before that, {}", clean(&before.name)));
    notes.push(line(&format!("{}{chosen}{before}", policy(network.policy.as_ref()))));
    if matches!(network.defined_by.as_str(), "configuration" | "operator") {
        notes.push(line(&format!("defined by {}; CNI calls do not change it", who(&network.defined_by))));
    }
    if network.importing {
        notes.push(line("an import is in progress, so ADD of new pods is refused"));
    }
    if !network.overlaps.is_empty() {
        let others = joined(&network.overlaps, ", ");
        notes.push(line(&format!("overlaps {others}: both could hand out the same address")));
    }
    match network.outside {
        0 => {}
        1 => notes.push(line("1 allocation is outside the current ranges; its owner keeps it")),
        many => notes.push(line(&format!(
            "{many} allocations are outside the current ranges; their owners keep them"
        ))),
    }
    notes
}

/// Who chose a policy or defined a network.
fn who(by: &str) -> String {
    match by {
        "configuration" => "the configuration".to_owned(),
        "operator" => "an operator".to_owned(),
        other => clean(other),
    }
}

#[cfg(test)]
mod tests;
