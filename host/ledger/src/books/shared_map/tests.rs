use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use super::chunk::MOST;
use super::*;

/// Enough keys for several chunks, few enough that they meet.
const KEYS: u32 = 600;

#[derive(Debug, Clone)]
enum Step {
    Insert(u32),
    Append,
    Remove(u32),
    RemoveAll(u32, u32),
    Change(u32),
    PopFirst,
    Copy,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS;
    prop_oneof![
        6 => key.clone().prop_map(Step::Insert),
        6 => Just(Step::Append),
        4 => key.clone().prop_map(Step::Remove),
        1 => (key.clone(), 0..200u32).prop_map(|(from, count)| Step::RemoveAll(from, from + count)),
        2 => key.prop_map(Step::Change),
        2 => Just(Step::PopFirst),
        1 => Just(Step::Copy),
    ]
}

fn bound() -> impl Strategy<Value = Bound<u32>> {
    prop_oneof![
        (0..KEYS).prop_map(Bound::Included),
        (0..KEYS).prop_map(Bound::Excluded),
        Just(Bound::Unbounded)
    ]
}

/// The invariants of the chunks.
fn check(map: &SharedMap<u32, usize>) {
    let mut count = 0;
    for indexed in map.chunks.iter() {
        let entries: Vec<_> = indexed.chunk.entries(0, None).collect();
        assert!((1..=MOST).contains(&entries.len()) && entries[0].0 == &indexed.first);
        count += entries.len();
    }
    assert_eq!(count, map.len());
    assert!(map.keys().is_sorted_by(|one, next| one < next));
}

fn same(map: &SharedMap<u32, usize>, model: &BTreeMap<u32, usize>) {
    check(map);
    assert!(map.iter().eq(model) && map.iter().rev().eq(model.iter().rev()));
    assert_eq!((map.iter().len(), map.is_empty()), (model.len(), model.is_empty()));
}

proptest! {
    #[test]
    fn it_is_the_sorted_map_of_the_standard_library_and_so_are_its_copies(
        filled in 0..KEYS,
        steps in prop::collection::vec(step(), 0..400),
        ranges in prop::collection::vec((bound(), bound()), 20),
    ) {
        let mut map: SharedMap<u32, usize> = (0..filled).map(|key| (key * 2, 0)).collect();
        let mut model: BTreeMap<u32, usize> = (0..filled).map(|key| (key * 2, 0)).collect();
        let mut copies = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(key) => prop_assert_eq!(map.insert(key, number), model.insert(key, number)),
                Step::Append => {
                    let key = model.last_key_value().map_or(0, |(key, _)| key + 1);
                    prop_assert_eq!(map.insert(key, number), model.insert(key, number));
                }
                Step::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                Step::RemoveAll(from, to) => {
                    (from..to).for_each(|key| assert_eq!(map.remove(&key), model.remove(&key)));
                }
                Step::Change(key) => {
                    let changed = map.get_mut(&key).map(|value| std::mem::replace(value, number));
                    prop_assert_eq!(changed, model.get_mut(&key).map(|value| std::mem::replace(value, number)));
                }
                Step::PopFirst => prop_assert_eq!(map.pop_first(), model.pop_first()),
                Step::Copy => copies.push((map.clone(), model.clone())),
            }
            check(&map);
        }
        copies.push((map, model));
        for (map, model) in &copies {
            same(map, model);
            for (from, to) in &ranges {
                let inside: Vec<_> = map.range((*from, *to)).collect();
                let expected: Vec<_> = model.iter().filter(|(key, _)| (*from, *to).contains(*key)).collect();
                prop_assert_eq!(&inside, &expected);
                let backwards: Vec<_> = map.range((*from, *to)).rev().collect();
                prop_assert!(backwards.iter().eq(expected.iter().rev()));
            }
        }
        let (mut last, _) = copies.pop().unwrap();
        last.for_each_value(|value| *value = 1);
        prop_assert!(last.values().all(|value| *value == 1));
        copies.iter().for_each(|(map, model)| same(map, model));
    }
}

/// The chunks that two maps have in common.
fn shared(one: &SharedMap<u32, usize>, other: &SharedMap<u32, usize>) -> usize {
    let is_common = |chunk: &Arc<_>| other.chunks.iter().any(|indexed| Arc::ptr_eq(&indexed.chunk, chunk));
    one.chunks.iter().filter(|indexed| is_common(&indexed.chunk)).count()
}

#[test]
fn a_change_copies_one_chunk_and_nothing_that_nobody_else_has() {
    let mut map: SharedMap<u32, usize> = (0..10_000).map(|key| (key, 0)).collect();
    let copy = map.clone();
    assert!(Arc::ptr_eq(&map.chunks, &copy.chunks), "a copy is one reference");
    assert_eq!((map.remove(&20_000), map.get_mut(&20_000)), (None, None));
    assert!(Arc::ptr_eq(&map.chunks, &copy.chunks), "what changes nothing copies nothing");
    let all = map.chunks.len();
    map.insert(5_000, 1);
    assert_eq!(shared(&map, &copy), all - 1);
    let chunk = |map: &SharedMap<u32, usize>| Arc::as_ptr(&map.chunks[map.chunk_of(&5_000)].chunk);
    let own = chunk(&map);
    map.insert(5_000, 2);
    assert_eq!(chunk(&map), own, "the chunk is its own already");
}

#[test]
fn chunks_in_ascending_order_are_full_and_those_that_shrink_are_joined() {
    let mut map: SharedMap<u32, usize> = (0..10_000).map(|key| (key, 0)).collect();
    assert_eq!(map.chunks.len(), 10_000_usize.div_ceil(MOST));
    (0..10_000).filter(|key| key % 8 != 0).for_each(|key| _ = map.remove(&key));
    assert!(map.chunks.len() <= 3 * 1_250 / MOST, "{} chunks", map.chunks.len());
    check(&map);
}

#[test]
fn chunks_that_were_joined_have_room_for_a_quarter_more() {
    let lens = |map: &SharedMap<u32, usize>| {
        map.chunks.iter().map(|indexed| indexed.chunk.entries(0, None).count()).collect::<Vec<_>>()
    };
    let mut map: SharedMap<u32, usize> = (0..256).map(|key| (key, 0)).collect();
    (0..64).chain(128..223).for_each(|key| _ = map.remove(&key));
    assert_eq!(lens(&map), [64, 33]);
    map.remove(&223);
    assert_eq!(lens(&map), [MOST - MOST / 4]);
}
