//! The 31 worked examples of ipamd's behaviour, each with what ipamd does and what this policy does.

use super::ipamd::Ipamd;
use super::told::told;
use super::world::{M5_4XLARGE, M5_LARGE, P3DN, T3_SMALL, T3_SMALL_PREFIXES, Type, World};

type Env = &'static [(&'static str, i64)];

/// An example: a state, what ipamd does in one pass after the other, and what a plan of ours does at once.
struct Example {
    number: u32,
    of: Type,
    env: Env,
    pool: &'static [u32],
    pods: &'static [u32],
    cooling: u32,
    waiting: u32,
    ipamd: &'static [&'static str],
    ours: &'static str,
}

const fn example(
    number: u32,
    of: Type,
    env: Env,
    (pool, pods): (&'static [u32], &'static [u32]),
    ipamd: &'static [&'static str],
    ours: &'static str,
) -> Example {
    Example { number, of, env, pool, pods, cooling: 0, waiting: 0, ipamd, ours }
}

const PD: (&str, i64) = ("ENABLE_PREFIX_DELEGATION", 1);
const DEFAULT: Env = &[];
const WARM_2_MIN_5: Env = &[("WARM_IP_TARGET", 2), ("MINIMUM_IP_TARGET", 5)];
const ONE_PREFIX: Env = &[PD, ("WARM_PREFIX_TARGET", 1)];
/// Example 4.4xlarge of the older generation: the same limits.
const M4_4XLARGE: Type = M5_4XLARGE;

/// Each pod of example 23 is in a prefix of its own.
const SPREAD: u32 = 23;

