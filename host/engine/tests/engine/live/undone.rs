//! Exchanges and loads that do not come about, and policies that are not loaded when they are wanted.

use super::*;
use crate::claiming::named;
use crate::shadows::recorded;
use tenure_engine::Define;
use tenure_engine::ports::Again;
use tenure_types::Definer;

/// The exchange took the state over, too: it is undone in one step, and so it is told.
#[tokio::test]
async fn an_exchange_with_a_state_that_cannot_be_made_durable_is_undone_once() {
    let bench = Bench::new(8, 8);
    bench.engine.add(bench.add_with(1, "counting", "10.0.0.0/29"), fits).await.unwrap();
    bench.journal.hold();
    let wanted = tenure_engine::Activate { unchecked: true, ..activate("recounting") };
    let mut exchange = pin!(bench.engine.activate(&wanted));
    assert!(poll_once(exchange.as_mut()).is_pending());
    bench.journal.resolve(&Err(Error::new(ErrorCode::CheckpointFailed, "no sync")));
    assert_eq!(exchange.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    let history = bench.history();
    assert_eq!(history.iter().filter(|step| step.starts_with("undone")).count(), 1, "{history:?}");
    let states = bench.engine.states_of(&network()).await.unwrap().unwrap();
    assert_eq!(&*states.now.bytes, b"counting 1");
}

/// A policy may take minutes to compile, and the operator would hear nothing meanwhile.
#[tokio::test]
async fn an_operator_waits_for_a_policy_that_failed_to_load_and_not_for_one_that_is_being_compiled() {
    let (bench, catalogue) = recorded(Again::default());
    let define = |name: &str, ipam: &str| Define {
        network: named(name),
        policy: PolicyName::new("first").unwrap(),
        config: bench.add_with(1, "first", ipam).config,
        by: Definer::Operator,
        apply: true,
        change_ranges: true,
    };
    bench.engine.define_network(&define("net", "10.0.0.0/29")).await.unwrap();
    bench.engine.activate(&activate("last")).await.unwrap();
    let fail = |code| {
        *catalogue.pinned.lock().unwrap() = Some(code);
        *catalogue.named.lock().unwrap() = Some(code);
    };
    let other = define("other", "10.1.0.0/29");
    fail(ErrorCode::Preparing);
    assert_eq!(bench.engine.roll_back(&network(), "").await.unwrap_err().code, ErrorCode::Preparing);
    assert_eq!(bench.engine.define_network(&other).await.unwrap_err().code, ErrorCode::Preparing);
    fail(ErrorCode::PolicyUnloadable);
    bench.engine.roll_back(&network(), "").await.unwrap();
    assert_eq!(bench.serves(), "first");
    bench.engine.define_network(&other).await.unwrap();
}

#[tokio::test]
async fn a_policy_before_that_cannot_be_loaded_says_nothing_for_the_one_that_refuses() {
    let (bench, catalogue) = recorded(Again::default());
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("refuses-live")).await.unwrap();
    *catalogue.pinned.lock().unwrap() = Some(ErrorCode::PolicyUnloadable);
    for number in 2..=4 {
        assert_eq!(bench.add_code(number).await, Err(ErrorCode::PolicyRefused));
    }
    bench.engine.tend().await;
    assert_eq!(bench.serves(), "first");
}

#[tokio::test]
async fn nothing_can_be_unloaded_that_is_only_a_copy_on_the_node() {
    let (bench, _) = versioned("first", false);
    let unknown = bench.engine.unload_policy(&mine("first").name.into()).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::UnknownPolicy);
}
