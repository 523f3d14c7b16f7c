use std::sync::Arc;

use ipnet::IpNet;
use tenure_aws::budget::{Rate, Unit};
use tenure_aws::executor::{Explained, InterfaceStatus, NetStatus, PlanStatus, PoolStatus};
use tenure_aws::port::{Ec2Subnet, InstanceLimits};
use tenure_aws::ranges::range_of;
use tenure_aws::reconcile::Quarantined;
use tenure_aws::seen::{Duty, Evidence, SeenStanding};
use tenure_aws::situation::Barred;
use tenure_engine::{Outlook, Planned, Refusal};
use tenure_ledger::{Book, Defined, Intent, IntentOrigin, LedgerFact, Usage};
use tenure_types::{
    ContainerId, DefinedPool, Definer, Definition, Effect, EffectKind, Error, ErrorCode, IntentId,
    InterfaceName, Moment, Need, NetworkConfig, Object, Owner, PolicyName, PolicyStamp, Pool, PoolName,
    Proposal, RangeName, Request, RequestContext, Result, Sandbox, Supply,
};

use super::*;

const ADDRESS: &str = "10.0.0.9/32";
const PREFIX: &str = "10.0.0.16/28";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn network() -> NetworkName {
    NetworkName::new("pods").unwrap()
}

fn pool() -> PoolName {
    PoolName::new("ipv4").unwrap()
}

fn stamp() -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("aws-eni").unwrap(), digest: "d16e57".into() }
}

fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    Attributes::new(pairs.iter().copied()).unwrap()
}

/// A book with a prefix of which an address is held, and a single address that drains, on `eni-1`.
fn book() -> Book {
    let of = Pool { supply: Supply::Host, need: Need::Optional, ..Pool::new(pool()) };
    let definition =
        Definition { pools: [DefinedPool { pool: of, ranges: Vec::new() }].into(), ..Definition::default() };
    let config = Arc::new(NetworkConfig { ipam: "{}".into(), attributes: Vec::new() });
    let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
    let mut book = Book::defined(&network(), defined, Moment::default()).unwrap();
    let apply = |book: &mut Book, fact: &LedgerFact| book.apply(book.through() + 1, fact).unwrap();
    for carried in [PREFIX, ADDRESS] {
        let range = range_of(net(carried), "eni-1", 1, net("10.0.0.0/24")).unwrap();
        let fact = book.supply(&pool(), range, Moment::default()).unwrap();
        apply(&mut book, &fact);
    }
    let owner = Owner::Attachment {
        container: ContainerId::new("c1").unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    };
    let address = "10.0.0.17".parse().unwrap();
    let request = Request {
        network: network(),
        owner,
        requested: vec![address],
        sandbox: Sandbox::default(),
        supply_full: false,
        context: RequestContext::default(),
        requested_at: Moment::default(),
    };
    let proposal = Proposal::of([(0, address)]);
    let held = book.admit_living(&request, &proposal, &Arc::new(stamp()), Moment::default(), &[]).unwrap();
    apply(&mut book, &LedgerFact::Allocated(Arc::new(held)));
    let drain = book.drain(&pool(), &RangeName::new(ADDRESS).unwrap(), true, Moment::default()).unwrap();
    apply(&mut book, &drain.unwrap());
    book
}

fn interface(id: &str, device: u32) -> InterfaceStatus {
    InterfaceStatus {
        id: id.to_owned(),
        card: Some(0),
        device: Some(device),
        mac: Some(format!("02:00:00:00:00:0{device}")),
        address: Some("10.0.0.4".parse().unwrap()),
        subnet: "subnet-1".to_owned(),
        duty: Some(Duty::Managed),
        evidence: Evidence::Described,
        confirmed: seconds(990),
        standing: SeenStanding::Confirmed,
        carries: Vec::new(),
    }
}

