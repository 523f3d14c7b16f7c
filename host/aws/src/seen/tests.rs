use super::*;
use crate::names;
use crate::samples::{interface, net, seconds};

fn seen() -> SeenNode {
    SeenNode::new("i-1", seconds(60), true)
}

fn primary() -> Ec2Interface {
    interface("eni-0", 0, &["10.0.0.4/32"])
}

fn secondary() -> Ec2Interface {
    interface("eni-1", 1, &["10.0.0.5/32", "10.0.0.16/28"])
}

fn standing(seen: &SeenNode, name: &str) -> SeenStanding {
    seen.standing_of("eni-1", net(name)).unwrap()
}

#[test]
fn what_two_describes_a_window_apart_do_not_show_is_gone() {
    let mut seen = seen();
    assert_eq!(seen.described(&[primary(), secondary()], seconds(0)), Look::Full);
    let less = interface("eni-1", 1, &["10.0.0.5/32"]);
    seen.described(&[primary(), less.clone()], seconds(10));
    assert_eq!(standing(&seen, "10.0.0.16/28"), SeenStanding::Doubtful { since: seconds(10) });
    assert_eq!(standing(&seen, "10.0.0.5/32"), SeenStanding::Confirmed);
    seen.described(&[primary(), less.clone()], seconds(69));
    assert!(matches!(standing(&seen, "10.0.0.16/28"), SeenStanding::Doubtful { .. }), "59 s are too few");
    seen.described(&[primary(), less], seconds(70));
    assert_eq!(standing(&seen, "10.0.0.16/28"), SeenStanding::Gone { since: seconds(10) });
    seen.described(&[primary(), secondary()], seconds(71));
    assert_eq!(standing(&seen, "10.0.0.16/28"), SeenStanding::Confirmed, "it is back");
    seen.described(&[primary()], seconds(80));
    assert!(seen.has_doubts() && matches!(standing(&seen, "10.0.0.5/32"), SeenStanding::Doubtful { .. }));
}

#[test]
fn a_failure_and_an_answer_without_the_primary_interface_change_nothing() {
    let mut seen = seen();
    seen.described(&[primary(), secondary()], seconds(0));
    for (second, answer) in [(10, vec![]), (100, vec![secondary()]), (200, vec![interface("eni-9", 2, &[])])]
    {
        assert!(matches!(seen.described(&answer, seconds(second)), Look::Suspicious(_)), "{answer:?}");
        assert_eq!(standing(&seen, "10.0.0.5/32"), SeenStanding::Confirmed);
        assert_eq!(seen.last(), Some(seconds(0)));
    }
    assert_eq!(seen.get("eni-9").map(|_| ()), None);
    seen.failed("DescribeNetworkInterfaces: RequestLimitExceeded".to_owned());
    assert_eq!(seen.trouble(), Some("DescribeNetworkInterfaces: RequestLimitExceeded"));
    seen.described(&[primary(), secondary()], seconds(300));
    assert_eq!((seen.trouble(), seen.last()), (None, Some(seconds(300))));
}

#[test]
fn a_describe_that_lags_doubts_nothing_that_a_call_of_ours_brought() {
    let mut seen = seen();
    seen.described(&[primary(), secondary()], seconds(0));
    seen.assigned("eni-1", &[net("10.0.0.9/32")], seconds(10));
    seen.described(&[primary(), secondary()], seconds(69));
    assert_eq!(standing(&seen, "10.0.0.9/32"), SeenStanding::Confirmed);
    seen.described(&[primary(), secondary()], seconds(70));
    assert_eq!(standing(&seen, "10.0.0.9/32"), SeenStanding::Doubtful { since: seconds(70) });
}

#[test]
fn a_describe_that_lags_brings_back_nothing_that_a_call_of_ours_took() {
    let mut seen = seen();
    seen.described(&[primary(), secondary()], seconds(0));
    seen.unassigned("eni-1", net("10.0.0.5/32"), seconds(10));
    seen.described(&[primary(), secondary()], seconds(69));
    assert_eq!(seen.standing_of("eni-1", net("10.0.0.5/32")), None);
    seen.described(&[primary(), secondary()], seconds(70));
    assert_eq!(standing(&seen, "10.0.0.5/32"), SeenStanding::Confirmed, "somebody assigned it again");
    seen.detached("eni-1", seconds(80));
    seen.described(&[primary(), secondary()], seconds(139));
    assert_eq!(seen.standing("eni-1"), None);
}

#[test]
fn what_only_the_ledger_knows_is_missed_like_anything_else() {
    let mut seen = seen();
    seen.expect("eni-1", [net("10.0.0.5/32")], seconds(0));
    assert_eq!(standing(&seen, "10.0.0.5/32"), SeenStanding::Confirmed);
    seen.described(&[primary()], seconds(1));
    assert_eq!(standing(&seen, "10.0.0.5/32"), SeenStanding::Doubtful { since: seconds(1) });
    assert_eq!(seen.get("eni-1").unwrap().fact.by, Evidence::Ledger);
    seen.described(&[primary()], seconds(61));
    seen.forget_empty();
    assert_eq!(
        standing(&seen, "10.0.0.5/32"),
        SeenStanding::Gone { since: seconds(1) },
        "it stays until it is forgotten"
    );
    seen.forget("eni-1", net("10.0.0.5/32"));
    seen.forget_empty();
    assert_eq!(seen.standing("eni-1"), None);
}

