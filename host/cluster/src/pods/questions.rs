//! The pace of questions about pods: a pause of each pod's own, and one bucket for all.

use std::collections::HashMap;
use std::time::Duration;

use tenure_types::PodIdentity;

use super::PodPresence;

/// PodQuestions that may be asked at once.
const BURST: f64 = 100.0;

/// The time in which one more may be asked.
pub(crate) const TOKEN_EVERY: Duration = Duration::from_millis(100);

/// The pause after the first question without an answer; each further one doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// The pause after the first answer; each further one that is the same doubles.
const FIRST_REST: Duration = Duration::from_secs(10);

/// The longest pause of either kind.
const LONGEST_PAUSE: Duration = Duration::from_secs(1000);

/// Pods that nobody has asked about for this long are forgotten: their addresses are free. All that have an address are asked about several
/// times a minute.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// The last answer about a pod.
#[derive(Debug, Clone)]
struct PodAnswer {
    presence: PodPresence,
    /// Answers in succession that were the same.
    same: u32,
    /// The earliest time of the next question.
    next: Duration,
    /// The time of the first question since the pod was last known to be there.
    since: Duration,
    last_wanted: Duration,
}

/// The action about a pod that the watch lacks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PodQuestion {
    /// Ask now.
    Ask,
    /// Do not ask; this is the last answer.
    Wait(PodPresence),
}

/// The questions that are open.
#[derive(Debug)]
pub(crate) struct PodQuestions {
    answered: HashMap<PodIdentity, PodAnswer>,
    tokens: f64,
    at: Duration,
    retries: u64,
}

impl PodQuestions {
    pub(crate) fn new(now: Duration) -> Self {
        Self { answered: HashMap::new(), tokens: BURST, at: now, retries: 0 }
    }

    /// Whether to ask about a pod now. A question takes a token.
    pub(crate) fn want(&mut self, pod: &PodIdentity, now: Duration) -> PodQuestion {
        let answered = self.answered.entry(pod.clone()).or_insert(PodAnswer {
            presence: PodPresence::Unknown,
            same: 0,
            next: now,
            since: now,
            last_wanted: now,
        });
        answered.last_wanted = now;
        let last = PodQuestion::Wait(answered.presence);
        if now >= answered.next && self.take(now) { PodQuestion::Ask } else { last }
    }

    /// Takes a token for a question, if there is one.
    pub(crate) fn take(&mut self, now: Duration) -> bool {
        self.fill(now);
        let is_there = self.tokens >= 1.0;
        self.tokens -= if is_there { 1.0 } else { 0.0 };
        is_there
    }

    /// Remembers an answer.
    pub(crate) fn answered(&mut self, pod: &PodIdentity, presence: PodPresence, now: Duration) {
        let Some(answered) = self.answered.get_mut(pod) else { return };
        answered.same = match answered.presence == presence {
            true => answered.same.saturating_add(1),
            false => 0,
        };
        answered.presence = presence;
        let first = match presence {
            PodPresence::Unknown => {
                self.retries = self.retries.saturating_add(1);
                FIRST_PAUSE
            }
            PodPresence::Present | PodPresence::Absent => FIRST_REST,
        };
        let pause = first.saturating_mul(1_u32.checked_shl(answered.same.min(31)).unwrap_or(u32::MAX));
        answered.next = now.saturating_add(pause.min(LONGEST_PAUSE));
    }

    /// Forgets a pod that is there, and those whose address is gone.
    pub(crate) fn settle(&mut self, is_there: impl Fn(&PodIdentity) -> bool, now: Duration) {
        self.answered.retain(|pod, answered| {
            !is_there(pod) && now.saturating_sub(answered.last_wanted) < FORGOTTEN_AFTER
        });
    }

    /// The number of pods that the watch lacks, the longest time that one has been lacking, and the number of questions without an answer.
    pub(crate) fn figures(&self, now: Duration) -> (usize, Duration, u64) {
        let oldest = self.answered.values().map(|answered| now.saturating_sub(answered.since)).max();
        (self.answered.len(), oldest.unwrap_or_default(), self.retries)
    }

