//! Descriptions that are refused, each with what is wrong.

use super::*;
use crate::node::{CloudInterface, NodeSettings, Pod};

fn interface(number: u8) -> CloudInterface {
    CloudInterface {
        name: format!("eth{number}"),
        mac: Mac([2, 0, 0, 0, 0, number]),
        card: 0,
        device: u32::from(number),
        addresses: vec![format!("10.0.{number}.10/20").parse().unwrap()],
        carries: vec![format!("10.0.{number}.32/28").parse().unwrap()],
    }
}

fn node() -> NodeNetwork {
    NodeNetwork {
        primary: Some(interface(0)),
        secondary: vec![interface(1), interface(2)],
        pods: vec![Pod { addresses: vec!["10.0.1.33".parse().unwrap()], link: "eni1".to_owned() }],
        settings: NodeSettings::default(),
    }
}

/// The complaint about a node that was changed.
fn complaint(change: impl FnOnce(&mut NodeNetwork)) -> String {
    let mut node = node();
    change(&mut node);
    DesiredState::of(&node).unwrap_err().to_string()
}

#[test]
fn a_contradiction_is_named() {
    assert!(DesiredState::of(&node()).is_ok());
    let twice = |what: &str| format!("{what} is described twice");
    assert_eq!(complaint(|node| node.secondary[1].name = "eth1".to_owned()), twice("eth1"));
    assert_eq!(complaint(|node| node.pods[0].link = "eth2".to_owned()), twice("eth2"));
    assert_eq!(
        complaint(|node| node.pods[0].addresses = vec!["10.0.2.10".parse().unwrap()]),
        twice("10.0.2.10")
    );
    assert_eq!(
        complaint(|node| node.pods.push(Pod { link: "eni2".to_owned(), ..node.pods[0].clone() })),
        twice("10.0.1.33")
    );
    assert_eq!(
        complaint(|node| node.secondary[0].addresses.clear()),
        "interface eth1 has no address of its own"
    );
    assert!(
        complaint(|node| node.primary.as_mut().unwrap().addresses.clear())
            .contains("no IPv4 address to translate")
    );
    assert!(complaint(|node| node.settings.mark = 0).starts_with("the mark has no bit"));
    assert!(complaint(|node| node.secondary[0].device = 30).contains("has no table in 9000..=9999"));
}

#[test]
fn a_prefix_on_two_interfaces_is_refused_also_inside_of_another() {
    let overlap = |net: &str| {
        let net = net.parse().unwrap();
        complaint(move |node| node.secondary[1].carries.push(net))
    };
    assert_eq!(
        overlap("10.0.1.32/28"),
        "10.0.1.32/28 and 10.0.1.32/28 overlap, but are on different interfaces"
    );
    assert_eq!(
        overlap("10.0.1.40/32"),
        "10.0.1.32/28 and 10.0.1.40/32 overlap, but are on different interfaces"
    );
    assert!(overlap("10.0.0.0/16").contains("overlap"));
    let mut node = node();
    node.secondary[1].carries.push("10.0.2.40/32".parse().unwrap());
    assert!(DesiredState::of(&node).is_ok(), "an interface may name an address of its own prefix");
}

#[test]
fn a_name_that_would_say_something_else_in_a_rule_is_refused() {
    for name in
        ["", "a-name-too-long-for-it", "eth 0", "eth0\" accept", "eth/0", "..", "eth*", "\u{e9}th0", "e\n"]
    {
        assert!(
            complaint(|node| node.primary.as_mut().unwrap().name = name.to_owned())
                .contains("is not a name of a link"),
            "{name}"
        );
        assert!(
            complaint(|node| node.settings.link_prefix = name.to_owned()).contains("is not a name"),
            "{name}"
        );
        assert!(complaint(|node| node.pods[0].link = name.to_owned()).contains("is not a name"), "{name}");
    }
}

#[test]
fn a_hardware_address_is_read_as_it_is_written() {
    let mac: Mac = "02:00:5e:00:53:ff".parse().unwrap();
    assert_eq!(mac.to_string(), "02:00:5e:00:53:ff");
    for text in [
        "",
        "02:00:5e:00:53",
        "02:00:5e:00:53:ff:00",
        "2:0:5e:0:53:ff",
        "02:00:5e:00:53:fg",
        "02-00-5e-00-53-ff",
        "+2:00:5e:00:53:ff",
    ] {
        assert!(text.parse::<Mac>().is_err(), "{text}");
    }
}
