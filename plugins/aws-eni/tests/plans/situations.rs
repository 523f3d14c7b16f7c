//! Situations beyond the worked examples: what EC2, the node or the operator makes of a plan.

use tenure_sdk::{Attributes, Effect, EffectKind};

use super::told::told;
use super::world::{M5_LARGE, SupplySubnet, T3_SMALL, T3_SMALL_PREFIXES, Type, World};

const PREFIXES: &str = r#"{ "prefixes": true, "warm": { "prefixes": 1 } }"#;

fn subnet(world: &mut World, name: &str, attributes: &[(&str, &str)]) {
    let attributes: Attributes = attributes.iter().copied().collect();
    world.subnets.retain(|subnet| subnet.name != name);
    world.subnets.push(SupplySubnet { name: name.into(), attributes });
}

fn plan(world: &World) -> String {
    told(world, &world.plan())
}

fn cause(world: &World) -> String {
    world.plan().unwrap_err().cause
}

#[test]
fn where_ec2_has_no_prefix_single_addresses_fill_the_same_interface() {
    let mut world = World::with(T3_SMALL_PREFIXES, PREFIXES, &[1], true);
    world.hold(0, 16, 16);
    world.waiting = 1;
    subnet(&mut world, "subnet-0", &[("available", "200"), ("backoff.prefixes", "90")]);
    assert_eq!(plan(&world), "assign 2 on eni-0, attach 3, attach 3");
    // Another subnet with prefixes comes first.
    subnet(&mut world, "subnet-1", &[("available", "100")]);
    assert_eq!(plan(&world), "attach 2 PD");
    let attach = world.plan().unwrap().remove(0);
    assert_eq!(attach.attributes.get("subnet"), Some("subnet-1"));
    // The operator may not want them mixed.
    let mut strict =
        World::with(T3_SMALL_PREFIXES, &PREFIXES.replace("true,", "true, \"fallback\": false,"), &[1], true);
    strict.hold(0, 16, 16);
    subnet(&mut strict, "subnet-0", &[("available", "200"), ("backoff.prefixes", "90")]);
    assert_eq!(plan(&strict), "not yet");
    assert!(
        cause(&strict).contains("subnet-0 is exhausted; EC2 is asked again in 90 s"),
        "{}",
        cause(&strict)
    );
}

#[test]
fn single_addresses_are_converted_back_when_prefixes_return() {
    let ipam = r#"{ "prefixes": true, "warm": { "addresses": 2 } }"#;
    let mut world = World::new(T3_SMALL_PREFIXES, ipam);
    subnet(&mut world, "subnet-0", &[("backoff.prefixes", "90")]);
    assert_eq!(plan(&world), "assign 2 on eni-0");
    world.apply(&world.plan().unwrap());
    assert_eq!(plan(&world), "nothing");
    world.clock = 600;
    assert_eq!(plan(&world), "nothing", "EC2 still has none");
    subnet(&mut world, "subnet-0", &[("backoff.prefixes", "0")]);
    assert_eq!(plan(&world), "assign 1 PD on eni-0");
    world.apply(&world.plan().unwrap());
    assert_eq!(plan(&world), "release 2 on eni-0");
    world.apply(&world.plan().unwrap());
    assert_eq!(plan(&world), "nothing");
    assert_eq!(world.pool(), [1]);
}