#[test]
fn an_interface_on_its_way_away_is_not_shown() {
    let mut seen = seen();
    seen.described(&[primary(), secondary()], seconds(0));
    let leaving = Ec2Interface { status: Status::Detaching, ..secondary() };
    seen.described(&[primary(), leaving], seconds(5));
    assert_eq!(seen.standing("eni-1"), Some(SeenStanding::Doubtful { since: seconds(5) }));
}

#[test]
fn duties_follow_the_tags_the_type_and_the_card() {
    let (seen, strict) = (seen(), SeenNode::new("i-1", seconds(60), false));
    let tagged = |name: &str, value: &str| {
        let tags = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Ec2Interface { tags, ..secondary() }
    };
    assert_eq!(seen.duty(&primary()), Duty::Primary);
    assert_eq!((seen.duty(&secondary()), strict.duty(&secondary()).is_managed()), (Duty::Managed, false));
    assert_eq!(strict.duty(&tagged(names::INSTANCE_TAG, "i-1")), Duty::Managed);
    assert!(!strict.duty(&tagged(names::INSTANCE_TAG, "i-2")).is_managed());
    assert_eq!(strict.duty(&tagged(names::UNMANAGED_TAG, "false")), Duty::Managed);
    let foreign = seen.duty(&tagged(names::UNMANAGED_TAG, "true"));
    assert_eq!(foreign, Duty::Foreign("its tag node.k8s.amazonaws.com/no_manage is true".to_owned()));
    for kind in ["efa", "efa-only", "trunk", "branch"] {
        let special = Ec2Interface { kind: kind.to_owned(), ..tagged(names::INSTANCE_TAG, "i-1") };
        assert_eq!(seen.duty(&special), Duty::Foreign(format!("it is of type {kind}")));
    }
    let mut carded = secondary();
    carded.attachment.as_mut().unwrap().card = 1;
    assert_eq!(seen.duty(&carded), Duty::Foreign("it is on network card 1".to_owned()));
}

#[test]
fn after_a_restart_nothing_is_settled_until_a_window_has_passed() {
    let mut seen = seen();
    seen.starts(seconds(5));
    seen.expect("eni-0", [net("10.0.0.4/32")], seconds(5));
    seen.described(&[primary()], seconds(6));
    assert!(!seen.has_doubts() && seen.settles().is_none(), "EC2 shows what the ledger has");
    seen.described(&[primary(), secondary()], seconds(64));
    let (ledger, early) = (("eni-0", net("10.0.0.4/32")), ("eni-1", net("10.0.0.5/32")));
    let is_settling = |seen: &SeenNode, (interface, net)| seen.is_settling(interface, net);
    assert!(!is_settling(&seen, ledger) && is_settling(&seen, early) && seen.is_shown(early.0, early.1));
    assert_eq!((seen.settles(), seen.has_doubts()), (Some(seconds(65)), true));
    seen.described(&[primary(), secondary()], seconds(65));
    assert!(!is_settling(&seen, early) && !seen.has_doubts() && seen.settles().is_none());
    seen.unassigned("eni-1", net("10.0.0.5/32"), seconds(70));
    let taken = |now| seen.just_taken("eni-1", seconds(now)).collect::<Vec<_>>();
    assert_eq!((taken(129), taken(130)), (vec![net("10.0.0.5/32")], vec![]));
}

#[test]
fn an_empty_ledger_settles_like_any_other() {
    let mut seen = seen();
    seen.starts(seconds(5));
    seen.described(&[primary()], seconds(6));
    assert!(seen.is_settling("eni-0", net("10.0.0.4/32")), "another process may have taken it just before");
    seen.assigned("eni-0", &[net("10.0.0.4/32")], seconds(7));
    assert!(!seen.is_settling("eni-0", net("10.0.0.4/32")), "EC2 has just assigned it");
    assert!(!seen.has_doubts());
}

#[test]
fn an_answer_about_another_machine_does_not_count() {
    let enis = [interface("eni-0", 0, &["10.0.0.5/32"])];
    let mut here = SeenNode::new("i-1", seconds(60), true).on(Some("02:00:00:00:00:00".to_owned()));
    assert_eq!(here.described(&enis, seconds(5)), Look::Full);
    let mut elsewhere = SeenNode::new("i-1", seconds(60), true).on(Some("02:00:00:00:99:99".to_owned()));
    let Look::Suspicious(why) = elsewhere.described(&enis, seconds(5)) else { panic!("it counts") };
    assert!(why.contains("it is not this instance") && elsewhere.interfaces().count() == 0, "{why}");
    assert_eq!((elsewhere.last(), elsewhere.trouble()), (None, Some(why.as_str())));
}