    fn fill(&mut self, now: Duration) {
        let gained = now.saturating_sub(self.at).div_duration_f64(TOKEN_EVERY);
        self.tokens = (self.tokens + gained).min(BURST);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: usize) -> PodIdentity {
        PodIdentity { namespace: "web".into(), name: name.to_string().into(), uid: "1-2".into() }
    }

    const BEGIN: Duration = Duration::from_secs(1000);

    #[test]
    fn an_error_is_asked_about_again_ever_later_and_never_given_up() {
        let mut questions = PodQuestions::new(BEGIN);
        let (mut now, mut asked, mut pauses) = (BEGIN, BEGIN, Vec::new());
        for _ in 0..40 {
            while questions.want(&pod(1), now) != PodQuestion::Ask {
                now += Duration::from_millis(1).max((now - asked) / 8);
            }
            pauses.push(now - asked);
            asked = now;
            questions.answered(&pod(1), PodPresence::Unknown, now);
        }
        assert!(pauses.is_sorted_by(|first, second| *second >= *first / 2), "{pauses:?}");
        assert!(pauses[39] >= LONGEST_PAUSE && pauses[39] < LONGEST_PAUSE * 5 / 4, "{pauses:?}");
        assert_eq!(questions.figures(now), (1, now - BEGIN, 40));
    }

    /// whereabouts drops a pod after three tries, and its queue with it.
    #[test]
    fn ten_thousand_deletions_at_once_are_all_asked_about_at_the_buckets_pace() {
        let mut questions = PodQuestions::new(BEGIN);
        let (mut asked, mut now) = (0, BEGIN);
        while asked < 10_000 {
            let before = asked;
            while asked < 10_000 && questions.want(&pod(asked), now) == PodQuestion::Ask {
                questions.answered(&pod(asked), PodPresence::Absent, now);
                asked += 1;
            }
            assert!(asked - before <= 100, "a burst");
            now += Duration::from_secs(10);
        }
        assert_eq!(now - BEGIN, Duration::from_secs(1000), "ten each second");
        assert_eq!(questions.figures(now).0, 10_000);
        questions.settle(|_| false, now + FORGOTTEN_AFTER);
        assert_eq!(questions.figures(now).0, 0, "memory is bounded by what is asked for");
    }

    #[test]
    fn the_last_answer_holds_until_the_next_question() {
        let mut questions = PodQuestions::new(BEGIN);
        assert_eq!(questions.want(&pod(1), BEGIN), PodQuestion::Ask);
        questions.answered(&pod(1), PodPresence::Absent, BEGIN);
        assert_eq!(questions.want(&pod(1), BEGIN), PodQuestion::Wait(PodPresence::Absent));
        assert_eq!(questions.want(&pod(1), BEGIN + FIRST_REST), PodQuestion::Ask);
        questions.answered(&pod(1), PodPresence::Unknown, BEGIN + FIRST_REST);
        assert_eq!(questions.want(&pod(1), BEGIN + FIRST_REST), PodQuestion::Wait(PodPresence::Unknown));
        questions.settle(|_| true, BEGIN + FIRST_REST);
        assert_eq!(questions.figures(BEGIN).0, 0, "the watch has it again");
    }

    /// The alert above an hour is about an address that is not freed.
    #[test]
    fn a_pod_whose_address_was_freed_does_not_count_any_more() {
        let mut questions = PodQuestions::new(BEGIN);
        questions.want(&pod(1), BEGIN);
        let mut now = BEGIN;
        for _ in 0..=6 {
            now += FIRST_REST;
            questions.want(&pod(2), now);
            questions.settle(|_| false, now);
        }
        assert_eq!(questions.figures(now), (1, now - BEGIN - FIRST_REST, 0));
    }

    #[test]
    fn last_reads_take_of_the_same_bucket() {
        let mut questions = PodQuestions::new(BEGIN);
        assert!((0..100).all(|_| questions.take(BEGIN)) && !questions.take(BEGIN));
        assert_eq!(questions.want(&pod(1), BEGIN), PodQuestion::Wait(PodPresence::Unknown));
        assert!(questions.take(BEGIN + TOKEN_EVERY) && !questions.take(BEGIN + TOKEN_EVERY));
    }
}
