//! The outage of 2019, step by step: the runtime's socket was unreachable, every pod was skipped, the pool looked unused, and the
//! interface that carried live pods was detached and deleted. Unknown never means unused.

use std::collections::{BTreeMap, BTreeSet};

use tenure_aws::seen::SeenStanding;
use tenure_ec2_double::{Fault, Kind};

use crate::cloud::Cloud;
use crate::node::Node;
use crate::usual::ONE;

type Ranges = BTreeMap<String, BTreeSet<ipnet::IpNet>>;

/// Whether all that was there still is. The node may grow meanwhile.
fn has(now: &Ranges, before: &Ranges) -> bool {
    before.iter().all(|(id, nets)| now.get(id).is_some_and(|now| nets.is_subset(now)))
}

fn taken(cloud: &Cloud) -> Vec<String> {
    let gone = ["DetachNetworkInterface", "DeleteNetworkInterface", "UnassignPrivateIpAddresses"];
    cloud.applied().into_iter().filter(|action| gone.contains(&action.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn the_runtime_is_gone_metadata_flaps_and_ec2_shows_less_and_then_nothing() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    for pod in 0..5 {
        node.add(pod).await.unwrap();
    }
    node.rest(120).await;
    let before = node.ranges().await;
    let pods = node.pods.clone();

    // The runtime's socket is unreachable. What looks unused is idle for long.
    *node.routes.unknown.lock().unwrap() = Some("the runtime does not answer".to_owned());
    // The ledger has lost the pods of the second interface, as ipamd's had; the pods live on.
    let second = before
        .iter()
        .max_by_key(|(id, _)| cloud.inner().state.interfaces().get(id).unwrap().created)
        .unwrap()
        .0
        .clone();
    for (pod, address) in &pods {
        if before[&second].iter().any(|net| net.contains(address)) {
            let requested_at = node.engine.now();
            let owner = tenure_types::Owner::Attachment {
                container: tenure_types::ContainerId::new(format!("c{pod}")).unwrap(),
                interface: tenure_types::InterfaceName::new("eth0").unwrap(),
            };
            node.engine
                .del(tenure_engine::Del { network: crate::node::network(), owner, requested_at })
                .await
                .unwrap();
        }
    }
    node.rest(300).await;
    assert_eq!(taken(&cloud), [""; 0], "without the second witness");
    let plan = node.handle.status().plan.unwrap();
    let words = "whether it is in use is not known: the runtime does not answer";
    assert!(plan.refused.iter().any(|refused| refused.ends_with(words)), "{plan:?}");

    // The metadata service flaps: a hint to look again, and nothing else.
    for _ in 0..50 {
        node.handle.look_again();
        node.rest(1).await;
    }
    assert_eq!(node.ranges().await, before);

    // EC2 shows less.
    cloud.inner().state.consistency.describe_hides.insert(second.clone());
    node.rest(30).await;
    node.handle.look_again();
    node.rest(2).await;
    let status = node.handle.status();
    let shown = status.interfaces.iter().find(|interface| interface.id == second).unwrap();
    assert!(matches!(shown.standing, SeenStanding::Doubtful { .. }), "{shown:?}");
    assert_eq!(node.ranges().await, before, "what is in doubt stays");
    node.rest(300).await;
    assert!(has(&node.ranges().await, &before), "what may be in use stays");
    let status = node.handle.status();
    assert_eq!(status.quarantine.len(), before[&second].len(), "{:?}", status.quarantine);
    assert!(
        status.quarantine.iter().all(|quarantined| quarantined.interface == second),
        "{:?}",
        status.quarantine
    );
    let book = node.book().await;
    let drains = |view: &tenure_ledger::RangeView<'_>| {
        view.draining == (view.range.attributes().get("interface") == Some(second.as_str()))
    };
    assert!(book.ranges(0).all(|view| drains(&view)), "only that drains");

    // And then nothing.
    let all: Vec<String> = cloud.carried(&node.instance).into_keys().collect();
    cloud.inner().state.consistency.describe_hides.extend(all);
    node.rest(600).await;
    assert!(has(&node.ranges().await, &before));
    let status = node.handle.status();
    assert_eq!(status.trouble.as_deref(), Some("EC2 shows 0 interfaces and not the primary one"));
    cloud.fault(Fault::always(
        "DescribeNetworkInterfaces",
        Kind::Code { code: "InternalError".to_owned(), message: "oops".to_owned(), status: 500 },
    ));
    node.rest(600).await;
    let status = node.handle.status();
    assert_eq!(status.trouble.as_deref(), Some("DescribeNetworkInterfaces: InternalError: oops"));
    assert!(has(&node.ranges().await, &before) && taken(&cloud).is_empty());
    node.crash().await;
    node.rest(600).await;
    assert!(has(&node.ranges().await, &before) && taken(&cloud).is_empty(), "a restart knows no better");
    assert_eq!(cloud.verdict(), []);

    // It ends: everything is as it was, and what is in use drains no more.
    cloud.inner().faults.clear();
    cloud.inner().state.consistency.describe_hides.clear();
    node.rest(120).await;
    assert!(has(&node.ranges().await, &before) && taken(&cloud).is_empty());
    let is_used = |view: &tenure_ledger::RangeView<'_>| view.held + view.cooling > 0;
    assert!(node.book().await.ranges(0).filter(is_used).all(|view| !view.draining));
    // The runtime answers: it names the living pods, whatever the ledger says. What nobody uses is opened again, too, and what
    // a pod uses whom the ledger does not know is handed out to no other.
    *node.routes.unknown.lock().unwrap() = None;
    node.rest(120).await;
    let living = node.routes.pods.lock().unwrap().clone();
    let is_named = |view: &tenure_ledger::RangeView<'_>| living.iter().any(|pod| view.range.contains(*pod));
    assert!(node.book().await.ranges(0).filter(|view| view.draining).all(|view| is_named(&view)));
    node.rest(480).await;
    assert_eq!(cloud.verdict(), [], "no pod's address was taken");
    let pods_there = cloud.carried(&node.instance)[&second].len();
    assert!(pods_there > 0, "what grew meanwhile may go, and the pods' interface stays");
}

#[tokio::test(start_paused = true)]
async fn what_ec2_does_not_show_any_more_is_withdrawn_if_nobody_has_it() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1, "minimum": 5 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    node.rest(60).await;
    let ranges = node.ranges().await;
    let (interface, net) = ranges
        .iter()
        .find(|(_, nets)| nets.len() == 2)
        .map(|(id, nets)| (id.clone(), *nets.first().unwrap()))
        .unwrap();
    let ipnet::IpNet::V4(net) = net else { panic!() };
    let now = cloud.now();
    cloud.inner().state.unassign(&interface, &[net.addr()], &[], now).unwrap();
    node.rest(70).await;
    assert_eq!(node.ranges().await, ranges, "one describe is not enough");
    node.settles("at the end").await;
    assert!(!node.ranges().await[&interface].contains(&net.into()), "and another came instead");
    assert_eq!(node.shape().await.iter().sum::<usize>(), 5);
}
