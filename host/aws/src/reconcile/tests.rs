mod withdrawn;

use tenure_types::EffectKind;

use super::*;
use crate::names;
use crate::samples::{Ledger, intent, interface, net, seconds, situation, subnet};

struct Says(UseVerdict);

impl UseWitness for Says {
    fn named(&self, net: ipnet::IpNet) -> Result<Vec<(std::net::IpAddr, String)>, String> {
        match &self.0 {
            UseVerdict::Unused => Ok(Vec::new()),
            UseVerdict::Used(by) => Ok(vec![(net.addr(), by.clone())]),
            UseVerdict::Unknown(why) => Err(why.clone()),
        }
    }
}

fn primary() -> Ec2Interface {
    interface("eni-0", 0, &["10.0.0.5/32"])
}

fn secondary() -> Ec2Interface {
    interface("eni-1", 1, &["10.0.0.6/32", "10.0.0.32/28"])
}

/// The changes in words.
fn found_by(verdict: UseVerdict, situation: &Situation, ledger: &Ledger) -> (Vec<String>, SupplyDifference) {
    let difference = difference(situation, &ledger.book, &Says(verdict));
    let words = |(change, _): &(Supply, String)| match change {
        Supply::Add { pool, range } => format!("add {} to {pool}", range.name()),
        Supply::Drain { range, draining: true, .. } => format!("drain {range}"),
        Supply::Drain { range, draining: false, .. } => format!("open {range}"),
        Supply::Withdraw { range, .. } => format!("withdraw {range}"),
    };
    (difference.changes.iter().map(words).collect(), difference)
}

fn found(situation: &Situation, ledger: &Ledger) -> Vec<String> {
    found_by(UseVerdict::Unused, situation, ledger).0
}

#[test]
fn what_the_ledger_does_not_have_is_adopted() {
    let mut eni = secondary();
    eni.carries.push(net("2001:db8:0:1:5::/80"));
    let situation = situation(&[primary(), eni]);
    let (words, difference) = found_by(UseVerdict::Unused, &situation, &Ledger::of(&[primary()]));
    assert_eq!(
        words,
        ["add 10.0.0.6/32 to ipv4", "add 10.0.0.32/28 to ipv4", "add 2001:db8:0:1:5::/80 to ipv6"]
    );
    let Supply::Add { range, .. } = &difference.changes[1].0 else { panic!() };
    assert_eq!(range.subnet(), net("10.0.0.0/24"), "the subnet is the interface's");
    assert_eq!(range.attributes().to_string(), "device=1,interface=eni-1");
    assert_eq!(
        found(
            &situation,
            &Ledger::of(&[primary(), situation.seen.get("eni-1").unwrap().facts.clone().unwrap()])
        ),
        [""; 0]
    );
}

/// A node that has just started with an empty ledger, and whose interface was described `after` so many seconds.
fn started(after: u64) -> Situation {
    let mut situation = situation(&[]);
    situation.seen = SeenNode::new("i-1", seconds(60), true);
    situation.seen.starts(seconds(1000));
    situation.seen.described(&[primary()], seconds(1000 + after));
    situation
}

#[test]
fn what_another_process_may_have_taken_is_not_adopted_before_it_has_settled() {
    let (used, ledger) = (UseVerdict::Used("a route".to_owned()), Ledger::new());
    assert_eq!(found(&started(59), &ledger), [""; 0]);
    assert_eq!(found(&started(60), &ledger), ["add 10.0.0.5/32 to ipv4"]);
    let drained = ["add 10.0.0.5/32 to ipv4", "drain 10.0.0.5/32"];
    assert_eq!(found_by(used, &started(1), &ledger).0, drained, "no other gets the address of a pod");
    let mut adopted = Ledger::of(&[primary()]);
    adopted.drain("10.0.0.5/32");
    assert_eq!(found(&started(59), &adopted), [""; 0], "it is not opened either");
    assert_eq!(found(&started(60), &adopted), ["open 10.0.0.5/32"]);
}

#[test]
fn what_an_intent_is_about_and_what_is_not_managed_is_not_adopted() {
    let mut situation = situation(&[primary(), secondary()]);
    for (attributes, reached) in
        [([("interface", "eni-1")], vec![]), ([("count", "1")], vec![("interface", "eni-1")])]
    {
        situation.open = vec![intent(EffectKind::AssignAddress, &attributes, &reached)];
        assert_eq!(found(&situation, &Ledger::of(&[primary()])), [""; 0]);
    }
    let trunk = Ec2Interface { kind: "trunk".to_owned(), ..secondary() };
    assert_eq!(found(&super::tests::situation(&[primary(), trunk]), &Ledger::of(&[primary()])), [""; 0]);
    let coming = Ec2Interface { status: Status::Attaching, ..secondary() };
    assert_eq!(found(&super::tests::situation(&[primary(), coming]), &Ledger::of(&[primary()])), [""; 0]);
}

