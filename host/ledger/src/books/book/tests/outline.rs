use proptest::prelude::*;
use tenure_types::{AgentName, ClaimName, Origin, agreed};

use super::*;
use crate::QuarantineSubject;
use crate::books::Supplied;

/// A step of a network with a pool of addresses in two labelled ranges, and one of prefixes.
#[derive(Debug, Clone)]
enum Step {
    Give { owner: u32, pick: usize, descending: bool },
    Claim { owner: u32, pick: usize },
    Free { owner: u32 },
    FreeClaim { owner: u32 },
    Quarantine { pick: u8 },
    Lift { pick: u8 },
    Pass { milliseconds: u64 },
    Drain { draining: bool },
    Reboot,
}

fn step() -> impl Strategy<Value = Step> {
    let give = (0u32..12, any::<usize>(), any::<bool>());
    prop_oneof![
        6 => give.prop_map(|(owner, pick, descending)| Step::Give { owner, pick, descending }),
        2 => (0u32..3, any::<usize>()).prop_map(|(owner, pick)| Step::Claim { owner, pick }),
        4 => (0u32..12).prop_map(|owner| Step::Free { owner }),
        1 => (0u32..3).prop_map(|owner| Step::FreeClaim { owner }),
        1 => (0u8..24).prop_map(|pick| Step::Quarantine { pick }),
        1 => (0u8..24).prop_map(|pick| Step::Lift { pick }),
        1 => (0u64..40_000).prop_map(|milliseconds| Step::Pass { milliseconds }),
        1 => any::<bool>().prop_map(|draining| Step::Drain { draining }),
        1 => Just(Step::Reboot),
    ]
}

const RACKS: [(u8, u8, &str); 2] = [(1, 6, "left"), (9, 14, "right")];

fn racks() -> Book {
    let rack = |(first, last, rack): (u8, u8, &str)| {
        let range = Range::new("192.168.1.0/24".parse().unwrap(), ip(first), ip(last), None, 24).unwrap();
        range.with(Attributes::new([("rack", rack)]).unwrap())
    };
    let prefixes = Range::new("10.5.0.0/24".parse().unwrap(), block(0), block(63), None, 28).unwrap();
    let prefixes = prefixes.with(Attributes::new([(agreed::ASSIGNS, agreed::PREFIXES)]).unwrap());
    let pool =
        |index, ranges| DefinedPool { pool: Pool { need: Need::Optional, ..Pool::numbered(index) }, ranges };
    let mut book = Book::empty(&name());
    let pools = vec![pool(0, RACKS.map(rack).to_vec()), pool(1, vec![prefixes])];
    define_pools(&mut book, Cooling::Preferred, pools);
    book
}

fn block(last: u8) -> IpAddr {
    IpAddr::from([10, 5, 0, last])
}

fn router(number: u32) -> Owner {
    let name = ClaimName::new(format!("p{number}")).unwrap();
    Owner::Claim { agent: AgentName::new("router").unwrap(), name }
}

/// Everything that a policy can ask, as text.
fn answers(book: &Book) -> String {
    let shelf = |pool, label| Shelf { pool, label, further: &[] };
    let labels =
        [None, Some(("rack", "left")), Some(("rack", "right")), Some((agreed::ASSIGNS, agreed::PREFIXES))];
    let shelves = (0..2).flat_map(|pool| labels.map(|label| shelf(pool, label)));
    let of_shelf = |of: Shelf<'_>| {
        let free = [Direction::Ascending, Direction::Descending]
            .map(|direction| book.free(of, book.last(of), direction, 99));
        (free, book.cooling(of, 99), book.last(of), book.usage(of))
    };
    let standing = (0..24).map(ip).chain((0..80).map(block)).map(|address| book.standing(address));
    let ranges = |pool| {
        Vec::from_iter(book.ranges(pool).map(|of| (of.range.first(), of.draining, of.held, of.cooling)))
    };
    let counts = ["blue", "red"].map(|value| book.count("pod.namespace", value));
    let more =
        [("owner.kind", "claim"), ("owner.kind", "attachment"), ("owner.agent", "router"), ("team", "t1")];
    let names = (0..12).map(|number| book.last_of(&pod_name(number)).to_vec());
    format!(
        "{:?} {:?} {:?} {counts:?} {:?} {:?} {:?}",
        shelves.map(of_shelf).collect::<Vec<_>>(),
        standing.collect::<Vec<_>>(),
        (ranges(0), ranges(1), book.usage_by(Shelf::whole(0), "rack", None).collect::<Vec<_>>()),
        more.map(|(name, value)| book.count(name, value)),
        names.collect::<Vec<_>>(),
        [book.last_of("router/p0"), book.last_of("router/p1")],
    )
}

