//! What holds for every plan, on random nodes. A failure names its seed; `TENURE_SEED` repeats it, and `TENURE_SEEDS` sets
//! the number of seeds.

use tenure_fixtures::random::many_seeds;
use tenure_sdk::{Attributes, Effect, EffectKind, SupplySituation};
use tenure_testkit::ErrorCode;

use super::world::{M5_LARGE, P3DN, T3_SMALL, T3_SMALL_PREFIXES, Type, World};

const SEEDS: u64 = 400;

/// Repeatable numbers: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) % u64::from(most.max(1))).unwrap()
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len().try_into().unwrap()) as usize]
    }
}

/// The seeds to run.
pub(crate) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    many_seeds("plans", count).unwrap()
}

/// Says which seed a panic came from.
pub(crate) struct Told(pub(crate) u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("TENURE_SEED={} repeats it", self.0);
        }
    }
}

const TYPES: [Type; 4] = [T3_SMALL, T3_SMALL_PREFIXES, M5_LARGE, P3DN];

/// A configuration, and whether it has prefixes.
pub(crate) fn settings(random: &mut Random) -> (String, bool) {
    let prefixes = random.below(2) == 0;
    let warm = match random.below(3) {
        0 => format!(r#""addresses": {}, "minimum": {}"#, random.below(20) + 1, random.below(30)),
        1 if prefixes => format!(r#""prefixes": {}"#, random.below(3) + 1),
        1 => format!(r#""interfaces": {}"#, random.below(3)),
        _ => format!(r#""minimum": {}"#, random.below(30) + 1),
    };
    let most = match random.below(3) {
        0 => format!(r#", "maxInterfaces": {}"#, random.below(4) + 1),
        _ => String::new(),
    };
    let idle = random.one_of(&[0, 60, 300]);
    (format!(r#"{{ "prefixes": {prefixes}, "warm": {{ {warm} }}, "idleSeconds": {idle}{most} }}"#), prefixes)
}

/// A node in any state, with ranges of one kind only.
fn node(random: &mut Random) -> World {
    let of = random.one_of(&TYPES);
    let (ipam, prefixes) = settings(random);
    let count = random.below(of.interfaces.min(4)) + 1;
    // Only the primary interface may have nothing on it: another one is detached when it becomes empty.
    let ranges = |eni: u32| random.below(of.slots.min(12)) + u32::from(eni > 0);
    let pool: Vec<u32> = (0..count).map(ranges).collect();
    let mut world = World::with(of, &ipam, &pool, prefixes);
    world.clock = 0;
    for (eni, ranges) in pool.iter().enumerate() {
        let size = if prefixes { 16 } else { 1 };
        let (pods, each) = (random.below(ranges * size + 1), random.one_of(&[1, 5, 16]));
        let pods = pods.min(ranges * u32::try_from(each).unwrap().min(size));
        if random.below(3) > 0 {
            world.hold(eni, pods, each);
        } else {
            world.cool(eni, pods);
        }
    }
    world.clock = u64::from(random.one_of(&[0_u32, 59, 60, 1000]));
    world.waiting = random.one_of(&[0, 0, 1, 7, 40]);
    world
}

fn is_growth(effect: &Effect) -> bool {
    matches!(effect.kind, EffectKind::AssignAddress | EffectKind::AssignPrefix | EffectKind::AttachInterface)
}

#[test]
fn a_plan_that_is_carried_out_leaves_nothing_to_plan() {
    for seed in seeds(SEEDS) {
        let _told = Told(seed);
        let mut world = node(&mut Random(seed));
        // `apply` checks that nothing is given back that is held or cooling, and that everything fits.
        let Ok(effects) = world.plan() else { continue };
        world.apply(&effects);
        // What is assigned and given back in one plan would contradict itself.
        assert!(effects.iter().all(is_growth) || !effects.iter().any(is_growth), "{effects:?}");
        if let Ok(again) = world.plan() {
            assert_eq!(again, [], "after {effects:?}");
        }
    }
}

#[test]
fn a_node_with_ranges_of_both_kinds_comes_to_rest() {
    for seed in seeds(SEEDS / 2) {
        let _told = Told(seed);
        let mut random = Random(seed);
        let mut world = node(&mut random);
        for eni in 0..world.enis.len() {
            let free =
                world.of.slots.min(12).saturating_sub(world.enis[eni].ranges.len().try_into().unwrap());
            let prefixes = world.enis.iter().flat_map(|eni| &eni.ranges).any(|(_, is_prefix)| *is_prefix);
            let count = random.below(free + 1);
            world.assign(eni, count, !prefixes);
            let held = random.below(count + 1);
            world.hold(eni, held, 1);
        }
        world.clock += u64::from(random.one_of(&[0_u32, 300]));
        let ranges: usize = world.pool().iter().sum();
        let mut plans = Vec::new();
        while let Ok(effects) = world.plan() {
            if effects.is_empty() {
                break;
            }
            world.apply(&effects);
            plans.push(effects);
            // Converting takes a plan to make room for each range, and one to fill it.
            assert!(plans.len() <= 2 * ranges + 2, "it plans for ever: {plans:?}");
        }
    }
}

#[test]
fn the_same_state_gets_the_same_plan_in_whatever_order_it_is_told() {
    for seed in seeds(SEEDS) {
        let _told = Told(seed);
        let mut random = Random(seed);
        let world = node(&mut random);
        let state = world.state();
        let mut shuffled = state.objects.clone();
        for index in 0..shuffled.len() {
            let other = random.below(shuffled.len().try_into().unwrap());
            shuffled.swap(index, other as usize);
        }
        let plan = world.node.plan(&state);
        assert_eq!(plan, world.node.plan(&state));
        assert_eq!(plan, world.node.plan(&SupplySituation { objects: shuffled, ..state }));
    }
}

#[test]
fn what_is_pending_is_never_planned_again() {
    for seed in seeds(SEEDS) {
        let _told = Told(seed);
        let mut world = node(&mut Random(seed));
        let Ok(effects) = world.plan() else { continue };
        if effects.is_empty() {
            continue;
        }
        world.pending = effects.clone();
        // Not even partly done: the rest is neither planned again nor given back.
        assert_eq!(world.plan(), Ok(Vec::new()), "while {effects:?}");
        let done = world.pending.remove(0);
        world.apply(&[done]);
        // Once everything is done, the node may turn out to be full.
        let rest = world.plan();
        assert!(
            rest == Ok(Vec::new()) || world.pending.is_empty() && rest.is_err(),
            "{rest:?}, while {:?}",
            world.pending
        );
    }
}

#[test]
fn growth_stays_within_the_limits_of_the_node() {
    for seed in seeds(SEEDS) {
        let _told = Told(seed);
        let mut random = Random(seed);
        let mut world = node(&mut random);
        let Ok(effects) = world.plan() else { continue };
        if !effects.iter().any(is_growth) {
            continue;
        }
        let before = world.node.book().usage(tenure_ledger::Shelf::whole(0));
        let limit = world.of.pods.max(before.held + world.waiting);
        world.apply(&effects);
        let after = world.node.book().usage(tenure_ledger::Shelf::whole(0));
        let size =
            if world.enis.iter().flat_map(|eni| &eni.ranges).any(|(_, prefix)| *prefix) { 16 } else { 1 };
        let usable = after.total - after.cooling;
        assert!(usable < limit + size, "{usable} usable addresses for {limit} pods");
        let root =
            tenure_sdk::Config::new("net", &world.node.book().network().config.ipam, &[]).root().unwrap();
        let most = root.get("maxInterfaces").unwrap().map(|most| most.count().unwrap());
        let attached = u32::try_from(world.enis.len()).unwrap();
        let has_attached = effects.iter().any(|effect| effect.kind == EffectKind::AttachInterface);
        assert!(
            !has_attached || most.is_none_or(|most| attached <= most),
            "{attached} of {most:?} interfaces"
        );
    }
}

#[test]
fn nonsense_in_the_state_neither_stops_a_plan_nor_makes_it_endless() {
    const NUMBERS: [&str; 7] = ["0", "1", "4294967295", "4294967296", "-1", "x", ""];
    const NAMES: [&str; 14] = [
        "slots.free",
        "age.seconds",
        "primary",
        "managed",
        "subnet",
        "available",
        "excluded",
        "backoff.prefixes",
        "idle.seconds",
        "interfaces.free",
        "interfaces.slots",
        "pods.max",
        "count",
        "addresses",
    ];
    for seed in seeds(SEEDS) {
        let _told = Told(seed);
        let mut random = Random(seed);
        let world = node(&mut random);
        let mut state = world.state();
        let mut spoil = |attributes: &mut Attributes| {
            for _ in 0..random.below(4) {
                attributes.set(random.one_of(&NAMES), random.one_of(&NUMBERS));
            }
        };
        state.objects.iter_mut().for_each(|object| spoil(&mut object.attributes));
        spoil(&mut state.attributes);
        for kind in [EffectKind::AttachInterface, EffectKind::AssignAddress, EffectKind::DetachInterface] {
            let mut pending = Effect::new(kind, seed.try_into().unwrap());
            spoil(&mut pending.attributes);
            state.pending.push(pending);
        }
        state.objects.extend(state.objects.clone());
        state.waiting = vec![(0, u32::MAX), (0, 1), (9, 1)];
        match world.node.plan(&state) {
            Ok(effects) => assert!(effects.len() <= 192, "{} effects", effects.len()),
            Err(error) => assert!(error.code != ErrorCode::PolicyFailed, "{error}"),
        }
    }
}