#[test]
fn what_cannot_be_a_range_is_reported() {
    let mut situation = situation(&[primary(), interface("eni-1", 1, &["10.9.0.6/32", "10.0.0.0/28"])]);
    let ledger = Ledger::of(&[primary()]);
    let (words, difference) = found_by(UseVerdict::Unused, &situation, &ledger);
    assert_eq!(words, [""; 0]);
    let odd = [
        "10.9.0.6/32 on interface eni-1 cannot be a range: it is not in subnet subnet-1",
        "10.0.0.0/28 on interface eni-1 cannot be a range: it overlaps range 10.0.0.5/32",
    ];
    assert_eq!(difference.odd, odd);
    situation.subnets.clear();
    let odd = found_by(UseVerdict::Unused, &situation, &ledger).1.odd;
    assert!(odd[0].ends_with("subnet subnet-1 is not known"), "{odd:?}");
}

#[test]
fn ranges_that_serve_no_new_pods_drain_and_are_opened_again() {
    let enis = [primary(), secondary()];
    let (mut situation, mut ledger) = (situation(&enis), Ledger::of(&enis));
    situation.settings.custom_network = true;
    assert_eq!(found(&situation, &ledger), ["drain 10.0.0.5/32"]);
    situation.settings.custom_network = false;
    situation.subnets = vec![subnet(1, &[(names::ROLE_TAG, "0")])];
    assert_eq!(found(&situation, &ledger), ["drain 10.0.0.5/32", "drain 10.0.0.6/32", "drain 10.0.0.32/28"]);
    assert_eq!(found(&situation, &Ledger::new())[..2], ["add 10.0.0.5/32 to ipv4", "drain 10.0.0.5/32"]);
    situation.subnets = vec![subnet(1, &[])];
    ledger.drain("10.0.0.6/32");
    assert_eq!(found(&situation, &ledger), ["open 10.0.0.6/32"]);
}

#[test]
fn what_is_in_doubt_drains_and_what_is_gone_is_withdrawn_if_nobody_has_it() {
    let enis = [primary(), secondary()];
    let (mut situation, mut ledger) = (situation(&enis), Ledger::of(&enis));
    situation.seen.described(&[primary()], seconds(1001));
    let drained = ["drain 10.0.0.6/32", "drain 10.0.0.32/28"];
    assert_eq!(found(&situation, &ledger), drained, "a pod that got one would not be reachable");
    let mut again = situation.clone();
    again.seen.described(&enis, seconds(1030));
    situation.seen.described(&[primary()], seconds(1061));
    let (words, difference) = found_by(UseVerdict::Unused, &situation, &ledger);
    assert_eq!((words, difference.gone), (drained.map(str::to_owned).to_vec(), vec![]), "it drains first");
    ["10.0.0.6/32", "10.0.0.32/28"].into_iter().for_each(|range| ledger.drain(range));
    assert_eq!(found(&again, &ledger), ["open 10.0.0.6/32", "open 10.0.0.32/28"], "it was there all along");
    let (words, difference) = found_by(UseVerdict::Unused, &situation, &ledger);
    assert_eq!(words, ["withdraw 10.0.0.6/32", "withdraw 10.0.0.32/28"]);
    assert_eq!((difference.quarantine.len(), difference.gone.len()), (0, 2));
    let gone = found_by(UseVerdict::Unused, &situation, &Ledger::of(&[primary()])).1.gone;
    assert_eq!(gone.len(), 2, "the ledger has forgotten it already");
}

