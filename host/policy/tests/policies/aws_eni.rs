//! The policy `plugins/aws-eni` as a component: it plans and proposes in the sandbox as it does natively, within the limits
//! of a call also on the largest node.

use std::sync::Arc;

use tenure_aws_eni::AwsEni;
use tenure_policy::WasmPolicy;
use tenure_sdk as sdk;
use tenure_testkit::Native;
use tenure_types::{Attributes, Demand, Effect, EffectKind, ErrorCode, Object, PlanState, Range, RangeName};

use super::node::{self, Node};

/// The interfaces of a p3dn.24xlarge, and the addresses on each.
const INTERFACES: u32 = 15;
const SLOTS: u32 = 49;

fn policy() -> Arc<WasmPolicy> {
    node::load("aws-eni", &node::build("tenure-aws-eni"))
}

/// An object of a state: its kind, name and attributes.
type Shown = (&'static str, String, Vec<(&'static str, String)>);

/// The same node twice: in the sandbox, and natively.
struct Twice {
    sandboxed: Node,
    native: tenure_testkit::Node<Native<AwsEni>>,
}

impl Twice {
    fn new(ipam: &str) -> Self {
        let sandboxed = Node::define(&policy(), ipam).unwrap();
        Self { sandboxed, native: tenure_testkit::define::<AwsEni>(ipam).unwrap() }
    }

    /// Supplies a run of addresses on an interface.
    fn supply(&mut self, interface: u32, first: std::net::Ipv4Addr, count: u32) {
        let last = std::net::Ipv4Addr::from(u32::from(first) + count - 1);
        let (name, eni) = (format!("{first}+{count}"), format!("eni-{interface:02}"));
        let pairs = [("interface", eni), ("device", interface.to_string())];
        let range = Range::new("10.0.0.0/8".parse().unwrap(), first.into(), last.into(), None, 32).unwrap();
        let range = range.named(RangeName::new(&name).unwrap()).with(Attributes::new(pairs.clone()).unwrap());
        self.sandboxed.supply("ipv4", range);
        let attributes = pairs.into_iter().collect();
        let range = sdk::Range::new("10.0.0.0/8".parse().unwrap(), first.into(), last.into());
        self.native.supply("ipv4", &sdk::Range { name, attributes, prefix_length: 32, ..range }).unwrap();
    }

    /// Adds a pod; both must say the same.
    fn add(&mut self, pod: u32) -> String {
        let here = self.native.add(&format!("pod-{pod}")).unwrap();
        let there = self.sandboxed.add(&format!("pod-{pod}"), &[]).unwrap();
        assert_eq!(here.iter().map(ToString::to_string).collect::<Vec<_>>(), there);
        there.concat()
    }

