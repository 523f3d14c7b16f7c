//! Addresses in quarantine, and allocations whose owner is doubtful, from the operator's word to the answer of an ADD.

use std::net::IpAddr;
use std::pin::pin;

use tenure_fixtures::ports::{ManualJournal, policy, restored};
use tenure_ledger::{Fact, LedgerFact};
use tenure_types::{ConditionName, Error, ErrorCode, NetworkName};

use crate::support::{Bench, activate, fits, network, owner, poll_once};

fn ip(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

impl Bench {
    async fn quarantine(&self, last: u8) -> Result<bool, Error> {
        self.engine.quarantine(&network(), ip(last), "a printer answers").await
    }

    /// The address that a new owner gets.
    async fn next(&self, number: u32) -> String {
        self.address(number).await.unwrap()
    }

    fn told(&self) -> Vec<String> {
        let wrong = self.engine.whats_wrong().into_iter();
        let of = wrong.filter(|condition| condition.name == ConditionName::AddressesQuarantined);
        of.map(|condition| condition.message).collect()
    }
}

/// A bench with a network that has given away 10.0.0.2, whose other addresses are .3 to .6.
async fn bench() -> Bench {
    let bench = Bench::new(8, 8);
    assert_eq!(bench.next(1).await, "10.0.0.2");
    bench
}

#[tokio::test]
async fn nobody_is_given_an_address_in_quarantine_until_it_is_lifted() {
    let bench = bench().await;
    assert_eq!(bench.quarantine(3).await, Ok(true));
    assert_eq!(bench.quarantine(3).await, Ok(false), "it is there already");
    assert_eq!(bench.told(), ["in quarantine on network net: 10.0.0.3 (a printer answers)"]);
    assert_eq!(bench.next(2).await, "10.0.0.4");
    let mut wanting = bench.add(3);
    wanting.request.requested = vec![ip(3)];
    assert_eq!(
        bench.engine.add(wanting.clone(), fits).await.unwrap_err().code,
        ErrorCode::AddressUnavailable
    );
    assert_eq!((bench.next(4).await, bench.next(5).await), ("10.0.0.5".into(), "10.0.0.6".into()));
    assert_eq!(bench.address(6).await.unwrap_err().code, ErrorCode::PoolExhausted);
    assert_eq!(bench.engine.lift(&network(), ip(3), "").await, Ok(true));
    assert_eq!(bench.engine.lift(&network(), ip(3), "").await, Ok(false));
    assert_eq!(bench.told(), Vec::<String>::new());
    bench.tick(31_000);
    assert_eq!(bench.next(7).await, "10.0.0.3", "it has cooled down");
}

#[tokio::test]
async fn what_is_not_the_networks_is_refused() {
    let bench = bench().await;
    let code = |outcome: Result<bool, Error>| outcome.unwrap_err().code;
    assert_eq!(code(bench.quarantine(200).await), ErrorCode::UnknownAddress);
    let other = NetworkName::new("other").unwrap();
    assert_eq!(code(bench.engine.quarantine(&other, ip(3), "").await), ErrorCode::UnknownNetwork);
    bench.engine.conditions().set(ConditionName::StateLost, "", "the state was lost");
    assert_eq!(code(bench.quarantine(3).await), ErrorCode::NotReady);
    assert_eq!(code(bench.engine.lift(&network(), ip(3), "").await), ErrorCode::NotReady);
}

#[tokio::test]
async fn it_is_durable_when_it_is_answered() {
    let bench = bench().await;
    bench.journal.hold();
    {
        let mut first = pin!(bench.quarantine(3));
        assert!(poll_once(first.as_mut()).is_pending(), "not durable yet");
        let mut second = pin!(bench.quarantine(3));
        assert!(poll_once(second.as_mut()).is_pending(), "somebody else's word is not durable yet");
        bench.journal.resolve(&Ok(()));
        assert_eq!((first.await, second.await), (Ok(true), Ok(false)));
    }
    bench.journal.set_health(Some(Error::new(ErrorCode::DiskFull, "the disk refuses")));
    assert_eq!(bench.quarantine(4).await.unwrap_err().code, ErrorCode::DiskFull);
    assert_eq!(bench.told().len(), 1, "nothing was staged");
}

#[tokio::test]
async fn another_policy_definition_or_network_of_the_name_changes_nothing() {
    let bench = bench().await;
    bench.quarantine(6).await.unwrap();
    bench.engine.activate(&activate("last")).await.unwrap();
    assert_eq!(bench.next(2).await, "10.0.0.5");
    for number in [1, 2] {
        bench.engine.del(bench.del(number)).await.unwrap();
    }
    bench.engine.remove_network(&network(), true).await.unwrap();
    assert_eq!(bench.told(), Vec::<String>::new());
    bench.tick(31_000);
    let grant = bench.engine.add(bench.add_with(3, "last", "10.0.0.0/29"), fits).await.unwrap();
    assert_eq!(grant.addresses.first().unwrap().ip(), ip(5));
    assert_eq!(bench.told().len(), 1);
}

#[tokio::test]
async fn a_snapshot_has_it_also_of_a_network_that_was_removed() {
    let before = bench().await;
    before.quarantine(3).await.unwrap();
    before.engine.del(before.del(1)).await.unwrap();
    before.engine.remove_network(&network(), true).await.unwrap();
    let state = restored(before.engine.images().pages(1)).unwrap();
    let journal = ManualJournal::after(before.journal.facts().len() as u64);
    let bench = Bench::of(state, journal, |_| policy::catalogue(), 8, 8);
    bench.tick(31_000);
    assert_eq!((bench.next(1).await, bench.next(2).await), ("10.0.0.2".into(), "10.0.0.4".into()));
}

#[tokio::test]
async fn a_doubtful_owner_keeps_its_address_and_its_del_frees_it() {
    let bench = bench().await;
    let held = async || {
        let book = bench.engine.book(&network()).await.unwrap();
        book.owned_by(&owner(1)).cloned().unwrap()
    };
    let stale = held().await;
    assert_eq!(bench.engine.doubt(&stale, "its namespace is gone").await, Ok(true));
    assert_eq!(bench.engine.doubt(&stale, "its namespace is gone").await, Ok(false));
    assert_eq!(bench.told(), ["in quarantine on network net: 10.0.0.2 (its namespace is gone)"]);
    bench.tick(1);
    assert_eq!(bench.next(1).await, "10.0.0.2", "it asks again, and lives");
    assert_eq!(bench.told(), Vec::<String>::new());
    assert_eq!(bench.engine.doubt(&stale, "late").await, Ok(false), "it has asked again since");
    let held = held().await;
    bench.engine.doubt(&held, "its namespace is gone").await.unwrap();
    assert_eq!(bench.engine.lift_doubt(&held, "it is back").await, Ok(true));
    bench.engine.doubt(&held, "its namespace is gone").await.unwrap();
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(bench.told(), Vec::<String>::new());
    let is_lift = |fact: &Fact| matches!(fact, Fact::Ledger(LedgerFact::QuarantineLifted { .. }));
    assert_eq!(
        bench.journal.facts().iter().filter(|fact| is_lift(fact)).count(),
        1,
        "the others ended by themselves"
    );
}
