use tenure_types::{ContainerId, InterfaceName};

use super::*;

fn network(name: &str) -> NetworkName {
    NetworkName::new(name).unwrap()
}

fn owner(number: usize) -> Owner {
    let container = ContainerId::new(format!("c{number}")).unwrap();
    Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() }
}

fn at(wall_ms: u64) -> Moment {
    Moment { boot_ns: 0, wall_ms }
}

fn begun(source: &str) -> MoveFact {
    let (source, by) = (source.into(), "uid 0".into());
    MoveFact::Begun(Move { network: network("net"), source, by, entries: 9, reached: 0, at: at(1) })
}

fn ended(source: &str, end: MoveEnd) -> MoveFact {
    let why = Box::default();
    MoveFact::Ended { network: network("net"), source: source.into(), end, why, at: at(2) }
}

fn deleted(number: usize, wall_ms: u64) -> MoveFact {
    MoveFact::Deleted { network: network("net"), owner: owner(number), at: at(wall_ms) }
}

fn after(facts: &[MoveFact]) -> Moves {
    let mut moves = Moves::default();
    (1..).zip(facts).for_each(|(place, fact)| moves.apply(place, fact));
    moves
}

fn told(moves: &Moves) -> (Vec<String>, Vec<String>) {
    let net = network("net");
    let open = moves.open(&net).map(|open| format!("{} {}", open.source, open.reached));
    (open.collect(), moves.sources(&net).map(ToString::to_string).collect())
}

#[test]
fn each_source_ends_its_own_move_only() {
    let source = Arc::from("a");
    let reached = MoveFact::Reached { network: network("net"), source, reached: 7, at: at(1) };
    let facts = [begun("a"), begun("b"), reached, ended("b", MoveEnd::Finished)];
    let mut moves = after(&facts);
    assert_eq!(told(&moves), (vec!["a 7".to_owned()], vec!["b".to_owned()]));
    moves.apply(4, &ended("a", MoveEnd::Finished));
    assert_eq!(told(&moves).0.len(), 1, "a fact applied before changes nothing");
    moves.apply(5, &begun("a"));
    assert_eq!(told(&moves).0, ["a 0"], "begun again, it begins at the first entry");
    moves.apply(6, &ended("a", MoveEnd::Abandoned));
    assert_eq!(told(&moves), (vec![], vec!["b".to_owned()]), "an abandoned import is not a source");
    assert_eq!(moves.open(&network("other")).count() + moves.sources(&network("other")).count(), 0);
}

#[test]
fn an_operator_lets_go_of_a_source_only_once_no_move_of_it_is_open() {
    let finished = || ended("a", MoveEnd::Finished);
    let mut moves = after(&[begun("a"), finished(), begun("b"), ended("b", MoveEnd::Finished), begun("a")]);
    moves.apply(6, &ended("a", MoveEnd::Abandoned));
    assert_eq!(told(&moves), (vec![], vec!["a".to_owned(), "b".to_owned()]));
    moves.apply(7, &ended("a", MoveEnd::Abandoned));
    assert_eq!(told(&moves), (vec![], vec!["b".to_owned()]));
    assert_eq!(Moves::restore(7, moves.facts()), moves);
    moves.apply(8, &ended("b", MoveEnd::Abandoned));
    assert_eq!((told(&moves), moves.facts()), ((vec![], vec![]), vec![]));
}

#[test]
fn a_removal_by_an_older_program_leaves_only_the_deletions() {
    let forgotten = MoveFact::Forgotten { network: network("net"), at: at(3) };
    let facts = [begun("a"), begun("b"), ended("b", MoveEnd::Finished), deleted(1, 5), forgotten];
    let moves = after(&facts);
    assert_eq!(told(&moves), (vec![], vec![]));
    assert_eq!(moves.deleted(&network("net"), &owner(1)), Some(at(5)));
    assert_eq!(moves.deleted(&network("other"), &owner(1)), None);
}

#[test]
fn the_latest_deletion_of_an_attachment_counts() {
    let moves = after(&[deleted(1, 5), deleted(1, 4), deleted(2, 6), deleted(2, 8)]);
    assert_eq!(moves.deleted(&network("net"), &owner(1)), Some(at(5)));
    assert_eq!(moves.deleted(&network("net"), &owner(2)), Some(at(8)));
    assert_eq!((moves.deleted.len(), moves.oldest.len()), (2, 2));
}

#[test]
fn beyond_the_bound_the_oldest_deletions_are_forgotten() {
    let facts: Vec<_> = (0..MOST_DELETED + 2).map(|number| deleted(number, number as u64)).collect();
    let moves = after(&facts);
    assert_eq!((moves.deleted.len(), moves.oldest.len()), (MOST_DELETED, MOST_DELETED));
    let known = |number| moves.deleted(&network("net"), &owner(number)).is_some();
    assert_eq!([0, 1, 2, MOST_DELETED + 1].map(known), [false, false, true, true]);
}

#[test]
fn what_is_restored_is_what_was() {
    let finished = ended("b", MoveEnd::Finished);
    let moves = after(&[begun("a"), begun("b"), finished, begun("b"), deleted(1, 5), deleted(2, 4)]);
    assert_eq!(Moves::restore(6, moves.facts()), moves);
    assert_eq!((moves.through(), Moves::default().facts()), (6, vec![]));
}
