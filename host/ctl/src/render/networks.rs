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
mod tests {
    use std::collections::HashMap;

    use tenure_rpc::v1::{PolicyRef, Range};

    use super::*;

    fn stamp(name: &str) -> Option<PolicyRef> {
        Some(PolicyRef { name: name.into(), sha256: "9f86d081884c7d659a2feaa0c55ad015".into() })
    }

    fn range(first: &str, last: &str, draining: bool) -> Range {
        Range { first: first.into(), last: last.into(), draining, ..Range::default() }
    }

    fn pool(name: &str, range_states: Vec<Range>, held: u32, total: u64) -> Pool {
        Pool {
            name: name.into(),
            supply: "configuration".into(),
            need: "always".into(),
            range_count: u32::try_from(range_states.len()).unwrap(),
            range_states,
            held,
            cooling: 2,
            total,
            ..Pool::default()
        }
    }

    #[test]
    fn networks_show_their_pools_and_what_is_to_be_known() {
        let many =
            (0..300).map(|number| range(&format!("10.9.{number}.1"), &format!("10.9.{number}.9"), false));
        let first_half = range("2001:db8:1234:5678::", "2001:db8:1234:5678:7fff:ffff:ffff:ffff", true);
        let answer = ListNetworksResponse {
            networks: vec![
                Network {
                    name: "pods".into(),
                    policy: stamp("host-local"),
                    chosen_by: "operator".into(),
                    chosen_at_ms: 100_000,
                    policy_before: stamp("highest-first"),
                    defined_by: "request".into(),
                    pools: vec![
                        pool(
                            "v4",
                            vec![
                                range("10.1.0.2", "10.1.0.100", false),
                                range("10.1.0.200", "10.1.0.254", true),
                            ],
                            77,
                            154,
                        ),
                        pool("v6", vec![first_half], 77, u64::MAX - 2),
                    ],
                    outside: 1,
                    overlaps: vec!["storage".into()],
                    ..Network::default()
                },
                Network {
                    name: "storage".into(),
                    policy: stamp("highest-first"),
                    chosen_by: "configuration".into(),
                    chosen_at_ms: 3_500_000,
                    defined_by: "configuration".into(),
                    importing: true,
                    overlaps: vec!["pods".into()],
                    pools: vec![
                        pool("0", many.collect(), 0, 2_700),
                        Pool {
                            supply: "host".into(),
                            need: "optional".into(),
                            attributes: HashMap::from([("zone".into(), "a".into())]),
                            ..pool("eni-1", Vec::new(), 0, 0)
                        },
                    ],
                    ..Network::default()
                },
            ],
        };
        let text = networks(&answer, 3_600_000);
        insta::assert_snapshot!(text, @"
        NETWORK  POOL   SUPPLY  NEED      HELD  COOLING  TOTAL  USE  RANGES
        pods     v4     config  always      77        2    154  50%  10.1.0.2-10.1.0.100
                                                                     draining 10.1.0.200-10.1.0.254
                 v6     config  always      77        2  ~2^64   0%  draining 2001:db8:1234:5678::-
                                                                     2001:db8:1234:5678:7fff:ffff:ffff:ffff
        storage  0      config  always       0        2   2700   0%  10.9.0.1-10.9.0.9
                                                                     10.9.1.1-10.9.1.9
                                                                     10.9.2.1-10.9.2.9
                                                                     10.9.3.1-10.9.3.9
                                                                     and 296 more
                 eni-1  host    optional     0        2      0    -  none

        pods: host-local@9f86d081884c, chosen by an operator 58m 20s ago; before that, highest-first
        pods: overlaps storage: both could hand out the same address
        pods: 1 allocation is outside the current ranges; its owner keeps it
        storage: highest-first@9f86d081884c, chosen by the configuration 1m 40s ago
        storage: defined by the configuration; CNI calls do not change it
        storage: an import is in progress, so ADD of new pods is refused
        storage: overlaps pods: both could hand out the same address
        ");
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    }

    #[test]
    fn an_older_daemons_networks_are_shown_as_far_as_they_are_known() {
        let pool = Pool { ranges: vec!["10.1.0.2-10.1.0.100".into()], held: 7, total: 99, ..Pool::default() };
        let pods = Network {
            name: "pods".into(),
            policy: stamp("highest-first"),
            activated: true,
            pools: vec![pool],
            ..Network::default()
        };
        let empty = Network { name: "storage".into(), policy: stamp("host-local"), ..Network::default() };
        insta::assert_snapshot!(networks(&ListNetworksResponse { networks: vec![pods, empty] }, 0), @"
        NETWORK  POOL  SUPPLY  NEED  HELD  COOLING  TOTAL  USE  RANGES
        pods     -     -       -        7        0     99   7%  10.1.0.2-10.1.0.100
        storage  -     -       -        0        0      0    -  -

        pods: highest-first@9f86d081884c, chosen by an operator
        storage: host-local@9f86d081884c
        ");
    }

    #[test]
    fn no_networks_says_when_there_will_be_some() {
        insta::assert_snapshot!(networks(&ListNetworksResponse::default(), 0), @"No networks yet: the first ADD, `tenurectl network define` or tenured.toml creates one.");
    }

    #[test]
    fn a_total_is_never_less_than_there_are() {
        let slash_64 = u64::MAX - 2;
        let totals = [0, 65_533, 1 << 32, (1 << 33) - 3, slash_64, u64::MAX].map(total);
        assert_eq!(totals, ["0", "65533", "4294967296", "~2^33", "~2^64", "~2^64+"]);
    }
}
