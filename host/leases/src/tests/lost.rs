use crate::agent::ledger::{BlockUsage, LeaseHold};
use crate::agent::lost::{may_write, rebuild, settle};
use crate::block::RefusalReason;
use crate::tests::sample;
use crate::{IpBlock, LeaseRules, MarkAck, MarkAnswer, MarkId, NodeIpamSpec};

#[test]
fn what_was_answered_with_ready_for_the_present_mark_stays_frozen_and_the_rest_is_doubted() {
    let marked = IpBlock { mark: Some(sample::MARK), ..sample::block() };
    let said = |answer| NodeIpamSpec {
        acks: vec![MarkAck { uid: sample::block().uid, mark: sample::MARK.id, answer }],
        ..NodeIpamSpec::of(sample::holder())
    };
    let hold = |block: &IpBlock, said: Option<&NodeIpamSpec>| {
        rebuild(LeaseRules::ALL, &sample::holder(), block, said).unwrap().hold
    };
    let refused = MarkAnswer::Refused(RefusalReason::InUse);
    assert_eq!(hold(&sample::block(), None), LeaseHold::Doubted);
    assert_eq!(hold(&marked, None), LeaseHold::Doubted);
    assert_eq!(hold(&sample::block(), Some(&said(refused))), LeaseHold::Doubted);
    assert_eq!(hold(&sample::block(), Some(&said(MarkAnswer::Ready))), LeaseHold::Doubted);
    assert_eq!(hold(&marked, Some(&said(MarkAnswer::Ready))), LeaseHold::Frozen(sample::MARK.id));
    assert!(rebuild(LeaseRules::ALL, &sample::stranger(), &marked, None).is_none());
    assert!(may_write(LeaseRules::ALL, false) && !may_write(LeaseRules::ALL, true));
}

#[test]
fn the_doubt_ends_when_the_pods_are_known() {
    let usage = BlockUsage { in_use: 2, ..BlockUsage::default() };
    let settled = settle(sample::row(LeaseHold::Doubted), usage);
    assert_eq!((settled.hold, settled.usage), (LeaseHold::Open, usage));
    let frozen = sample::row(LeaseHold::Frozen(MarkId(5)));
    assert_eq!(settle(frozen, BlockUsage::default()), frozen);
    // A restore brought back the answer of a block that was used since.
    assert_eq!(settle(frozen, usage).hold, LeaseHold::Cordoned(MarkId(5)));
}
