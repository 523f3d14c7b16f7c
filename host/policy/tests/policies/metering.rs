//! The meters of a policy: what its calls used and how they ended.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::ports::Policy;
use tenure_ledger::{Book, Defined};
use tenure_policy::AskedPolicy;
use tenure_types::{
    ContainerId, Definer, InterfaceName, Moment, NetworkConfig, NetworkName, Owner, PolicyName, Request,
    RequestContext, Sandbox,
};

use crate::node::{build, runtime, wait};

/// A policy, and a request to the network that it has defined.
struct Asked {
    policy: AskedPolicy,
    request: Request,
}

impl Asked {
    fn hostile() -> Self {
        let policy =
            runtime().load(&PolicyName::new("hostile").unwrap(), &build("tenure-hostile"), None).unwrap();
        let owner = Owner::Attachment {
            container: ContainerId::new("c").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        };
        let request = Request {
            network: NetworkName::new("net").unwrap(),
            owner,
            requested: Vec::new(),
            sandbox: Sandbox::default(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: Moment::default(),
        };
        Self { policy: AskedPolicy::new(policy), request }
    }

    /// Asks for a definition, and for a proposal if there is one.
    fn ask(&self, misbehaviour: &str) {
        let key = if misbehaviour.is_empty() { "well" } else { "misbehave" };
        let ipam = format!(r#"{{"subnet": "10.1.2.0/29", "{key}": "{misbehaviour}"}}"#);
        let config = Arc::new(NetworkConfig { ipam, attributes: Vec::new() });
        let network = &self.request.network;
        let Ok(definition) = wait(self.policy.define(network, &config)) else { return };
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let book = Arc::new(Book::defined(network, defined, Moment::default()).unwrap());
        let _ = wait(self.policy.propose(&self.request, book, Arc::default()));
    }
}

#[test]
fn each_call_is_metered_however_it_ends() {
    let asked = Asked::hostile();
    assert_eq!(asked.policy.meter(), tenure_types::Meter::default());
    asked.ask("");
    let well = asked.policy.meter();
    assert_eq!(well.calls, 2, "a definition and a proposal");
    assert!(well.processor > Duration::ZERO);
    assert!(well.host_calls >= 2, "{well:?}");
    let pages = well.memory_peak / (64 << 10);
    assert!((1..16).contains(&pages) && well.memory_peak == pages * (64 << 10), "{well:?}");
    assert!(well.failures.is_empty() && well.refusals.is_empty(), "{well:?}");

    for misbehaviour in ["trap", "recurse", "grow", "long-text", "not-an-address", "chatter"] {
        asked.ask(misbehaviour);
    }
    for misbehaviour in [
        "refuse-config",
        "refuse-exhausted",
        "refuse-unavailable",
        "refuse-not-yet",
        "refuse-denied",
        "refuse-over-quota",
        "refuse-other",
        "refuse-silently",
    ] {
        asked.ask(misbehaviour);
    }
    let meter = asked.policy.meter();
    assert_eq!(meter.calls, 2 + 6 * 2 + 8 * 2);
    let failures = [("trap", 2), ("deadline", 1), ("memory", 1), ("length", 1), ("nonsense", 1)].to_vec();
    assert_eq!(meter.failures, failures);
    let once = ["invalid-config", "exhausted", "unavailable", "not-yet", "denied", "over-quota"];
    let refusals: Vec<_> = once.map(|kind| (kind, 1)).into_iter().chain([("other", 2)]).collect();
    assert_eq!(meter.refusals, refusals);
    assert!(meter.memory_peak > 8 << 20, "{meter:?}");
    assert!(meter.processor >= Duration::from_millis(50), "one call ran until its deadline: {meter:?}");
}

#[test]
fn calls_that_serve_nobody_are_metered_apart() {
    let asked = Asked::hostile();
    asked.ask("");
    let served = asked.policy.meter();
    let on_trial = asked.policy.on_trial().unwrap();
    let config =
        Arc::new(NetworkConfig { ipam: r#"{"subnet": "10.1.2.0/29"}"#.into(), attributes: Vec::new() });
    for _ in 0..3 {
        wait(on_trial.define(&asked.request.network, &config)).unwrap();
    }
    on_trial.rejected("held");
    let meter = asked.policy.meter();
    assert_eq!((meter.trial_calls, meter.calls), (3, 2), "{meter:?}");
    assert!(meter.trial_processor > Duration::ZERO && meter.processor == served.processor, "{meter:?}");
    assert!(meter.rejections.is_empty() && meter.host_calls == served.host_calls, "{meter:?}");
}

#[test]
fn rejections_are_counted_by_rule() {
    let asked = Asked::hostile();
    for rule in ["held", "outside", "held"] {
        asked.policy.rejected(rule);
    }
    assert_eq!(asked.policy.meter().rejections, [("held", 2), ("outside", 1)]);
}
