//! A trace: which pods come and go on three nodes, and what goes wrong meanwhile. Drawn from a seed; pure.

use tenure_ec2_double::{Fault, Kind};
use tenure_fixtures::random::Random;

use crate::ipamd::Rules;

/// The nodes of a trace.
pub(crate) const NODES: usize = 3;

/// How a node is set up, in ipamd's own words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// The environment, as JSON.
    pub(crate) env: &'static str,
    pub(crate) rules: Rules,
}

const NONE: Rules = Rules {
    warm_eni: 1,
    warm_ip: 0,
    minimum_ip: 0,
    warm_prefix: 0,
    prefixes: false,
    slots: 0,
    interfaces: 0,
    pods: 0,
};

/// ipamd's default, the two settings that its documentation recommends against waste, and prefixes as the DaemonSet ships them.
pub(crate) const SETTINGS: [Setting; 4] = [
    Setting { name: "WARM_ENI_TARGET=1", env: r#"{"WARM_ENI_TARGET":"1"}"#, rules: NONE },
    Setting {
        name: "WARM_IP_TARGET=5, MINIMUM_IP_TARGET=10",
        env: r#"{"WARM_IP_TARGET":"5","MINIMUM_IP_TARGET":"10"}"#,
        rules: Rules { warm_ip: 5, minimum_ip: 10, ..NONE },
    },
    Setting {
        name: "WARM_IP_TARGET=2",
        env: r#"{"WARM_IP_TARGET":"2"}"#,
        rules: Rules { warm_ip: 2, ..NONE },
    },
    Setting {
        name: "prefixes, WARM_PREFIX_TARGET=1",
        env: r#"{"ENABLE_PREFIX_DELEGATION":"true","WARM_PREFIX_TARGET":"1"}"#,
        rules: Rules { warm_prefix: 1, prefixes: true, ..NONE },
    },
];

/// A pod: when it comes and goes, in milliseconds from the beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pod {
    pub(crate) node: usize,
    pub(crate) comes: u64,
    pub(crate) goes: u64,
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    /// Other nodes of the account make so many calls a second.
    Neighbours(&'static str, u32),
    /// A call goes wrong, or all do for so many milliseconds.
    Fault(Fault, Option<u64>),
    /// How far describes, calls and metadata lag, in milliseconds.
    Lag([u64; 3]),
    /// A permission is taken away, or all are given back.
    Deny(Option<&'static str>),
    /// A node's daemon ends and starts again.
    Crash(usize),
}

/// A trace.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) seed: u64,
    pub(crate) hours: u64,
    pub(crate) kind: &'static str,
    pub(crate) setting: usize,
    pub(crate) rules: Rules,
    /// The prefix lengths of the subnets.
    pub(crate) subnets: &'static [u8],
    /// How long attaching takes, in milliseconds.
    pub(crate) attach_ms: u64,
    /// In the order in which they come.
    pub(crate) pods: Vec<Pod>,
    /// With their moments, in order.
    pub(crate) troubles: Vec<(u64, Trouble)>,
}

/// Calls that change something.
const CHANGES: [&str; 7] = [
    "AssignPrivateIpAddresses",
    "AttachNetworkInterface",
    "CreateNetworkInterface",
    "DeleteNetworkInterface",
    "DetachNetworkInterface",
    "ModifyNetworkInterfaceAttribute",
    "UnassignPrivateIpAddresses",
];

const MINUTE: u64 = 60_000;

impl Trace {
    pub(crate) fn new(seed: u64, hours: u64) -> Self {
        let mut random = Random::new(seed);
        let setting = index(&mut random, SETTINGS.len());
        let rules = SETTINGS[setting].rules;
        let types = [("m5.large", 3, 9, 29), ("m5.xlarge", 4, 14, 58), ("m5.4xlarge", 8, 29, 234)];
        let (kind, interfaces, slots, pods) = match (rules.prefixes, random.below(20)) {
            (true, _) => ("m5.large", 3, 9, 110),
            (_, 0..=11) => types[0],
            (_, 12..=18) => types[1],
            _ => types[2],
        };
        let is_tight = kind == "m5.large" && random.below(4) == 0;
        let subnets: &[u8] = match (is_tight, rules.prefixes) {
            (false, _) => &[21],
            (true, false) => &[26, 27],
            (true, true) => &[24, 25],
        };
        let attach_ms = 2000 + random.below(4) * 1000;
        let end = hours * 60 * MINUTE;
        let mut all = Vec::new();
        for node in 0..NODES {
            // Two pods of each node are in its own network.
            all.extend(pods_of(node, u64::try_from(pods).unwrap() - 2, end, &mut random));
        }
        all.sort_by_key(|pod| (pod.comes, pod.node));
        let troubles = troubles(end, &mut random);
        let rules = Rules { slots, interfaces, pods, ..rules };
        Self { seed, hours, kind, setting, rules, subnets, attach_ms, pods: all, troubles }
    }

    /// tenure's configuration.
    pub(crate) fn ipam(&self) -> String {
        format!(r#"{{ "maxPods": {}, "env": {} }}"#, self.rules.pods, SETTINGS[self.setting].env)
    }
}

fn index(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length as u64)).unwrap()
}

