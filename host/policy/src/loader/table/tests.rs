use tenure_types::ErrorCode;

use super::*;

fn named(name: &str) -> PolicyStamp {
    PolicyStamp { name: PolicyName::new(name).unwrap(), digest: "digest".into() }
}

fn failed(missing: bool) -> LoadFailure {
    LoadFailure { error: Error::new(ErrorCode::PolicyUnloadable, "on purpose"), missing }
}

/// Whether a policy is queued at this second.
fn waits(table: &mut LoadTable, name: &str, rank: Rank, second: u64) -> bool {
    table.want(&named(name), rank, Duration::from_secs(second), |_| true).1
}

/// The pauses of a policy that always fails, in seconds.
fn pauses(missing: bool) -> Vec<u64> {
    let (mut table, mut now) = (LoadTable::default(), 0);
    assert!(waits(&mut table, "p", Rank::Configured, now));
    let mut pause = || {
        assert_eq!(table.next(), Some(named("p")));
        table.ended(&named("p"), Err(failed(missing)), Duration::from_secs(now));
        let pause = (0..).find(|pause| waits(&mut table, "p", Rank::Configured, now + pause)).unwrap();
        now += pause;
        pause
    };
    (0..11).map(|_| pause()).collect()
}

#[test]
fn what_failed_is_left_alone_for_longer_each_time() {
    assert_eq!(pauses(false), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert_eq!(
        pauses(true),
        [1, 2, 4, 5, 5, 5, 5, 5, 5, 5, 5],
        "retries are frequent while only the bytes are missing"
    );
}

#[test]
fn what_serves_comes_first_and_what_was_wanted_first_of_the_same_rank() {
    let mut table = LoadTable::default();
    let wanted = [
        ("file", Rank::Configured),
        ("built-in", Rank::Embedded),
        ("other-file", Rank::Configured),
        ("used", Rank::Serving),
    ];
    for (name, rank) in wanted {
        assert!(waits(&mut table, name, rank, 0));
        assert!(!waits(&mut table, name, rank, 0), "it is queued only once");
    }
    let order: Vec<_> = std::iter::from_fn(|| table.next()).map(|next| next.name.to_string()).collect();
    assert_eq!(order, ["used", "built-in", "file", "other-file"]);
    assert!(!waits(&mut table, "used", Rank::Serving, 0), "it is running");
}

#[test]
fn who_asks_has_it_loaded_at_once_and_all_who_ask_are_told() {
    let mut table = LoadTable::default();
    assert!(waits(&mut table, "p", Rank::Serving, 0));
    table.await_for(&named("p"));
    table.await_for(&named("nobody-wanted-it"));
    assert_eq!(table.awaited(), [named("p")]);
    let ((first, mut one), (second, mut two)) = (oneshot::channel(), oneshot::channel());
    assert!(table.ask(&named("p"), first));
    assert_eq!(table.next(), None, "it no longer waits");
    assert!(!table.ask(&named("p"), second), "it is running");
    table.ended(&named("p"), Err(failed(false)), Duration::ZERO);
    for told in [&mut one, &mut two] {
        assert_eq!(told.try_recv().unwrap().unwrap_err().code, ErrorCode::PolicyUnloadable);
    }
    assert_eq!((table.awaited(), table.unloaded()), (vec![], vec![named("p")]));
}

#[test]
fn what_nobody_names_any_more_is_forgotten_unless_it_is_loaded_or_about_to_be() {
    let mut table = LoadTable::default();
    for name in ["waiting", "failed", "running"] {
        assert!(waits(&mut table, name, Rank::Configured, 0));
    }
    for name in ["waiting", "failed", "running"] {
        assert_eq!(table.next(), Some(named(name)));
    }
    table.ended(&named("failed"), Err(failed(false)), Duration::ZERO);
    table.ended(&named("waiting"), Err(failed(true)), Duration::ZERO);
    assert!(waits(&mut table, "waiting", Rank::Configured, 2));
    for name in ["waiting", "failed", "running", "unknown"] {
        table.forget(&named(name));
    }
    assert_eq!((table.unloaded(), table.next()), (vec![named("running")], None));
    assert!(waits(&mut table, "failed", Rank::Configured, 0), "it starts over");
}