#[test]
fn what_ec2_refuses_is_named() {
    let mut world = World::with(T3_SMALL, r#"{ "warm": { "addresses": 1 } }"#, &[3], false);
    world.hold(0, 3, 1);
    let refused = [("interfaces", "false"), ("refused", "CreateNetworkInterface"), ("refused.seconds", "28")];
    subnet(&mut world, "subnet-0", &refused);
    assert!(
        cause(&world).contains("subnet-0: EC2 refuses CreateNetworkInterface; it is asked again in 28 s"),
        "{}",
        cause(&world)
    );
}

#[test]
fn a_full_interface_is_converted_one_slot_at_a_time_and_no_pod_notices() {
    let ipam = r#"{ "prefixes": true, "warm": { "addresses": 2 }, "maxInterfaces": 1 }"#;
    let mut world = World::with(T3_SMALL_PREFIXES, ipam, &[3], false);
    world.hold(0, 1, 1);
    world.clock = 0;
    assert_eq!(plan(&world), "nothing", "they are enough, and have just been used");
    world.clock += 60;
    let mut plans = Vec::new();
    while plan(&world) != "nothing" {
        plans.push(plan(&world));
        world.apply(&world.plan().unwrap());
        assert!(plans.len() < 10, "{plans:?}");
    }
    assert_eq!(plans, ["release 1 on eni-0", "assign 1 PD on eni-0", "release 1 on eni-0"]);
    assert_eq!(world.pool(), [2], "the held address and a prefix");
}

#[test]
fn a_full_interface_is_not_converted_for_a_prefix_that_ec2_lacks_or_while_pods_wait() {
    let ipam = r#"{ "prefixes": true, "warm": { "addresses": 1 }, "maxInterfaces": 1 }"#;
    let mut world = World::with(T3_SMALL_PREFIXES, ipam, &[3], false);
    world.hold(0, 1, 1);
    world.waiting = 1;
    assert_eq!(plan(&world), "nothing", "one of the two is about to be handed out");
    world.hold(0, 1, 1);
    world.waiting = 0;
    subnet(&mut world, "subnet-0", &[("backoff.prefixes", "90")]);
    assert_eq!(plan(&world), "nothing");
    subnet(&mut world, "subnet-0", &[("backoff.prefixes", "0")]);
    assert_eq!(plan(&world), "release 1 on eni-0");
}

#[test]
fn an_exhausted_subnet_is_not_asked_and_another_one_is() {
    let mut world = World::with(T3_SMALL, "{}", &[3], false);
    world.hold(0, 3, 1);
    subnet(&mut world, "subnet-0", &[("available", "50"), ("backoff.addresses", "30")]);
    assert_eq!(plan(&world), "not yet");
    subnet(&mut world, "subnet-1", &[("available", "3")]);
    subnet(&mut world, "subnet-2", &[("available", "2")]);
    assert_eq!(plan(&world), "attach 2, attach 1", "each needs an address of its own, too");
    subnet(&mut world, "subnet-3", &[("available", "9"), ("interfaces", "false")]);
    assert_eq!(plan(&world), "attach 2, attach 1", "not meant for interfaces");
    subnet(&mut world, "subnet-4", &[("available", "9")]);
    assert_eq!(plan(&world), "attach 3");
}

#[test]
fn an_interface_in_an_excluded_subnet_keeps_its_pods_and_takes_no_new_ones() {
    let mut world = World::with(M5_LARGE, r#"{ "warm": { "addresses": 1 } }"#, &[1, 4], false);
    world.enis[1].subnet = "subnet-9".into();
    world.hold(0, 1, 1);
    world.hold(1, 2, 1);
    world.cool(1, 1);
    subnet(&mut world, "subnet-9", &[("available", "99"), ("excluded", "true")]);
    assert_eq!(plan(&world), "assign 1 on eni-0, release 1 on eni-1");
    world.apply(&world.plan().unwrap());
    assert_eq!(plan(&world), "nothing");
    world.node.thaw();
    world.see();
    assert_eq!(plan(&world), "release 1 on eni-1");
    for pod in 2..=3 {
        world.node.del(&format!("test/pod-{pod}")).unwrap();
    }
    world.node.thaw();
    world.see();
    assert_eq!(plan(&world), "detach eni-1");
}

#[test]
fn the_primary_interface_of_a_custom_network_drains() {
    let mut world = World::with(M5_LARGE, r#"{ "customNetwork": { "enabled": true } }"#, &[9, 9], false);
    world.hold(0, 2, 1);
    assert_eq!(plan(&world), "release 7 on eni-0", "the other one has 9 free");
}

#[test]
fn what_somebody_else_manages_or_the_host_does_not_show_is_left_alone() {
    let mut world = World::with(T3_SMALL, "{}", &[3, 3, 3], false);
    world.enis[1].attributes.set("managed", "false");
    let shown = plan(&world);
    assert_eq!(shown, "detach eni-2");
    // EC2 stops showing an interface whose addresses the ledger has.
    let mut state = world.state();
    state.objects.retain(|object| object.name != "eni-2");
    let plan = world.node.plan(&state);
    assert_eq!(told(&world, &plan), "nothing", "unknown never means unused");
}

#[test]
fn a_pod_waits_while_an_interface_is_in_doubt_instead_of_finding_the_node_full() {
    let mut world = World::with(T3_SMALL, "{}", &[3, 3, 3], false);
    for eni in 0..3 {
        world.hold(eni, 3, 1);
    }
    world.waiting = 1;
    assert!(cause(&world).contains("no interface has room, and no more fit"), "{}", cause(&world));
    world.enis[1].attributes.set("slots.doubtful", "2");
    let words = cause(&world);
    assert!(words.contains("EC2 is asked about eni-1, of which 2 slots are in doubt"), "{words}");
    world.enis[1].attributes.set("slots.doubtful", "0");
    world.attributes.set("interfaces.hidden", "true");
    assert!(cause(&world).contains("EC2 refuses another one although it shows fewer"), "{}", cause(&world));
    world.enis[2].attributes.set("managed", "false");
    assert!(cause(&world).contains("EC2 is asked about eni-2, which is in doubt"), "{}", cause(&world));
    assert_eq!(plan(&world), "not yet");
}

#[test]
fn what_is_about_to_be_adopted_is_not_requested_from_ec2() {
    let mut world = World::with(T3_SMALL, r#"{ "warm": { "addresses": 1 } }"#, &[1], false);
    world.waiting = 2;
    assert_eq!(plan(&world), "assign 2 on eni-0");
    world.enis[0].attributes.set("settling.addresses", "2");
    assert_eq!(plan(&world), "nothing");
    world.waiting = 3;
    assert_eq!(plan(&world), "assign 1 on eni-0", "the rest is");
}

#[test]
fn a_draining_range_is_released_once_it_is_unused() {
    let mut world = World::with(T3_SMALL, "{}", &[3], false);
    world.hold(0, 1, 1);
    let ranges = world.enis[0].ranges.clone();
    world.node.drain("ipv4", &ranges[0].0).unwrap();
    world.node.drain("ipv4", &ranges[1].0).unwrap();
    let effects = world.plan().unwrap();
    let released: Vec<_> = effects.iter().filter_map(|effect| effect.attributes.get("range")).collect();
    assert_eq!(released, [ranges[1].0.as_str()], "the other one has a pod");
}

#[test]
fn a_node_that_is_not_schedulable_grows_only_for_what_waits() {
    let mut world = World::new(M5_LARGE, "{}");
    world.attributes.set("schedulable", "false");
    assert_eq!(plan(&world), "nothing");
    world.waiting = 2;
    assert_eq!(plan(&world), "assign 2 on eni-0");
    world.attributes.set("terminating", "true");
    assert_eq!(plan(&world), "nothing");
    let mut world = World::new(M5_LARGE, r#"{ "env": { "AWS_MANAGE_ENIS_NON_SCHEDULABLE": "true" } }"#);
    world.attributes.set("schedulable", "false");
    assert_eq!(plan(&world), "assign 9 on eni-0");
}

#[test]
fn a_type_without_prefixes_gets_single_addresses() {
    let mut world = World::new(M5_LARGE, PREFIXES);
    world.attributes.set("prefixes.supported", "false");
    assert_eq!(plan(&world), "assign 9 on eni-0");
}

#[test]
fn a_supply_that_is_fixed_is_left_as_it_is() {
    for key in ["fixedSupply", "imdsOnly"] {
        let mut world = World::with(T3_SMALL, &format!(r#"{{ "{key}": true }}"#), &[0, 3, 3], false);
        world.waiting = 5;
        assert_eq!(plan(&world), "nothing");
    }
}

#[test]
fn a_full_node_says_so_with_its_arithmetic_and_waits_for_what_is_pending() {
    let mut world = World::with(T3_SMALL, "{}", &[3, 3, 2], false);
    world.hold(0, 3, 1);
    world.hold(1, 3, 1);
    world.hold(2, 1, 1);
    let effects = world.plan().unwrap();
    assert_eq!(plan(&world), "assign 1 on eni-2");
    let reason =
        "wanted: 1 x 3 free (warm.interfaces), and 0 waiting; there are 1 free of 8, 7 held, 0 cooling";
    assert_eq!(effects[0].attributes.get("reason"), Some(reason));
    world.pending = effects;
    assert_eq!(plan(&world), "nothing", "more is coming");
    let pending = std::mem::take(&mut world.pending);
    world.apply(&pending);
    assert_eq!(plan(&world), "full");
    assert!(cause(&world).starts_with("pool ipv4 is full: no interface has room"), "{}", cause(&world));
}

#[test]
fn two_families_are_two_pools_of_which_ipv6_needs_one_prefix() {
    let mut world = World::with(M5_LARGE, r#"{ "ipv6": true, "warm": { "addresses": 1 } }"#, &[2], false);
    let effects = world.plan().unwrap();
    let ipv6: Vec<_> = effects.iter().filter(|effect| effect.pool == 1).collect();
    assert_eq!(ipv6.len(), 1);
    assert_eq!(
        (&ipv6[0].kind, ipv6[0].attributes.get("interface")),
        (&EffectKind::AssignPrefix, Some("eni-0"))
    );
    world.assign_ipv6(0);
    assert_eq!(told(&world, &world.plan()), "release 1 on eni-0", "one IPv4 address is enough");
    let got = world.node.add("a/web").unwrap();
    assert!(got.len() == 2 && got[0].is_ipv4() && got[1].is_ipv6(), "{got:?}");
}

#[test]
fn an_interface_without_addresses_is_detached_once_nothing_more_is_wanted() {
    let mut world = World::with(T3_SMALL, r#"{ "warm": { "addresses": 1 } }"#, &[2, 0], false);
    world.hold(0, 2, 1);
    assert_eq!(plan(&world), "assign 1 on eni-0");
    world.apply(&world.plan().unwrap());
    assert_eq!(plan(&world), "detach eni-1");
    world.enis[1].attached_at = world.clock - 59;
    assert_eq!(plan(&world), "nothing", "its addresses may be on their way");
}

#[test]
fn one_family_does_not_wait_for_the_other_and_ipv6_attaches_nothing_beside_ipv4() {
    let mut world = World::with(M5_LARGE, r#"{ "ipv6": true, "warm": { "addresses": 1 } }"#, &[3], false);
    let assign = Effect::new(EffectKind::AssignPrefix, 1).with("interface", "eni-0").with("count", "1");
    world.pending = vec![assign];
    assert_eq!(plan(&world), "release 2 on eni-0", "a prefix of IPv6 is coming");
    world.apply(&world.plan().unwrap());
    world.pending.clear();
    let mut state = world.state();
    state.objects.iter_mut().for_each(|object| object.attributes.set("ipv6.slots.free", "0"));
    state.attributes.set("interfaces.ipv6.slots", "1");
    assert_eq!(told(&world, &world.node.plan(&state)), "full");
}

#[test]
fn ipv6_alone_needs_a_type_with_prefixes() {
    let mut world = World::new(M5_LARGE, r#"{ "ipv4": false, "ipv6": true }"#);
    assert_eq!(plan(&world), "assign 1 PD on eni-0");
    world.attributes.set("prefixes.supported", "false");
    assert_eq!(plan(&world), "full");
    let words = "pool ipv6 is full: the instance type has no prefixes, which IPv6 needs; wanted: 1 free";
    assert!(cause(&world).starts_with(words), "{}", cause(&world));
}

#[test]
fn addresses_that_cool_leave_room_for_pods() {
    let mut world = World::with(Type { pods: 18, ..M5_LARGE }, "{}", &[9, 9], false);
    world.hold(0, 9, 1);
    world.hold(1, 5, 1);
    world.cool(1, 4);
    assert_eq!(plan(&world), "attach 4", "14 pods of 18 have an address, and none is free");
}

#[test]
fn more_pods_than_the_limit_are_served_if_they_wait() {
    let mut world = World::with(Type { pods: 4, ..M5_LARGE }, "{}", &[4], false);
    world.hold(0, 4, 1);
    assert_eq!(plan(&world), "nothing");
    world.waiting = 2;
    assert_eq!(plan(&world), "assign 2 on eni-0", "such as claims of agents, which are no pods");
}

#[test]
fn what_is_given_back_leaves_wholly_free_prefixes() {
    let mut world = World::with(T3_SMALL_PREFIXES, PREFIXES, &[3, 1], true);
    world.hold(0, 2, 1);
    assert_eq!(
        plan(&world),
        "detach eni-1",
        "30 addresses would be free without the last one, but no prefix"
    );
}

#[test]
fn a_plan_has_a_bounded_number_of_releases_and_the_next_one_has_the_rest() {
    let mut world =
        World::with(super::world::P3DN, r#"{ "warm": { "addresses": 1 } }"#, &[49, 49, 49, 49], false);
    for eni in 0..4 {
        world.hold(eni, 1, 1);
    }
    world.clock += 3600;
    let first = world.plan().unwrap();
    assert_eq!(first.len(), 128);
    world.apply(&first);
    let second = world.plan().unwrap();
    world.apply(&second);
    assert_eq!((first.len() + second.len(), plan(&world).as_str()), (4 * 48 - 1, "nothing"));
}

#[test]
fn what_fits_on_an_interface_on_its_way_is_worth_waiting_for() {
    let mut world = World::with(T3_SMALL, r#"{ "warm": { "addresses": 1 } }"#, &[3], false);
    world.hold(0, 3, 1);
    let effects = world.plan().unwrap();
    assert_eq!(effects.len(), 1);
    assert_eq!(
        (&effects[0].kind, effects[0].attributes.get("addresses")),
        (&EffectKind::AttachInterface, Some("1"))
    );
    world.pending = effects;
    world.waiting = 2;
    assert_eq!(plan(&world), "nothing", "two more fit on it, once it is there");
    world.waiting = 3;
    let more = world.plan().unwrap();
    assert_eq!((more.len(), more[0].attributes.get("addresses")), (1, Some("1")), "one does not");
    world.waiting = 2;
    let pending = std::mem::take(&mut world.pending);
    world.apply(&pending);
    assert_eq!(plan(&world), "assign 2 on eni-1");
}
