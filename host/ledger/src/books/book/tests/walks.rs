use super::*;

#[test]
fn a_walk_starts_behind_the_last_and_goes_around() {
    let mut book = small(Cooling::Preferred);
    let ascending = |book: &Book, after| book.free(Shelf::whole(0), after, Direction::Ascending, 9);
    assert_eq!(ascending(&book, None), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(ascending(&book, Some(ip(3))), [4, 5, 6, 2, 3].map(ip));
    assert_eq!(ascending(&book, Some(ip(6))), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(ascending(&book, Some(ip(200))), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(book.free(Shelf::whole(0), None, Direction::Descending, 2), [6, 5].map(ip));
    assert_eq!(book.free(Shelf::whole(0), Some(ip(3)), Direction::Descending, 9), [2, 6, 5, 4, 3].map(ip));
    give(&mut book, 1, ip(4));
    assert_eq!(ascending(&book, book.last(Shelf::whole(0))), [5, 6, 2, 3].map(ip));
    assert_eq!(book.free(Shelf::whole(7), None, Direction::Ascending, 1), Vec::<IpAddr>::new());
}

#[test]
fn a_walk_goes_through_every_range_and_begins_in_the_one_of_the_last() {
    let range =
        |first, last| Range::new("192.168.1.0/24".parse().unwrap(), ip(first), ip(last), None, 24).unwrap();
    let book = book_of(Cooling::Strict, vec![vec![range(1, 2), range(11, 12)]]);
    let walk = |after, direction| book.free(Shelf::whole(0), after, direction, 9);
    assert_eq!(walk(None, Direction::Ascending), [1, 2, 11, 12].map(ip));
    assert_eq!(walk(None, Direction::Descending), [12, 11, 2, 1].map(ip));
    assert_eq!(walk(Some(ip(11)), Direction::Ascending), [12, 1, 2, 11].map(ip));
    assert_eq!(walk(Some(ip(11)), Direction::Descending), [2, 1, 12, 11].map(ip));
}

#[test]
fn a_walk_goes_on_with_the_next_range_and_comes_back_from_the_other_end() {
    let range = |last| Range::new("192.168.1.0/24".parse().unwrap(), ip(last), ip(last), None, 24).unwrap();
    let book = book_of(Cooling::Strict, vec![[1, 2, 3, 4].map(range).to_vec()]);
    let walk = |direction| book.free(Shelf::whole(0), Some(ip(2)), direction, 9);
    assert_eq!(walk(Direction::Ascending), [3, 4, 1, 2].map(ip));
    assert_eq!(walk(Direction::Descending), [1, 4, 3, 2].map(ip));
}

#[test]
fn a_thousand_full_ranges_are_passed_at_once_and_shelves_keep_count() {
    let range = |number: u16| {
        let [high, low] = number.to_be_bytes();
        let subnet = format!("10.{high}.{low}.0/30").parse().unwrap();
        let zone = if number.is_multiple_of(2) { "even" } else { "odd" };
        let range =
            Range::new(subnet, [10, high, low, 1].into(), [10, high, low, 1].into(), None, 30).unwrap();
        range.with(Attributes::new([("zone", zone)]).unwrap())
    };
    let mut book = book_of(Cooling::Preferred, vec![(0..1000).map(range).collect()]);
    let shelf = |zone: &'static str| Shelf::labelled(0, "zone", zone);
    for number in 0..999_u16 {
        let [high, low] = number.to_be_bytes();
        give(&mut book, number.into(), [10, high, low, 1].into());
    }
    let last = IpAddr::from([10, 3, 231, 1]);
    assert_eq!(book.free(Shelf::whole(0), book.last(Shelf::whole(0)), Direction::Ascending, 9), [last]);
    assert_eq!(book.free(shelf("odd"), None, Direction::Ascending, 9), [last]);
    assert_eq!(book.free(shelf("even"), None, Direction::Ascending, 9), Vec::<IpAddr>::new());
    assert_eq!(book.usage(shelf("even")), Usage { total: 500, held: 500, cooling: 0 });
    free(&mut book, 4, 1);
    let four = IpAddr::from([10, 0, 4, 1]);
    assert_eq!((book.cooling(shelf("even"), 9), book.cooling(shelf("odd"), 9)), (vec![four], vec![]));
    assert_eq!(book.last(shelf("even")), Some(IpAddr::from([10, 3, 230, 1])));
    assert_eq!(Book::restore(book.image()).unwrap().image(), book.image());
}

#[test]
fn several_labels_cover_the_ranges_that_have_all_of_them() {
    let range = |third: u8, zone: &str, tier: &str| {
        let at = |last| IpAddr::from([10, 0, third, last]);
        let subnet = format!("10.0.{third}.0/29").parse().unwrap();
        let range = Range::new(subnet, at(1), at(2), None, 29).unwrap();
        range.with(Attributes::new([("zone", zone), ("tier", tier)]).unwrap())
    };
    let ranges = [(1, "a", "web"), (2, "a", "db"), (3, "b", "web"), (4, "a", "web")];
    let ranges = ranges.map(|(third, zone, tier)| range(third, zone, tier)).to_vec();
    let mut book = book_of(Cooling::Preferred, vec![ranges]);
    let at = |third: u8, last: u8| IpAddr::from([10, 0, third, last]);
    let labels = [("zone", "a"), ("tier", "web")];
    let both = Shelf::of(0, &labels);
    let turned = [labels[1], labels[0]];
    let all = [at(1, 1), at(1, 2), at(4, 1), at(4, 2)];
    for shelf in [both, Shelf::of(0, &turned)] {
        assert_eq!(book.free(shelf, None, Direction::Ascending, 9), all);
        assert_eq!(
            book.free(shelf, Some(at(4, 1)), Direction::Descending, 9),
            [at(1, 2), at(1, 1), at(4, 2), at(4, 1)]
        );
        // Around an address of another range, which is not listed itself.
        assert_eq!(
            book.free(shelf, Some(at(2, 1)), Direction::Ascending, 9),
            [at(4, 1), at(4, 2), at(1, 1), at(1, 2)]
        );
        assert_eq!((book.usage(shelf), book.last(shelf)), (Usage { total: 4, held: 0, cooling: 0 }, None));
    }
    assert_eq!(Shelf::of(0, &[]), Shelf::whole(0));
    assert_eq!(Shelf::of(0, &labels[..1]), Shelf::labelled(0, "zone", "a"));

    give(&mut book, 1, at(1, 1));
    give(&mut book, 2, at(1, 2));
    give(&mut book, 3, at(2, 1));
    // The last of zone a is elsewhere, that of the tier is here.
    assert_eq!(
        (book.last(Shelf::labelled(0, "zone", "a")), book.last(both)),
        (Some(at(2, 1)), Some(at(1, 2)))
    );
    give(&mut book, 4, at(3, 1));
    assert_eq!(book.last(both), None, "the last addresses of both labels are elsewhere");
    free(&mut book, 2, 1);
    free(&mut book, 3, 2);
    assert_eq!(
        (book.cooling(both, 9), book.cooling(Shelf::whole(0), 9)),
        (vec![at(1, 2)], vec![at(1, 2), at(2, 1)])
    );
    assert_eq!(book.usage(both), Usage { total: 4, held: 1, cooling: 1 });
    let by = |shelf, after| book.usage_by(shelf, "tier", after).collect::<Vec<_>>();
    let zone = Shelf::labelled(0, "zone", "a");
    let (db, web) = (Usage { total: 2, held: 0, cooling: 1 }, Usage { total: 4, held: 1, cooling: 1 });
    assert_eq!(by(zone, None), [("db", db), ("web", web)]);
    assert_eq!((by(zone, Some("db")), by(both, None)), (vec![("web", web)], vec![("web", web)]));
    assert_eq!(by(Shelf::of(0, &[("zone", "a"), ("zone", "b")]), None), []);
}

#[test]
fn a_slash_8_and_a_v6_slash_64_are_walked_at_once() {
    let pools =
        [("10.0.0.0/8", "10.0.0.1", "10.255.255.254"), ("fd00::/64", "fd00::1", "fd00::ffff:ffff:ffff:ffff")];
    let range = |(subnet, first, last): (&str, &str, &str)| {
        Range::new(subnet.parse().unwrap(), first.parse().unwrap(), last.parse().unwrap(), None, 32).unwrap()
    };
    let book = book_of(Cooling::Strict, pools.map(|pool| vec![range(pool)]).to_vec());
    assert_eq!(
        book.free(Shelf::whole(0), None, Direction::Descending, 1),
        ["10.255.255.254".parse::<IpAddr>().unwrap()]
    );
    assert_eq!(
        book.free(Shelf::whole(1), Some("fd00::42".parse().unwrap()), Direction::Ascending, 1),
        ["fd00::43".parse::<IpAddr>().unwrap()]
    );
    assert_eq!(book.usage(Shelf::whole(1)).total, u32::MAX);
}
