//! The calls of a usual hour in every setting, beside the model of ipamd on the same account: 39 pods on an m5.large, nothing goes wrong.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::cloud::Cloud;
use crate::hours::SETTINGS;
use crate::hours::life::Daemon;
use crate::hours::tenure::Tenure;
use crate::ipamd::{Ipamd, Rules};
use crate::node::Node;

/// The pods of a shape.
const PODS: u64 = 39;

/// A shape: when each pod comes and how long it lives, in seconds.
type Shape = (&'static str, fn(u64) -> (u64, u64));

const SHAPES: [Shape; 4] = [
    ("one each 20 s, for 5 minutes", |pod| (pod * 20, 300)),
    ("three bursts of 13, for 10 minutes", |pod| (pod / 13 * 900, 600)),
    ("20 that stay, 19 jobs", |pod| if pod < 20 { (pod * 2, 3600) } else { ((pod - 18) * 120, 90) }),
    ("four waves of 10, for 3 minutes", |pod| (pod / 10 * 600 + pod % 10, 180)),
];

/// How long the account is watched.
const HOUR: Duration = Duration::from_secs(4000);

async fn hour<D: Daemon>(cloud: &Cloud, daemon: D, shape: fn(u64) -> (u64, u64)) -> u64 {
    let daemon = Arc::new(daemon);
    sleep(Duration::from_secs(60)).await;
    let mut pods = JoinSet::new();
    for number in 0..PODS {
        let (comes, lives) = shape(number);
        let daemon = Arc::clone(&daemon);
        pods.spawn(async move {
            sleep(Duration::from_secs(comes)).await;
            let container = format!("c{number}");
            while daemon.add(&container).await.is_none() {
                sleep(Duration::from_secs(12)).await;
            }
            sleep(Duration::from_secs(lives)).await;
            daemon.del(&container).await;
        });
    }
    sleep(HOUR).await;
    while let Some(ended) = pods.join_next().await {
        ended.unwrap();
    }
    let calls: u64 = cloud.inner().calls.values().sum();
    println!("    {:?}", cloud.inner().calls);
    calls
}

#[tokio::test(start_paused = true)]
async fn a_usual_hour_needs_fewer_calls_than_under_ipamd_in_every_setting() {
    for setting in SETTINGS {
        println!("{}", setting.name);
        let (mut all, mut all_of_ipamd) = (0, 0);
        for (name, shape) in SHAPES {
            let cloud = Cloud::new(1, &[21]);
            let pods = if setting.rules.prefixes { 110 } else { 29 };
            let ipam = format!(r#"{{ "maxPods": {pods}, "env": {} }}"#, setting.env);
            let node = Node::start(&cloud, "m5.large", &ipam).await.with_hints();
            let one = hour(&cloud, Tenure::new(node), shape).await;
            let cloud = Cloud::new(1, &[21]);
            let instance = cloud.launch("m5.large");
            let rules = Rules { slots: 9, interfaces: 3, pods, ..setting.rules };
            let other = hour(&cloud, Ipamd::start(&cloud, &instance, rules, 1), shape).await;
            println!("  {name:<36} {one:>3} {other:>3}");
            all += one;
            all_of_ipamd += other;
        }
        assert!(all < all_of_ipamd, "{}: {all} calls, ipamd {all_of_ipamd}", setting.name);
    }
}
