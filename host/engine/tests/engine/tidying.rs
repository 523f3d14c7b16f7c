//! Delegations of agents that are left over: how many are given back at once, and how many could not be.

use std::pin::pin;

use tenure_engine::{Agent, Ask};

use crate::claiming::{agent, ask};
use crate::delegating::start;
use crate::support::poll_once;

#[tokio::test]
async fn what_an_agent_has_left_over_is_given_back_32_at_a_time() {
    for (number, is_more) in [(32, false), (33, true)] {
        let (bench, foreign) = start().await;
        let cilium = Agent { most: 100, ..agent("cilium") };
        let asks: Vec<Ask> = (0..number).map(|number| ask(&format!("c{number:02}"))).collect();
        bench.engine.declare(&cilium, &asks, true).await.unwrap();
        foreign.fails(true);
        bench.engine.declare(&cilium, &[], true).await.unwrap();
        bench.tick(60_000);
        let is_untidy = || poll_once(pin!(bench.engine.untidy())).is_ready();
        while is_untidy() {}
        assert_eq!(bench.engine.tidy().await, 32, "none could be given back");
        foreign.fails(false);
        bench.tick(60_000);
        while is_untidy() {}
        assert_eq!(bench.engine.tidy().await, 0);
        assert_eq!((is_untidy(), foreign.given().len()), (is_more, number - 32), "of {number}");
        bench.engine.tidy().await;
        assert!(foreign.given().is_empty() && !is_untidy());
    }
}