fn pod_name(number: u32) -> String {
    format!("{}/pod-{number}", ["blue", "red"][number as usize % 2])
}

fn of_pod(number: u32) -> Request {
    let (namespace, pod) = (["blue", "red"][number as usize % 2], format!("pod-{number}"));
    let pod = PodIdentity { namespace: namespace.into(), name: pod.as_str().into(), uid: "".into() };
    let sandbox = Sandbox { pod: Some(pod), ..Sandbox::default() };
    Request { sandbox, ..request(owner(number), &[], 0) }
}

/// Admits a proposal of the picked address, if there is one to pick.
fn admit(
    book: &Book,
    request: &Request,
    pool: usize,
    from: &[IpAddr],
    pick: usize,
    now: u64,
) -> Option<LedgerFact> {
    let address = *from.get(pick.checked_rem(from.len())?)?;
    let tags = Attributes::new([("team", format!("t{}", pick % 3))]).unwrap();
    let proposal = Proposal { tags, ..Proposal::of([(pool, address)]) };
    let allocation = book.admit(request, &proposal, &stamp(), at(now)).ok()?;
    Some(LedgerFact::Allocated(Arc::new(allocation)))
}

fn fact_of(book: &Book, step: &Step, now: u64) -> Option<LedgerFact> {
    match *step {
        Step::Give { owner, pick, descending } => {
            let direction = if descending { Direction::Descending } else { Direction::Ascending };
            let mut from = book.free(Shelf::whole(0), None, direction, 99);
            from.extend(book.cooling(Shelf::whole(0), 99));
            admit(book, &of_pod(owner), 0, &from, pick, now)
        }
        Step::Claim { owner, pick } => {
            let from = book.free(Shelf::whole(1), None, Direction::Ascending, 9);
            admit(book, &request(router(owner), &[], 0), 1, &from, pick, now)
        }
        Step::Free { owner: number } => book.release(&owner(number), at(now), "del"),
        Step::FreeClaim { owner } => book.release(&router(owner), at(now), ""),
        Step::Quarantine { pick } => book.quarantine(ip(pick), "odd", at(now)).ok().flatten(),
        Step::Lift { pick } => book.lift(QuarantineSubject::Address(ip(pick)), at(now), ""),
        Step::Drain { draining } => {
            let Supplied { pool, range, .. } = book.supplied().swap_remove(1);
            let (network, range) = (name(), range.name().clone());
            Some(LedgerFact::RangeDraining { network, pool, range, draining, at: at(now) })
        }
        Step::Pass { .. } | Step::Reboot => None,
    }
}

proptest! {
    /// A book that follows another by its changes, or else by its outline, answers every question as the other does.
    #[test]
    fn who_follows_a_book_answers_as_it_does(steps in prop::collection::vec((step(), any::<bool>()), 0..80)) {
        let (mut book, mut now) = (racks(), 0);
        let mut follower = Book::of_outline(book.outline(), &stamp()).unwrap();
        book.follow();
        let mut position = book.position();
        for (step, is_asked) in steps {
            match step {
                Step::Pass { milliseconds } => {
                    now += milliseconds;
                    book.expire(at(now), COOLDOWN);
                }
                Step::Reboot => _ = book.enter_boot(at(now)).unwrap(),
                _ => if let Some(fact) = fact_of(&book, &step, now) {
                    book.apply(book.through() + 1, &fact).unwrap();
                },
            }
            if !is_asked {
                continue;
            }
            match book.changes_since(position) {
                Some(changes) => changes.iter().for_each(|change| follower.take_over(change).unwrap()),
                None => follower = Book::of_outline(book.outline(), &stamp()).unwrap(),
            }
            position = book.position();
            prop_assert_eq!(answers(&follower), answers(&book));
        }
    }
}

