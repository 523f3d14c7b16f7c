use tenure_rpc::v1::{CloudBackOff, CloudBar, CloudCalls, CloudLeak, CloudQuarantine, CloudRange, CloudRate};

use super::*;

fn standing(state: &str, since_age_ms: Option<u64>, evidence: &str) -> Option<CloudStanding> {
    Some(CloudStanding {
        state: state.into(),
        since_age_ms,
        evidence: evidence.into(),
        evidence_age_ms: 10_000,
    })
}

fn range(net: &str, draining: bool, [total, held, cooling, free]: [u64; 4]) -> CloudRange {
    CloudRange {
        net: net.into(),
        standing: standing("confirmed", None, "describe"),
        pool: "ipv4".into(),
        draining,
        total,
        held,
        cooling,
        free,
    }
}

fn interface(id: &str, device: u32, duty: &str, carries: Vec<CloudRange>) -> CloudInterface {
    CloudInterface {
        id: id.into(),
        card: Some(0),
        device: Some(device),
        mac: format!("02:00:00:00:00:0{device}"),
        address: format!("10.0.0.{}", device + 4),
        subnet: "subnet-1".into(),
        duty: duty.into(),
        standing: standing("confirmed", None, "describe"),
        carries,
        ..CloudInterface::default()
    }
}

/// A node on which nothing is out of the ordinary.
fn usual() -> GetCloudResponse {
    GetCloudResponse {
        network: "pods".into(),
        confirmed_age_ms: Some(12_000),
        limits: Some(CloudLimits { interfaces: 3, addresses: 4, ipv6_addresses: 4, prefixes: true }),
        interfaces: vec![
            interface("eni-0", 0, "primary", vec![range("10.0.0.16/28", false, [16, 9, 2, 5])]),
            interface("eni-1", 1, "managed", vec![range("10.0.0.9/32", false, [1, 1, 0, 0])]),
        ],
        plan: Some(CloudPlan { age_ms: 3_000, ..CloudPlan::default() }),
        calls: vec![
            CloudCalls { call: "DescribeNetworkInterfaces".into(), outcome: "ok".into(), count: 41 },
            CloudCalls { call: "DescribeNetworkInterfaces".into(), outcome: "throttled".into(), count: 2 },
            CloudCalls { call: "DescribeNetworkInterfaces".into(), outcome: "unknown".into(), count: 1 },
        ],
        rates: vec![
            CloudRate { call: "AttachNetworkInterface".into(), tokens: 0, per_second: 0.05, wait_ms: 4_000 },
            CloudRate { call: "DescribeNetworkInterfaces".into(), tokens: 20, per_second: 20.0, wait_ms: 0 },
        ],
        ..GetCloudResponse::default()
    }
}

