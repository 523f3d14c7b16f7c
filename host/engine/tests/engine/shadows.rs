//! Shadow runs: how they begin, what they know and what they count.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_engine::ports::{Again, Answer, Catalogue, CatalogueEntry, Offered, Policy, TakenIn};
use tenure_engine::{Difference, ExchangeSettings, ReplaceState, Settings, ShadowReport, Verdict};
use tenure_fixtures::ports::policy;
use tenure_ledger::Component;
use tenure_types::{Error, ErrorCode, Moment, NetworkName, PolicyName, PolicySelector, PolicyStamp};

use crate::claiming::{ask, key};
use crate::support::{Bench, fits, network, poll_once};

/// The plain policies, of which each has made the same recorded decisions again.
pub(crate) struct Recorded {
    plain: Arc<dyn Catalogue>,
    again: Again,
    /// Why the node's own copies cannot be used now.
    pub(crate) pinned: Mutex<Option<ErrorCode>>,
    /// The reason for which the policies of the present names cannot be used.
    pub(crate) named: Mutex<Option<ErrorCode>>,
}

impl Catalogue for Recorded {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        match *self.named.lock().unwrap() {
            Some(code) => Err(Error::new(code, "it is not loaded")),
            None => self.plain.find(name),
        }
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        match *self.pinned.lock().unwrap() {
            Some(code) => Err(Error::new(code, "there is no copy")),
            None => self.plain.find_pinned(stamp),
        }
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error> {
        self.plain.resolve(selector)
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        self.plain.load(stamp)
    }

    fn take_in(&self, offered: Offered) -> Answer<'_, TakenIn> {
        self.plain.take_in(offered)
    }

    fn decide_again<'a>(&'a self, _: &'a PolicyStamp, _: &'a NetworkName) -> Answer<'a, Again> {
        Box::pin(async { Ok(self.again.clone()) })
    }

    fn set_loaded(&self, loaded: &[Component]) {
        self.plain.set_loaded(loaded);
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        self.plain.list()
    }

    fn awaited(&self) -> Option<String> {
        self.plain.awaited()
    }
}

pub(crate) fn recorded(again: Again) -> (Bench, Arc<Recorded>) {
    let (plain, pinned, named) = (policy::catalogue(), Mutex::default(), Mutex::default());
    let recorded = Arc::new(Recorded { plain, again, pinned, named });
    (Bench::with(8, 8, |_| Arc::clone(&recorded) as _), recorded)
}

impl Bench {
    async fn begin(&self, candidate: &str) {
        self.engine.shadow(&network(), &PolicyName::new(candidate).unwrap().into(), "").await.unwrap();
    }

    pub(crate) async fn shadow(&self, candidate: &str) -> ShadowReport {
        self.begin(candidate).await;
        self.engine.tend().await;
        self.report()
    }

    pub(crate) fn report(&self) -> ShadowReport {
        self.engine.shadow_report(&network()).unwrap()
    }

    /// An ADD, a DEL, and the time until the address is free again; the shadow follows.
    async fn come_and_go(&self, number: u32) {
        self.address(number).await.unwrap();
        self.engine.del(self.del(number)).await.unwrap();
        self.tick(60_000);
        self.engine.tend().await;
    }
}

#[tokio::test]
async fn whoever_tends_waits_until_a_shadow_run_is_wanted() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let mut due = pin!(bench.engine.due());
    assert!(poll_once(due.as_mut()).is_pending());
    bench.begin("last").await;
    assert!(poll_once(due.as_mut()).is_ready());
}

#[tokio::test]
async fn a_candidate_that_is_being_compiled_is_tried_again_after_a_second() {
    let (bench, catalogue) = recorded(Again::default());
    bench.address(1).await.unwrap();
    *catalogue.pinned.lock().unwrap() = Some(ErrorCode::Preparing);
    assert_eq!(bench.shadow("last").await.problem.as_deref(), Some("there is no copy"));
    *catalogue.pinned.lock().unwrap() = None;
    bench.tick(400);
    assert_eq!(bench.engine.tend().await, Some(Duration::from_millis(600)));
    assert!(bench.report().problem.is_some(), "not yet");
    bench.tick(600);
    bench.engine.tend().await;
    assert_eq!(bench.report().problem, None);
}

#[tokio::test]
async fn a_candidate_that_is_not_loaded_is_loaded() {
    let (bench, catalogue) = recorded(Again::default());
    bench.address(1).await.unwrap();
    *catalogue.pinned.lock().unwrap() = Some(ErrorCode::UnknownPolicy);
    assert_eq!(bench.shadow("last").await.problem, None);
}

#[tokio::test]
async fn recorded_decisions_count_as_live_ones_do() {
    let different = [Verdict::OtherAddress, Verdict::OtherRefusal].map(|verdict| Difference {
        at: Moment::default(),
        owner: "web-0".into(),
        verdict,
        refuses: verdict == Verdict::OtherRefusal,
        served: "10.0.0.2".into(),
        candidate: "10.0.0.6".into(),
    });
    let (bench, _) =
        recorded(Again { same: 3, different: different.into(), unanswered: 4, ..Again::default() });
    bench.address(1).await.unwrap();
    let report = bench.shadow("last").await;
    assert_eq!(report.recorded, (5, 4));
    let verdicts = report.verdicts;
    assert_eq!((verdicts.same, verdicts.other_address, verdicts.other_refusal), (3, 1, 1));
    assert_eq!((verdicts.compared(), verdicts.examples.len()), (5, 2));
}

