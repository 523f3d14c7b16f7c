use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::QuarantineSubject;

/// A step of the model test.
#[derive(Debug, Clone)]
enum Step {
    Give { owner: u32, pick: usize },
    Free { owner: u32 },
    Quarantine { pick: u8 },
    Lift { pick: u8 },
    Pass { milliseconds: u64 },
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u32..8, any::<usize>()).prop_map(|(owner, pick)| Step::Give { owner, pick }),
        3 => (0u32..8).prop_map(|owner| Step::Free { owner }),
        1 => (2u8..7).prop_map(|pick| Step::Quarantine { pick }),
        1 => (2u8..7).prop_map(|pick| Step::Lift { pick }),
        1 => (0u64..20_000).prop_map(|milliseconds| Step::Pass { milliseconds }),
        1 => Just(Step::Restore),
    ]
}

proptest! {
    /// Compares the book with a simple model of held, cooling, quarantined and free addresses.
    #[test]
    fn the_book_agrees_with_a_plain_model(steps in prop::collection::vec(step(), 0..80)) {
        let mut book = small(Cooling::Preferred);
        let mut held: BTreeMap<u32, IpAddr> = BTreeMap::new();
        let mut cooling: Vec<(IpAddr, u64)> = Vec::new();
        let mut barred: BTreeSet<IpAddr> = BTreeSet::new();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Give { owner: number, pick } => {
                    let all: Vec<IpAddr> = (0..=8).map(ip).collect();
                    let address = all[pick % all.len()];
                    let usable = address >= ip(2) && address <= ip(6);
                    let taken = held.values().any(|other| *other == address);
                    let cools = cooling.iter().any(|(other, _)| *other == address);
                    let unused = barred.iter().filter(|address| !held.values().any(|held| held == *address));
                    let others = held.len() + cooling.len() + unused.count() < 5;
                    let yields = !cools || !others;
                    let expected = usable && !taken && !barred.contains(&address) && yields && !held.contains_key(&number);
                    let fact = propose(&book, number, address);
                    prop_assert_eq!(fact.is_ok(), expected, "{:?}", fact);
                    if let Ok(fact) = fact {
                        book.apply(book.through() + 1, &fact).unwrap();
                        held.insert(number, address);
                        cooling.retain(|(other, _)| *other != address);
                    }
                }
                Step::Free { owner: number } => {
                    let fact = book.release(&owner(number), at(now), "del");
                    prop_assert_eq!(fact.is_some(), held.contains_key(&number));
                    if let Some(fact) = fact {
                        book.apply(book.through() + 1, &fact).unwrap();
                        let address = held.remove(&number).unwrap();
                        if !barred.contains(&address) {
                            cooling.push((address, now));
                        }
                    }
                }
                Step::Quarantine { pick } => {
                    let fact = book.quarantine(ip(pick), "odd", at(now)).unwrap();
                    prop_assert_eq!(fact.is_some(), barred.insert(ip(pick)));
                    if let Some(fact) = fact {
                        book.apply(book.through() + 1, &fact).unwrap();
                        cooling.retain(|(other, _)| *other != ip(pick));
                    }
                }
                Step::Lift { pick } => {
                    let fact = book.lift(QuarantineSubject::Address(ip(pick)), at(now), "");
                    prop_assert_eq!(fact.is_some(), barred.remove(&ip(pick)));
                    if let Some(fact) = fact {
                        book.apply(book.through() + 1, &fact).unwrap();
                        if !held.values().any(|held| *held == ip(pick)) {
                            cooling.push((ip(pick), now));
                        }
                    }
                }
                Step::Pass { milliseconds } => {
                    now += milliseconds;
                    book.expire(at(now), COOLDOWN);
                    cooling.retain(|(_, since)| now - since < 30_000);
                }
                Step::Restore => {
                    let restored = Book::restore(book.image()).unwrap();
                    prop_assert_eq!(restored.image(), book.image());
                    book = restored;
                }
            }
            let in_use: BTreeSet<IpAddr> = held.values().chain(&barred).copied().collect();
            let unavailable: BTreeSet<IpAddr> =
                in_use.iter().copied().chain(cooling.iter().map(|(address, _)| *address)).collect();
            let expected: Vec<IpAddr> = (2..=6).map(ip).filter(|ip| !unavailable.contains(ip)).collect();
            prop_assert_eq!(book.free(Shelf::whole(0), None, Direction::Ascending, 9), expected);
            let order: Vec<IpAddr> = cooling.iter().map(|(address, _)| *address).collect();
            prop_assert_eq!(book.cooling(Shelf::whole(0), 9), order);
            let counts = Usage {
                total: 5,
                held: u32::try_from(in_use.len()).unwrap(),
                cooling: u32::try_from(cooling.len()).unwrap(),
            };
            prop_assert_eq!(book.usage(Shelf::whole(0)), counts);
            for number in 0..8 {
                let addresses = book.owned_by(&owner(number)).map(|held| held.addresses[0].ip());
                prop_assert_eq!(addresses, held.get(&number).copied());
            }
        }
    }
}