#[test]
fn who_follows_a_book_is_told_of_its_changes_and_not_of_the_whole_book() {
    let mut book = racks();
    book.follow();
    let position = book.position();
    let fact = fact_of(&book, &Step::Give { owner: 1, pick: 0, descending: false }, 0).unwrap();
    book.apply(book.through() + 1, &fact).unwrap();
    let changes = book.changes_since(position).unwrap();
    assert!(matches!(&changes[..], [crate::BookChange::Held(held)] if held.owner == owner(1)), "{changes:?}");
    assert_eq!(book.changes_since(book.position()), Some(Vec::new()));
}

#[test]
fn addresses_in_a_row_are_one_run_of_an_outline() {
    let mut book = small(Cooling::Strict);
    [2, 3, 4, 6].into_iter().for_each(|last| give(&mut book, last.into(), ip(last)));
    assert_eq!(book.outline().held, [(ip(2), ip(4)), (ip(6), ip(6))]);
}

/// An outline has an owner for each address: it may have more than the book.
#[test]
fn who_follows_a_book_numbers_the_allocations_by_itself() {
    let other = |last: u8| IpAddr::from([192, 168, 2, last]);
    let range = Range::new("192.168.2.0/29".parse().unwrap(), other(1), other(6), None, 29).unwrap();
    let mut book = book_of(Cooling::Strict, vec![vec![slash_29()], vec![range]]);
    let give_two = |book: &mut Book, number: u32, last: u8| {
        let proposal = Proposal::of([(0, ip(last)), (1, other(last))]);
        let allocation = book.admit(&request(owner(number), &[], 0), &proposal, &stamp(), at(0)).unwrap();
        book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
    };
    give_two(&mut book, 1, 2);
    let mut follower = Book::of_outline(book.outline(), &stamp()).unwrap();
    book.follow();
    let position = book.position();
    give_two(&mut book, 2, 3);
    give_two(&mut book, 3, 4);
    free(&mut book, 1, 1);
    free(&mut book, 2, 2);
    for change in book.changes_since(position).unwrap() {
        follower.take_over(&change).unwrap();
    }
    assert_eq!(answers(&follower), answers(&book));
    let held = |book: &Book| book.outline().held;
    assert_eq!(held(&follower), held(&book));
}

/// Whoever waits behind an owner has the address after it: an end alone does not say so.
#[test]
fn who_follows_a_book_learns_who_has_an_address_after_another() {
    let mut book = racks();
    let origin = || Origin { source: "files".into(), claims: vec!["a".into()], why: "".into() };
    let given = fact_of(&book, &Step::Give { owner: 1, pick: 0, descending: false }, 0).unwrap();
    book.apply(book.through() + 1, &given).unwrap();
    let address = book.owned_by(&owner(1)).unwrap().addresses[0].ip();
    let waits = book.hold(address, origin(), &stamp(), at(0)).unwrap();
    let facts = [LedgerFact::Allocated(Arc::new(waits)), book.release(&owner(1), at(1), "del").unwrap()];
    let mut follower = Book::of_outline(book.outline(), &stamp()).unwrap();
    book.follow();
    for fact in facts {
        let position = book.position();
        book.apply(book.through() + 1, &fact).unwrap();
        match book.changes_since(position) {
            Some(changes) => changes.iter().for_each(|change| follower.take_over(change).unwrap()),
            None => follower = Book::of_outline(book.outline(), &stamp()).unwrap(),
        }
        assert_eq!(answers(&follower), answers(&book), "{fact:?}");
        assert_eq!(follower.standing(address), Standing::Held);
    }
}

#[test]
fn an_outline_with_more_addresses_than_a_book_can_hold_is_refused() {
    let all = (IpAddr::from([0; 16]), IpAddr::from([255; 16]));
    let outline = crate::Outline { held: vec![all], ..racks().outline() };
    assert!(Book::of_outline(outline, &stamp()).is_err());
}

#[test]
fn a_run_of_an_outline_lies_within_one_family() {
    let run = |first, last| {
        let outline = crate::Outline { held: vec![(first, last)], ..racks().outline() };
        Book::of_outline(outline, &stamp())
    };
    let v6 = IpAddr::from([0; 16]);
    assert_eq!(run(v6, v6).unwrap().standing(v6), Standing::Held);
    assert!(run(ip(1), v6).is_err(), "two families have no run in common");
}
