//! Random lives: pods come and go, calls fail, answers are lost, the process is killed; EC2 hides an interface while its subnets are full and the
//! process begins again.

mod lost;
mod watch;

use std::collections::BTreeSet;

use tenure_ec2_double::state::{Creation, Wanted};
use tenure_ec2_double::{Fault, Kind};
use tenure_fixtures::random::{Random, many_seeds};

use crate::cloud::{Cloud, Trip, limits};
use crate::node::Node;

use self::watch::Watch;

/// How many lives, unless the variable says more.
const LIVES: u64 = 12;

/// How soon a pod is served after all faults are over, in seconds: the longest pause of a call that was refused, and what follows from it.
const SOON: u64 = 110;

/// How soon a pod is served that waits while they end, in seconds: the longest wait for the budget's next call, which is 75 s, and until EC2's
/// describes, which lag for up to 30 s, show the interface that is then made.
const NEXT: u64 = 75 + 45;

/// For how long a pod is waited with before it counts as one that waits, in seconds.
const PATIENCE: u64 = 120;

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
    let words = format!("TENURE_SEED={seed}");
    let (mut pods, mut trouble, mut watch) = (Vec::<u32>::new(), Trouble::default(), Watch::default());
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
            9 if trouble.is_over() && random.below(2) == 0 => {
                let at = node.handle.status().now;
                trouble = Trouble::begin(&cloud, &mut node, &mut random).await;
                watch.hides(trouble.hidden.as_ref(), at);
            }
            _ => {
                node.rest(random.below(90)).await;
                trouble.pass(&cloud);
            }
        }
        watch.look(&node, node.ranges().await, &words);
    }
    if trouble.is_over() {
        trouble = Trouble::begin(&cloud, &mut node, &mut random).await;
    }
    let waiting = first_that_waits(&mut node).await;
    cloud.inner().faults.clear();
    cloud.inner().trip = None;
    trouble.pass(&cloud);
    trouble.pass(&cloud);
    if let Some(pod) = waiting {
        let served = node.add_within(pod, NEXT).await;
        assert!(served.is_ok(), "{words}: pod {pod}, which waits: {served:?}");
    }
    pods.extend(node.pods.keys().copied().filter(|pod| *pod >= FIRST));
    for pod in pods {
        node.del(pod).await;
    }
    // All faults are over: the first that waits is served soon.
    assert!(node.add_within(99, SOON).await.is_ok(), "{words}");
    node.del(99).await;
    node.settles(&words).await;
    // Nothing of what was learnt meanwhile stays: all that fits on the type is served.
    for pod in 100..109 {
        assert!(node.add_within(pod, 120).await.is_ok(), "{words}: pod {pod}");
    }
    assert_eq!(node.handle.status().limits, Some(limits("t3.small")), "{words}");
    node.settles(&words).await;
}

/// The number of the first pod that comes at the end of a life.
const FIRST: u32 = 200;

/// Pods come until one waits; none does once the node has all that fits on its type.
async fn first_that_waits(node: &mut Node) -> Option<u32> {
    for pod in FIRST.. {
        let used: usize = node.cloud.carried(&node.instance).values().map(BTreeSet::len).sum();
        if node.add_within(pod, PATIENCE).await.is_err() {
            return Some(pod).filter(|_| used < MOST);
        }
    }
    None
}

/// How many addresses and prefixes fit on a t3.small.
const MOST: usize = 9;

/// Three faults at once: EC2 hides one of the node's interfaces, others use the subnets up, and the process begins again.
#[derive(Default)]
struct Trouble {
    /// The others' interfaces.
    others: Vec<String>,
    /// The hidden one.
    hidden: Option<String>,
}

impl Trouble {
    async fn begin(cloud: &Cloud, node: &mut Node, random: &mut Random) -> Self {
        let trouble = Self { hidden: hide(cloud, node), others: use_up(cloud) };
        node.rest(random.below(30)).await;
        node.crash().await;
        trouble
    }

    fn is_over(&self) -> bool {
        self.others.is_empty() && self.hidden.is_none()
    }

    /// First there is room in the subnets again, and then EC2 shows all.
    fn pass(&mut self, cloud: &Cloud) {
        let now = cloud.now();
        let mut inner = cloud.inner();
        if self.others.is_empty() {
            self.hidden = None;
            inner.state.consistency.describe_hides.clear();
        }
        let lag = std::mem::take(&mut inner.state.consistency.call_lag_ms);
        for other in self.others.drain(..) {
            inner.state.delete(&other, now).unwrap();
        }
        inner.state.consistency.call_lag_ms = lag;
        inner.state.note(now);
    }
}

/// EC2 hides the node's youngest interface, if it has several.
fn hide(cloud: &Cloud, node: &Node) -> Option<String> {
    let mut inner = cloud.inner();
    let on = inner.state.interfaces().all().filter(|known| known.is_on(&node.instance));
    let further = on.filter(|known| known.attachment.as_ref().is_some_and(|place| place.device > 0));
    let hidden = further.max_by_key(|known| known.created).map(|known| known.id.clone());
    inner.state.consistency.describe_hides.extend(hidden.clone());
    hidden
}

/// Others take all that is left in the subnets.
fn use_up(cloud: &Cloud) -> Vec<String> {
    let now = cloud.now();
    let mut inner = cloud.inner();
    inner.state.note(now);
    let free: Vec<_> =
        inner.state.subnets().values().map(|known| (known.id.clone(), known.free_at(now))).collect();
    let with_some = free.into_iter().filter(|(_, free)| *free > 1);
    let others = with_some.map(|(subnet, free)| {
        let wanted = Creation { subnet, ipv4: Wanted::Count(free - 1), ..Creation::default() };
        inner.state.create(&wanted, None, now).unwrap()
    });
    let others = others.collect();
    inner.state.note(now);
    others
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_ec2_and_the_ledger_agree_in_the_end() {
    for seed in many_seeds("aws-lives", LIVES).unwrap() {
        life(seed).await;
    }
}
