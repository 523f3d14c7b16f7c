//! A burst of 100 pods on an empty node: the time to the last address, in round trips to EC2, beside the model of ipamd.
//!
//! EC2 itself takes no time here, and nothing lags: what is left are calls on their way, one after the other, and each side's own
//! waits. So the time in units of a round trip is the number of calls that follow upon each other, or would have.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::cloud::{Cloud, WAY};
use crate::hours::life::Daemon;
use crate::hours::tenure::Tenure;
use crate::ipamd::{Ipamd, Rules};
use crate::node::Node;

/// The pods that come at once.
const PODS: usize = 100;

/// When whoever has no address gives up.
const PATIENCE: Duration = Duration::from_secs(300);

/// How soon a pod tries again that was refused: sooner than any kubelet, which is in ipamd's favour.
const AGAIN: Duration = Duration::from_millis(100);

/// A node, and how many of the pods fit.
struct Case {
    kind: &'static str,
    prefixes: bool,
    slots: i64,
    interfaces: usize,
    pods: i64,
    fit: usize,
}

const CASES: [Case; 3] = [
    Case { kind: "m5.large", prefixes: false, slots: 9, interfaces: 3, pods: 29, fit: 27 },
    Case { kind: "m5.large", prefixes: true, slots: 9, interfaces: 3, pods: 110, fit: PODS },
    Case { kind: "m5.4xlarge", prefixes: false, slots: 29, interfaces: 8, pods: 234, fit: PODS },
];

/// What became of a burst.
struct Outcome {
    /// When each pod had its address, in order.
    served: Vec<Duration>,
    /// When a pod was first refused that got none, at the latest.
    refused: Duration,
    calls: u64,
}

impl Outcome {
    /// The time to the last address, in round trips.
    fn trips(&self) -> f64 {
        self.served.last().unwrap().as_secs_f64() / (2 * WAY).as_secs_f64()
    }
}

fn account() -> Arc<Cloud> {
    let cloud = Cloud::new(1, &[21]);
    let mut inner = cloud.inner();
    inner.state.timing.attach_ms = 0;
    inner.state.timing.create_ms = 0;
    drop(inner);
    cloud
}

/// One pod: when it had its address, or when it was first refused.
async fn pod<D: Daemon>(daemon: Arc<D>, number: usize) -> Result<Duration, Duration> {
    let began = Instant::now();
    let mut refused = None;
    loop {
        if daemon.add(&format!("c{number}")).await.is_some() {
            return Ok(began.elapsed());
        }
        let first = *refused.get_or_insert(began.elapsed());
        if began.elapsed() > PATIENCE {
            return Err(first);
        }
        sleep(AGAIN).await;
    }
}

async fn burst<D: Daemon>(cloud: &Cloud, daemon: Arc<D>) -> Outcome {
    // What is kept warm is there, and everything is at rest.
    sleep(Duration::from_secs(120)).await;
    let before: u64 = cloud.inner().calls.values().sum();
    let mut pods = JoinSet::new();
    for number in 0..PODS {
        pods.spawn(pod(Arc::clone(&daemon), number));
    }
    let (mut served, mut refused, mut calls) = (Vec::new(), Duration::ZERO, 0);
    while let Some(ended) = pods.join_next().await {
        match ended.unwrap() {
            Ok(after) => {
                served.push(after);
                calls = cloud.inner().calls.values().sum::<u64>() - before;
            }
            Err(after) => refused = refused.max(after),
        }
    }
    served.sort_unstable();
    Outcome { served, refused, calls }
}

async fn tenure(case: &Case) -> Outcome {
    let cloud = account();
    let warm = match case.prefixes {
        true => r#"{"ENABLE_PREFIX_DELEGATION":"true","WARM_PREFIX_TARGET":"1"}"#,
        false => r#"{"WARM_ENI_TARGET":"1"}"#,
    };
    let ipam = format!(r#"{{ "maxPods": {}, "env": {warm} }}"#, case.pods);
    let node = Node::start(&cloud, case.kind, &ipam).await;
    burst(&cloud, Arc::new(Tenure::new(node))).await
}

async fn ipamd(case: &Case) -> Outcome {
    let cloud = account();
    let instance = cloud.launch(case.kind);
    let Case { prefixes, slots, interfaces, pods, .. } = *case;
    let rules = Rules { warm_eni: 1, warm_prefix: 1, prefixes, slots, interfaces, pods, ..Rules::default() };
    burst(&cloud, Arc::new(Ipamd::start(&cloud, &instance, rules, 1))).await
}

#[tokio::test(start_paused = true)]
async fn the_last_of_100_pods_has_its_address_after_a_few_round_trips() {
    println!("{PODS} pods at once          {:>16} {:>24}", "tenure", "ipamd");
    for case in CASES {
        let (one, other) = (tenure(&case).await, ipamd(&case).await);
        let mode = if case.prefixes { "prefixes" } else { "addresses" };
        println!("{}, {mode}", case.kind);
        let line = |name: &str, one: String, other: String| println!("  {name:<24} {one:>16} {other:>24}");
        line("pods with an address", one.served.len().to_string(), other.served.len().to_string());
        let last = |of: &Outcome| format!("{:.2} s", of.served.last().unwrap().as_secs_f64());
        line("the last after", last(&one), last(&other));
        line("  in round trips", format!("{:.0}", one.trips()), format!("{:.0}", other.trips()));
        line("EC2 calls until then", one.calls.to_string(), other.calls.to_string());
        let refused = |of: &Outcome| format!("{:.2} s", of.refused.as_secs_f64());
        if case.fit < PODS {
            line("the rest refused after", refused(&one), refused(&other));
            assert!(one.refused < Duration::from_secs(2), "they wait for nothing: {:?}", one.refused);
        }
        assert_eq!((one.served.len(), other.served.len()), (case.fit, case.fit), "{}", case.kind);
        // Create, attach, keep, look: for all interfaces at the same time, after the pods have gathered.
        assert!(one.trips() <= 6.0, "{}: {} round trips", case.kind, one.trips());
        assert!(
            one.trips() * 10.0 < other.trips(),
            "{}: {} against {}",
            case.kind,
            one.trips(),
            other.trips()
        );
    }
}
