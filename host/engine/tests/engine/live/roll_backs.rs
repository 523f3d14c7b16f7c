//! Exchanges that are watched, and rolled back by the daemon or by an operator.

use super::*;
use crate::shadows::recorded;
use tenure_engine::ports::Again;

#[tokio::test]
async fn a_policy_that_does_worse_than_the_one_before_is_rolled_back() {
    for (policy, code) in
        [("fails-live", ErrorCode::PolicyFailed), ("refuses-live", ErrorCode::PolicyRefused)]
    {
        let bench = Bench::new(8, 8);
        bench.address(1).await.unwrap();
        bench.engine.activate(&activate(policy)).await.unwrap();
        for number in [2, 3] {
            assert_eq!(bench.add_code(number).await, Err(code));
            bench.engine.tend().await;
            assert_eq!(bench.serves(), policy, "fewer than three prove nothing");
        }
        assert_eq!(bench.add_code(4).await, Err(code));
        bench.engine.tend().await;
        assert_eq!(bench.serves(), "first");
        assert_eq!(bench.history()[..2], ["rolled-back first".to_owned(), format!("chosen {policy}")]);
        let why = bench.engine.policies_of(&network()).unwrap().now.why;
        assert!(
            why.starts_with("3 of 3 requests failed that the previous policy would have answered"),
            "{why}"
        );
        assert_eq!(bench.add_code(5).await, Ok(()));
        let rolled_back = |bench: &Bench| {
            bench.engine.whats_wrong().iter().any(|wrong| wrong.name == ConditionName::PolicyRolledBack)
        };
        assert!(rolled_back(&bench));
        // The configuration still names the first policy; what was rolled back to stays until an operator chooses.
        bench.engine.activate(&activate("first")).await.unwrap();
        assert!(!rolled_back(&bench), "confirmed");
    }
}

#[tokio::test]
async fn a_policy_that_did_worse_itself_is_not_the_measure_of_the_next_one() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("refuses-live")).await.unwrap();
    assert_eq!(bench.add_code(2).await, Err(ErrorCode::PolicyRefused));
    bench.engine.activate(&activate("fails-live")).await.unwrap();
    for number in [3, 4, 5] {
        assert_eq!(bench.add_code(number).await, Err(ErrorCode::PolicyFailed));
    }
    bench.engine.tend().await;
    assert_eq!(bench.serves(), "first");
}

#[tokio::test]
async fn a_choice_that_overtakes_a_roll_back_stays_and_is_watched() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("worsens")).await.unwrap();
    for number in [2, 3, 4] {
        assert_eq!(bench.add_code(number).await, Err(ErrorCode::PolicyFailed));
    }
    let wanted = tenure_engine::Activate { unchecked: true, ..activate("last") };
    let (mut exchange, mut tended) = (pin!(bench.engine.activate(&wanted)), pin!(bench.engine.tend()));
    {
        // It has the network's turn, for which both wait, the operator first.
        let mut stalls = pin!(bench.engine.add(bench.add(100), fits));
        assert!(poll_once(stalls.as_mut()).is_pending());
        assert!(poll_once(exchange.as_mut()).is_pending() && poll_once(tended.as_mut()).is_pending());
    }
    exchange.await.unwrap();
    tended.await;
    assert_eq!(bench.serves(), "last");
    assert_eq!(bench.history()[0], "chosen last");
    assert!(bench.engine.policies_of(&network()).unwrap().now.watched, "the watch is that of the new choice");
}

#[tokio::test]
async fn a_fault_that_was_there_before_rolls_nothing_back() {
    let bench = Bench::new(8, 8);
    for number in 1..=5 {
        bench.address(number).await.unwrap();
    }
    bench.engine.activate(&activate("last")).await.unwrap();
    for number in 6..=30 {
        assert_eq!(bench.add_code(number).await, Err(ErrorCode::PoolExhausted), "the pool is full for both");
    }
    bench.engine.tend().await;
    assert_eq!(bench.serves(), "last");
    bench.tick(300_000);
    bench.engine.tend().await;
    assert_eq!(bench.history(), ["kept last", "chosen last", "chosen first"]);
    assert!(!bench.engine.policies_of(&network()).unwrap().now.watched);
}

/// Regression: one that is being loaded counted as one that would have answered.
#[tokio::test]
async fn a_policy_before_that_is_being_loaded_is_asked_once_it_is_there() {
    let (bench, catalogue) = recorded(Again::default());
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("refuses-live")).await.unwrap();
    for (is_loaded, serves) in [(false, "refuses-live"), (true, "first")] {
        *catalogue.pinned.lock().unwrap() = (!is_loaded).then_some(ErrorCode::Preparing);
        for number in 2..=20 {
            assert_eq!(bench.add_code(number).await, Err(ErrorCode::PolicyRefused));
        }
        bench.engine.tend().await;
        assert_eq!(bench.serves(), serves);
    }
}

#[tokio::test]
async fn a_budget_of_hundred_percent_and_a_watch_of_no_time_roll_nothing_back() {
    for (seconds, percent) in [(300, 100), (0, 1)] {
        let bench = Bench::new(8, 8);
        bench.watch(seconds, percent);
        bench.address(1).await.unwrap();
        bench.engine.activate(&activate("refuses-live")).await.unwrap();
        for number in 2..=20 {
            assert_eq!(bench.add_code(number).await, Err(ErrorCode::PolicyRefused));
        }
        bench.engine.tend().await;
        assert_eq!(bench.serves(), "refuses-live");
    }
}

#[tokio::test]
async fn an_operator_rolls_back_and_back_again() {
    let bench = Bench::new(8, 8);
    let nothing = bench.engine.roll_back(&network(), "").await.unwrap_err();
    assert_eq!(nothing.code, ErrorCode::UnknownNetwork);
    bench.address(1).await.unwrap();
    let nothing = bench.engine.roll_back(&network(), "").await.unwrap_err();
    assert_eq!(nothing.code, ErrorCode::NothingBefore);
    bench.engine.activate(&activate("last")).await.unwrap();
    let rolled_back = bench.engine.roll_back(&network(), "it is slow").await.unwrap();
    assert_eq!(rolled_back.after.name.as_str(), "first");
    assert_eq!(
        bench.engine.policies_of(&network()).unwrap().now.why,
        "rolled back by an operator: it is slow"
    );
    bench.engine.roll_back(&network(), "").await.unwrap();
    assert_eq!(bench.serves(), "last");
}

/// Regression: a policy that an operator had returned to was rolled back, since the one that was left would have answered what it refuses.
#[tokio::test]
async fn an_operators_roll_back_stays() {
    let bench = Bench::new(8, 8);
    bench.watch(0, 1);
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("refuses-live")).await.unwrap();
    bench.watch(300, 1);
    bench.engine.activate(&activate("last")).await.unwrap();
    assert!(bench.engine.policies_of(&network()).unwrap().now.watched);
    bench.engine.roll_back(&network(), "by mistake").await.unwrap();
    assert!(!bench.engine.policies_of(&network()).unwrap().now.watched);
    for number in 2..=6 {
        assert_eq!(bench.add_code(number).await, Err(ErrorCode::PolicyRefused));
        bench.engine.tend().await;
    }
    assert_eq!(bench.serves(), "refuses-live");
}
