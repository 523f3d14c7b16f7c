//! Random lives: pods come and go, calls fail, answers are lost, the process is killed.

use tenure_ec2_double::{Fault, Kind};
use tenure_fixtures::random::{Random, many_seeds};

use crate::cloud::{Cloud, Trip};
use crate::node::Node;

/// How many lives, unless the variable says more.
const LIVES: u64 = 12;

async fn life(seed: u64) {
    let mut random = Random::new(seed);
    let cloud = Cloud::new(seed, &[25, 26]);
    let ipam = match random.below(3) {
        0 => r#"{ "warm": { "addresses": 1 }, "idleSeconds": 5 }"#,
        1 => r#"{ "prefixes": true, "warm": { "prefixes": 1 }, "idleSeconds": 5 }"#,
        _ => r#"{ "warm": { "interfaces": 1 }, "idleSeconds": 20 }"#,
    };
    {
        let mut inner = cloud.inner();
        inner.state.consistency.describe_lag_ms = random.below(30) * 1000;
        inner.state.consistency.call_lag_ms = random.below(5) * 1000;
    }
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    if random.below(2) == 0 {
        // Nobody knows the kernel's links: EC2 is asked instead.
        *node.routes.links.lock().unwrap() = None;
    }
    let mut pods: Vec<u32> = Vec::new();
    for number in 0..60 {
        match random.below(10) {
            0..=3 => {
                if node.add_within(number, 60).await.is_ok() {
                    pods.push(number);
                }
            }
            4..=6 if !pods.is_empty() => {
                let pod = pods.swap_remove(usize::try_from(random.below(pods.len() as u64)).unwrap());
                node.del(pod).await;
            }
            7 => {
                let kinds = [
                    Kind::LostBefore,
                    Kind::LostAfter,
                    Kind::Code {
                        code: "RequestLimitExceeded".to_owned(),
                        message: String::new(),
                        status: 503,
                    },
                    Kind::Code { code: "InternalError".to_owned(), message: String::new(), status: 500 },
                ];
                let kind = kinds[usize::try_from(random.below(4)).unwrap()].clone();
                cloud.fault(Fault { from: 1 + random.below(4), ..Fault::once("*", kind) });
            }
            8 => {
                let next = cloud.inner().changes.len() as u64 + random.below(4);
                let trip = if random.below(2) == 0 { Trip::Before(next) } else { Trip::After(next) };
                cloud.inner().trip = Some(trip);
            }
            _ => node.rest(random.below(90)).await,
        }
    }
    cloud.inner().faults.clear();
    cloud.inner().trip = None;
    node.settles(&format!("TENURE_SEED={seed}")).await;
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_ec2_and_the_ledger_agree_in_the_end() {
    for seed in many_seeds("aws-lives", LIVES).unwrap() {
        life(seed).await;
    }
}
