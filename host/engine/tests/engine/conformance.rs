//! The conformance suite: which faults of a policy it finds, and how much it asks.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use tenure_engine::ports::{Answer, Policy};
use tenure_engine::{Conformance, conformance};
use tenure_fixtures::ports::policy;
use tenure_ledger::{Book, Direction, Shelf};
use tenure_types::{
    DefinedPool, Definition, Error, ErrorCode, NetworkConfig, NetworkName, Outcome, PolicyName, PolicyStamp,
    Pool, Proposal, Range, Request,
};

type Situation = fn(&Request, &Book) -> bool;

type Answered = Option<Result<Proposal, Error>>;

/// A policy of one range: it answers as a test says, and otherwise as `first`.
struct Probe<F> {
    first: Arc<dyn Policy>,
    range: Range,
    answer: F,
}

impl<F> Policy for Probe<F>
where
    F: Fn(&Request, &Book) -> Answered + Send + Sync + 'static,
{
    fn stamp(&self) -> &Arc<PolicyStamp> {
        self.first.stamp()
    }

    fn define<'a>(&'a self, _: &'a NetworkName, _: &'a NetworkConfig) -> Answer<'a, Definition> {
        let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![self.range.clone()] }];
        Box::pin(async { Ok(Definition { pools, ..Definition::default() }) })
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        match (self.answer)(request, &book) {
            Some(answer) => Box::pin(async { answer.map(Outcome::from) }),
            None => self.first.propose(request, book, state),
        }
    }
}

fn plain(name: &str) -> Arc<dyn Policy> {
    policy::catalogue().find(&PolicyName::new(name).unwrap()).unwrap()
}

/// The outcome of the suite for a plain policy.
async fn of_plain(name: &str, ipam: &str) -> Conformance {
    let config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() });
    conformance(plain(name).as_ref(), &NetworkName::new("net").unwrap(), &config).await
}

/// The outcome of the suite for a policy with a large range, in which the network's own address and the gateway come first.
async fn of(answer: impl Fn(&Request, &Book) -> Answered + Send + Sync + 'static) -> Conformance {
    let [first, gateway, last] = ["10.0.0.0", "10.0.0.1", "10.0.15.255"].map(|text| text.parse().unwrap());
    let range = Range::new("10.0.0.0/20".parse().unwrap(), first, last, Some(gateway), 20).unwrap();
    let config = Arc::new(NetworkConfig { ipam: String::new(), attributes: Vec::new() });
    let probe = Probe { first: plain("first"), range, answer };
    conformance(&probe, &NetworkName::new("net").unwrap(), &config).await
}

/// The suite's verdict on a policy that fails in some situation.
async fn stumbling(on: Situation) -> String {
    let fail = |stumbles: bool| stumbles.then(|| Err(Error::new(ErrorCode::PolicyFailed, "it stumbled")));
    of(move |request, book| fail(on(request, book))).await.failure.unwrap_or_default()
}

#[tokio::test]
async fn a_configuration_that_is_not_accepted_says_nothing_and_a_failure_to_define_does() {
    let odd = of_plain("first", "no subnet").await;
    assert!(odd.failure.is_none() && odd.skipped.is_some(), "{odd:?}");
    let failed = of_plain("first", "trap").await;
    assert!(failed.failure.is_some() && failed.skipped.is_none(), "{failed:?}");
}

#[tokio::test]
async fn one_request_on_one_book_gets_one_answer() {
    let calls = AtomicUsize::new(0);
    let fickle = of(move |_, book| {
        let directions = [Direction::Ascending, Direction::Descending];
        let direction = directions[calls.fetch_add(1, Ordering::Relaxed) % 2];
        let address = book.free(Shelf::whole(0), None, direction, 1).first().copied()?;
        Some(Ok(Proposal::of([(0, address)])))
    });
    let failure = fickle.await.failure.unwrap();
    assert!(failure.contains("got two answers"), "{failure}");
}