/// The status of an executor at 1,000 s.
fn known() -> Status {
    let carried = |text, standing| NetStatus {
        net: net(text),
        evidence: Evidence::Answered,
        confirmed: seconds(980),
        standing,
    };
    let doubtful = SeenStanding::Doubtful { since: seconds(970) };
    let second = InterfaceStatus {
        carries: vec![
            carried(ADDRESS, doubtful),
            carried(PREFIX, SeenStanding::Confirmed),
            carried("10.0.0.32/28", SeenStanding::Confirmed),
        ],
        ..interface("eni-1", 1)
    };
    let unseen = InterfaceStatus {
        card: None,
        device: None,
        mac: None,
        address: None,
        subnet: String::new(),
        duty: None,
        evidence: Evidence::Ledger,
        standing: SeenStanding::Gone { since: seconds(900) },
        ..interface("eni-0", 0)
    };
    let foreign = Some(Duty::Foreign("it is of type efa".to_owned()));
    Status {
        imds_only: false,
        now: seconds(1000),
        confirmed: Some(seconds(990)),
        trouble: None,
        refusal: None,
        silence: None,
        limits: Some(InstanceLimits { interfaces: 3, addresses: 4, ipv6_addresses: 5, prefixes: true }),
        interfaces: vec![
            unseen,
            second,
            InterfaceStatus { duty: foreign, ..interface("eni-2", 2) },
            InterfaceStatus { duty: Some(Duty::Primary), ..interface("eni-3", 0) },
        ],
        subnets: vec![Ec2Subnet {
            id: "subnet-1".to_owned(),
            ranges: vec![net("10.0.0.0/24")],
            available: 7,
            tags: std::collections::BTreeMap::new(),
        }],
        quarantine: vec![Quarantined {
            interface: "eni-0".to_owned(),
            net: net("10.0.0.48/28"),
            since: seconds(900),
            why: "1 addresses of it have owners".to_owned(),
        }],
        odd: vec!["odd".to_owned()],
        leaked: vec![("eni-9".to_owned(), seconds(400))],
        intents: vec![IntentStatus {
            id: "i-1".to_owned(),
            kind: "assign-prefix",
            attributes: attributes(&[
                ("count", "1"),
                ("interface", "eni-1"),
                ("reason", "wanted: 1, and so on"),
            ]),
            since: Moment { boot_ns: 1, wall_ms: 77 },
            step: Some(("assign".to_owned(), seconds(997))),
        }],
        plan: Some(PlanStatus {
            at: seconds(995),
            words: Some("full".to_owned()),
            code: None,
            begun: vec!["i-1".to_owned()],
            refused: vec!["release-prefix x: no".to_owned()],
        }),
        rates: [("AttachNetworkInterface", Rate { tokens: 3, rate: 2500, wait: seconds(2) })].into(),
        backoffs: vec![("subnet-1".to_owned(), Unit::Ipv6Prefix, seconds(30))],
        barred: vec![Barred {
            call: "CreateNetworkInterface",
            subnet: Some("subnet-1".to_owned()),
            code: "UnauthorizedOperation".to_owned(),
            why: "denied".to_owned(),
            left: seconds(600),
        }],
        calls: [(("DescribeSubnets", "ok"), 4), (("DescribeSubnets", "throttled"), 2)].into(),
        ends: [(("assign-prefix", "undone"), 5)].into(),
    }
}

