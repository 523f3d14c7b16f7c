//! Links of allocations: made once these are durable, removed once they have ended, and settled after a crash.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;

use tenure_engine::ports::LinkKey;
use tenure_engine::{Add, Gc};
use tenure_fixtures::ports::{ManualJournal, policy};
use tenure_ledger::LedgerState;
use tenure_types::{ConditionName, Error, ErrorCode, Link, PodIdentity};

use crate::support::{Bench, fits, network, owner, poll_once};

impl Bench {
    /// An ADD that asks for a link; that of the pod, if it names one.
    fn linked(&self, number: u32, pod: Option<&str>) -> Add {
        let mut add = self.add(number);
        let pod = pod.map(|name| PodIdentity { namespace: "ns".into(), name: name.into(), uid: "".into() });
        let link = self.engine.link(&network(), &add.request.owner, pod.as_ref(), Some(1400));
        add.request.sandbox.link = Some(Box::new(link));
        add.request.sandbox.pod = pod;
        add
    }

    async fn connect(&self, number: u32) -> Result<(), Error> {
        self.engine.add(self.linked(number, None), fits).await.map(drop)
    }

    /// The generations of the links that there are.
    fn shown(&self) -> Vec<u64> {
        let mut shown: Vec<u64> = self.links.links().iter().map(|link| link.generation.0).collect();
        shown.sort_unstable();
        shown
    }

    async fn allocations(&self) -> usize {
        self.engine.book(&network()).await.map_or(0, |book| book.allocations().len())
    }

