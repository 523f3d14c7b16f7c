use std::sync::Arc;

use tenure_checkpoint::Base;
use tenure_ledger::{Choice, ChoiceFact, Chooser};
use tenure_types::{
    AssignedAddress, Attributes, BootId, ContainerId, Cooling, Definer, InterfaceName, PodIdentity,
    PolicyName, PolicyStamp, Pool, PoolName, Range, Sandbox,
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

/// A boot, a network, a pod that is created and deleted, and a release of an allocation that is older than the log.
fn history() -> Vec<LogItem> {
    let header = |boot: &str, number, seconds| {
        LogItem::Segment(LogHeader {
            version: 2,
            program: "tenured 0.1.0".into(),
            number,
            first: 1,
            base: Base::Log,
            after: None,
            boot: BootId(boot.into()),
            node: "node-7".into(),
            opened: at(seconds),
        })
    };
    let fact = |place, fact: Fact| LogItem::Fact {
        place,
        group: (place, place),
        line: ChapterLine::from(&fact),
        fact: Some(fact),
    };
    let release = |generation| {
        let (network, generation, at) = (network(), Generation(generation), at(60));
        LedgerFact::Released { network, generation, at, reason: "del".into() }.into()
    };
    let pod = PodIdentity { namespace: "default".into(), name: "web-1".into(), uid: Box::default() };
    let gateway = Some("10.1.0.1".parse().unwrap());
    let allocation = Allocation {
        network: network(),
        generation: Generation(17),
        owner: Owner::Attachment {
            container: ContainerId::new("4c01db0b339c7a9ac2cf8a5e5c3bd4d0").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        },
        addresses: [AssignedAddress::plain("10.1.0.7/24".parse().unwrap(), gateway)].into(),
        sandbox: Sandbox { pod: Some(pod), ..Sandbox::default() },
        tags: Attributes::default(),
        policy: Arc::new(stamp()),
        origin: None,
        requested_at: at(1),
        allocated_at: at(1),
    };
    let pool = PoolName::new("0").unwrap();
    let defined = Network {
        name: network(),
        config: Arc::default(),
        pools: vec![Pool::new(pool.clone())],
        cooling: Cooling::Strict,
        attributes: Attributes::default(),
        defined_by: Definer::Request,
        changed_at: at(1),
    };
    let subnet = "10.1.0.0/24".parse().unwrap();
    let range =
        Range::new(subnet, "10.1.0.2".parse().unwrap(), "10.1.0.9".parse().unwrap(), None, 24).unwrap();
    let choice =
        Choice { policy: stamp(), by: Chooser::Configuration, at: at(1), why: String::new(), watched: false };
    let stranger = ChapterLine {
        chapter: "effects".into(),
        version: 3,
        optional: true,
        json: br#"{"intent":{"attach":"eni-1"}}"#.to_vec(),
    };
    vec![
        header("boot-one", 1, 0),
        fact(1, ChoiceFact::Chosen { network: network(), choice }.into()),
        fact(2, LedgerFact::Defined(Arc::new(defined)).into()),
        fact(
            3,
            LedgerFact::RangeAdded { network: network(), pool, range: Box::new(range), at: at(1) }.into(),
        ),
        fact(4, LedgerFact::Allocated(Arc::new(allocation)).into()),
        header("boot-one", 2, 30),
        LogItem::Fact { place: 5, group: (5, 5), line: stranger, fact: None },
        fact(6, release(17)),
        fact(7, release(16)),
        header("boot-two", 3, 90),
    ]
}

#[test]
fn a_history_reads_from_top_to_bottom() {
    let mut lines = LogLines::default();
    let text: String = history().iter().map(|item| lines.text(item)).collect();
    insta::assert_snapshot!(text, @r#"
    2023-11-14T22:13:20.000Z  node node-7, boot boot-one
    2023-11-14T22:13:21.000Z  #1      pods         chosen     host-local@9f86d081884c by configuration
    2023-11-14T22:13:21.000Z  #2      pods         defined    pools 0 (configuration) by request
    2023-11-14T22:13:21.000Z  #3      pods         added      range 10.1.0.2-10.1.0.9 to pool 0
    2023-11-14T22:13:21.000Z  #4      pods         allocated  10.1.0.7/24 default/web-1 4c01db0b339c/eth0
    -                         #5      -            unknown    chapter effects, version 3: {"intent":{"attach":"eni-1"}}
    2023-11-14T22:14:20.000Z  #6      pods         released   10.1.0.7/24 default/web-1 4c01db0b339c/eth0 (del)
    2023-11-14T22:14:20.000Z  #7      pods         released   generation 16 (del)
    2023-11-14T22:14:50.000Z  node node-7, boot boot-two
    "#);
}

#[test]
fn a_boot_ends_what_was_live_with_a_line_each() {
    let history = history();
    let header = |boot: &str| {
        let LogItem::Segment(header) = &history[0] else { panic!("the history begins with a segment") };
        LogItem::Segment(LogHeader { boot: BootId(boot.into()), opened: at(90), ..header.clone() })
    };
    let mut lines = LogLines::default();
    let text: String =
        history[..5].iter().chain([&header("boot-two")]).map(|item| lines.text(item)).collect();
    insta::assert_snapshot!(text.lines().skip(5).collect::<Vec<_>>().join("\n"), @"
    2023-11-14T22:14:50.000Z  node node-7, boot boot-two
    2023-11-14T22:14:50.000Z  -       pods         released   10.1.0.7/24 default/web-1 4c01db0b339c/eth0 (reboot)
    ");
    let mut lines = LogLines::default();
    let text: String =
        history[..5].iter().chain([&header("boot-two")]).map(|item| lines.json(item)).collect();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["fact"]["released"]["reason"], &last["fact"]["released"]["generation"]),
        (&json!("reboot"), &json!(17))
    );
    assert_eq!(lines.json(&header("boot-two")).lines().count(), 1, "once");
}

#[test]
fn programs_get_facts_as_the_file_has_them() {
    let (history, mut lines) = (history(), LogLines::default());
    insta::assert_snapshot!(lines.json(&history[7]), @r#"{"chapter":"ledger","fact":{"released":{"at":{"boot_ns":60000000000,"wall_ms":1700000060000},"generation":17,"network":"pods","reason":"del"}},"group":[6,6],"place":6,"version":1}"#);
    for item in &history {
        for line in lines.json(item).lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
    }
}

#[test]
fn a_part_of_the_log_knows_what_was_before_it() {
    let history = history();
    let all: String = history.iter().map(|item| LogLines::default().text(item)).collect();
    let print = |filter: LogFilter| {
        let mut lines = LogLines::of(filter);
        history.iter().map(|item| lines.text(item)).collect::<String>()
    };
    let of = |name: &str| vec![NetworkName::new(name).unwrap()];
    assert_eq!(print(LogFilter { since_ms: 0, networks: of("elsewhere") }).matches("pods").count(), 0);
    let late = print(LogFilter { since_ms: 1_700_000_060_000, networks: of("pods") });
    let released = late.lines().find(|line| line.contains("released")).unwrap();
    assert!(!released.contains("generation"), "its address is known from before: {released}");
    assert!(late.lines().count() < all.lines().count(), "{late}");
    assert!(!late.contains("T22:13:2"), "{late}");
    let mut lines = LogLines::of(LogFilter { since_ms: u64::MAX, networks: Vec::new() });
    assert!(
        history
            .iter()
            .all(|item| matches!(item, LogItem::Fact { fact: None, .. }) || lines.json(item).is_empty())
    );
}