#[test]
fn what_is_gone_and_may_be_in_use_is_quarantined_and_never_withdrawn() {
    let enis = [primary(), secondary()];
    let (mut situation, mut ledger) = (situation(&enis), Ledger::of(&enis));
    ledger.hold("10.0.0.6");
    ledger.hold("10.0.0.33");
    ledger.release("10.0.0.33");
    situation.seen.described(&[primary()], seconds(1001));
    situation.seen.described(&[primary()], seconds(1061));
    let (words, difference) = found_by(UseVerdict::Unused, &situation, &ledger);
    assert_eq!(words, ["drain 10.0.0.6/32", "drain 10.0.0.32/28"]);
    let why: Vec<_> = difference.quarantine.iter().map(|quarantined| quarantined.why.as_str()).collect();
    assert_eq!(
        why,
        [
            "an address of it is in use: 10.0.0.6 by a container whose pod is not known",
            "1 addresses of it are cooling"
        ]
    );
    let mut ledger = Ledger::of(&enis);
    ledger.quarantine("10.0.0.33");
    let quarantined = found_by(UseVerdict::Unused, &situation, &ledger).1.quarantine;
    assert_eq!(quarantined[0].why, "1 addresses of it are in quarantine");
    let ledger = Ledger::of(&enis);
    for verdict in
        [UseVerdict::Unknown("the runtime is down".to_owned()), UseVerdict::Used("a route".to_owned())]
    {
        let (words, difference) = found_by(verdict, &situation, &ledger);
        assert_eq!(words, ["drain 10.0.0.6/32", "drain 10.0.0.32/28"]);
        assert_eq!(difference.quarantine.len(), 2);
    }
    let mut drained = Ledger::of(&enis);
    drained.drain("10.0.0.6/32");
    drained.drain("10.0.0.32/28");
    let unknown = UseVerdict::Unknown(String::new());
    assert_eq!(found_by(unknown, &situation, &drained).0, [""; 0], "once is enough");
    situation.seen.described(&enis, seconds(1070));
    assert_eq!(found(&situation, &drained), ["open 10.0.0.6/32", "open 10.0.0.32/28"], "it is back");
}

#[test]
fn what_somebody_uses_whom_the_ledger_does_not_know_is_handed_out_to_nobody() {
    let situation = situation(&[primary(), secondary()]);
    let mut ledger = Ledger::of(&[primary()]);
    let used = || UseVerdict::Used("the kernel reaches it at eni1234".to_owned());
    let adopted = ["add 10.0.0.6/32 to ipv4", "add 10.0.0.32/28 to ipv4"];
    let drained = [adopted[0], "drain 10.0.0.6/32", adopted[1], "drain 10.0.0.32/28"];
    for verdict in [used(), UseVerdict::Unknown("the runtime does not answer".to_owned())] {
        let (words, difference) = found_by(verdict, &situation, &ledger);
        assert_eq!(words, drained);
        let nets: Vec<_> = difference.quarantine.iter().map(|quarantined| quarantined.net).collect();
        assert_eq!(nets, [net("10.0.0.6/32"), net("10.0.0.32/28")]);
        assert!(difference.quarantine[0].why.contains("use"), "{:?}", difference.quarantine);
    }
    // It stays so, until an import has told the ledger who that is.
    ledger = Ledger::of(&[primary(), secondary()]);
    ledger.drain("10.0.0.6/32");
    let (words, difference) = found_by(used(), &situation, &ledger);
    assert_eq!((words.len(), difference.quarantine.len()), (0, 1));
    let mut imported = Ledger::of(&[primary(), secondary()]);
    imported.hold("10.0.0.6");
    imported.drain("10.0.0.6/32");
    assert_eq!(found_by(used(), &situation, &imported).0, ["open 10.0.0.6/32"]);
    assert_eq!(
        found_by(used(), &situation, &Ledger::of(&[primary(), secondary()])).0,
        [""; 0],
        "no open range is closed"
    );
}

#[test]
fn what_is_somebody_elses_serves_no_new_pods_and_is_left_once_nobody_uses_it() {
    let tags = [(names::UNMANAGED_TAG.to_owned(), "true".to_owned())].into();
    let situation = situation(&[primary(), Ec2Interface { tags, ..secondary() }]);
    let mut ledger = Ledger::of(&[primary(), secondary()]);
    ledger.hold("10.0.0.33");
    assert_eq!(found(&situation, &ledger), ["drain 10.0.0.6/32", "drain 10.0.0.32/28"]);
    ledger.drain("10.0.0.6/32");
    assert_eq!(found(&situation, &ledger), ["withdraw 10.0.0.6/32", "drain 10.0.0.32/28"]);
    let drained = ["drain 10.0.0.32/28"];
    for verdict in [UseVerdict::Used("a route".to_owned()), UseVerdict::Unknown("no runtime".to_owned())] {
        assert_eq!(found_by(verdict, &situation, &ledger).0, drained);
    }
    ledger.release("10.0.0.33");
    ledger.drain("10.0.0.32/28");
    assert_eq!(found(&situation, &ledger), ["withdraw 10.0.0.6/32"], "an address cools");
    let managed = super::tests::situation(&[primary(), secondary()]);
    let open = ["open 10.0.0.6/32", "open 10.0.0.32/28"];
    assert_eq!(found(&managed, &ledger), open, "it is this node's again");
}
