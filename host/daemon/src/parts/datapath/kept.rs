//! The keeper's latest result, for tasks that wait for their part of it.
//!
//! To request a new look, a task takes a number and waits until a look with at least that number has ended:
//!
//! ```text
//! a link is made ──▶ ask: 7 ──▶ the node is described again ──▶ the keeper plans and applies ──▶ done: 7 ──▶ the ADD is answered
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_types::{Error, ErrorCode, Result};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long the link of an interface may take to come, once EC2 has attached it.
const COMING: Duration = Duration::from_secs(20);

/// The requests to the keeper, and its answers.
#[derive(Debug, Default)]
pub(crate) struct DatapathResult {
    asked: watch::Sender<u64>,
    done: watch::Sender<Done>,
}

/// The outcome of the latest look.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    /// The number of the latest question that it answers.
    pub(super) through: u64,
    /// Why the kernel is not as it is wanted, if it is not.
    pub(super) failure: Option<String>,
    /// The host ends without a route, with the reason.
    pub(super) left_out: Arc<BTreeMap<String, String>>,
    /// The host ends of pods whose interface is about to come.
    pub(super) coming: Arc<BTreeSet<String>>,
}

impl Done {
    fn is_coming(&self, host: &str) -> bool {
        self.failure.is_none() && self.coming.contains(host)
    }
}

impl DatapathResult {
    /// Requests a new look from the keeper, and returns the request's number.
    pub(crate) fn ask(&self) -> u64 {
        let mut number = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        number
    }

    /// Waits until the kernel leads packets to a link that was just made.
    ///
    /// # Errors
    /// `LinkFailed` if it cannot.
    pub(crate) async fn leads_to(&self, host: &str) -> Result<()> {
        let number = self.ask();
        let mut done = self.done.subscribe();
        let is_led = done.wait_for(|done| done.through >= number && !done.is_coming(host));
        let done = match timeout(COMING, is_led).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => {
                return Err(Error::new(ErrorCode::NotReady, "the datapath controller is not running"));
            }
            Err(_) => return Err(no_way(self.silence(number, host))),
        };
        let why = done.failure.as_ref().or_else(|| done.left_out.get(host));
        why.map_or(Ok(()), |why| Err(no_way(why)))
    }

    /// Says why nobody has led packets to a link in all that time.
    fn silence(&self, number: u64, host: &str) -> &'static str {
        let done = self.done.borrow();
        match done.through >= number && done.is_coming(host) {
            true => "the link of its address's interface has not come",
            false => "the datapath controller has not answered in 20 s; its log says what it waits for",
        }
    }

    /// Reports why no packets could be routed to a new link, if that is so.
    ///
    /// # Errors
    /// `LinkFailed`.
    pub(crate) fn health(&self) -> Result<()> {
        self.done.borrow().failure.as_ref().map_or(Ok(()), |why| Err(no_way(why)))
    }

    /// The questions, for the one who answers them.
    pub(super) fn questions(&self) -> watch::Receiver<u64> {
        self.asked.subscribe()
    }

    /// Answers the questions up to a number.
    pub(super) fn answer(&self, done: Done) {
        self.done.send_replace(done);
    }

    /// Answers all questions: nobody keeps the kernel any more, for this reason.
    pub(super) fn fail(&self, why: String) {
        let through = *self.asked.borrow();
        self.answer(Done { through, failure: Some(why), left_out: Arc::default(), coming: Arc::default() });
    }
}

fn no_way(why: &str) -> Error {
    Error::new(ErrorCode::LinkFailed, format_args!("cannot route packets to the pod: {why}"))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn done(through: u64, failure: Option<&str>) -> Done {
        let left_out = [("eni-left".to_owned(), "10.0.0.2 is another pod's".to_owned())];
        Done {
            through,
            failure: failure.map(str::to_owned),
            left_out: Arc::new(left_out.into()),
            coming: Arc::default(),
        }
    }

    #[tokio::test]
    async fn only_a_look_that_began_later_answers() {
        let kept = DatapathResult::default();
        kept.answer(done(0, None));
        let mut waiting = Box::pin(kept.leads_to("eni-1"));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(*kept.questions().borrow(), 1);
        kept.answer(done(1, None));
        assert_eq!(waiting.now_or_never(), Some(Ok(())));
    }

    #[tokio::test]
    async fn a_failure_is_told_to_all_and_a_link_that_is_left_out_to_its_own() {
        let kept = DatapathResult::default();
        let told = |host: &'static str, answer: Done| {
            let mut waiting = Box::pin(kept.leads_to(host));
            assert!(waiting.as_mut().now_or_never().is_none());
            kept.answer(answer);
            waiting.now_or_never().unwrap().map_err(|error| (error.code, error.cause))
        };
        let cause = |why: &str| (ErrorCode::LinkFailed, format!("cannot route packets to the pod: {why}"));
        assert_eq!(told("eni-1", done(1, Some("nft failed"))), Err(cause("nft failed")));
        assert_eq!(kept.health().unwrap_err().code, ErrorCode::LinkFailed);
        assert_eq!(told("eni-1", done(2, None)), Ok(()));
        assert_eq!(told("eni-left", done(3, None)), Err(cause("10.0.0.2 is another pod's")));
        assert_eq!(kept.health(), Ok(()));
        let mut waiting = Box::pin(kept.leads_to("eni-1"));
        assert!(waiting.as_mut().now_or_never().is_none());
        kept.fail("the watch ended".to_owned());
        assert_eq!(waiting.now_or_never().unwrap().unwrap_err().code, ErrorCode::LinkFailed);
    }

    #[tokio::test]
    async fn a_pod_is_led_to_once_the_link_of_its_interface_has_come() {
        let kept = DatapathResult::default();
        let coming =
            |through| Done { coming: Arc::new(BTreeSet::from(["eni-1".to_owned()])), ..done(through, None) };
        let mut waiting = Box::pin(kept.leads_to("eni-1"));
        assert!(waiting.as_mut().now_or_never().is_none());
        kept.answer(coming(1));
        assert!(waiting.as_mut().now_or_never().is_none(), "its packets would leave by another interface");
        assert_eq!(kept.leads_to("eni-2").now_or_never(), None, "another question has another number");
        kept.answer(done(2, None));
        assert_eq!(waiting.now_or_never(), Some(Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_in_vain_is_told_what_for() {
        let kept = DatapathResult::default();
        let error = kept.leads_to("eni-1").await.unwrap_err();
        assert!(error.cause.contains("has not answered in 20 s"), "{error}");
        let of_others =
            Done { coming: Arc::new(BTreeSet::from(["eni-2".to_owned()])), ..done(u64::MAX, None) };
        kept.answer(of_others);
        let error = kept.leads_to("eni-2").await.unwrap_err();
        assert!(error.cause.ends_with("the link of its address's interface has not come"), "{error}");
        assert_eq!(kept.leads_to("eni-1").await, Ok(()));
    }
}
