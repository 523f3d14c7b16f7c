//! Links as others ask about them: whether one could be made, which there are, and whether any may be left.

use std::pin::pin;

use tenure_types::{ErrorCode, Link, NetworkName};

use crate::support::{Bench, fits, poll_once};

#[test]
fn a_node_that_can_make_no_link_says_so() {
    let bench = Bench::new(8, 8);
    assert_eq!(bench.engine.status_of_links(), Ok(()));
    bench.links.fail(ErrorCode::LinkForbidden);
    assert_eq!(bench.engine.status_of_links().unwrap_err().code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn of_two_networks_that_made_the_same_link_the_later_has_it() {
    for order in [["a", "z"], ["z", "a"]] {
        let bench = Bench::new(8, 8);
        for name in order {
            let mut add = bench.add(1);
            add.request.network = NetworkName::new(name).unwrap();
            add.request.sandbox.link = Some(Box::new(Link { host: "eni-web".into(), mtu: 1400 }));
            bench.engine.add(add, fits).await.unwrap();
            bench.tick(1);
        }
        let linked = bench.engine.linked();
        let of: Vec<_> = linked.iter().map(|held| held.network.as_str()).collect();
        assert_eq!(of, [order[1]]);
    }
}

#[tokio::test]
async fn nobody_looks_for_links_before_one_may_be_left() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let mut looks = pin!(bench.engine.unlinked());
    assert!(poll_once(looks.as_mut()).is_pending());
}
