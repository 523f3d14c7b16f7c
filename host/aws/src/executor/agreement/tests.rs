use super::*;
use crate::samples::{interface, net, seconds};

fn lines(of: &[&str]) -> BTreeSet<String> {
    of.iter().map(|line| (*line).to_owned()).collect()
}

/// A node with two interfaces that EC2 showed at 0 s, and their hardware addresses.
fn seen() -> (SeenNode, [String; 2]) {
    let mut seen = SeenNode::new("i-1", seconds(60), true);
    let mut both = [interface("eni-0", 0, &["10.0.0.5/32"]), interface("eni-1", 1, &["10.0.0.16/28"])];
    both[0].mac = "02:00".to_owned();
    both[1].mac = "02:01".to_owned();
    both[0].primary_address = Some("10.0.0.4".parse().unwrap());
    seen.described(&both, seconds(0));
    (seen, both.map(|known| known.mac))
}

fn field(mac: &str, field: CarriedField, values: &[&str]) -> ShownPart {
    ShownPart::Field { mac: mac.to_owned(), field, values: lines(values) }
}

/// The interface's own address, and what is on it.
fn addresses(seen: &SeenNode, id: &str, more: &[&str]) -> Vec<String> {
    let own = seen.get(id).unwrap().facts.as_ref().unwrap().primary_address;
    own.iter().map(ToString::to_string).chain(more.iter().map(|more| (*more).to_owned())).collect()
}

fn texts(of: &[String]) -> Vec<&str> {
    of.iter().map(String::as_str).collect()
}

/// All parts of what the service shows, as EC2 does.
fn all(seen: &SeenNode, macs: [String; 2]) -> [ShownPart; 7] {
    let first = addresses(seen, "eni-0", &["10.0.0.5"]);
    let second = addresses(seen, "eni-1", &[]);
    [
        ShownPart::Interfaces(macs.into()),
        field("02:00", CarriedField::Addresses, &texts(&first)),
        field("02:00", CarriedField::Prefixes, &[]),
        field("02:00", CarriedField::Ipv6Prefixes, &[]),
        field("02:01", CarriedField::Addresses, &texts(&second)),
        field("02:01", CarriedField::Prefixes, &["10.0.0.16/28"]),
        field("02:01", CarriedField::Ipv6Prefixes, &[]),
    ]
}

#[test]
fn what_a_change_of_this_node_explains_says_nothing_against_what_was_heard_before() {
    let (mut seen, macs) = seen();
    let (mut agreement, parts) = (MetadataAgreement::default(), all(&seen, macs));
    for part in &parts {
        agreement.heard(part, &seen, false, seconds(100));
    }
    seen.assigned("eni-0", &[net("10.0.0.6/32")], seconds(300));
    assert!(!agreement.heard(&parts[1], &seen, false, seconds(302)), "it lags");
    assert_eq!(agreement.since(&seen), Some(seconds(100)));
    let mut third = interface("eni-2", 2, &["10.0.0.32/28"]);
    third.mac = "02:02".to_owned();
    seen.attached(&third, seconds(303));
    assert_eq!(agreement.since(&seen), Some(seconds(100)), "EC2's answers have just said what it is");
    assert!(agreement.heard(&parts[1], &seen, false, seconds(400)), "it has stood still for a window");
    assert_eq!(agreement.since(&seen), None);
}

#[test]
fn it_agrees_since_the_oldest_of_all_parts() {
    let (seen, macs) = seen();
    let (mut agreement, parts) = (MetadataAgreement::default(), all(&seen, macs));
    for (part, now) in parts.iter().zip(100..) {
        assert_eq!(agreement.since(&seen), None);
        assert!(!agreement.heard(part, &seen, false, seconds(now)));
    }
    assert_eq!(agreement.since(&seen), Some(seconds(100)));
    agreement.heard(&parts[0], &seen, false, seconds(200));
    assert_eq!(agreement.since(&seen), Some(seconds(101)));
    assert!(agreement.heard(&field("02:01", CarriedField::Prefixes, &[]), &seen, false, seconds(300)));
    assert_eq!(agreement.since(&seen), None, "a prefix is missing");
}

#[test]
fn a_difference_asks_once_and_again_after_it_was_gone() {
    let (seen, macs) = seen();
    let mut agreement = MetadataAgreement::default();
    let less = ShownPart::Interfaces(lines(&["02:00"]));
    assert!(agreement.heard(&less, &seen, false, seconds(100)));
    assert!(!agreement.heard(&less, &seen, false, seconds(122)));
    assert!(!agreement.heard(&ShownPart::Interfaces(macs.into()), &seen, false, seconds(144)));
    assert!(agreement.heard(&less, &seen, false, seconds(166)));
    assert!(agreement.heard(&ShownPart::Interfaces(lines(&["02:09"])), &seen, false, seconds(188)));
}

#[test]
fn a_change_of_this_node_that_it_shows_late_or_early_asks_nothing() {
    let (mut seen, _) = seen();
    let mut agreement = MetadataAgreement::default();
    seen.assigned("eni-0", &[net("10.0.0.6/32")], seconds(100));
    seen.unassigned("eni-0", net("10.0.0.5/32"), seconds(100));
    let as_before = addresses(&seen, "eni-0", &["10.0.0.5"]);
    let part = field("02:00", CarriedField::Addresses, &texts(&as_before));
    assert!(!agreement.heard(&part, &seen, false, seconds(159)));
    assert!(agreement.heard(&part, &seen, false, seconds(161)), "it does not lag so long");
    let wrong = addresses(&seen, "eni-0", &["10.0.0.5", "10.0.0.9"]);
    let part = field("02:00", CarriedField::Addresses, &texts(&wrong));
    assert!(agreement.heard(&part, &seen, false, seconds(110)), "somebody else has assigned one");
    let unknown = ShownPart::Interfaces(lines(&["02:00", "02:01", "02:02"]));
    assert!(!agreement.heard(&unknown, &seen, true, seconds(200)), "it is just being attached");
    assert!(agreement.heard(&unknown, &seen, false, seconds(222)));
    seen.detached("eni-1", seconds(300));
    let as_before = ShownPart::Interfaces(lines(&["02:00", "02:01"]));
    assert!(!agreement.heard(&as_before, &seen, false, seconds(310)));
    assert_eq!(agreement.since(&seen), None);
}
