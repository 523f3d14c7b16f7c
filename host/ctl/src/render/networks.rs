//! The networks, with their pools, the pools' usage, and the policies.

use tenure_rpc::v1::{ListNetworksResponse, Network, Pool};

use super::cell::Cell;
use super::page::Page;
use super::parts::{ago, clean, joined, or_dash, pairs, policy};
use super::shown::Shown;
use super::table::Table;
use super::words::ChosenBy;

/// The most ranges of a pool to show; JSON has more.
const MOST_RANGES: usize = 4;

/// The longest range that is printed on one line; two IPv6 addresses may need two lines.
const LONGEST_RANGE: usize = 40;

/// A pool of a network, or a network without pools.
struct PoolOfNetwork<'a> {
    network: &'a Network,
    pool: Option<&'a Pool>,
    /// Whether the row above has the same network.
    is_further: bool,
}

impl Shown for ListNetworksResponse {
    /// A row for each pool; below the table, each network's policy and notes.
    fn page(&self, now_ms: u64) -> Page {
        let rows: Vec<_> = self.networks.iter().flat_map(PoolOfNetwork::all).collect();
        let table = Table::of(&rows)
            .name("NETWORK", |of| Cell::unless(of.is_further, clean(&of.network.name)))
            .name("POOL", |of| of.text(|pool| or_dash(&pool.name)))
            .column("SUPPLY", |of| of.text(|pool| supply(&pool.supply)))
            .wide("NEED", |of| of.text(|pool| or_dash(&pool.need)))
            .number("HELD", |of| of.pool.map_or(0, |pool| pool.held))
            .number("COOLING", |of| of.pool.map_or(0, |pool| pool.cooling))
            .number("TOTAL", |of| {
                of.pool.map_or_else(|| 0_u64.into(), |pool| Cell::valued(total(pool.total), pool.total))
            })
            .number("USE", |of| of.pool.map_or_else(|| "-".into(), usage))
            .list("RANGES", |of| of.text(ranges))
            .wide("POLICY", |of| policy(of.network.policy.as_ref()))
            .wide("ATTRIBUTES", |of| of.text(|pool| or_dash(&pairs(&pool.attributes))));
        let none =
            "No networks yet: the first ADD, `tenurectl network define` or tenured.toml creates one.\n";
        let notes = self.networks.iter().flat_map(|of| notes(of, now_ms)).collect::<String>();
        Page::default().table_or(table, none).paragraph(notes)
    }
}

impl<'a> PoolOfNetwork<'a> {
    fn all(network: &'a Network) -> Vec<Self> {
        let pools = network.pools.iter().enumerate();
        let mut rows: Vec<_> =
            pools.map(|(at, pool)| Self { network, pool: Some(pool), is_further: at > 0 }).collect();
        if rows.is_empty() {
            rows.push(Self { network, pool: None, is_further: false });
        }
        rows
    }

    fn text(&self, of: impl Fn(&Pool) -> String) -> String {
        self.pool.map_or_else(|| "-".to_owned(), of)
    }
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
fn usage(pool: &Pool) -> Cell {
    match (u64::from(pool.held) * 100).checked_div(pool.total) {
        None => "-".into(),
        Some(percent) => Cell::valued(format!("{percent}%"), percent),
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
    if ChosenBy::of(&network.defined_by).is_some() {
        notes.push(line(&format!("defined by {}; CNI calls do not change it", who(&network.defined_by))));
    }
    if network.importing {
        notes.push(line("an import is in progress, so ADD of new pods is refused"));
    }
    if !network.overlaps.is_empty() {
        let others = joined(&network.overlaps, ", ");
        notes.push(line(&format!("overlaps {others}: both could hand out the same address")));
    }
    match network.quarantined {
        0 => {}
        1 => notes.push(line("1 address is in quarantine; `tenurectl quarantine list` says why")),
        many => notes
            .push(line(&format!("{many} addresses are in quarantine; `tenurectl quarantine list` says why"))),
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

/// Names the author of a definition or the chooser of a policy.
fn who(by: &str) -> String {
    match ChosenBy::of(by) {
        Some(ChosenBy::Configuration) => "the configuration".to_owned(),
        Some(ChosenBy::Operator) => "an operator".to_owned(),
        None => clean(by),
    }
}

#[cfg(test)]
mod tests;