    /// Undoes what was abandoned.
    async fn undo_links(&mut self) {
        let mut undoing = Box::pin(self.abandoned.take().unwrap().run());
        for _ in 0..4 {
            assert!(poll_once(undoing.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }

    /// The daemon after a crash: the same ledger and the same kernel.
    async fn crashed(self) -> Self {
        let book = self.engine.book(&network()).await.unwrap();
        let recovered = LedgerState { books: vec![(*book).clone()], ..LedgerState::default() };
        let journal = ManualJournal::after(self.journal.facts().len() as u64);
        let next = Bench::of(recovered, journal, |_| policy::catalogue(), 8, 8);
        for link in self.links.links() {
            next.links.show(link);
        }
        next
    }
}

#[tokio::test]
async fn a_link_is_made_once_its_allocation_is_durable_and_before_the_answer() {
    let bench = Bench::new(8, 8);
    bench.journal.hold();
    let mut add = pin!(bench.engine.add(bench.linked(1, None), fits));
    assert!(poll_once(add.as_mut()).is_pending());
    assert_eq!(bench.shown(), [0; 0], "not before it is durable");
    bench.links.hold();
    bench.journal.resolve(&Ok(()));
    assert!(poll_once(add.as_mut()).is_pending(), "no answer before the link");
    bench.links.go_on();
    let link = add.await.unwrap().link.unwrap();
    assert_eq!((link.host.name.as_str(), link.mtu), ("eni-c1/eth0", 1400));
    let held = bench.engine.linked().remove(0);
    assert_eq!(held.link(), Some(&Link { host: "eni-c1/eth0".into(), mtu: 1400 }), "the ledger has it");
    assert_eq!(bench.links.links(), [LinkKey::of(&held).unwrap()]);
}

#[tokio::test]
async fn an_allocation_that_cannot_be_connected_is_released() {
    let mut bench = Bench::new(8, 8);
    bench.links.fail(ErrorCode::LinkTaken);
    assert_eq!(bench.connect(1).await.unwrap_err().code, ErrorCode::LinkTaken);
    bench.links.fail(None);
    bench.undo_links().await;
    assert_eq!((bench.allocations().await, bench.shown()), (0, Vec::new()));
    bench.connect(1).await.unwrap();
}

#[tokio::test]
async fn an_add_whose_caller_went_away_while_it_was_connected_leaves_no_link() {
    let mut bench = Bench::new(8, 8);
    bench.links.hold();
    {
        let mut add = pin!(bench.engine.add(bench.linked(1, None), fits));
        assert!(poll_once(add.as_mut()).is_pending());
    }
    // What was begun is ended all the same.
    let held = bench.engine.linked().remove(0);
    bench.links.show(LinkKey::of(&held).unwrap());
    bench.undo_links().await;
    assert_eq!((bench.allocations().await, bench.shown()), (0, Vec::new()));
}

#[tokio::test]
async fn a_repeated_add_repairs_the_link_and_a_failure_there_keeps_the_address() {
    let bench = Bench::new(8, 8);
    let first = bench.engine.add(bench.linked(1, None), fits).await.unwrap();
    bench.links.remove("eni-c1/eth0");
    assert_eq!(bench.engine.check(&network(), &owner(1)).await.unwrap_err().code, ErrorCode::LinkDiffers);
    assert_eq!(bench.engine.add(bench.linked(1, None), fits).await.unwrap(), first);
    assert_eq!(bench.engine.check(&network(), &owner(1)).await.unwrap(), first);
    bench.links.fail(ErrorCode::LinkFailed);
    assert_eq!(bench.connect(1).await.unwrap_err().code, ErrorCode::LinkFailed);
    assert_eq!(bench.allocations().await, 1);
}

#[tokio::test]
async fn an_attachment_keeps_the_kind_of_plugin_that_it_began_with() {
    let bench = Bench::new(8, 8);
    bench.connect(1).await.unwrap();
    bench.address(2).await.unwrap();
    assert_eq!(bench.address(1).await.unwrap_err().code, ErrorCode::LinkDiffers);
    assert_eq!(bench.connect(2).await.unwrap_err().code, ErrorCode::LinkDiffers);
    assert_eq!((bench.allocations().await, bench.shown()), (2, vec![1]));
}

#[tokio::test]
async fn a_del_removes_the_link_and_succeeds_even_if_the_kernel_fails() {
    let bench = Bench::new(8, 8);
    bench.connect(1).await.unwrap();
    bench.connect(2).await.unwrap();
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(bench.shown(), [2]);
    bench.links.fail(ErrorCode::LinkFailed);
    bench.engine.del(bench.del(2)).await.unwrap();
    assert_eq!((bench.allocations().await, bench.shown()), (0, vec![2]));
    assert_eq!(bench.engine.sweep_links().await.unwrap_err().code, ErrorCode::LinkFailed);
    bench.links.fail(None);
    assert_eq!(bench.engine.sweep_links().await, Ok(1));
    assert_eq!(bench.shown(), [0; 0]);
}

#[tokio::test]
async fn a_gc_has_the_links_swept_that_it_ended() {
    let bench = Bench::new(8, 8);
    bench.connect(1).await.unwrap();
    bench.connect(2).await.unwrap();
    bench.tick(1);
    let (container, interface) = owner(1).attachment().map(|(a, b)| (a.clone(), b.clone())).unwrap();
    let gc =
        Gc { network: network(), valid: HashSet::from([(container, interface)]), requested_at: bench.now() };
    assert_eq!(bench.engine.gc(gc).await, Ok(1));
    assert!(poll_once(pin!(bench.engine.unlinked())).is_ready(), "somebody has to look");
    assert_eq!(bench.engine.sweep_links().await, Ok(1));
    assert_eq!(bench.shown(), [1]);
}

#[tokio::test]
async fn a_new_sandbox_of_a_pod_has_its_link_and_the_del_of_the_old_one_leaves_it() {
    let bench = Bench::new(8, 8);
    for number in [1, 2] {
        bench.engine.add(bench.linked(number, Some("web-0")), fits).await.unwrap();
        bench.tick(1);
    }
    assert_eq!(bench.shown(), [2]);
    let linked: Vec<u64> = bench.engine.linked().iter().map(|held| held.generation.0).collect();
    assert_eq!(linked, [2], "the old one has no way any more");
    bench.engine.restore_links().await;
    assert_eq!(bench.shown(), [2]);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!((bench.engine.sweep_links().await, bench.shown()), (Ok(0), vec![2]));
}

/// Names have room for 44 bits of a digest, so somebody who chooses pods' names finds two that share one.
#[tokio::test]
async fn a_pod_that_shares_anothers_name_of_a_link_is_refused_and_takes_nothing() {
    let mut bench = Bench::new(8, 8);
    bench.connect(1).await.unwrap();
    bench.tick(1);
    for pod in [None, Some("thief")] {
        let mut thief = bench.linked(2, pod);
        thief.request.sandbox.link = bench.engine.linked()[0].link().cloned().map(Box::new);
        let refused = bench.engine.add(thief, fits).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::LinkNameShared, "{refused}");
        assert!(!refused.cause.contains("c1/eth0 "), "it is not said whose: {refused}");
        assert_eq!(bench.shown(), [1], "the first pod has its link");
    }
    bench.undo_links().await;
    assert_eq!((bench.allocations().await, bench.shown()), (1, vec![1]));
    bench.connect(1).await.unwrap();
}

#[tokio::test]
async fn after_a_crash_the_kernel_has_what_the_ledger_says() {
    let bench = Bench::new(8, 8);
    for number in [1, 2, 3] {
        bench.connect(number).await.unwrap();
    }
    bench.tick(1);
    // Killed between the two steps of an ADD, and of a DEL.
    bench.links.remove("eni-c1/eth0");
    bench.links.fail(ErrorCode::LinkFailed);
    bench.engine.del(bench.del(2)).await.unwrap();
    assert_eq!(bench.shown(), [2, 3]);
    let next = bench.crashed().await;
    next.engine.restore_links().await;
    assert_eq!(next.engine.sweep_links().await, Ok(1));
    assert_eq!(next.shown(), [1, 3]);
}

#[tokio::test]
async fn while_the_state_is_lost_no_link_is_taken_for_an_orphan() {
    let bench = Bench::new(8, 8);
    bench.connect(1).await.unwrap();
    let link = bench.links.links().remove(0);
    let conditions = Arc::clone(bench.engine.conditions());
    conditions.set(ConditionName::StateLost, "", "the state is lost");
    bench.links.show(LinkKey { generation: tenure_types::Generation(77), host: "eni-x".into(), ..link });
    assert_eq!((bench.engine.sweep_links().await, bench.shown()), (Ok(0), vec![1, 77]));
    conditions.clear(ConditionName::StateLost, "");
    assert_eq!((bench.engine.sweep_links().await, bench.shown()), (Ok(1), vec![1]));
}

/// Both were allocated before either was connected.
#[tokio::test]
async fn of_two_pods_that_share_a_links_name_at_the_same_time_the_first_gets_the_link() {
    let bench = Bench::new(8, 8);
    let mut thief = bench.linked(2, Some("thief"));
    let first = bench.linked(1, Some("web-0"));
    thief.request.sandbox.link.clone_from(&first.request.sandbox.link);
    thief.request.network = tenure_types::NetworkName::new("other").unwrap();
    thief.config = bench.add_with(2, "first", "10.1.0.0/29").config;
    let yielding = |add: Add| Add { policy: tenure_types::PolicyName::new("yielding").unwrap(), ..add };
    bench.journal.hold();
    let mut first = pin!(bench.engine.add(yielding(first), fits));
    let mut thief = pin!(bench.engine.add(yielding(thief), fits));
    assert!(poll_once(first.as_mut()).is_pending() && poll_once(thief.as_mut()).is_pending());
    assert!(poll_once(first.as_mut()).is_pending());
    bench.tick(1);
    assert!(poll_once(thief.as_mut()).is_pending());
    bench.journal.resolve(&Ok(()));
    first.await.unwrap();
    assert_eq!(thief.await.unwrap_err().code, ErrorCode::LinkNameShared);
    assert_eq!(bench.shown(), [1]);
}
