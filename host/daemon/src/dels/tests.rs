use tenure_types::{ContainerId, InterfaceName};

use super::*;

fn boot(id: &str) -> BootId {
    BootId(id.to_owned())
}

fn at(boot_ns: u64) -> Moment {
    Moment { boot_ns, wall_ms: 0 }
}

fn owner(container: &str) -> Owner {
    let interface = InterfaceName::new("eth0").unwrap();
    Owner::Attachment { container: ContainerId::new(container).unwrap(), interface }
}

fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

fn served(record: &DelFile, container: &str, now: u64) {
    record.served(&network(), &owner(container), at(now - 1), at(now));
}

fn containers(known: &KnownDels) -> Vec<String> {
    known.served.iter().map(|del| del.owner.to_string().replace("/eth0", "")).collect()
}

fn open(directory: &Path, id: &str, now: u64, is_first: bool) -> (KnownDels, Arc<DelFile>) {
    let before = std::fs::read_to_string(directory.join("dels.daemon")).ok();
    let before = before.and_then(|noted| noted.split('.').next()?.parse().ok()).map(LockTime::at);
    open_after(directory, before, id, now, is_first)
}

/// After a daemon that took the lock at this time.
fn open_after(
    directory: &Path,
    before: Option<LockTime>,
    id: &str,
    now: u64,
    is_first: bool,
) -> (KnownDels, Arc<DelFile>) {
    let times = LockTimes { before, now: Some(LockTime::at(i64::try_from(now).unwrap())) };
    DelFile::with_most((directory, times), &boot(id), at(now), is_first, 3)
}

#[test]
fn nothing_is_known_after_a_daemon_that_recorded_nothing() {
    for before in [None, Some(LockTime::at(150))] {
        let directory = tempfile::tempdir().unwrap();
        let (_, record) = open(directory.path(), "a", 100, true);
        (0..4).for_each(|number| served(&record, "one", 110 + number));
        let (known, record) = open_after(directory.path(), before, "a", 200, false);
        assert_eq!((known.since, known.served.len()), (at(200), 0));
        served(&record, "two", 210);
        let (known, _) = open(directory.path(), "a", 300, false);
        assert_eq!((known.since, containers(&known)), (at(200), vec!["two".to_owned()]));
    }
}

#[test]
fn what_one_daemon_has_served_the_next_ones_know() {
    let directory = tempfile::tempdir().unwrap();
    let (known, record) = open(directory.path(), "a", 100, true);
    assert_eq!((known.since, known.served.len()), (at(0), 0), "nobody has served a DEL in this boot");
    served(&record, "one", 200);
    let (known, record) = open(directory.path(), "a", 300, false);
    let first = ServedDel { network: network(), owner: owner("one"), began: at(199), served: at(200) };
    assert_eq!((known.since, known.served), (at(0), vec![first]));
    served(&record, "two", 400);
    let (known, _) = open(directory.path(), "a", 500, false);
    assert_eq!((known.since, containers(&known)), (at(0), vec!["one".to_owned(), "two".to_owned()]));

    let (known, _) = open(directory.path(), "b", 9, true);
    assert_eq!((known.since, known.served.len()), (at(0), 0), "a reboot has ended every ADD");
}

#[test]
fn a_daemon_that_is_not_the_first_knows_nothing_of_others_without_a_record() {
    let directory = tempfile::tempdir().unwrap();
    let (known, record) = open(directory.path(), "a", 100, false);
    assert_eq!(known.since, at(100));
    served(&record, "one", 200);
    let (known, _) = open(directory.path(), "a", 300, false);
    assert_eq!((known.since, containers(&known)), (at(100), vec!["one".to_owned()]));
}

#[test]
fn a_line_that_is_cut_off_was_not_answered_and_a_damaged_one_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dels");
    let (_, record) = open(directory.path(), "a", 100, true);
    served(&record, "one", 200);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"{\"network\":\"ne"].concat()).unwrap();
    let (known, record) = open(directory.path(), "a", 300, false);
    assert_eq!(containers(&known), ["one"]);
    served(&record, "two", 400);
    let (known, _) = open(directory.path(), "a", 500, false);
    assert_eq!(containers(&known), ["one", "two"], "the next line does not continue it");

    for damaged in [&b"nonsense\n"[..], b"", &[&whole[..], b"nonsense\n"].concat()] {
        fs::write(&path, damaged).unwrap();
        let (known, record) = open(directory.path(), "a", 600, false);
        assert_eq!((known.since, known.served.len()), (at(600), 0));
        served(&record, "three", 700);
        let (known, _) = open(directory.path(), "a", 800, false);
        assert_eq!((known.since, containers(&known)), (at(600), vec!["three".to_owned()]), "it is replaced");
    }
}

#[test]
fn the_record_is_bounded_and_says_how_far_it_reaches_back() {
    let directory = tempfile::tempdir().unwrap();
    let (_, record) = open(directory.path(), "a", 100, true);
    for number in 0..8 {
        served(&record, &number.to_string(), 200 + number * 10);
    }
    let (known, record) = open(directory.path(), "a", 300, false);
    assert_eq!(
        (known.since, containers(&known)),
        (at(230), ["3", "4", "5", "6", "7"].map(str::to_owned).into())
    );

    let later = 260 + u64::try_from(DELS_REMEMBERED.as_nanos()).unwrap();
    served(&record, "late", later);
    let (known, _) = open(directory.path(), "a", later + 1, false);
    assert_eq!((known.since, containers(&known)), (at(260), ["6", "7", "late"].map(str::to_owned).into()));
}

#[test]
fn a_daemon_that_dies_between_two_files_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (_, record) = open(directory.path(), "a", 100, true);
    served(&record, "one", 200);
    fs::rename(directory.path().join("dels"), directory.path().join("dels.before")).unwrap();
    let (known, record) = open(directory.path(), "a", 300, false);
    assert_eq!((known.since, containers(&known)), (at(0), vec!["one".to_owned()]));
    served(&record, "two", 400);
    let (known, _) = open(directory.path(), "a", 500, false);
    assert_eq!(known.since, at(0));
    assert_eq!(containers(&known).last().unwrap(), "two");
}

#[test]
fn what_could_not_be_recorded_is_not_claimed_to_be() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    fs::create_dir(&run).unwrap();
    let (_, record) = open(&run, "a", 100, true);
    served(&record, "one", 200);
    served(&record, "two", 201);
    served(&record, "three", 202);
    // The directory is gone when the next file is due.
    let away = directory.path().join("away");
    fs::rename(&run, &away).unwrap();
    served(&record, "lost", 300);
    fs::create_dir(&run).unwrap();
    fs::copy(away.join("dels.daemon"), run.join("dels.daemon")).unwrap();
    served(&record, "four", 400);
    let (known, _) = open(&run, "a", 500, false);
    assert_eq!((known.since, containers(&known)), (at(400), vec!["four".to_owned()]));
}
