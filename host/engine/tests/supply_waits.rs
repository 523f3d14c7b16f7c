//! Requests that wait for supply: who hears of them, and what wakes them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers are part of the tests")]

use std::pin::pin;

use tenure_engine::{Add, Outlook};
use tenure_types::{ErrorCode, NetworkName};

#[expect(dead_code, reason = "other tests need the rest of it")]
mod planning;
#[expect(dead_code, reason = "other tests need the rest of it")]
mod support;

use planning::{Cloud, pairs};
use support::{Bench, fits, network, poll_once};

impl Bench {
    /// Whether somebody has begun to wait since this was asked last.
    fn is_demanded(&self) -> bool {
        poll_once(pin!(self.engine.demanded())).is_ready()
    }

    /// An ADD on another network that the same policy serves.
    fn elsewhere(&self, name: &str) -> Add {
        let mut add = self.add_with(1, "blocks", "");
        add.request.network = NetworkName::new(name).unwrap();
        add
    }
}

#[tokio::test]
async fn whoever_carries_effects_out_hears_of_a_request_when_it_begins_to_wait() {
    let bench = Bench::new(8, 8);
    let _attending = bench.engine.attend();
    assert!(!bench.is_demanded(), "nobody waits");
    let (mut one, mut two) = (pin!(bench.takes(1)), pin!(bench.takes(2)));
    assert!(poll_once(one.as_mut()).is_pending());
    assert!(bench.is_demanded() && !bench.is_demanded(), "told once");
    assert!(poll_once(two.as_mut()).is_pending());
    assert!(bench.is_demanded());
}

/// A request that is woken in vain begins to wait anew, and the next plan is made for it at once.
#[tokio::test]
async fn a_plan_that_brings_nothing_wakes_nobody() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    let _attending = bench.engine.attend();
    let mut waits = pin!(bench.takes(1));
    assert!(poll_once(waits.as_mut()).is_pending() && bench.is_demanded());
    let later = Outlook { attributes: pairs(&[("later", "true")]), ..Outlook::default() };
    let refused = bench.engine.plan_effects(&network(), later, &cloud).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotYet);
    assert!(poll_once(waits.as_mut()).is_pending() && !bench.is_demanded());
    assert_eq!(bench.plan(&cloud, &[]).await.intents.len(), 1);
    assert!(poll_once(waits.as_mut()).is_pending() && !bench.is_demanded());
}

#[tokio::test]
async fn a_plan_for_one_network_wakes_nobody_who_waits_for_another() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let _attending = bench.engine.attend();
    let mut waits = pin!(bench.engine.add(bench.elsewhere("other"), fits));
    assert!(poll_once(waits.as_mut()).is_pending() && bench.is_demanded());
    bench.plan(&cloud, &[]).await;
    assert!(poll_once(waits.as_mut()).is_pending() && !bench.is_demanded());
}
