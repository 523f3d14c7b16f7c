//! Faults: what goes wrong, at which call, and how often.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::state::Time;

/// The kind of fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Kind {
    /// The call is refused, and does nothing.
    Code {
        /// EC2's code; for IMDS, which has none, any text.
        code: String,
        /// The message.
        #[serde(default)]
        message: String,
        /// The HTTP status; 400 if it is not given.
        #[serde(default = "bad_request")]
        status: u16,
    },
    /// The call is applied later.
    DelayBefore {
        /// How much later, on the double's clock.
        delay_ms: u64,
    },
    /// The call is applied, and answered later.
    DelayAfter {
        /// How much later, on the double's clock.
        delay_ms: u64,
    },
    /// The call is not applied, and the connection is closed without an answer.
    LostBefore,
    /// The call is applied, and the connection is closed without an answer.
    LostAfter,
    /// The call is applied, and the connection is reset.
    Reset,
    /// The call is applied, and the connection is closed in the middle of the answer.
    HalfBody,
    /// The call is applied, and the answer is not what EC2 writes.
    WrongXml,
}

const fn bad_request() -> u16 {
    400
}

/// A fault, and when it strikes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The fault's number, which the double sets.
    #[serde(default)]
    pub id: u64,
    /// An EC2 action, or `*` for each; or the beginning of an IMDS path, such as `/latest/api/token`.
    pub call: String,
    /// Only from the n-th call on, counted from when the fault is set; the first is 1.
    #[serde(default = "first")]
    pub from: u64,
    /// Only so many times; without it, each time.
    #[serde(default)]
    pub times: Option<u64>,
    /// Only until this moment of the double's clock.
    #[serde(default)]
    pub until_ms: Option<u64>,
    /// The kind of fault.
    #[serde(flatten)]
    pub kind: Kind,
}

const fn first() -> u64 {
    1
}

impl Fault {
    /// A fault that strikes once, at the next call.
    #[must_use]
    pub fn once(call: &str, kind: Kind) -> Self {
        Self { id: 0, call: call.to_owned(), from: 1, times: Some(1), until_ms: None, kind }
    }

    /// A fault that strikes each time.
    #[must_use]
    pub fn always(call: &str, kind: Kind) -> Self {
        Self { times: None, ..Self::once(call, kind) }
    }

    fn is_for(&self, call: &str) -> bool {
        if call.starts_with('/') {
            self.call.starts_with('/') && call.starts_with(&self.call)
        } else {
            self.call == "*" || self.call == call
        }
    }
}

/// The faults that are set, each with the number of calls that it has seen.
#[derive(Debug, Default)]
pub struct Faults {
    set: BTreeMap<u64, (Fault, u64)>,
    last: u64,
}

impl Faults {
    /// Sets a fault, and returns its number.
    pub fn add(&mut self, fault: Fault) -> u64 {
        self.last += 1;
        self.set.insert(self.last, (Fault { id: self.last, ..fault }, 0));
        self.last
    }

    /// Takes a fault back; `false` if there is none of that number.
    pub fn remove(&mut self, id: u64) -> bool {
        self.set.remove(&id).is_some()
    }

    /// Takes all faults back.
    pub fn clear(&mut self) {
        self.set.clear();
    }

    /// The faults that are set.
    pub fn all(&self) -> impl Iterator<Item = &Fault> {
        self.set.values().map(|(fault, _)| fault)
    }

    /// Counts a call, and says what goes wrong with it: the oldest fault that is due, and one that strikes each time only if there
    /// is no other. One that has struck often enough is gone.
    pub fn strike(&mut self, call: &str, now: Time) -> Option<Kind> {
        self.set.retain(|_, (fault, _)| fault.until_ms.is_none_or(|until| now.millis() < until));
        let mut due = Vec::new();
        for (id, (fault, seen)) in &mut self.set {
            if fault.is_for(call) {
                *seen += 1;
                if *seen >= fault.from {
                    due.push((*id, fault.times.is_none(), fault.kind.clone()));
                }
            }
        }
        // The first of equal ones is the oldest.
        let (id, _, kind) = due.into_iter().min_by_key(|(_, is_background, _)| *is_background)?;
        let is_spent = self.set.get_mut(&id).is_some_and(|(fault, _)| {
            fault.times = fault.times.map(|times| times.saturating_sub(1));
            fault.times == Some(0)
        });
        if is_spent {
            self.set.remove(&id);
        }
        Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_and_third_call_of_one_action_fail() {
        let mut faults = Faults::default();
        faults.add(Fault { from: 2, times: Some(2), ..Fault::once("CreateTags", Kind::LostAfter) });
        let struck: Vec<bool> =
            ["CreateTags", "CreateNetworkInterface", "CreateTags", "CreateTags", "CreateTags"]
                .map(|call| faults.strike(call, Time::START).is_some())
                .to_vec();
        assert_eq!(struck, [false, false, true, true, false]);
        assert_eq!(faults.all().count(), 0, "a spent fault is gone");
    }

    #[test]
    fn paths_match_by_their_beginning_and_time_ends_a_fault() {
        let mut faults = Faults::default();
        faults.add(Fault { until_ms: Some(10), ..Fault::always("/latest/api", Kind::Reset) });
        faults.add(Fault::always("*", Kind::LostBefore));
        let mut strike = |call: &str, at: u64| faults.strike(call, Time::from_millis(at));
        assert_eq!(strike("/latest/api/token", 9), Some(Kind::Reset));
        assert_eq!(strike("/latest/meta-data/", 9), None);
        assert_eq!(strike("DescribeSubnets", 9), Some(Kind::LostBefore));
        assert_eq!(strike("/latest/api/token", 10), None);
    }

    #[test]
    fn the_oldest_strikes_first_and_what_strikes_each_time_comes_last() {
        let mut faults = Faults::default();
        faults.add(Fault::always("*", Kind::DelayBefore { delay_ms: 50 }));
        faults.add(Fault::once("CreateTags", Kind::LostBefore));
        faults.add(Fault::once("*", Kind::LostAfter));
        let struck = [(); 3].map(|()| faults.strike("CreateTags", Time::START));
        assert_eq!(
            struck,
            [Some(Kind::LostBefore), Some(Kind::LostAfter), Some(Kind::DelayBefore { delay_ms: 50 })]
        );
    }

    #[test]
    fn a_fault_is_written_as_one_flat_object() {
        let text =
            r#"{"call":"AttachNetworkInterface","from":2,"times":1,"kind":"delay_before","delay_ms":50}"#;
        let fault: Fault = serde_json::from_str(text).unwrap();
        assert_eq!((fault.from, fault.kind), (2, Kind::DelayBefore { delay_ms: 50 }));
        let text = r#"{"call":"*","kind":"code","code":"InternalError"}"#;
        let code = Kind::Code { code: "InternalError".to_owned(), message: String::new(), status: 400 };
        assert_eq!(
            serde_json::from_str::<Fault>(text).unwrap(),
            Fault { from: 1, ..Fault::always("*", code) }
        );
    }
}
