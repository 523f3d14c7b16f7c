//! The set of values that something may have now, given the changes that were sent and the answers to them. The set
//! is never smaller than what is really possible.
//!
//! A change that was sent may take effect at any time until it is answered, in any order relative to other changes in
//! progress. A failed change may or may not have taken effect. A successful one took effect between request and
//! answer.

use std::collections::{BTreeMap, BTreeSet};

/// A change of a value.
pub(crate) trait Change: Copy {
    /// The type of the changed value.
    type Value: Copy + Ord;

    /// The value after the change.
    fn on(self, value: Self::Value) -> Self::Value;

    /// Whether the change can succeed on this value.
    fn succeeds_on(self, value: Self::Value) -> bool;
}

/// A change in progress.
#[derive(Debug, Clone)]
struct Flight<C: Change> {
    change: C,
    /// The possible values before it was sent.
    before: BTreeSet<C::Value>,
    /// The other changes in progress at some time since.
    others: Vec<C>,
}

/// The possible values of something.
#[derive(Debug, Clone)]
pub(crate) struct Register<C: Change> {
    possible: BTreeSet<C::Value>,
    flights: BTreeMap<u64, Flight<C>>,
}

impl<C: Change> Register<C> {
    /// A register whose value is known.
    pub(crate) fn new(value: C::Value) -> Self {
        Self { possible: BTreeSet::from([value]), flights: BTreeMap::new() }
    }

    /// A change is sent.
    pub(crate) fn sent(&mut self, id: u64, change: C) {
        let others = self.flights.values().map(|flight| flight.change).collect();
        self.flights.values_mut().for_each(|flight| flight.others.push(change));
        self.flights.insert(id, Flight { change, before: self.possible.clone(), others });
        let all: Vec<C> = self.flights.values().map(|flight| flight.change).collect();
        close(&mut self.possible, &all);
    }

    /// A change was answered or abandoned.
    pub(crate) fn ended(&mut self, id: u64, success: bool) {
        let Some(Flight { change, before: mut done, others }) = self.flights.remove(&id) else { return };
        if !success {
            return;
        }
        close(&mut done, &others);
        let on = |value: &C::Value| change.succeeds_on(*value).then(|| change.on(*value));
        let mut done = done.iter().filter_map(on).collect();
        close(&mut done, &others);
        self.possible.retain(|value| done.contains(value));
    }

    /// A change was answered: it changed nothing, because the value was this. Returns whether that was possible.
    pub(crate) fn was(&mut self, id: u64, value: C::Value) -> bool {
        let Some(Flight { before: mut then, others, .. }) = self.flights.remove(&id) else { return false };
        close(&mut then, &others);
        let may_be = then.contains(&value);
        let mut now = BTreeSet::from([value]);
        close(&mut now, &others);
        self.possible.retain(|value| now.contains(value));
        may_be
    }

    /// The values that were possible at some time since a change was sent; the change must still be in progress.
    pub(crate) fn since(&self, id: u64) -> BTreeSet<C::Value> {
        let Some(flight) = self.flights.get(&id) else { return BTreeSet::new() };
        let mut since = flight.before.clone();
        let all: Vec<C> = flight.others.iter().copied().chain([flight.change]).collect();
        close(&mut since, &all);
        since
    }

    /// The process ended: changes in progress may or may not have taken effect.
    pub(crate) fn cut_off(&mut self) {
        self.flights.clear();
    }

    /// The possible values.
    pub(crate) fn possible(&self) -> &BTreeSet<C::Value> {
        &self.possible
    }

    /// The value was observed; returns whether it was possible.
    pub(crate) fn found(&mut self, value: C::Value) -> bool {
        let may_be = self.possible.contains(&value);
        self.possible = BTreeSet::from([value]);
        may_be
    }
}

/// Adds all values that the changes can produce, in any order and number.
fn close<C: Change>(values: &mut BTreeSet<C::Value>, changes: &[C]) {
    loop {
        let more: Vec<_> =
            changes.iter().flat_map(|change| values.iter().map(|value| change.on(*value))).collect();
        let known = values.len();
        values.extend(more);
        if values.len() == known {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Set {
        To(u8),
        From(u8, u8),
    }

    impl Change for Set {
        type Value = u8;

        fn on(self, value: u8) -> u8 {
            match self {
                Self::To(to) => to,
                Self::From(from, to) => {
                    if value == from {
                        to
                    } else {
                        value
                    }
                }
            }
        }

        fn succeeds_on(self, value: u8) -> bool {
            matches!(self, Self::To(_)) || matches!(self, Self::From(from, _) if value == from)
        }
    }

    fn possible(register: &Register<Set>) -> Vec<u8> {
        register.possible().iter().copied().collect()
    }

    #[test]
    fn an_answer_says_what_is_and_a_failure_does_not() {
        let mut register = Register::new(0);
        register.sent(1, Set::To(1));
        assert_eq!(possible(&register), [0, 1]);
        register.ended(1, true);
        assert_eq!(possible(&register), [1]);
        register.sent(2, Set::To(2));
        register.ended(2, false);
        assert_eq!(possible(&register), [1, 2]);
        register.sent(3, Set::From(2, 3));
        register.ended(3, true);
        assert_eq!(possible(&register), [3], "it could not have succeeded on anything else");
        assert!(!register.found(2) && register.found(2));
    }

    #[test]
    fn an_answer_that_nothing_was_changed_says_what_is() {
        let mut register = Register::new(0);
        register.sent(1, Set::To(1));
        assert!(!register.was(1, 1), "nothing else had made it so");
        let mut register = Register::new(0);
        register.sent(1, Set::To(1));
        register.sent(2, Set::To(2));
        register.ended(1, false);
        assert_eq!(possible(&register), [0, 1, 2]);
        assert!(register.was(2, 1));
        assert_eq!(possible(&register), [1]);
    }

    #[test]
    fn changes_under_way_together_are_done_in_any_order() {
        let mut register = Register::new(0);
        register.sent(1, Set::To(1));
        register.sent(2, Set::From(1, 2));
        register.ended(1, true);
        assert_eq!(possible(&register), [1, 2]);
        register.sent(3, Set::To(3));
        register.ended(3, true);
        assert_eq!(
            possible(&register),
            [3],
            "the second change may still be in progress, but does not apply to 3"
        );
        assert_eq!(register.since(2).into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        register.cut_off();
        assert_eq!(possible(&register), [3]);
    }
}