const EXAMPLES: &[Example] = &[
    example(1, T3_SMALL, DEFAULT, (&[0], &[0]), &["assign 3 on eni-0"], "assign 3 on eni-0"),
    example(2, T3_SMALL, DEFAULT, (&[3], &[0]), &["nothing"], "nothing"),
    example(3, T3_SMALL, DEFAULT, (&[3], &[1]), &["attach 3"], "attach 3"),
    example(4, T3_SMALL, DEFAULT, (&[3, 3], &[3, 1]), &["attach 3"], "attach 3"),
    example(5, T3_SMALL, DEFAULT, (&[3, 3, 3], &[3, 3, 1]), &["low, no room", "low, no room"], "full"),
    example(
        6,
        T3_SMALL,
        DEFAULT,
        (&[3, 3, 3], &[0]),
        &["detach eni-2", "detach eni-1", "nothing"],
        "detach eni-1, detach eni-2",
    ),
    example(7, T3_SMALL, DEFAULT, (&[3, 3, 3], &[0, 1]), &["detach eni-2", "nothing"], "detach eni-2"),
    example(
        8,
        T3_SMALL,
        &[("WARM_ENI_TARGET", 0)],
        (&[3], &[3]),
        &["attach 3", "detach eni-1", "attach 3", "detach eni-1"],
        "attach 3",
    ),
    example(
        9,
        T3_SMALL,
        WARM_2_MIN_5,
        (&[0], &[0]),
        &["assign 3 on eni-0", "attach 2", "nothing"],
        "assign 3 on eni-0, attach 2",
    ),
    example(
        10,
        T3_SMALL,
        WARM_2_MIN_5,
        (&[3, 2], &[3, 2]),
        &["assign 1 on eni-1", "attach 1", "nothing"],
        "assign 1 on eni-1, attach 1",
    ),
    example(
        11,
        T3_SMALL,
        WARM_2_MIN_5,
        (&[3, 3, 1], &[2]),
        &["release 2, detach eni-2", "nothing"],
        "detach eni-2, release 1 on eni-1",
    ),
    Example {
        waiting: 1,
        ..example(
            12,
            M5_LARGE,
            &[("MINIMUM_IP_TARGET", 10)],
            (&[9, 1], &[9, 1]),
            &["nothing"],
            "assign 1 on eni-1",
        )
    },
    example(13, M5_LARGE, &[("MAX_ENI", 2)], (&[9, 9], &[9, 1]), &["low, no room"], "full"),
    example(
        14,
        P3DN,
        &[("WARM_IP_TARGET", 100)],
        (&[0], &[0]),
        &["assign 49 on eni-0", "attach 49", "attach 2", "nothing"],
        "assign 49 on eni-0, attach 49, attach 2",
    ),
    example(
        15,
        M5_LARGE,
        &[("AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", 1)],
        (&[0], &[0]),
        &["attach 9", "nothing"],
        "attach 9",
    ),
    Example {
        cooling: 4,
        ..example(
            16,
            M5_4XLARGE,
            &[("WARM_IP_TARGET", 2), ("MINIMUM_IP_TARGET", 23)],
            (&[23], &[19]),
            &["nothing"],
            "assign 2 on eni-0",
        )
    },
    example(17, Type { pods: 20, ..M5_LARGE }, DEFAULT, (&[9, 9], &[9, 8]), &["attach 9"], "attach 2"),
    example(18, Type { pods: 18, ..M5_LARGE }, DEFAULT, (&[9, 9], &[9, 8]), &["nothing"], "nothing"),
    example(
        19,
        M4_4XLARGE,
        &[("WARM_IP_TARGET", 1), ("MINIMUM_IP_TARGET", 12)],
        (&[9], &[9]),
        &["assign 3 on eni-0", "nothing"],
        "assign 3 on eni-0",
    ),
    example(
        20,
        P3DN,
        &[("WARM_IP_TARGET", 1)],
        (&[49, 46], &[49, 46]),
        &["assign 1 on eni-1", "nothing"],
        "assign 1 on eni-1",
    ),
    example(
        21,
        T3_SMALL_PREFIXES,
        ONE_PREFIX,
        (&[0], &[0]),
        &["assign 1 PD on eni-0", "nothing"],
        "assign 1 PD on eni-0",
    ),
    example(
        22,
        T3_SMALL_PREFIXES,
        ONE_PREFIX,
        (&[1], &[1]),
        &["assign 1 PD on eni-0", "nothing"],
        "assign 1 PD on eni-0",
    ),
    example(23, T3_SMALL_PREFIXES, ONE_PREFIX, (&[2], &[2]), &["nothing"], "nothing"),
    example(24, T3_SMALL_PREFIXES, ONE_PREFIX, (&[3], &[1]), &["release 1", "nothing"], "release 1 on eni-0"),
    example(
        25,
        T3_SMALL_PREFIXES,
        ONE_PREFIX,
        (&[3, 1], &[48, 10]),
        &["assign 1 PD on eni-1", "nothing"],
        "assign 1 PD on eni-1",
    ),
    example(26, T3_SMALL, ONE_PREFIX, (&[1], &[11]), &["nothing"], "nothing"),
    example(
        27,
        T3_SMALL_PREFIXES,
        ONE_PREFIX,
        (&[3, 1], &[3]),
        &["release 2, detach eni-1", "nothing"],
        "detach eni-1, release 1 on eni-0",
    ),
    example(
        28,
        T3_SMALL_PREFIXES,
        &[PD, ("WARM_IP_TARGET", 16)],
        (&[1], &[1]),
        &["assign 1 PD on eni-0", "nothing"],
        "assign 1 PD on eni-0",
    ),
    example(
        29,
        T3_SMALL_PREFIXES,
        &[PD, ("WARM_IP_TARGET", 7), ("MINIMUM_IP_TARGET", 20)],
        (&[0], &[0]),
        &["assign 2 PD on eni-0", "nothing"],
        "assign 2 PD on eni-0",
    ),
    example(
        30,
        P3DN,
        &[PD, ("WARM_IP_TARGET", 5), ("MINIMUM_IP_TARGET", 10)],
        (&[3], &[7]),
        &["release 2", "nothing"],
        "release 2 on eni-0",
    ),
    example(
        31,
        T3_SMALL_PREFIXES,
        &[PD, ("WARM_IP_TARGET", 1), ("MINIMUM_IP_TARGET", 1)],
        (&[1], &[16]),
        &["assign 1 PD on eni-0", "nothing"],
        "assign 1 PD on eni-0",
    ),
];