/// From `low` to `high`.
fn between(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// The pods of a node with room for `most`: nights, quiet hours, cron jobs, bursts, long services and rolling updates.
fn pods_of(node: usize, most: u64, end: u64, random: &mut Random) -> Vec<Pod> {
    let mut pods: Vec<Pod> = Vec::new();
    let mut now = 1000;
    while now < end {
        let length = between(random, 5, 45) * MINUTE;
        let mut come = |comes: u64, lives: u64| {
            let goes = (comes + lives).min(end);
            let is_there = |pod: &&Pod| pod.comes <= comes && comes < pod.goes;
            // What has no room is scheduled to no node.
            if comes < end && (pods.iter().filter(is_there).count() as u64) < most {
                pods.push(Pod { node, comes, goes });
            }
        };
        match random.below(6) {
            0 => {
                let mut at = now;
                while at < now + length {
                    at += between(random, 120, 600) * 1000;
                    come(at, between(random, 5, 60) * MINUTE);
                }
            }
            1 => {
                let every = between(random, 10, 60) * 1000;
                let mut at = now;
                while at < now + length {
                    at += every + random.below(3000);
                    come(at, between(random, 30, 300) * 1000);
                }
            }
            2 => {
                for _ in 0..most * between(random, 20, 90) / 100 {
                    come(now + random.below(20_000), between(random, 5, 45) * MINUTE);
                }
            }
            3 => {
                for _ in 0..most * between(random, 10, 50) / 100 {
                    come(now + random.below(60_000), between(random, 60, 300) * MINUTE);
                }
            }
            4 => roll(node, &mut pods, now, random),
            _ => {}
        }
        now += length;
    }
    pods
}

/// A deployment is rolled: each pod is replaced by a new one, one after the other.
fn roll(node: usize, pods: &mut Vec<Pod>, now: u64, random: &mut Random) {
    let each = between(random, 2, 8) * 1000;
    let mut new = Vec::new();
    for pod in pods.iter_mut().filter(|pod| pod.comes < now && pod.goes > now + 30 * MINUTE) {
        let at = now + each * (new.len() as u64 + 1);
        new.push(Pod { node, comes: at, goes: pod.goes });
        // The old pod ends so that the new one has room.
        pod.goes = at - 500;
    }
    pods.extend(new);
}

fn troubles(end: u64, random: &mut Random) -> Vec<(u64, Trouble)> {
    let mut all = Vec::new();
    let mut now = 0;
    loop {
        now += between(random, 1, 30) * MINUTE + random.below(MINUTE);
        if now >= end {
            break;
        }
        let until = now + between(random, 1, 10) * MINUTE;
        let action = CHANGES[index(random, CHANGES.len())];
        let code = |code: &str| Kind::Code { code: code.to_owned(), message: String::new(), status: 500 };
        match random.below(12) {
            0..=2 => {
                // More than EC2's refill of 5 a second, for some actions or all.
                let load = u32::try_from(between(random, 4, 12)).unwrap();
                let actions = if random.below(2) == 0 { &CHANGES[..] } else { &CHANGES[..3] };
                all.extend(actions.iter().map(|action| (now, Trouble::Neighbours(action, load))));
                all.extend(actions.iter().map(|action| (until, Trouble::Neighbours(action, 0))));
            }
            3..=6 => {
                let kinds = [
                    Kind::LostAfter,
                    Kind::LostBefore,
                    Kind::DelayBefore { delay_ms: between(random, 1, 9) * 1000 },
                    Kind::DelayAfter { delay_ms: between(random, 1, 9) * 1000 },
                    code("InternalError"),
                ];
                let kind = kinds[index(random, kinds.len())].clone();
                let (from, times) = (1 + random.below(3), Some(1 + random.below(3)));
                let call = if random.below(3) == 0 { "*" } else { action };
                all.push((now, Trouble::Fault(Fault { from, times, ..Fault::once(call, kind) }, None)));
            }
            7 => {
                let call = if random.below(2) == 0 { "*" } else { action };
                let fault = Fault::always(call, code("InternalError"));
                all.push((now, Trouble::Fault(fault, Some((until - now) / 2))));
            }
            8 => {
                let lag = [random.below(20), random.below(4), random.below(30)].map(|lag| lag * 1000);
                all.push((now, Trouble::Lag(lag)));
                all.push((until, Trouble::Lag(USUAL_LAG)));
            }
            9 => {
                all.push((now, Trouble::Deny(Some(action))));
                all.push((until, Trouble::Deny(None)));
            }
            _ => all.push((now, Trouble::Crash(index(random, NODES)))),
        }
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

/// How far describes, calls and metadata lag on a good day, in milliseconds.
pub(crate) const USUAL_LAG: [u64; 3] = [1000, 0, 2000];