#[test]
fn interfaces_come_in_the_order_of_their_devices_and_the_unseen_last() {
    let shown = status(&network(), &known(), &CloudStock::default());
    let rows = shown
        .interfaces
        .iter()
        .map(|of| (of.id.as_str(), of.device, of.duty.as_str(), of.duty_reason.as_str()));
    let expected = [
        ("eni-3", Some(0), "primary", ""),
        ("eni-1", Some(1), "managed", ""),
        ("eni-2", Some(2), "foreign", "it is of type efa"),
        ("eni-0", None, "", ""),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    let standing = shown.interfaces[3].standing.clone().unwrap();
    assert_eq!((standing.state.as_str(), standing.since_age_ms), ("gone", Some(100_000)));
    assert_eq!((standing.evidence.as_str(), standing.evidence_age_ms), ("ledger", 10_000));
    assert_eq!(
        (shown.interfaces[0].mac.as_str(), shown.interfaces[0].address.as_str()),
        ("02:00:00:00:00:00", "10.0.0.4")
    );
}

#[test]
fn each_address_and_prefix_has_the_ledgers_count() {
    let shown = status(&network(), &known(), &CloudStock::of(&book()));
    let carried = &shown.interfaces[1].carries;
    let rows = carried
        .iter()
        .map(|of| (of.net.as_str(), of.pool.as_str(), of.draining, [of.total, of.held, of.cooling, of.free]));
    let expected = [
        (ADDRESS, "ipv4", true, [1, 0, 0, 0]),
        (PREFIX, "ipv4", false, [16, 1, 0, 15]),
        ("10.0.0.32/28", "", false, [0, 0, 0, 0]),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    let standing = carried[0].standing.clone().unwrap();
    assert_eq!((standing.state.as_str(), standing.since_age_ms), ("doubtful", Some(30_000)));
    assert_eq!((standing.evidence.as_str(), standing.evidence_age_ms), ("answer", 20_000));
}

#[test]
fn times_are_ages_and_what_is_left() {
    let shown = status(&network(), &known(), &CloudStock::default());
    assert_eq!(
        (shown.network.as_str(), shown.confirmed_age_ms, shown.trouble.as_str()),
        ("pods", Some(10_000), "")
    );
    assert_eq!(shown.source, "ec2");
    let alone = status(&network(), &Status { imds_only: true, ..known() }, &CloudStock::default());
    assert_eq!(alone.source, "imds");
    let limits = shown.limits.unwrap();
    assert_eq!(
        (limits.interfaces, limits.addresses, limits.ipv6_addresses, limits.prefixes),
        (3, 4, 5, true)
    );
    assert_eq!(
        (shown.subnets[0].ranges.as_slice(), shown.subnets[0].available),
        (["10.0.0.0/24".to_owned()].as_slice(), 7)
    );
    assert_eq!((shown.quarantine[0].net.as_str(), shown.quarantine[0].age_ms), ("10.0.0.48/28", 100_000));
    assert_eq!((shown.leaked[0].interface.as_str(), shown.leaked[0].age_ms), ("eni-9", 600_000));
    let plan = shown.plan.unwrap();
    assert_eq!(
        (plan.age_ms, plan.words.as_str(), plan.begun.len(), plan.refused.len()),
        (5_000, "full", 1, 1)
    );
    let intent = &shown.intents[0];
    assert_eq!((intent.since_ms, intent.step.as_str(), intent.step_age_ms), (77, "assign", 3_000));
    assert_eq!((intent.reason.as_str(), intent.attributes.len()), ("wanted: 1, and so on", 2));
    let rate = &shown.rates[0];
    assert_eq!((rate.tokens, rate.per_second.to_string().as_str(), rate.wait_ms), (3, "2.5", 2_000));
    assert_eq!((shown.back_offs[0].unit.as_str(), shown.back_offs[0].left_ms), ("ipv6-prefix", 30_000));
    assert_eq!((shown.barred[0].subnet.as_str(), shown.barred[0].left_ms), ("subnet-1", 600_000));
    let calls = shown.calls.iter().map(|calls| (calls.outcome.as_str(), calls.count));
    assert_eq!(calls.collect::<Vec<_>>(), [("ok", 4), ("throttled", 2)]);
    assert_eq!((shown.ends[0].outcome.as_str(), shown.ends[0].count), ("undone", 5));
}

#[test]
fn scrapers_see_the_sums() {
    let figures = figures::figures(&known(), &CloudStock::of(&book()));
    assert_eq!(figures.interfaces, [("confirmed", 3), ("doubtful", 0), ("gone", 1)]);
    assert_eq!(figures.addresses, [("held", 1), ("cooling", 0), ("free", 15)]);
    assert_eq!(figures.calls, [("DescribeSubnets", "ok", 4), ("DescribeSubnets", "throttled", 2)]);
    assert_eq!(figures.intents, [("assign-prefix", "undone", 5)]);
    assert_eq!((figures.open, figures.quarantined, figures.refused), (1, 1, 1));
    assert_eq!(figures.confirmed_age, Some(seconds(10)));
}

/// An explained plan with this outcome, and an intent that has begun.
fn of(planned: Result<Planned>) -> v1::ExplainPlanResponse {
    let pool_status =
        PoolStatus { name: pool(), usage: Usage { total: 16, held: 9, cooling: 2 }, waiting: 3 };
    let object = Object {
        kind: "interface".to_owned(),
        name: "eni-1".to_owned(),
        attributes: attributes(&[("slots.free", "2")]),
    };
    let outlook = Outlook { objects: vec![object], attributes: attributes(&[("interfaces.free", "1")]) };
    let explained = Explained { pools: vec![pool_status], outlook, open: vec![intent("assign-1")], planned };
    let policy = PolicyStamp { digest: "other".into(), ..stamp() };
    explained::explained(&network(), Some(&policy), Some(&book()), explained)
}

fn intent(id: &str) -> Arc<Intent> {
    Arc::new(Intent {
        id: IntentId::new(id).unwrap(),
        network: network(),
        pool: pool(),
        kind: EffectKind::AssignPrefix,
        attributes: attributes(&[("count", "1"), ("reason", "wanted: 1 free")]),
        takes: Vec::new(),
        origin: IntentOrigin::Policy(stamp()),
        since: Moment::default(),
        reached: Attributes::default(),
    })
}

#[test]
fn a_plan_is_explained_with_what_it_was_made_from() {
    let effect =
        |pool| Effect { kind: EffectKind::ReleasePrefix, pool, attributes: attributes(&[("range", "x")]) };
    let shown = of(Ok(Planned {
        policy: Arc::new(stamp()),
        intents: vec![intent("assign-2")],
        refused: vec![
            (effect(0), Refusal::Outside("it is in doubt".to_owned())),
            (effect(4), Refusal::Unknown("there is no such pool".to_owned())),
        ],
        lines: vec!["pool ipv4: wanted: 1 free".to_owned()],
    }));
    assert_eq!(shown.lines, ["pool ipv4: wanted: 1 free"]);
    assert_eq!(shown.policy.unwrap().sha256, "d16e57", "the one that made the plan");
    let begins = &shown.effects[0];
    assert_eq!(
        (begins.kind.as_str(), begins.pool.as_str(), begins.reason.as_str()),
        ("assign-prefix", "ipv4", "wanted: 1 free")
    );
    assert_eq!(begins.attributes, [("count".to_owned(), "1".to_owned())].into());
    let refused: Vec<_> = shown.refused.iter().map(|of| (of.pool.as_str(), of.refusal.as_str())).collect();
    assert_eq!(refused, [("ipv4", "it is in doubt"), ("", "there is no such pool")]);
    assert_eq!((shown.pending.len(), shown.code.as_str(), shown.words.as_str()), (1, "", ""));
    let pool = &shown.pools[0];
    assert_eq!([pool.total, pool.held, pool.cooling, pool.free, pool.waiting], [16, 9, 2, 5, 3]);
    assert_eq!(
        (shown.objects[0].name.as_str(), shown.objects[0].attributes["slots.free"].as_str()),
        ("eni-1", "2")
    );
    assert_eq!(shown.attributes["interfaces.free"], "1");
}

#[test]
fn that_nothing_can_be_planned_is_told_in_the_policys_words() {
    let shown = of(Err(Error::new(ErrorCode::PoolExhausted, "pool ipv4 is full: no slot")));
    assert_eq!((shown.code.as_str(), shown.words.as_str()), ("pool-exhausted", "pool ipv4 is full: no slot"));
    assert_eq!((shown.policy.unwrap().sha256.as_str(), shown.pools.len()), ("other", 1));
}
