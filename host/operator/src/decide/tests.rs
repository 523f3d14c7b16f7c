//! What a pass decides as a whole.

use serde_json::json;
use tenure_leases::Uid;

use super::*;
use crate::decide::sample::{NOW, host, leader, leased, pool, saying, space};
use crate::view::{ViewSources, view};

/// The writes of a pass about a node that has a block and wants another, if the pool has this usage: the kinds of the writes but statuses of nodes and pools, and why the node
/// waits.
fn decided(usage: &str) -> (Vec<String>, Vec<String>) {
    let (node, block) = (Uid(100), ("10.0.0.0/30", Uid(10)));
    let held = json!({ "held": [{ "cidr": block.0, "uid": block.1.to_string() }] });
    let view = view(ViewSources {
        pools: vec![pool(usage, "10.0.0.0/24", 30)],
        spaces: vec![space("Blocks", "10.0.0.0/24", 30)],
        said: vec![saying(0, node, 2, &held)],
        hosts: vec![host(0, node)],
        blocks: vec![leased(0, node, block, false)],
        ..ViewSources::default()
    });
    let (mut kinds, mut reasons) = (Vec::new(), Vec::new());
    for write in decide(&view, &mut leader(), "", NOW).writes {
        match write {
            OperatorWrite::Hints(_, status) => {
                reasons.extend(status.waiting.iter().map(|entry| entry.reason.clone()));
            }
            OperatorWrite::PoolStatus(_) | OperatorWrite::PoolFinalizer(..) => {}
            other => {
                let words = format!("{other:?}");
                kinds.extend(words.split(|letter: char| !letter.is_alphanumeric()).next().map(str::to_owned));
            }
        }
    }
    (kinds, reasons)
}

#[test]
fn of_a_pool_that_cannot_be_read_nothing_is_granted_and_nothing_taken_away() {
    let none: Vec<String> = vec![];
    assert_eq!(decided("Blocks"), (vec!["Grant".to_owned()], none.clone()), "one that can be read");
    assert_eq!(decided("Loans"), (none, vec!["OperatorWaits".to_owned()]), "one of a later version");
}
