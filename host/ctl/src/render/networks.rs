//! The networks and how full they are.

use tenure_rpc::v1::{ListNetworksResponse, Network, Pool};

use super::parts::{clean, counted, joined, policy};
use super::table::{align_right, table, text};

/// A line for each pool; what lies outside the present ranges is told below.
pub(super) fn networks(answer: &ListNetworksResponse) -> String {
    if answer.networks.is_empty() {
        return "No networks yet: a network exists from its first ADD on.\n".to_owned();
    }
    let mut table = table(["NETWORK", "POLICY", "RANGES", "HELD", "COOLING", "TOTAL", "USE"]);
    align_right(&mut table, &[3, 4, 5, 6]);
    for network in &answer.networks {
        let mut name = clean(&network.name);
        let mut policy = policy(network.policy.as_ref());
        if network.activated {
            policy.push_str(" (activated)");
        }
        if network.pools.is_empty() {
            table.add_row([name, policy, "-".into(), "0".into(), "0".into(), "0".into(), "-".into()]);
            continue;
        }
        for pool in &network.pools {
            table.add_row([
                // A further pool of the same network stands below it without repeating it.
                std::mem::take(&mut name),
                std::mem::take(&mut policy),
                joined(&pool.ranges, ", "),
                pool.held.to_string(),
                pool.cooling.to_string(),
                total(pool.total),
                usage(pool),
            ]);
        }
    }
    let mut out = text(&table);
    out.extend(answer.networks.iter().filter(|network| network.outside > 0).map(outside));
    out
}

/// How many addresses a pool has; of more than 32 bits only how many bits, since nobody reads twenty digits.
fn total(addresses: u64) -> String {
    match addresses {
        u64::MAX => "~2^64+".to_owned(),
        few if few <= 1 << 32 => few.to_string(),
        many => {
            // The nearest power: a range that is a subnet lacks a few addresses of one.
            let below = many.ilog2();
            let nearest = if many >> (below - 1) == 0b11 { below + 1 } else { below };
            format!("~2^{nearest}")
        }
    }
}

/// How much of a pool is held, rounded down, so that 100% means full.
fn usage(pool: &Pool) -> String {
    match (u64::from(pool.held) * 100).checked_div(pool.total) {
        None => "-".to_owned(),
        Some(percent) => format!("{percent}%"),
    }
}

fn outside(network: &Network) -> String {
    let allocations = counted(u64::from(network.outside), "allocation lies", "allocations lie");
    format!(
        "{}: {allocations} outside its present ranges; they stay their owners' and are not handed out again.\n",
        clean(&network.name)
    )
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::PolicyRef;

    use super::*;

    #[test]
    fn networks_show_their_pools_and_what_lies_outside() {
        let stamp = |name: &str| {
            Some(PolicyRef { name: name.into(), sha256: "9f86d081884c7d659a2feaa0c55ad015".into() })
        };
        let pool = |ranges: &[&str], held, total| Pool {
            ranges: ranges.iter().map(ToString::to_string).collect(),
            held,
            cooling: 2,
            total,
            ..Pool::default()
        };
        let answer = ListNetworksResponse {
            networks: vec![
                Network {
                    name: "pods".into(),
                    policy: stamp("host-local"),
                    activated: false,
                    pools: vec![
                        pool(&["10.1.0.2-10.1.0.100", "10.1.0.200-10.1.0.254"], 77, 154),
                        pool(&["fd00::2-fd00::ffff"], 77, 65_534),
                    ],
                    outside: 1,
                    ..Network::default()
                },
                Network {
                    name: "storage".into(),
                    policy: stamp("highest-first"),
                    activated: true,
                    ..Network::default()
                },
            ],
        };
        insta::assert_snapshot!(networks(&answer), @"
        NETWORK  POLICY                                  RANGES                                      HELD  COOLING  TOTAL  USE
        pods     host-local@9f86d081884c                 10.1.0.2-10.1.0.100, 10.1.0.200-10.1.0.254    77        2    154  50%
                                                         fd00::2-fd00::ffff                            77        2  65534   0%
        storage  highest-first@9f86d081884c (activated)  -                                              0        0      0    -
        pods: 1 allocation lies outside its present ranges; they stay their owners' and are not handed out again.
        ");
    }

    #[test]
    fn no_networks_says_when_there_will_be_some() {
        insta::assert_snapshot!(networks(&ListNetworksResponse::default()), @"No networks yet: a network exists from its first ADD on.");
    }

    #[test]
    fn a_total_is_never_less_than_there_are() {
        let slash_64 = u64::MAX - 2;
        let totals = [0, 65_533, 1 << 32, (1 << 33) - 3, slash_64, u64::MAX].map(total);
        assert_eq!(totals, ["0", "65533", "4294967296", "~2^33", "~2^64", "~2^64+"]);
    }
}
