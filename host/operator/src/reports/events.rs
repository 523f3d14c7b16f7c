//! The outbox of events: one for each cause and object in an hour, and never in a pass's way.
//!
//! Each pass finds the same facts again, so a cause that was reported about an object within the hour is only counted. The queue is bounded: what does not fit is dropped
//! and counted, as is what the API server does not take. Then the hour does not count, and the next pass that finds it tells it again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::OperatorMetrics;
use super::notice::{EventReason, EventSubject, Notice};

/// Events that may wait for the API server.
const QUEUE: usize = 1024;

/// The time for which one cause is not told again about one object.
const HOUR: Duration = Duration::from_secs(3600);

/// A cause and its object.
type Cause = (EventReason, EventSubject);

/// The causes that were told, each with the time. Guarded by a std mutex: nobody waits while holding it.
type ToldCauses = Arc<Mutex<HashMap<Cause, Duration>>>;

/// Takes notices. Without a sender it drops them.
#[derive(Debug, Clone, Default)]
pub struct EventOutbox {
    told: ToldCauses,
    queue: Option<mpsc::Sender<Notice>>,
    metrics: OperatorMetrics,
}

/// The other end of an outbox.
#[derive(Debug)]
pub struct EventQueue {
    pub(super) notices: mpsc::Receiver<Notice>,
    pub(super) outbox: EventOutbox,
}

impl EventOutbox {
    pub(super) fn new(metrics: OperatorMetrics) -> (Self, EventQueue) {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let outbox = Self { told: ToldCauses::default(), queue: Some(queue), metrics };
        (outbox.clone(), EventQueue { notices: receiver, outbox })
    }

    /// Hands a notice over, unless its cause was told about its object within the hour.
    pub fn tell(&self, notice: Notice, now: Duration) {
        let Some(queue) = &self.queue else { return };
        let cause = (notice.reason, notice.regarding.clone());
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get(&cause).is_some_and(|at| now.saturating_sub(*at) < HOUR) {
            self.metrics.event(notice.reason, "repeated");
            return;
        }
        told.retain(|_, at| now.saturating_sub(*at) < HOUR);
        let reason = notice.reason;
        if queue.try_send(notice).is_ok() {
            told.insert(cause, now);
        } else {
            self.metrics.event(reason, "dropped");
        }
    }

    /// Notes what became of a notice that was handed over.
    pub(super) fn ended(&self, notice: &Notice, is_written: bool) {
        self.metrics.event(notice.reason, if is_written { "written" } else { "failed" });
        if !is_written {
            let cause = (notice.reason, notice.regarding.clone());
            self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(&cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;

    use super::*;

    fn notice(name: &str) -> Notice {
        let subject = EventSubject::named::<Node>("Node", name, name.to_owned());
        Notice::new(EventReason::NodeFenced, subject, "off".into())
    }

    #[test]
    fn a_cause_is_told_once_an_hour_for_each_object() {
        let (outbox, mut queue) = EventOutbox::new(OperatorMetrics::default());
        let at = Duration::from_secs;
        let mut next = || queue.notices.try_recv().ok().map(|notice| notice.regarding.name.to_string());
        outbox.tell(notice("a"), at(0));
        outbox.tell(notice("a"), at(3599));
        outbox.tell(notice("b"), at(3599));
        assert_eq!((next(), next(), next()), (Some("a".into()), Some("b".into()), None));
        outbox.tell(notice("a"), at(3600));
        assert_eq!(next(), Some("a".into()));
        // The API server did not take it: the next time it is found counts.
        outbox.ended(&notice("a"), false);
        outbox.tell(notice("a"), at(3601));
        assert_eq!(next(), Some("a".into()));
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_told_when_it_is_found_again() {
        let (outbox, mut queue) = EventOutbox::new(OperatorMetrics::default());
        for count in 0..=QUEUE {
            outbox.tell(notice(&count.to_string()), Duration::ZERO);
        }
        while queue.notices.try_recv().is_ok() {}
        outbox.tell(notice(&QUEUE.to_string()), Duration::ZERO);
        assert_eq!(queue.notices.try_recv().unwrap().regarding.name.to_string(), QUEUE.to_string());
    }
}