#[tokio::test]
async fn a_candidate_that_refuses_what_is_served_is_promoted_only_at_once() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    assert_eq!(bench.shadow("refuses-live").await.refused_again, 1, "the serving policy would answer again");
    let promote = async |now| bench.engine.promote(&network(), false, now, "alice").await;
    for number in 2..18 {
        bench.come_and_go(number).await;
    }
    let error = promote(false).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ShadowInconclusive);
    assert!(error.cause.contains("refused 16 of 16 requests"), "{error}");
    promote(true).await.unwrap();
    let why = bench.engine.policies_of(&network()).unwrap().now.why;
    assert_eq!(
        why,
        "promoted from the shadow by an operator: 16 requests compared, 16 decided differently; alice"
    );
}

#[tokio::test]
async fn a_candidate_may_refuse_a_share_of_what_is_served() {
    let refusal = Difference {
        at: Moment::default(),
        owner: "web-0".into(),
        verdict: Verdict::OtherRefusal,
        refuses: true,
        served: "10.0.0.2".into(),
        candidate: "not on a Sunday".into(),
    };
    for (refused, result) in [(2, Ok(())), (3, Err(ErrorCode::ShadowInconclusive))] {
        let different = vec![refusal.clone(); refused];
        let (bench, _) = recorded(Again { same: 20 - refused as u64, different, ..Again::default() });
        let exchange = ExchangeSettings { worse_percent: 10, ..ExchangeSettings::default() };
        bench.engine.set(Settings { exchange, ..bench.engine.settings().as_ref().clone() });
        bench.address(1).await.unwrap();
        bench.shadow("last").await;
        let promoted = bench.engine.promote(&network(), false, false, "").await;
        assert_eq!(promoted.map(drop).map_err(|error| error.code), result, "{refused} of 20");
    }
}

#[tokio::test]
async fn a_candidate_that_refuses_live_allocations_is_not_promoted_on_the_record_alone() {
    let (bench, _) = recorded(Again { same: 40, ..Again::default() });
    bench.address(1).await.unwrap();
    bench.shadow("refuses-live").await;
    let error = bench.engine.promote(&network(), false, false, "").await.unwrap_err();
    assert!(error.cause.contains("refuses the requests of 1 of 1 live allocations"), "{error}");
    bench.shadow("last").await;
    bench.engine.promote(&network(), false, false, "").await.unwrap();
}

#[tokio::test]
async fn a_candidate_that_does_the_same_hands_out_what_has_cooled_down() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.shadow("counting").await;
    for number in 2..5 {
        bench.come_and_go(number).await;
    }
    let verdicts = bench.report().verdicts;
    assert_eq!((verdicts.same, verdicts.compared()), (3, 3), "{verdicts:?}");
}

#[tokio::test]
async fn a_candidate_takes_over_only_a_state_that_there_is_and_that_it_could_keep() {
    let bench = Bench::new(8, 8);
    let counted = bench.add_with(1, "counting", "10.0.0.0/29");
    bench.engine.add(counted, fits).await.unwrap();
    assert_eq!(bench.shadow("last").await.problem, None, "it keeps none");
    assert!(bench.shadow("counting-afresh").await.problem.is_some(), "it cannot take over");
    let empty =
        ReplaceState { network: network(), bytes: Vec::new(), if_version: None, reason: String::new() };
    bench.engine.replace_state(&empty).await.unwrap();
    bench.tick(1_000);
    bench.engine.tend().await;
    assert_eq!(bench.report().problem, None, "there is none");
}

#[tokio::test]
async fn a_candidate_that_was_compared_on_few_requests_is_promoted_only_at_once() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.shadow("last").await;
    let promote = async |now| bench.engine.promote(&network(), false, now, "").await;
    let error = promote(false).await.unwrap_err();
    assert!(error.cause.ends_with("compared on 0 requests of network net; promoting it takes 16"), "{error}");
    promote(true).await.unwrap();
}

/// An agent may ask as often as it likes, so its requests decide only where no pod asks.
#[tokio::test]
async fn claims_do_not_count_among_the_requests_of_pods() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.tick(60_000);
    bench.shadow("last").await;
    let promote = async || bench.engine.promote(&network(), false, false, "").await;
    let claims = async || {
        for _ in 0..16 {
            bench.claimed("cilium", &ask("router")).await.unwrap();
            bench.engine.release_claim(&key("cilium", "router")).await.unwrap();
            bench.tick(60_000);
            bench.engine.tend().await;
        }
    };
    bench.come_and_go(2).await;
    claims().await;
    let report = bench.report();
    assert_eq!((report.of_claims.0, report.verdicts.compared()), (16, 17), "{report:?}");
    let error = promote().await.unwrap_err();
    assert!(error.cause.ends_with("compared on 1 requests of network net; promoting it takes 16"), "{error}");
    // The same where they were recorded.
    let (noted, _) = recorded(Again { same: 40, of_claims: (39, 0), ..Again::default() });
    noted.address(1).await.unwrap();
    noted.shadow("last").await;
    let error = noted.engine.promote(&network(), false, false, "").await.unwrap_err();
    assert!(error.cause.ends_with("compared on 1 requests of network net; promoting it takes 16"), "{error}");
    // Another run, on a network that only an agent uses.
    bench.shadow("first").await;
    claims().await;
    assert_eq!(bench.report().decisive().0, 16);
    promote().await.unwrap();
}

#[tokio::test]
async fn what_the_serving_policy_could_not_give_again_does_not_count_against_a_candidate() {
    let bench = Bench::new(8, 8);
    bench.engine.add(bench.add_with(1, "first", "10.0.0.0/30"), fits).await.unwrap();
    let report = bench.shadow("refuses-live").await;
    assert_eq!((report.rehearsed, report.refused_again), ((1, 0), 0), "the pool is full");
}