#[test]
fn an_ordinary_node_has_a_row_for_each_interface_and_call() {
    insta::assert_snapshot!(usual().page(0), @r"
    pods: EC2 said 12s ago what the node has
    pods: the instance type has room for 3 interfaces, each with 4 IPv4 addresses or prefixes, its own address included, and 4 of IPv6

    INTERFACE  DEVICE  ADDRESS   RANGES  HELD  COOLING  FREE  DUTY     STATE
    eni-0      0       10.0.0.4       1     9        2     5  primary  confirmed
    eni-1      1       10.0.0.5       1     1        0     0  managed  confirmed

    last plan 3s ago: nothing to do

    CALL                       OK       BUDGET  PER SECOND  FAILED
    AttachNetworkInterface      0  none for 4s        0.05  -
    DescribeNetworkInterfaces  41           20       20.00  2 throttled, 1 unknown
    ");
}

#[test]
fn a_node_that_asks_the_metadata_service_alone_says_so() {
    let of = |confirmed_age_ms, trouble: &str| {
        let (source, trouble) = ("imds".to_owned(), trouble.to_owned());
        GetCloudResponse { source, confirmed_age_ms, trouble, ..usual() }.page(0).to_string()
    };
    let told = of(Some(12_000), "");
    assert!(
        told.starts_with("pods: the instance metadata service said 12s ago what the node has\n"),
        "{told}"
    );
    let told = of(None, "it resets connections");
    let words = "pods: the instance metadata service has not said yet what the node has
pods: the last answer of the instance metadata service does not count: it resets connections\n";
    assert!(told.starts_with(words), "{told}");
}

#[test]
fn what_is_out_of_the_ordinary_has_its_section_and_its_reason() {
    let gone = CloudInterface {
        card: None,
        device: None,
        address: String::new(),
        subnet: String::new(),
        duty: String::new(),
        standing: standing("gone", Some(100_000), "ledger"),
        ..interface("eni-9", 0, "", vec![range("10.0.0.48/28", true, [16, 1, 0, 0])])
    };
    let doubtful = CloudRange {
        standing: standing("doubtful", Some(30_000), "answer"),
        ..range("10.0.0.9/32", false, [1, 1, 0, 0])
    };
    let foreign = CloudInterface {
        card: Some(1),
        duty_reason: "it is on network card 1".into(),
        ..interface("eni-2", 2, "foreign", Vec::new())
    };
    let many = u64::from(u32::MAX);
    let unknown = CloudRange { pool: String::new(), ..range("10.0.0.64/28", false, [0, 0, 0, 0]) };
    let answer = GetCloudResponse {
        confirmed_age_ms: None,
        trouble: "EC2 shows 0 interfaces\u{7}".into(),
        limits: None,
        interfaces: vec![
            interface("eni-0", 0, "primary", vec![range("2001:db8::/80", false, [many, 1, 0, many])]),
            interface("eni-1", 1, "managed", vec![doubtful, unknown]),
            foreign,
            gone,
        ],
        quarantine: vec![CloudQuarantine {
            interface: "eni-9".into(),
            net: "10.0.0.48/28".into(),
            age_ms: 100_000,
            reason: "1 addresses of it have owners".into(),
        }],
        intents: vec![
            CloudIntent {
                kind: "attach-interface".into(),
                attributes: [("addresses".into(), "2".into()), ("subnet".into(), "subnet-1".into())].into(),
                since_ms: 1_000,
                step: "attach eni-3 at 2".into(),
                step_age_ms: 5_000,
                ..CloudIntent::default()
            },
            CloudIntent { kind: "assign-address".into(), since_ms: 3_000, ..CloudIntent::default() },
        ],
        plan: Some(CloudPlan {
            age_ms: 3_000,
            refused: vec!["detach-interface interface=eni-1: it is in doubt".into()],
            ..CloudPlan::default()
        }),
        back_offs: vec![CloudBackOff { subnet: "subnet-1".into(), unit: "prefix".into(), left_ms: 30_000 }],
        barred: vec![CloudBar {
            call: "CreateNetworkInterface".into(),
            subnet: "subnet-2".into(),
            reason: "denied".into(),
            left_ms: 600_000,
        }],
        leaked: vec![CloudLeak { interface: "eni-7".into(), age_ms: 240_000 }],
        odd: vec!["10.9.0.9/32 on interface eni-1 cannot be a range: it is not in subnet subnet-1".into()],
        calls: Vec::new(),
        rates: Vec::new(),
        ..usual()
    };
    insta::assert_snapshot!(answer.page(61_000), @r"
    pods: EC2 has not said yet what the node has
    pods: the last answer of EC2 does not count: EC2 shows 0 interfaces\u{7}
    pods: what the instance type can have is not known yet

    INTERFACE  DEVICE  ADDRESS   RANGES  HELD  COOLING  FREE  DUTY                       STATE
    eni-0      0       10.0.0.4       1     1        0  many  primary                    confirmed
    eni-1      1       10.0.0.5       2     1        0     0  managed                    confirmed
    eni-2      1/2     10.0.0.6       0     0        0     0  foreign: it is on network  confirmed
                                                              card 1
    eni-9      -       -              1     1        0     0  -                          gone for 1m 40s

    INTERFACE  RANGE         HELD  COOLING  STATE
    eni-1      10.0.0.9/32      1        0  doubtful for 30s
    eni-1      10.0.0.64/28     0        0  confirmed, not in the ledger
    eni-9      10.0.0.48/28     1        0  confirmed, hands out nothing

    QUARANTINED  RANGE         FOR     WHY IT STAYS
    eni-9        10.0.0.48/28  1m 40s  1 addresses of it have owners

    UNDER WAY         WHAT                          BEGAN    STEP
    attach-interface  addresses=2, subnet=subnet-1  1m ago   attach eni-3 at 2, for 5s
    assign-address    -                             58s ago  waits for another one on the interface

    last plan 3s ago: nothing has begun
      refused: detach-interface interface=eni-1: it is in doubt

    subnet-1: EC2 had no prefixes there; asked again in 30s
    CreateNetworkInterface in subnet-2: not called for 10m: denied
    eni-7: attached to nothing for 4m
    10.9.0.9/32 on interface eni-1 cannot be a range: it is not in subnet subnet-1
    ");
}

#[test]
fn the_last_plan_says_what_came_of_it() {
    let with = |words: &str, begun: usize| {
        let begun = vec!["intent".to_owned(); begun];
        plan(Some(&CloudPlan { age_ms: 1_000, words: words.into(), begun, refused: Vec::new() }))
    };
    assert_eq!(with("", 0), "last plan 1s ago: nothing to do\n");
    assert_eq!(with("", 1), "last plan 1s ago: 1 effect has begun\n");
    assert_eq!(with("pool ipv4 is full", 0), "last plan 1s ago: pool ipv4 is full\n");
    assert_eq!(plan(None), "no plan was made yet\n");
}
