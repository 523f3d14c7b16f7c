//! What something may be now, by the changes that were asked for and what was answered: never less than what is possible.
//!
//! A change that was sent may be done at any time until it is answered, in any order with others that are under way. One that
//! failed was done or was not. One that was answered was done in between.

use std::collections::{BTreeMap, BTreeSet};

/// A change of a value.
pub(crate) trait Change: Copy {
    /// What is changed.
    type Value: Copy + Ord;

    /// What it makes of a value.
    fn on(self, value: Self::Value) -> Self::Value;

    /// Whether it may succeed where the value is this.
    fn succeeds_on(self, value: Self::Value) -> bool;
}

/// A change under way.
#[derive(Debug, Clone)]
struct Flight<C: Change> {
    change: C,
    /// What was possible before it was sent.
    before: BTreeSet<C::Value>,
    /// The changes that were under way at some time since.
    others: Vec<C>,
}

/// What a value may be.
#[derive(Debug, Clone)]
pub(crate) struct Register<C: Change> {
    possible: BTreeSet<C::Value>,
    flights: BTreeMap<u64, Flight<C>>,
}

impl<C: Change> Register<C> {
    /// It is known what the value is.
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

    /// A change was answered, or given up.
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

    /// What may have been the case at some time since a change was sent that is under way.
    pub(crate) fn since(&self, id: u64) -> BTreeSet<C::Value> {
        let Some(flight) = self.flights.get(&id) else { return BTreeSet::new() };
        let mut since = flight.before.clone();
        let all: Vec<C> = flight.others.iter().copied().chain([flight.change]).collect();
        close(&mut since, &all);
        since
    }

    /// The process ended: what was under way was done or was not.
    pub(crate) fn cut_off(&mut self) {
        self.flights.clear();
    }

    /// What may be the case.
    pub(crate) fn possible(&self) -> &BTreeSet<C::Value> {
        &self.possible
    }

    /// It was found out what is the case; says whether it may be.
    pub(crate) fn found(&mut self, value: C::Value) -> bool {
        let may_be = self.possible.contains(&value);
        self.possible = BTreeSet::from([value]);
        may_be
    }
}

/// Adds what any of the changes make of it, in any order.
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
            "the second may still be under way, and has nothing to do with a three"
        );
        assert_eq!(register.since(2).into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        register.cut_off();
        assert_eq!(possible(&register), [3]);
    }
}