impl Example {
    fn has_prefixes(&self) -> bool {
        self.env.contains(&PD)
    }

    fn world(&self) -> World {
        let env: Vec<_> = self.env.iter().map(|(name, value)| format!(r#""{name}": "{value}""#)).collect();
        let ipam = format!(r#"{{ "env": {{ {} }} }}"#, env.join(", "));
        let mut world = World::with(self.of, &ipam, self.pool, self.has_prefixes());
        world.clock = 0;
        for (eni, pods) in self.pods.iter().enumerate() {
            let each = if self.number == SPREAD { 1 } else { usize::MAX };
            world.hold(eni, *pods, each);
        }
        world.cool(0, self.cooling);
        world.waiting = self.waiting;
        world
    }

    fn ipamd(&self) -> Ipamd {
        let size = if self.has_prefixes() { 16 } else { 1 };
        let each = if self.number == SPREAD { 1 } else { size };
        let ranges =
            |pods: i64| (0..pods).step_by(each).map(|start| (pods - start).min(each as i64)).collect();
        let mut pods: Vec<Vec<i64>> = self.pods.iter().map(|pods| ranges(i64::from(*pods))).collect();
        pods.resize(self.pool.len(), Vec::new());
        Ipamd {
            env: self.env.iter().copied().collect(),
            pool: self.pool.iter().map(|count| i64::from(*count)).collect(),
            pods,
            slots: i64::from(self.of.slots),
            most_interfaces: i64::from(self.of.interfaces),
            most_pods: i64::from(self.of.pods),
            prefixes: self.has_prefixes(),
            custom_network: self.env.contains(&("AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", 1)),
        }
    }
}

#[test]
fn ipamd_does_what_the_worked_examples_say() {
    assert!(EXAMPLES.iter().map(|example| example.number).eq(1..=31));
    for example in EXAMPLES {
        let mut ipamd = example.ipamd();
        let passes: Vec<_> = example.ipamd.iter().map(|_| ipamd.pass()).collect();
        assert_eq!(passes, example.ipamd, "example {}", example.number);
    }
}

#[test]
fn a_plan_does_at_once_what_the_worked_examples_want() {
    for example in EXAMPLES {
        let (number, mut world) = (example.number, example.world());
        world.clock = 3600;
        let plan = world.plan();
        assert_eq!(told(&world, &plan), example.ours, "example {number}");
        let Ok(effects) = plan else { continue };
        world.apply(&effects);
        world.clock += 3600;
        assert_eq!(told(&world, &world.plan()), "nothing", "example {number}, afterwards");
    }
}

#[test]
fn a_plan_ends_where_ipamd_ends_unless_ipamd_is_wrong() {
    let differ = [5, 8, 12, 13, 16, 17];
    for example in EXAMPLES.iter().filter(|example| !differ.contains(&example.number)) {
        let mut ipamd = example.ipamd();
        example.ipamd.iter().for_each(|_| _ = ipamd.pass());
        let mut world = example.world();
        world.clock = 3600;
        world.apply(&world.plan().unwrap());
        let pool: Vec<_> = ipamd.pool.iter().map(|count| usize::try_from(*count).unwrap()).collect();
        assert_eq!(world.pool(), pool, "example {}", example.number);
    }
}

#[test]
fn nothing_is_given_back_before_it_has_been_unused_for_a_minute_or_longer_if_more_may_follow() {
    for number in [6, 7, 11, 24, 27, 30] {
        let example = EXAMPLES.iter().find(|example| example.number == number).unwrap();
        let mut world = example.world();
        // With whole interfaces as the target, nothing else can go with them.
        let due = match number {
            6 | 7 => 60,
            _ if example.has_prefixes() => 1800,
            _ => 180,
        };
        for (seconds, expected) in [(0, "nothing"), (due - 1, "nothing"), (due, example.ours)] {
            world.clock = seconds;
            assert_eq!(told(&world, &world.plan()), expected, "example {number} after {seconds} s");
        }
    }
}
