//! The journal: every call, with its time, its caller, what came of it and what the caller learnt.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::state::Time;

/// Which face a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Face {
    /// EC2's query protocol.
    Ec2,
    /// The instance metadata service.
    Imds,
    /// A change by the double's user, such as terminating an instance.
    Control,
}

/// The answer that a caller got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The answer.
    Answer,
    /// Nothing, or half of it, or something unreadable.
    Nothing,
}

/// A call.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// Counts up from 1.
    pub number: u64,
    /// The time at which the call was applied or refused.
    pub at: Time,
    /// The face that received the call.
    pub face: Face,
    /// The instance whose credentials or metadata service it used; otherwise the access key.
    pub caller: String,
    /// An action, or a path.
    pub call: String,
    /// The parameters of an action.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Why it was refused: EC2's code, or IMDS's status.
    pub refused: Option<String>,
    /// The answer that the caller got.
    pub told: Told,
}

/// A call that is about to be written down.
#[derive(Debug)]
pub struct Call {
    /// The face that received the call.
    pub face: Face,
    /// The caller.
    pub caller: String,
    /// An action, or a path.
    pub call: String,
    /// The parameters of an action.
    pub parameters: BTreeMap<String, String>,
    /// Why it was refused.
    pub refused: Option<String>,
    /// The answer that the caller got.
    pub told: Told,
}

/// All calls since the start, or since the journal was last cleared.
#[derive(Debug, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    last: u64,
}

impl Journal {
    /// Writes a call down.
    pub fn add(&mut self, call: Call, at: Time) {
        self.last += 1;
        let Call { face, caller, call, parameters, refused, told } = call;
        self.entries.push(Entry { number: self.last, at, face, caller, call, parameters, refused, told });
    }

    /// The calls after a number.
    #[must_use]
    pub fn after(&self, number: u64) -> &[Entry] {
        let from = self.entries.partition_point(|entry| entry.number <= number);
        self.entries.get(from..).unwrap_or_default()
    }

    /// Forgets the calls; numbers go on.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The largest number of EC2 calls that came in within a minute.
    #[must_use]
    pub fn busiest_minute(&self) -> usize {
        let times: Vec<Time> =
            self.entries.iter().filter(|entry| entry.face == Face::Ec2).map(|entry| entry.at).collect();
        let within = |(index, first): (usize, &Time)| {
            times.iter().skip(index).take_while(|at| at.since(*first) < 60_000).count()
        };
        times.iter().enumerate().map(within).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_minute_slides() {
        let mut journal = Journal::default();
        for second in [0, 50, 70, 100, 109, 130, 300] {
            let call = Call {
                face: if second == 100 { Face::Imds } else { Face::Ec2 },
                caller: String::new(),
                call: String::new(),
                parameters: BTreeMap::new(),
                refused: None,
                told: Told::Answer,
            };
            journal.add(call, Time::from_millis(second * 1000));
        }
        assert_eq!(journal.busiest_minute(), 3, "from 50 s: 50, 70 and 109; IMDS does not count");
        let numbers: Vec<u64> = journal.after(5).iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, [6, 7]);
    }
}
