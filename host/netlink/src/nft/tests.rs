//! The table's text, and what is read back of a listing.

use std::collections::BTreeMap;

use super::listing;
use super::script;
use super::table::{ChainShape, NftTable};
use crate::node::{CloudInterface, NodeNetwork, NodeSettings, Pod, SourcePorts};

fn node(settings: NodeSettings) -> NodeNetwork {
    let primary = CloudInterface {
        name: "eth0".to_owned(),
        mac: "02:00:00:00:00:01".parse().unwrap(),
        card: 0,
        device: 0,
        addresses: vec!["10.0.0.10/20".parse().unwrap()],
        carries: vec!["10.0.0.32/28".parse().unwrap(), "10.0.0.50/32".parse().unwrap()],
    };
    NodeNetwork { primary: Some(primary), secondary: Vec::new(), pods: Vec::new(), settings }
}

#[test]
fn the_table_is_one_transaction_in_words_that_can_be_read() {
    let within = vec!["10.0.0.0/16".parse().unwrap(), "172.16.0.0/12".parse().unwrap()];
    let table = NftTable::of(&node(NodeSettings { within, ..NodeSettings::default() })).unwrap();
    let text = script::replace(&table);
    let without_marks: Vec<&str> = text.lines().map(|line| line.split(" comment ").next().unwrap()).collect();
    assert_eq!(
        without_marks.join("\n"),
        r#"table ip tenure { }
delete table ip tenure
table ip tenure {
  set pods { type ipv4_addr; flags interval;
    elements = { 10.0.0.32-10.0.0.47, 10.0.0.50 }
  }
  set within { type ipv4_addr; flags interval;
    elements = { 10.0.0.0-10.0.255.255, 172.16.0.0-172.31.255.255 }
  }
  chain mark-in {
    type filter hook prerouting priority -150; policy accept;
    iifname "eth0" fib daddr . iif type local ct mark set ct mark | 0x80
  }
  chain mark-out {
    type filter hook prerouting priority -90; policy accept;
    iifname "eni*" meta mark set meta mark & 0xffffff7f
    iifname "eni*" ct state new ct direction original ip saddr @pods ip daddr != @within fib daddr type != local ct mark set ct mark | 0x80
    iifname "eni*" ct mark & 0x80 == 0x80 meta mark set meta mark | 0x80
  }
  chain translate {
    type nat hook postrouting priority 110; policy accept;
    ip daddr @within return
    fib daddr type local return
    ip saddr @pods oifname != "vlan*" snat to 10.0.0.10 fully-random
  }
}"#
    );
}

#[test]
fn pods_are_known_by_the_links_that_they_have_whatever_the_setting_is_now() {
    let mut node = node(NodeSettings { link_prefix: "aws".to_owned(), ..NodeSettings::default() });
    let pod = |link: &str| Pod { addresses: Vec::new(), link: link.to_owned() };
    node.pods = ["aws0d7763386da", "eni0d7763386da", "eni1d7763386da", "odd"].map(pod).into();
    let table = NftTable::of(&node).unwrap();
    let chain = table.chains.iter().find(|chain| chain.name == "mark-out").unwrap();
    let from: Vec<&str> = chain.rules.iter().map(|rule| rule.split('"').nth(1).unwrap()).collect();
    assert_eq!(from, ["aws*", "eni*", "odd"].repeat(3));
    assert_eq!(chain.rules[1], "iifname \"eni*\" meta mark set meta mark & 0xffffff7f");
}

#[test]
fn settings_leave_out_what_they_turn_off() {
    let chains = |settings| {
        let table = NftTable::of(&node(settings));
        table.map(|table| table.chains.iter().map(|chain| chain.name).collect::<Vec<_>>())
    };
    let off = || NodeSettings { snat: None, node_ports: false, ..NodeSettings::default() };
    assert_eq!(chains(off()), None);
    assert_eq!(chains(NodeSettings { node_ports: true, ..off() }), Some(vec!["mark-in", "mark-out"]));
    assert_eq!(
        chains(NodeSettings { snat: Some(SourcePorts::Kept), ..off() }),
        Some(vec!["mark-out", "translate"])
    );
    let text =
        |ports| script::replace(&NftTable::of(&node(NodeSettings { snat: Some(ports), ..off() })).unwrap());
    assert!(text(SourcePorts::Kept).contains("snat to 10.0.0.10 comment"));
    assert!(text(SourcePorts::Random).contains("snat to 10.0.0.10 random comment"));
}

#[test]
fn a_listing_is_compared_by_sets_chains_and_marks() {
    let text = r#"{"nftables": [{"metainfo": {"version": "1.0.6"}}, {"table": {"family": "ip", "name": "tenure"}},
        {"set": {"name": "within", "type": "ipv4_addr", "flags": ["interval"], "elem":
            [{"prefix": {"addr": "10.0.0.0", "len": 16}}, {"range": ["10.1.0.0", "10.1.0.255"]}, "192.0.2.1"]}},
        {"chain": {"name": "translate", "type": "nat", "hook": "postrouting", "prio": 110, "policy": "accept"}},
        {"rule": {"chain": "translate", "comment": "tenure 0123", "expr": []}},
        {"rule": {"chain": "translate", "expr": []}}]}"#;
    let shape = listing::read(text).unwrap();
    let marks = vec![Some("tenure 0123".to_owned()), None];
    let chain = ChainShape { kind: "nat".to_owned(), hook: "postrouting".to_owned(), priority: 110, marks };
    assert_eq!(shape.chains, BTreeMap::from([("translate".to_owned(), chain)]));
    assert_eq!(shape.sets["within"].iter().count(), 2, "10.0.0.0-10.1.0.255 touch");
    assert!(!shape.other);
    for foreign in [
        r#"{"map": {"name": "m"}}"#,
        r#"{"rule": {"chain": "unknown"}}"#,
        r#"{"chain": {"name": "regular"}}"#,
        r#"{"set": {"name": "s", "type": "inet_service"}}"#,
    ] {
        let text = format!(r#"{{"nftables": [{foreign}]}}"#);
        assert!(listing::read(&text).unwrap().other, "{foreign}");
    }
    assert_eq!(listing::read("nonsense"), None);
}
