//! Collects one call for the record, as JSON text.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use tenure_ledger::Book;
use tenure_types::{NetworkName, PolicyStamp, hold};

use super::decision::{Function, RecordedLimits, encoded};
use super::queue::PendingDecision;
use super::recorder::{RecordedNetwork, Recorder};
use super::view::RecordedView;

/// The most bytes of one decision. A longer one is dropped.
const LONGEST: usize = 1 << 20;

/// The most bytes of a view of a network in a decision. A longer one is left out.
const LONGEST_VIEW: usize = 8 << 20;

/// The bytes of most decisions.
const USUAL: usize = 1 << 10;

/// One call that is being recorded. Dropping it leaves no trace of the call.
#[derive(Debug)]
pub(crate) struct Tape {
    recorder: Arc<Recorder>,
    network: NetworkName,
    recorded: RecordedNetwork,
    /// The decision's text, without its first brace, which the writer adds together with the number.
    text: Vec<u8>,
    /// Whether anything was asked.
    any: bool,
    /// Whether the text is too long, or cannot be written.
    broken: bool,
}

impl Tape {
    /// Begins to record a call, if its network is recorded; with its limits, where they are not the file's.
    pub(crate) fn begin<G: Serialize>(
        recorder: &Arc<Recorder>,
        network: &str,
        policy: &PolicyStamp,
        function: Function,
        given: &G,
        state: Option<&[u8]>,
        limits: Option<&RecordedLimits>,
    ) -> Option<Box<Self>> {
        let network = recorder.recorded(network)?;
        let mut tape = Self::new(Arc::clone(recorder), network, policy, function, given);
        if let Some(state) = state {
            tape.field(",\"state\":", &encoded(state));
        }
        if let Some(limits) = limits {
            tape.field(",\"limits\":", limits);
        }
        tape.text.extend_from_slice(b",\"asked\":[");
        Some(Box::new(tape))
    }

    fn new<G: Serialize>(
        recorder: Arc<Recorder>,
        (network, recorded): (NetworkName, RecordedNetwork),
        policy: &PolicyStamp,
        function: Function,
        given: &G,
    ) -> Self {
        let mut tape =
            Self { recorder, network, recorded, text: Vec::with_capacity(USUAL), any: false, broken: false };
        let now = Duration::try_from(clock_gettime(ClockId::Realtime)).unwrap_or_default();
        let network = tape.network.clone();
        tape.field("\"at_ms\":", &u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        tape.field(",\"network\":", &network);
        tape.field(",\"policy\":", &policy.name);
        tape.field(",\"digest\":", &policy.digest);
        tape.field(",\"function\":", &function);
        tape.field(",\"given\":", given);
        tape
    }

    /// Records a question and its answer.
    pub(crate) fn asked<Q: Serialize, A: Serialize>(&mut self, function: &str, question: &Q, answer: &A) {
        let separator = if std::mem::replace(&mut self.any, true) { "," } else { "" };
        self.text.extend_from_slice(separator.as_bytes());
        self.field("{\"function\":", function);
        self.field(",\"with\":", question);
        self.field(",\"answer\":", answer);
        self.text.push(b'}');
    }

    /// Records how the call ended and what it could see, and hands the decision to the writer.
    pub(crate) fn ended<O: Serialize>(mut self, outcome: &O, book: Option<&Book>) {
        self.text.push(b']');
        self.field(",\"outcome\":", outcome);
        if self.broken {
            self.recorder.drop_some(1);
            return;
        }
        let (most, following) = (self.recorded.most, Arc::clone(&self.recorded.following));
        let mut following = hold(&following);
        let mut view = book.and_then(|book| following.view(book, most));
        if let Some(found) = &view {
            let text = serde_json::to_vec(found).unwrap_or_default();
            if (1..=LONGEST_VIEW).contains(&text.len()) {
                self.text.extend_from_slice(b",\"view\":");
                self.text.extend_from_slice(&text);
            } else {
                following.too_large(most);
                view = None;
            }
        }
        self.text.push(b'}');
        let (bytes, is_whole) = (self.text.len(), view.as_ref().is_some_and(RecordedView::is_whole));
        if self.recorder.push(PendingDecision { network: self.network, body: self.text, is_whole }) {
            following.wrote(view.as_ref(), bytes, most);
        }
    }

    fn field<V: Serialize + ?Sized>(&mut self, name: &str, value: &V) {
        if self.broken {
            return;
        }
        self.text.extend_from_slice(name.as_bytes());
        self.broken = serde_json::to_writer(&mut self.text, value).is_err() || self.text.len() > LONGEST;
        if self.broken {
            self.text = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;
    use tenure_types::PolicyName;

    use super::super::decision::{DecisionOutcome, RecordedDecision};
    use super::*;

    fn recorder() -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::default());
        recorder.set(HashMap::from([(NetworkName::new("pods").unwrap(), 10)]));
        recorder
    }

    fn tape(recorder: &Arc<Recorder>, network: &str) -> Option<Box<Tape>> {
        let policy = PolicyStamp { name: PolicyName::new("mine").unwrap(), digest: "00".into() };
        Tape::begin(recorder, network, &policy, Function::Propose, &json!({ "requested": [] }), None, None)
    }

    #[test]
    fn a_tape_that_has_ended_is_a_decision() {
        let recorder = recorder();
        assert!(tape(&recorder, "others").is_none());
        let mut ended = tape(&recorder, "pods").unwrap();
        ended.asked("last", &json!({ "pool": 0 }), &"10.1.0.2");
        ended.asked("free", &json!({ "pool": 0 }), &["10.1.0.3"]);
        ended.ended(&DecisionOutcome::Proposal(json!({})), None);
        drop(tape(&recorder, "pods"));
        let [line] = recorder.queue.take().unwrap().try_into().unwrap();
        let text = [b"{\"number\":7,", line.body.as_slice()].concat();
        let decision: RecordedDecision = serde_json::from_slice(&text).unwrap();
        let functions: Vec<_> = decision.asked.iter().map(|asked| asked.function.as_str()).collect();
        assert_eq!((decision.number, functions), (7, vec!["last", "free"]));
        assert_eq!(decision.outcome, DecisionOutcome::Proposal(json!({})));
        assert!(decision.at_ms > 0 && decision.given == json!({ "requested": [] }));
        assert_eq!(recorder.counts(), (0, 0));
    }

    #[test]
    fn what_is_too_long_or_too_much_is_dropped_and_counted() {
        let recorder = recorder();
        let mut long = tape(&recorder, "pods").unwrap();
        for _ in 0..3 {
            long.asked("ranges", &json!({}), &"x".repeat(LONGEST / 2));
        }
        assert!(long.text.len() < USUAL, "it frees its memory");
        long.ended(&DecisionOutcome::Proposal(json!({})), None);
        assert_eq!(recorder.counts(), (0, 1));
        // Nobody writes.
        for _ in 0..9_000 {
            tape(&recorder, "pods").unwrap().ended(&DecisionOutcome::Proposal(json!({})), None);
        }
        let waiting = recorder.queue.take().unwrap().len();
        assert_eq!(recorder.counts(), (0, 1 + 9_000 - u64::try_from(waiting).unwrap()));
        assert!(waiting < 9_000, "{waiting}");
    }
}
