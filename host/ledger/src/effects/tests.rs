use tenure_types::{Attributes, EffectKind, Moment, PoolName};

use super::*;

fn network(name: &str) -> NetworkName {
    NetworkName::new(name).unwrap()
}

fn id(name: &str) -> IntentId {
    IntentId::new(name).unwrap()
}

fn pairs(pairs: &[(&str, &str)]) -> Attributes {
    Attributes::new(pairs.iter().copied()).unwrap()
}

fn intent(name: &str, of: &str, wall_ms: u64) -> Intent {
    Intent {
        id: id(name),
        network: network(of),
        pool: PoolName::new("eni").unwrap(),
        kind: EffectKind::AttachInterface,
        attributes: pairs(&[("prefixes", "1")]),
        takes: Vec::new(),
        origin: IntentOrigin::Host,
        since: Moment { wall_ms, ..Moment::default() },
        reached: Attributes::default(),
    }
}

fn reached(name: &str, interface: &str) -> EffectFact {
    let (id, network, reached) = (id(name), network("pods"), pairs(&[("interface", interface)]));
    EffectFact::Reached { id, network, reached, at: Moment::default() }
}

fn done(name: &str) -> EffectFact {
    let (id, network) = (id(name), network("pods"));
    EffectFact::Done { id, network, at: Moment::default() }
}

fn object(name: &str, slots: &str) -> Object {
    Object { kind: "interface".into(), name: name.into(), attributes: pairs(&[("slots.free", slots)]) }
}

fn seen(name: &str, slots: &str) -> EffectFact {
    EffectFact::Seen { object: object(name, slots), at: Moment::default() }
}

#[test]
fn an_intent_lasts_until_it_ends_and_keeps_what_it_has_reached() {
    let mut effects = Effects::default();
    let facts = [
        EffectFact::Intended(intent("b", "pods", 5)),
        EffectFact::Intended(intent("a", "pods", 5)),
        EffectFact::Intended(intent("c", "pods", 4)),
        EffectFact::Intended(intent("other", "web", 1)),
        reached("b", "eni-1"),
        reached("unknown", "eni-9"),
    ];
    (1..).zip(&facts).for_each(|(place, fact)| effects.apply(place, fact));
    let names: Vec<_> = effects.of(&network("pods")).iter().map(|intent| intent.id.to_string()).collect();
    assert_eq!(names, ["c", "a", "b"], "the oldest first");
    assert_eq!(effects.get(&id("b")).unwrap().reached.get("interface"), Some("eni-1"));
    assert_eq!(effects.open().count(), 4);
    effects.apply(7, &done("b"));
    assert_eq!((effects.get(&id("b")), effects.open().count(), effects.through()), (None, 3, 7));
    effects.apply(7, &done("a"));
    assert!(effects.get(&id("a")).is_some(), "a fact applied before changes nothing");
}

#[test]
fn an_object_is_as_it_was_last_seen() {
    let mut effects = Effects::default();
    let gone = EffectFact::Gone { kind: "interface".into(), name: "eni-2".into(), at: Moment::default() };
    let facts = [seen("eni-1", "3"), seen("eni-2", "1"), seen("eni-1", "2"), gone];
    (1..).zip(&facts).for_each(|(place, fact)| effects.apply(place, fact));
    assert_eq!(effects.objects().map(|object| &**object).collect::<Vec<_>>(), [&object("eni-1", "2")]);
}

#[test]
fn what_is_restored_is_what_was() {
    let mut effects = Effects::default();
    let facts = [EffectFact::Intended(intent("a", "pods", 1)), reached("a", "eni-1"), seen("eni-1", "3")];
    (1..).zip(&facts).for_each(|(place, fact)| effects.apply(place, fact));
    let open: Vec<_> = effects.open().map(|intent| (**intent).clone()).collect();
    let objects: Vec<_> = effects.objects().map(|object| (**object).clone()).collect();
    assert_eq!(Effects::restore(3, open, objects), effects);
}

#[test]
fn a_fact_is_about_its_network_or_about_the_node() {
    assert_eq!(EffectFact::Intended(intent("a", "pods", 1)).network(), Some(&network("pods")));
    assert_eq!(reached("a", "x").network(), Some(&network("pods")));
    assert_eq!(done("a").network(), Some(&network("pods")));
    assert_eq!(seen("eni-1", "1").network(), None);
}