    /// Asks for a plan; both must say the same.
    fn plan(&self, waiting: u32, objects: &[Shown]) -> Result<Vec<Effect>, ErrorCode> {
        let node = [("interfaces.free", "0".to_owned()), ("interfaces.slots", SLOTS.to_string())];
        let time = ("time.utc", "2026-01-05T08:00:00Z".to_owned());
        let node = node.into_iter().chain([("pods.max", "737".to_owned()), time]);
        let state = PlanState {
            demands: vec![Demand { pool: 0, waiting, attributes: Attributes::default() }],
            objects: objects
                .iter()
                .map(|(kind, name, attributes)| Object {
                    kind: (*kind).into(),
                    name: name.clone(),
                    attributes: Attributes::new(attributes.iter().map(|(name, value)| (*name, value)))
                        .unwrap(),
                })
                .collect(),
            attributes: Attributes::new(node.clone()).unwrap(),
            ..PlanState::default()
        };
        let native = sdk::SupplySituation {
            waiting: vec![(0, waiting)],
            objects: objects
                .iter()
                .map(|(kind, name, attributes)| sdk::Object {
                    kind: (*kind).into(),
                    name: name.clone(),
                    attributes: attributes.iter().map(|(name, value)| (*name, value.clone())).collect(),
                })
                .collect(),
            attributes: node.collect(),
            ..sdk::SupplySituation::default()
        };
        let (there, here) = (self.sandboxed.plan(&state), self.native.plan(&native));
        if let Ok(there) = &there {
            let (again, lines) = self.sandboxed.explain(&state).unwrap();
            assert_eq!(&again, there);
            assert!(lines.iter().any(|line| line.starts_with("pool ipv4: wanted: ")), "{lines:?}");
        }
        let texts = |attributes: Vec<(String, String)>| {
            let mut texts = attributes;
            texts.sort();
            texts
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        match (&there, &here) {
            (Ok(there), Ok(here)) => {
                assert_eq!(there.len(), here.len());
                for (there, here) in there.iter().zip(here) {
                    let (there, here) =
                        (there.attributes.iter().map(owned), here.attributes.iter().map(owned));
                    assert_eq!(texts(there.collect()), texts(here.collect()));
                }
            }
            (Err(there), Err(here)) => assert!(there.cause.contains(&here.cause), "{there}\n{here}"),
            _ => assert_eq!(there.is_ok(), here.is_ok(), "{there:?}\n{here:?}"),
        }
        there.map_err(|error| error.code)
    }
}

/// An interface of the largest node, whose slots are all taken but these.
fn interface(index: u32, free: u32) -> Shown {
    let attributes = vec![
        ("primary", (index == 0).to_string()),
        ("age.seconds", "3600".into()),
        ("slots.free", free.to_string()),
    ];
    ("interface", format!("eni-{index:02}"), attributes)
}

#[test]
fn the_largest_node_is_planned_within_the_limits_of_a_call_and_as_natively() {
    let mut node = Twice::new(r#"{ "warm": { "addresses": 10 } }"#);
    assert_eq!(node.plan(0, &[]), Err(ErrorCode::PoolExhausted), "without an interface nothing fits");
    let mut objects: Vec<_> = (0..INTERFACES).map(|index| interface(index, 0)).collect();
    for index in 0..INTERFACES {
        for slot in 0..SLOTS {
            let octet = |number: u32| u8::try_from(number).unwrap();
            let address = std::net::Ipv4Addr::new(10, octet(index), 1, octet(slot));
            node.supply(index, address, 1);
            objects.push(("range", format!("{address}+1"), vec![("idle.seconds", "600".to_owned())]));
        }
    }
    assert_eq!(node.add(0), "10.0.1.0", "of the primary interface");
    let first = node.plan(0, &objects).unwrap();
    // Fourteen interfaces are empty, and of the primary one all but 11 addresses are surplus.
    let count = |kind| first.iter().filter(|effect| effect.kind == kind).count();
    assert_eq!((count(EffectKind::DetachInterface), count(EffectKind::ReleaseAddress)), (14, 38));
    for pod in 1..735 {
        node.add(pod);
    }
    assert_eq!(node.plan(3, &objects), Err(ErrorCode::PoolExhausted));
}

#[test]
fn a_prefix_is_planned_and_handed_out_as_natively() {
    let mut node = Twice::new(r#"{ "prefixes": true, "warm": { "prefixes": 1 } }"#);
    let plan = node.plan(20, &[interface(0, 4)]).unwrap();
    let assign = plan.first().unwrap();
    assert_eq!((assign.kind, assign.attributes.get("count")), (EffectKind::AssignPrefix, Some("3")));
    node.supply(0, std::net::Ipv4Addr::new(10, 0, 1, 16), 16);
    for fourth in 16..32 {
        assert_eq!(node.add(fourth), format!("10.0.1.{fourth}"));
    }
}

#[test]
fn targets_are_chosen_as_natively() {
    let node = Twice::new(
        r#"{ "warm": { "addresses": 1 }, "targets": [
            { "days": ["mon"], "time": "08:00-18:00", "labels": { "pool": "batch" }, "warm": { "addresses": 6 } }
        ] }"#,
    );
    let label = |value: &str| ("label", "pool".to_owned(), vec![("value", value.to_owned())]);
    for (value, count, words) in [
        ("batch", "6", "; targets: entry 1 (label pool=batch, mon 08:00-18:00 UTC)"),
        ("web", "1", "; targets: no entry"),
    ] {
        let plan = node.plan(0, &[interface(0, 9), label(value)]).unwrap();
        let assign = plan.first().unwrap();
        assert_eq!(assign.attributes.get("count"), Some(count));
        let reason = assign.attributes.get("reason").unwrap();
        assert!(reason.ends_with(words), "{reason}");
    }
}
