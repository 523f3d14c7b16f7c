//! All histories of a small cluster within bounds, and of the same cluster with one rule taken out.
//!
//! `TENURE_WISHES=n` in the environment allows n more wishes in each history, and two leaders everywhere: for the soak.

use std::time::Duration;

use crate::tests::cluster::{Bounds, Cluster};
use crate::tests::explorer::explore;
use crate::{LeaseRule, LeaseRules, MarkReason};

/// The most states of one exploration: 280 bytes each.
const LIMIT: usize = 40_000_000;

const BOTH: &[MarkReason] = &[MarkReason::Drain, MarkReason::Excess];

/// Two leaders and two nodes with one block; nobody wants anything but blocks.
const PLAIN: Bounds = Bounds {
    blocks: 1,
    leaders: 2,
    faults: 0,
    wishes: Some(0),
    finalizers: true,
    restores: false,
    losses: false,
    spare: true,
    reasons: &[MarkReason::Drain],
    deletions: false,
};

/// One leader, whatever people wish for as often as they like.
const WISHES: Bounds = Bounds { leaders: 1, wishes: None, reasons: BOTH, ..PLAIN };

/// Marks, pods and changes of mind between two leaders.
const HANDSHAKE: Bounds = Bounds { wishes: Some(2), finalizers: false, ..PLAIN };

/// As above, with one wish: what the sound rules are explored with by default.
const CALM: Bounds = Bounds { wishes: Some(1), reasons: BOTH, ..HANDSHAKE };

/// A crash or a lost reply anywhere, with a mark.
const CRASH: Bounds = Bounds { faults: 1, wishes: Some(1), ..PLAIN };

/// A snapshot at any time, restored at any later time.
const RESTORE: Bounds =
    Bounds { leaders: 1, faults: 1, wishes: Some(3), restores: true, finalizers: false, ..PLAIN };

/// As above, with one wish besides the snapshot.
const SHORT_RESTORE: Bounds = Bounds { wishes: Some(2), ..RESTORE };

/// A ledger that is lost at any time.
const LOSS: Bounds =
    Bounds { leaders: 1, faults: 1, wishes: Some(3), losses: true, finalizers: false, ..PLAIN };

/// Two blocks, and no other.
const TWO_BLOCKS: Bounds = Bounds { blocks: 2, wishes: Some(1), spare: false, finalizers: false, ..PLAIN };

/// Somebody deletes IPBlocks.
const DELETIONS: Bounds = Bounds { leaders: 1, wishes: Some(2), deletions: true, ..PLAIN };

const SOUND: [(&str, Bounds); 7] = [
    ("wishes without end", WISHES),
    ("two leaders", CALM),
    ("crash", CRASH),
    ("restore", RESTORE),
    ("lost ledger", LOSS),
    ("two blocks", TWO_BLOCKS),
    ("deletions", DELETIONS),
];

/// Each rule with the bounds within which its absence does harm.
const MUTATIONS: [(LeaseRule, Bounds); 31] = [
    (LeaseRule::KeepOn404, SHORT_RESTORE),
    (LeaseRule::Rebind, SHORT_RESTORE),
    (LeaseRule::DropReleased, WISHES),
    (LeaseRule::LostReadsFirst, LOSS),
    (LeaseRule::LostStaysFrozen, LOSS),
    (LeaseRule::OwnMark, RESTORE),
    (LeaseRule::Remark, CRASH),
    (LeaseRule::AckOfMark, WISHES),
    (LeaseRule::DeleteVersion, HANDSHAKE),
    (LeaseRule::ReadyOnly, WISHES),
    (LeaseRule::ClearRefused, WISHES),
    (LeaseRule::HintFollows, PLAIN),
    (LeaseRule::NameIsMutex, PLAIN),
    (LeaseRule::Reclaim, SHORT_RESTORE),
    (LeaseRule::GetBeforeUse, LOSS),
    (LeaseRule::Tombstones, RESTORE),
    (LeaseRule::AcceptUnderWay, HANDSHAKE),
    (LeaseRule::OtherUid, RESTORE),
    (LeaseRule::RefuseInUse, WISHES),
    (LeaseRule::CordonDrain, WISHES),
    (LeaseRule::LastBlock, TWO_BLOCKS),
    (LeaseRule::AtomicFreeze, WISHES),
    (LeaseRule::FreezeFirst, WISHES),
    (LeaseRule::AnswerNewMark, CRASH),
    (LeaseRule::GivenBackIsReady, WISHES),
    (LeaseRule::UnfreezeByGet, HANDSHAKE),
    (LeaseRule::Unfreeze, WISHES),
    (LeaseRule::UnfreezeByClear, RESTORE),
    (LeaseRule::ClearStale, WISHES),
    (LeaseRule::ClearAfterBarrier, RESTORE),
    (LeaseRule::AskGivenUp, WISHES),
];

const RESTORE_MUTATIONS: [(LeaseRule, Bounds); 5] = [
    (LeaseRule::Barrier, SHORT_RESTORE),
    (LeaseRule::EveryNodeHeard, SHORT_RESTORE),
    (LeaseRule::SameServer, SHORT_RESTORE),
    (LeaseRule::HeldIsTaken, SHORT_RESTORE),
    (LeaseRule::Contested, SHORT_RESTORE),
];

fn widened(bounds: Bounds) -> Bounds {
    match std::env::var("TENURE_WISHES").ok().map(|wishes| wishes.parse::<u8>().expect("a number")) {
        Some(more) => Bounds { wishes: bounds.wishes.map(|wishes| wishes + more), leaders: 2, ..bounds },
        None => bounds,
    }
}

#[test]
fn no_history_within_bounds_breaks_a_promise_and_each_ends_its_marks() {
    for (name, bounds) in SOUND {
        let bounds = widened(bounds);
        let (explored, took) = timed(LeaseRules::ALL, bounds);
        println!("{name}: {} states, {} steps, {took:.1?}; {bounds:?}", explored.states, explored.steps);
        if let Some(violation) = explored.violation {
            panic!("{name}: {}\n  {}", violation.what, violation.trace.join("\n  "));
        }
    }
}

#[test]
fn without_any_one_rule_a_history_breaks_a_promise() {
    let mut unnoticed = Vec::new();
    for (rule, bounds) in RESTORE_MUTATIONS.into_iter().chain(MUTATIONS) {
        let (explored, took) = timed(LeaseRules::ALL.without(rule), bounds);
        match explored.violation {
            Some(violation) => println!(
                "without {rule:?} ({rule}): {}, after {} states and {took:.1?}\n  {}",
                violation.what,
                explored.states,
                violation.trace.join("\n  ")
            ),
            None => {
                println!("without {rule:?}: NOTHING in {} states", explored.states);
                unnoticed.push(rule);
            }
        }
    }
    assert!(unnoticed.is_empty(), "the model does not miss {unnoticed:?}");
}

fn timed(rules: LeaseRules, bounds: Bounds) -> (crate::tests::explorer::Explored, Duration) {
    #[expect(clippy::disallowed_types, reason = "prints how long an exploration took; nothing depends on it")]
    let started = std::time::Instant::now();
    let explored = explore(&Cluster::new(rules, bounds), LIMIT);
    (explored, started.elapsed())
}