#[tokio::test]
async fn what_authors_do_not_think_of_is_tried() {
    let situations: [(_, _, Situation); 7] = [
        ("requests get valid", "a usual pod", |request, _| request.sandbox.pod.is_some()),
        ("a book is filled", "no address is left", |_, book| book.is_exhausted(0)),
        ("released addresses", "only released addresses", |_, book| {
            book.allocations().len() == 0 && book.cooling_addresses().len() > 0
        }),
        ("released addresses", "an address that is held among released ones", |_, book| {
            let cooling: BTreeSet<_> = book.cooling_addresses().map(|(address, _)| address).collect();
            let mut held = book.allocations().flat_map(|allocation| &allocation.addresses);
            held.any(|held| cooling.first() < Some(&held.ip()) && cooling.last() > Some(&held.ip()))
        }),
        ("requested addresses", "an address on request", |request: &Request, _| {
            !request.requested.is_empty()
        }),
        ("unusual callers", "a caller that is no pod", |request, _| request.sandbox.pod.is_none()),
        ("unusual callers", "a claim", |request, _| request.owner.attachment().is_none()),
    ];
    for (check, situation, stumbles) in situations {
        let failure = stumbling(stumbles).await;
        assert!(failure.starts_with(check), "{situation}: {failure}");
    }
}

#[tokio::test]
async fn each_requested_address_is_asked_for_by_two_pods_that_ask_for_nothing_else() {
    let asked: Arc<Mutex<BTreeMap<IpAddr, BTreeSet<_>>>> = Arc::default();
    let asking = Arc::clone(&asked);
    let outcome = of(move |request, _| {
        for address in &request.requested {
            asking.lock().unwrap().entry(*address).or_default().insert(request.owner.to_string());
        }
        None
    });
    assert_eq!(outcome.await.failure, None);
    let asked = asked.lock().unwrap();
    assert!(asked.contains_key(&"10.0.15.255".parse().unwrap()), "the end of the range");
    assert!(asked.contains_key(&"192.0.2.1".parse().unwrap()), "outside the range");
    let pods: BTreeSet<_> = asked.values().flatten().collect();
    assert!(asked.values().all(|pods| pods.len() == 2), "{asked:?}");
    assert_eq!(pods.len(), asked.len() * 2, "{asked:?}");
}

#[tokio::test]
async fn a_large_network_is_filled_on_a_small_copy_with_three_addresses_for_pods() {
    let (calls, full) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (called, filled) = (Arc::clone(&calls), Arc::clone(&full));
    let outcome = of(move |_, book| {
        called.fetch_add(1, Ordering::Relaxed);
        if book.is_exhausted(0) {
            filled.fetch_max(book.allocations().len(), Ordering::Relaxed);
        }
        None
    });
    assert_eq!(outcome.await.failure, None);
    assert_eq!(full.load(Ordering::Relaxed), 3);
    let calls = calls.load(Ordering::Relaxed);
    assert!(calls < 500, "{calls} calls");
}

#[tokio::test]
async fn a_millisecond_passes_with_each_fact_on_both_clocks() {
    let steps: Arc<Mutex<BTreeSet<(u64, u64)>>> = Arc::default();
    let seen = Arc::clone(&steps);
    let outcome = of(move |_, book| {
        let times: Vec<_> = book.allocations().map(|allocation| allocation.allocated_at).collect();
        let steps = times
            .windows(2)
            .map(|pair| (pair[1].boot_ns - pair[0].boot_ns, 1_000_000 * (pair[1].wall_ms - pair[0].wall_ms)));
        seen.lock().unwrap().extend(steps);
        None
    });
    assert_eq!(outcome.await.failure, None);
    let steps = steps.lock().unwrap();
    assert!(!steps.is_empty() && steps.iter().all(|(boot, wall)| boot == wall && *boot > 0), "{steps:?}");
}

#[tokio::test]
async fn the_suite_lets_other_tasks_run_between_the_calls() {
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let mut suite = pin!(of(move |_, _| {
        called.fetch_add(1, Ordering::Relaxed);
        None
    }));
    let mut polls = 0;
    while suite.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        polls += 1;
    }
    assert_eq!(polls, calls.load(Ordering::Relaxed));
}
