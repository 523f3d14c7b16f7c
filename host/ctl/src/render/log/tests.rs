use std::sync::Arc;

use tenure_checkpoint::Base;
use tenure_types::{
    AssignedAddress, BootId, ContainerId, Definition, InterfaceName, NetworkConfig, Owner, PodIdentity,
    PolicyName, PolicyStamp,
};

use super::*;

fn network() -> NetworkName {
    NetworkName::new("pods").unwrap()
}

fn stamp() -> PolicyStamp {
    PolicyStamp {
        name: PolicyName::new("host-local").unwrap(),
        digest: "9f86d081884c7d659a2feaa0c55ad015".into(),
    }
}

fn at(seconds: u64) -> Moment {
    Moment { boot_ns: seconds * 1_000_000_000, wall_ms: 1_700_000_000_000 + seconds * 1000 }
}

/// A boot, a network, a pod that comes and goes, and an end of something older than the log.
fn history() -> Vec<LogItem> {
    let header = |boot: &str, number, seconds| {
        LogItem::Segment(LogHeader {
            version: 1,
            number,
            first: 1,
            base: Base::Log,
            boot: BootId(boot.into()),
            node: "node-7".into(),
            opened: at(seconds),
        })
    };
    let record = |place, record| LogItem::Record { place, group: (place, place), record };
    let release = |generation| Record::Release {
        network: network(),
        generation: Generation(generation),
        at: at(60),
        reason: "del".into(),
    };
    let allocation = Allocation {
        network: network(),
        generation: Generation(17),
        owner: Owner::Attachment {
            container: ContainerId::new("4c01db0b339c7a9ac2cf8a5e5c3bd4d0").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        },
        addresses: vec![AssignedAddress {
            address: "10.1.0.7/24".parse().unwrap(),
            gateway: Some("10.1.0.1".parse().unwrap()),
        }],
        pod: Some(PodIdentity { namespace: "default".into(), name: "web-1".into(), uid: String::new() }),
        netns: String::new(),
        netns_seen: None,
        policy: stamp(),
        origin: None,
        requested_at: at(1),
        allocated_at: at(1),
    };
    let defined = Network {
        name: network(),
        policy: stamp(),
        activated: false,
        config: NetworkConfig::default(),
        definition: Definition::default(),
        changed_at: Some(at(1)),
        importing: false,
    };
    vec![
        header("boot-one", 1, 0),
        record(1, Record::Network(Box::new(defined))),
        record(2, Record::Allocate(Arc::new(allocation))),
        header("boot-one", 2, 30),
        record(3, release(17)),
        record(4, release(16)),
        header("boot-two", 3, 90),
    ]
}

#[test]
fn a_history_reads_from_top_to_bottom() {
    let mut lines = Lines::default();
    let text: String = history().iter().map(|item| lines.text(item)).collect();
    insta::assert_snapshot!(text, @"
    2023-11-14T22:13:20.000Z  node node-7, boot boot-one
    2023-11-14T22:13:21.000Z  #1      pods         defined     by host-local@9f86d081884c
    2023-11-14T22:13:21.000Z  #2      pods         allocated  10.1.0.7/24 default/web-1 4c01db0b339c/eth0
    2023-11-14T22:14:20.000Z  #3      pods         released   10.1.0.7/24 default/web-1 4c01db0b339c/eth0 (del)
    2023-11-14T22:14:20.000Z  #4      pods         released   generation 16 (del)
    2023-11-14T22:14:50.000Z  node node-7, boot boot-two
    ");
}

#[test]
fn a_boot_ends_what_was_live_with_a_line_each() {
    let history = history();
    let header = |boot: &str| {
        let LogItem::Segment(header) = &history[0] else { panic!("a segment begins the history") };
        LogItem::Segment(LogHeader { boot: BootId(boot.into()), opened: at(90), ..header.clone() })
    };
    let mut lines = Lines::default();
    let text: String =
        history[..3].iter().chain([&header("boot-two")]).map(|item| lines.text(item)).collect();
    insta::assert_snapshot!(text.lines().skip(3).collect::<Vec<_>>().join("\n"), @"
    2023-11-14T22:14:50.000Z  node node-7, boot boot-two
    2023-11-14T22:14:50.000Z  -       pods         released   10.1.0.7/24 default/web-1 4c01db0b339c/eth0 (reboot)
    ");
    let mut lines = Lines::default();
    let text: String =
        history[..3].iter().chain([&header("boot-two")]).map(|item| lines.json(item)).collect();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["record"]["release"]["reason"], &last["record"]["release"]["generation"]),
        (&json!("reboot"), &json!(17))
    );
    assert_eq!(lines.json(&header("boot-two")).lines().count(), 1, "once");
}

#[test]
fn programs_get_records_as_the_file_has_them() {
    let (history, mut lines) = (history(), Lines::default());
    insta::assert_snapshot!(lines.json(&history[4]), @r#"{"group":[3,3],"place":3,"record":{"release":{"at":{"boot_ns":60000000000,"wall_ms":1700000060000},"generation":17,"network":"pods","reason":"del"}}}"#);
    for item in &history {
        for line in lines.json(item).lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
    }
}
