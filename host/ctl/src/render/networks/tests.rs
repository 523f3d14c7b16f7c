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
    let many = (0..300).map(|number| range(&format!("10.9.{number}.1"), &format!("10.9.{number}.9"), false));
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
                        vec![range("10.1.0.2", "10.1.0.100", false), range("10.1.0.200", "10.1.0.254", true)],
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
    let text = answer.page(3_600_000).to_string();
    insta::assert_snapshot!(text, @"
    NETWORK  POOL   SUPPLY  HELD  COOLING  TOTAL  USE  RANGES
    pods     v4     config    77        2    154  50%  10.1.0.2-10.1.0.100
                                                       draining 10.1.0.200-10.1.0.254
             v6     config    77        2  ~2^64   0%  draining 2001:db8:1234:5678::-
                                                       2001:db8:1234:5678:7fff:ffff:ffff:ffff
    storage  0      config     0        2   2700   0%  10.9.0.1-10.9.0.9
                                                       10.9.1.1-10.9.1.9
                                                       10.9.2.1-10.9.2.9
                                                       10.9.3.1-10.9.3.9
                                                       and 296 more
             eni-1  host       0        2      0    -  none

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
    insta::assert_snapshot!(ListNetworksResponse { networks: vec![pods, empty] }.page(0), @"
    NETWORK  POOL  SUPPLY  HELD  COOLING  TOTAL  USE  RANGES
    pods     -     -          7        0     99   7%  10.1.0.2-10.1.0.100
    storage  -     -          0        0      0    -  -

    pods: highest-first@9f86d081884c, chosen by an operator
    storage: host-local@9f86d081884c
    ");
}

#[test]
fn no_networks_says_when_there_will_be_some() {
    insta::assert_snapshot!(ListNetworksResponse::default().page(0), @"No networks yet: the first ADD, `tenurectl network define` or tenured.toml creates one.");
}

#[test]
fn a_total_is_never_less_than_there_are() {
    let slash_64 = u64::MAX - 2;
    let totals = [0, 65_533, 1 << 32, (1 << 33) - 3, slash_64, u64::MAX].map(total);
    assert_eq!(totals, ["0", "65533", "4294967296", "~2^33", "~2^64", "~2^64+"]);
}
