//! Large answers, and answers that lag.

use std::time::Duration;

use tenure_aws::port::{Assign, Ec2 as _, Failure, Which};
use tenure_ec2_double::state::Creation;
use tenure_ec2_double::{Fault, Kind};

use super::node::{Node, WIDE, creation, failure};

const DESCRIBE: &str = "DescribeNetworkInterfaces";

/// Creates interfaces behind EC2's back, and returns their ids.
fn crowd(node: &Node, count: usize) -> Vec<String> {
    let tags = [("crowd".to_owned(), "yes".to_owned())].into();
    let wanted = Creation { subnet: WIDE.to_owned(), tags, ..Creation::default() };
    node.double
        .with(|world, now| (0..count).map(|_| world.state.create(&wanted, None, now).unwrap()).collect())
}

#[tokio::test]
async fn more_than_a_page_is_read_to_its_end() {
    let node = Node::new("m5.large").await;
    let mut ids = crowd(&node, 2500);
    let tagged = Which::Tagged([("crowd".to_owned(), "yes".to_owned())].into());
    let mut found: Vec<_> =
        node.ec2.interfaces(&tagged).await.unwrap().into_iter().map(|known| known.id).collect();
    ids.sort_unstable();
    found.sort_unstable();
    assert_eq!((found == ids, node.calls(DESCRIBE)), (true, 3));
    let asked = node.double.with(|world, _| world.journal.after(0).last().unwrap().parameters.clone());
    assert_eq!(asked.get("MaxResults").map(String::as_str), Some("1000"));
    // Half an answer is none.
    node.double.fault(Fault { from: 2, ..Fault::once(DESCRIBE, Kind::LostAfter) });
    assert_eq!(failure(node.ec2.interfaces(&tagged).await), Failure::Unknown);
}

#[tokio::test]
async fn many_ids_are_asked_for_in_parts_and_those_that_are_gone_are_left_out() {
    let node = Node::new("m5.large").await;
    let ids = crowd(&node, 401);
    for gone in &ids[..3] {
        node.double.with(|world, now| world.state.delete(gone, now).unwrap());
    }
    let found = node.ec2.interfaces(&Which::Ids(ids.clone())).await.unwrap();
    assert_eq!((found.len(), node.calls(DESCRIBE)), (398, 3));
    assert!(found.iter().all(|known| ids[3..].contains(&known.id)));
}

#[tokio::test]
async fn what_is_not_visible_yet_is_left_out_or_not_found() {
    let node = Node::new("m5.large").await;
    node.double.with(|world, _| {
        world.state.consistency.describe_lag_ms = 3000;
        world.state.consistency.call_lag_ms = 3000;
    });
    let id = node.ec2.create(&creation("token", WIDE, Assign::Nothing)).await.unwrap().id;
    assert_eq!(node.shown(&id).await, None);
    let attached = node.ec2.assign(&id, &Assign::Addresses(1)).await;
    assert_eq!(failure(attached), Failure::NotFound);
    node.double.advance(Duration::from_secs(3));
    assert!(node.shown(&id).await.is_some());
    node.ec2.assign(&id, &Assign::Addresses(1)).await.unwrap();
    assert_eq!(node.shown(&id).await.unwrap().carries, [], "the old list");
}
