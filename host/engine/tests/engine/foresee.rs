//! Networks that a CNI configuration names before any request does.

use std::pin::pin;

use tenure_engine::Foreseen;
use tenure_types::{ConditionName, Error, ErrorCode};

use crate::support::{Bench, network, poll_once};

fn foreseen(bench: &Bench, ipam: &str) -> Foreseen {
    let add = bench.add_with(1, "first", ipam);
    Foreseen { network: network(), policy: add.policy, config: add.config }
}

#[tokio::test]
async fn a_network_is_defined_by_its_configuration_and_again_only_by_another_one() {
    let bench = Bench::new(8, 8);
    for (ipam, changes) in
        [("10.0.0.0/29", true), ("10.0.0.0/29", false), ("10.1.0.0/29", true), ("10.1.0.0/29", false)]
    {
        let facts = bench.journal.facts().len();
        assert_eq!(bench.engine.foresee(&foreseen(&bench, ipam)).await, Ok(changes), "{ipam}");
        assert_eq!(bench.journal.facts().len() > facts, changes, "{ipam}");
        assert_eq!(bench.engine.book(&network()).await.unwrap().network().config.ipam, ipam);
    }
}

#[tokio::test]
async fn a_foreseen_network_is_durable_before_the_answer() {
    let bench = Bench::new(8, 8);
    for broken in [true, false] {
        let wanted = foreseen(&bench, "10.0.0.0/29");
        bench.journal.hold();
        let mut foresee = pin!(bench.engine.foresee(&wanted));
        assert!(poll_once(foresee.as_mut()).is_pending());
        let failure = Error::new(ErrorCode::CheckpointFailed, "the disk is gone");
        bench.journal.resolve(&if broken { Err(failure.clone()) } else { Ok(()) });
        // What could not be made durable is in memory, and the next call waits for it.
        assert_eq!(foresee.await, if broken { Err(failure) } else { Ok(false) });
    }
}

#[tokio::test]
async fn nothing_is_foreseen_on_a_node_that_serves_nobody_new() {
    let bench = Bench::new(8, 8);
    bench.engine.conditions().set(ConditionName::StateLost, "", "the state was lost");
    let refused = bench.engine.foresee(&foreseen(&bench, "10.0.0.0/29")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotReady);
    assert!(bench.engine.network_names().is_empty());
}
