//! Targets by instance type, label and time: what becomes of a plan when another entry is in force.

use tenure_sdk::{Attributes, Object};
use tenure_testkit::Error;

use super::told::told;
use super::world::{M5_LARGE, T3_SMALL, World};

const SHIFTS: &str = r#"{ "warm": { "addresses": 1 }, "targets": [
    { "instanceTypes": ["m5.*"], "time": "08:00-18:00", "warm": { "addresses": 6 } },
    { "labels": { "pool": "batch" }, "warm": { "addresses": 3, "minimum": 4 } }
] }"#;

fn at(world: &mut World, time: &str) -> String {
    world.attributes.set("time.utc", format!("2026-01-05T{time}Z"));
    told(world, &world.plan())
}

#[test]
fn the_pool_grows_when_a_window_begins_and_gives_back_after_its_end() {
    let mut world = World::new(M5_LARGE, SHIFTS);
    world.attributes.set("instance.type", "m5.large");
    assert_eq!(at(&mut world, "07:59:59"), "assign 1 on eni-0");
    world.apply(&world.plan().unwrap());
    assert_eq!(at(&mut world, "07:59:59"), "nothing");
    assert_eq!(at(&mut world, "08:00:00"), "assign 5 on eni-0");
    let effects = world.plan().unwrap();
    assert_eq!(
        effects[0].attributes.get("reason").unwrap(),
        "wanted: 6 free and 0 in total (warm.addresses, warm.minimum), and 0 waiting; there are 1 free of 1, 0 held, 0 cooling; \
         targets: entry 1 (instance type m5.*, 08:00-18:00 UTC)"
    );
    world.apply(&effects);
    assert_eq!(at(&mut world, "17:59:59"), "nothing");
    assert_eq!(at(&mut world, "18:00:00"), "nothing", "not unused for long enough");
    world.clock += 180;
    assert_eq!(at(&mut world, "17:59:59"), "nothing", "within the window all are wanted");
    assert_eq!(at(&mut world, "18:03:00"), "release 5 on eni-0");
    let reason = world.plan().unwrap()[0].attributes.get("reason").unwrap().to_owned();
    assert!(reason.ends_with(" cooling; targets: no entry"), "{reason}");
}

#[test]
fn a_label_and_a_type_are_what_the_host_says() {
    let mut world = World::new(T3_SMALL, SHIFTS);
    world.attributes.set("instance.type", "t3.small");
    assert_eq!(at(&mut world, "12:00:00"), "assign 1 on eni-0");
    let label = |value: &str| Object {
        kind: "label".into(),
        name: "pool".into(),
        attributes: Attributes::new().with("value", value),
    };
    let labelled = |value| {
        let mut state = world.state();
        state.objects.push(label(value));
        told(&world, &world.node.plan(&state))
    };
    assert_eq!(labelled("web"), "assign 1 on eni-0");
    assert_eq!(labelled("batch"), "assign 3 on eni-0, attach 1");
}

#[test]
fn a_full_node_names_the_entry_that_wants_more() {
    let mut world = World::with(T3_SMALL, SHIFTS, &[3, 3, 3], false);
    (0..3).for_each(|eni| world.hold(eni, 3, 1));
    world.attributes.set("instance.type", "m5.large");
    world.attributes.set("time.utc", "2026-01-05T08:00:00Z");
    let Error { cause, .. } = world.plan().unwrap_err();
    assert!(cause.ends_with("; targets: entry 1 (instance type m5.*, 08:00-18:00 UTC)"), "{cause}");
}

#[test]
fn ipv6_has_no_targets() {
    let ipam = r#"{ "ipv4": false, "ipv6": true, "targets": [{ "warm": { "addresses": 6 } }] }"#;
    let world = World::new(M5_LARGE, ipam);
    assert_eq!(told(&world, &world.plan()), "assign 1 PD on eni-0");
    let reason = world.plan().unwrap()[0].attributes.get("reason").unwrap().to_owned();
    assert!(!reason.contains("targets"), "{reason}");
}
