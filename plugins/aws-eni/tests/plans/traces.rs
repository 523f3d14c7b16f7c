//! Pods that come and go for hours: the pool follows them without giving back what it needs again.

use tenure_sdk::{Attributes, Effect, EffectKind};

use super::properties::{Random, Told, seeds, settings};
use super::world::{M5_LARGE, SupplySubnet, T3_SMALL, T3_SMALL_PREFIXES, World};

const SEEDS: u64 = 40;
const STEPS: u32 = 300;

/// A day of a node.
struct Day {
    world: World,
    random: Random,
    pods: Vec<u32>,
    waiting: Vec<u32>,
    next: u32,
    /// How many addresses were in use or wanted at the last growth, and at the last release.
    grown_at: u32,
    shrunk_at: Option<u32>,
}

impl Day {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let of = random.one_of(&[T3_SMALL, T3_SMALL_PREFIXES, M5_LARGE]);
        let (ipam, _) = settings(&mut random);
        let (pods, waiting) = (Vec::new(), Vec::new());
        Self { world: World::new(of, &ipam), random, pods, waiting, next: 0, grown_at: 0, shrunk_at: None }
    }

    fn demand(&self) -> u32 {
        let usage = self.world.node.book().usage(tenure_ledger::Shelf::whole(0));
        usage.held + usage.cooling + self.world.waiting
    }

    fn step(&mut self) {
        self.pods_change();
        self.plan();
        self.serve();
        self.see();
    }

    fn see(&mut self) {
        self.world.waiting = self.waiting.len().try_into().unwrap();
        self.world.see();
    }

    fn pods_change(&mut self) {
        match self.random.below(5) {
            0 | 1 => {
                for _ in 0..=self.random.below(4) {
                    self.next += 1;
                    self.waiting.push(self.next);
                }
            }
            2 | 3 => {
                for _ in 0..=self.random.below(5) {
                    let gone = self.random.below(self.pods.len().try_into().unwrap());
                    if !self.pods.is_empty() {
                        let pod = self.pods.swap_remove(gone as usize);
                        assert!(self.world.node.del(&format!("a/pod-{pod}")).unwrap());
                    }
                }
            }
            _ => {
                self.world.clock += u64::from(self.random.one_of(&[5_u32, 70, 600]));
                self.world.node.thaw();
            }
        }
        self.world.clock += 1;
        // More pods than the node has room for are not scheduled.
        self.waiting.truncate(4);
        self.serve();
        self.see();
    }

    fn serve(&mut self) {
        let (world, pods) = (&mut self.world, &mut self.pods);
        self.waiting.retain(|pod| match world.node.add(&format!("a/pod-{pod}")) {
            Ok(_) => {
                pods.push(*pod);
                false
            }
            Err(_) => true,
        });
    }

    fn plan(&mut self) {
        let Ok(effects) = self.world.plan() else { return };
        let demand = self.demand();
        let is_growth = |effect: &Effect| {
            matches!(
                effect.kind,
                EffectKind::AssignAddress | EffectKind::AssignPrefix | EffectKind::AttachInterface
            )
        };
        if effects.iter().any(is_growth) {
            let same = self.shrunk_at.is_some_and(|at| demand <= at);
            assert!(
                !same,
                "grown again at a demand of {demand}, released at {:?}: {effects:?}",
                self.shrunk_at
            );
            self.grown_at = demand;
            self.shrunk_at = None;
        } else if !effects.is_empty() {
            assert!(demand < self.grown_at, "released at {demand}, grown at {}: {effects:?}", self.grown_at);
            self.shrunk_at = Some(demand);
        }
        self.world.apply(&effects);
        if let Ok(again) = self.world.plan() {
            assert_eq!(again, [], "after {effects:?}");
        }
    }
}

#[test]
fn nothing_is_released_and_assigned_again_for_the_same_demand() {
    for seed in seeds(SEEDS) {
        let _told = Told(seed);
        let mut day = Day::new(seed);
        (0..STEPS).for_each(|_| day.step());
    }
}

#[test]
fn a_pool_follows_its_pods_whatever_ec2_runs_out_of() {
    for seed in seeds(SEEDS / 4) {
        let _told = Told(seed);
        let mut day = Day::new(seed);
        for _ in 0..STEPS {
            let backoff = |random: &mut Random| random.one_of(&["0", "0", "90"]);
            let (prefixes, addresses) = (backoff(&mut day.random), backoff(&mut day.random));
            let attributes =
                Attributes::new().with("backoff.prefixes", prefixes).with("backoff.addresses", addresses);
            let attributes = attributes.with("available", day.random.below(60).to_string());
            day.world.subnets = vec![SupplySubnet { name: "subnet-0".into(), attributes }];
            day.pods_change();
            // `apply` checks that nothing is given back that is used, and that everything fits.
            let mut plans = 0;
            while let Ok(effects) = day.world.plan() {
                if effects.is_empty() {
                    break;
                }
                day.world.apply(&effects);
                plans += 1;
                assert!(plans < 60, "it plans for ever: {effects:?}");
            }
            day.serve();
            day.see();
        }
    }
}

#[test]
fn a_pool_under_churn_keeps_its_interfaces() {
    // Example 8 for an hour: pods that are replaced again and again. ipamd creates and deletes an interface each minute.
    let mut world = World::new(T3_SMALL, r#"{ "warm": { "interfaces": 0 } }"#);
    let mut plans = 0;
    for minute in 0..60 {
        for pod in 0..3 {
            let owner = format!("a/pod-{pod}");
            _ = world.node.del(&owner);
            world.node.thaw();
            for _ in 0..3 {
                if world.node.add(&owner).is_ok() {
                    break;
                }
                world.waiting = 1;
                world.see();
                let effects = world.plan().unwrap();
                plans += usize::from(!effects.is_empty());
                world.apply(&effects);
                world.waiting = 0;
            }
        }
        world.see();
        world.clock = (minute + 1) * 60;
        let effects = world.plan().unwrap();
        plans += usize::from(!effects.is_empty());
        world.apply(&effects);
    }
    assert_eq!((plans, world.pool()), (2, vec![3, 3]), "one to begin with, and one interface");
}
