//! Ranges that are withdrawn, and those that must drain first.

use tenure_ledger::Taken;

use super::*;

/// A book from before an address was handed out: the range stays with the pod.
#[test]
fn what_is_handed_out_between_the_book_and_its_changes_is_never_withdrawn() {
    let enis = [primary(), secondary()];
    let mut ledger = Ledger::of(&enis);
    let tags = [(names::UNMANAGED_TAG.to_owned(), "true".to_owned())].into();
    let foreign = situation(&[primary(), Ec2Interface { tags, ..secondary() }]);
    let mut gone = situation(&enis);
    gone.seen.described(&[primary()], seconds(1001));
    gone.seen.described(&[primary()], seconds(1061));
    for situation in [&foreign, &gone] {
        let words = found(situation, &ledger);
        assert!(words.iter().all(|word| word.starts_with("drain")), "{words:?}");
    }
    // An undone intent opens its ranges again.
    ledger.drain("10.0.0.6/32");
    ledger.drain("10.0.0.32/28");
    let mut difference = found_by(UseVerdict::Unused, &gone, &ledger).1;
    let mut taker = Intent::clone(&intent(EffectKind::ReleaseAddress, &[], &[]));
    taker.takes = vec![Taken {
        pool: PoolName::new("ipv4").unwrap(),
        range: RangeName::new("10.0.0.6/32").unwrap(),
        was_open: true,
    }];
    difference.leave(&[Arc::new(taker)]);
    let left: Vec<_> = difference.changes.iter().map(|(change, _)| change).collect();
    assert!(matches!(left[..], [Supply::Withdraw { range, .. }] if range.as_str() == "10.0.0.32/28"));
}

#[test]
fn what_ec2_never_showed_and_nobody_has_goes_and_before_its_first_word_nothing_does() {
    let mut ledger = Ledger::of(&[primary(), secondary()]);
    ledger.drain("10.0.0.32/28");
    ledger.hold("10.0.0.6");
    let (words, difference) = found_by(UseVerdict::Unused, &situation(&[primary()]), &ledger);
    assert_eq!(words, ["drain 10.0.0.6/32", "withdraw 10.0.0.32/28"]);
    assert_eq!(difference.quarantine.len(), 1, "a pod has the other");
    let mut silent = situation(&[]);
    silent.seen = SeenNode::new("i-1", seconds(60), true);
    assert_eq!(found(&silent, &ledger), [""; 0]);
}
