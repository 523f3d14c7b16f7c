//! An explorer of all histories of a model: breadth first for safety, then backwards from the settled states for liveness.

use std::fmt;
use std::hash::{Hash, Hasher};

/// What a step is, for the question whether a run without faults ends well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// The programs' own work, and pods that end.
    Progress,
    /// Somebody wants something new, or changes his mind.
    Wish,
    /// Something breaks.
    Fault,
}

/// A step from a state.
pub(crate) struct Step<S> {
    /// What happens, in words; made for traces only.
    pub(crate) label: Label,
    pub(crate) kind: StepKind,
    /// The next state, or what the step violates.
    pub(crate) next: Result<S, &'static str>,
}

/// What happens, where, and to which block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label {
    pub(crate) who: (&'static str, usize),
    pub(crate) what: &'static str,
    pub(crate) block: Option<usize>,
}

/// A model with finitely many states.
pub(crate) trait Model {
    type State: Copy + Eq + Hash;

    fn initial(&self) -> Self::State;
    fn steps(&self, state: &Self::State, steps: &mut Vec<Step<Self::State>>);
    /// A representative of the states that differ in names alone.
    fn canonical(&self, state: &Self::State) -> Self::State;
    /// The same state with names and numbers that its steps may go on from, for a trace that keeps its names.
    fn tidied(&self, state: &Self::State) -> Self::State;
    fn violation(&self, state: &Self::State) -> Option<&'static str>;
    /// Whether nothing is left to do: every mark has ended.
    fn is_settled(&self, state: &Self::State) -> bool;
}

/// A history that should not be.
pub(crate) struct Violation {
    pub(crate) what: &'static str,
    pub(crate) trace: Vec<String>,
}

/// What was explored.
pub(crate) struct Explored {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    pub(crate) violation: Option<Violation>,
}

/// Explores all states of a model. Panics above `limit` states, since a bound that is too large must not pass unnoticed.
pub(crate) fn explore<M: Model>(model: &M, limit: usize) -> Explored {
    let mut found = Seen::new(model.canonical(&model.initial()));
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let (mut at, mut count, mut steps) = (0, 0, Vec::new());
    while at < found.states.len() {
        let state = found.states[at];
        model.steps(&state, &mut steps);
        for step in steps.drain(..) {
            count += 1;
            let broken = match step.next {
                Ok(next) => {
                    let next = model.canonical(&next);
                    let (index, new) = found.add(next, index32(at));
                    if step.kind == StepKind::Progress && index as usize != at {
                        edges.push((index, index32(at)));
                    }
                    if new { model.violation(&next).map(|what| (what, index as usize, None)) } else { None }
                }
                Err(what) => Some((what, at, Some(step.label))),
            };
            if let Some((what, index, last)) = broken {
                let violation = Some(Violation { what, trace: trace(model, &found, index, last) });
                return Explored { states: found.states.len(), steps: count, violation };
            }
        }
        at += 1;
        assert!(found.states.len() <= limit, "more than {limit} states");
    }
    let stuck = stuck(model, &found.states, edges);
    let violation = stuck.map(|index| Violation {
        what: "no run without faults ends every mark",
        trace: trace(model, &found, index, None),
    });
    Explored { states: found.states.len(), steps: count, violation }
}

fn index32(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 states")
}

/// The first state, in order of distance, from which no settled state can be reached by progress alone.
fn stuck<M: Model>(model: &M, states: &[M::State], mut edges: Vec<(u32, u32)>) -> Option<usize> {
    edges.sort_unstable();
    let mut ends = vec![false; states.len()];
    let mut queue: Vec<u32> = Vec::new();
    for (index, state) in states.iter().enumerate().filter(|(_, state)| model.is_settled(state)) {
        let _ = state;
        ends[index] = true;
        queue.push(index32(index));
    }
    while let Some(index) = queue.pop() {
        let first = edges.partition_point(|(to, _)| *to < index);
        for (_, from) in edges[first..].iter().take_while(|(to, _)| *to == index) {
            if !std::mem::replace(&mut ends[*from as usize], true) {
                queue.push(*from);
            }
        }
    }
    ends.iter().position(|ends| !ends)
}

/// The shortest history that leads to a state, with the same names throughout.
fn trace<M: Model>(model: &M, found: &Seen<M::State>, index: usize, last: Option<Label>) -> Vec<String> {
    let mut path = vec![index];
    while let Some(parent) = path.last().copied().filter(|index| *index != 0) {
        path.push(found.parents[parent] as usize);
    }
    let mut state = model.initial();
    let mut lines = Vec::new();
    for index in path.iter().rev().skip(1) {
        let mut steps = Vec::new();
        model.steps(&state, &mut steps);
        let (label, next) = steps
            .into_iter()
            .filter_map(|step| Some((step.label, step.next.ok()?)))
            .find(|(_, next)| model.canonical(next) == found.states[*index])
            .expect("each state was reached by a step");
        lines.push(label.to_string());
        state = model.tidied(&next);
    }
    lines.extend(last.map(|label| label.to_string()));
    lines
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, number) = self.who;
        let name = ['A', 'B', 'C'].get(number).copied().unwrap_or('?');
        write!(f, "{who} {name}: {}", self.what)?;
        self.block.map_or(Ok(()), |block| write!(f, " (block {block})"))
    }
}

/// A hasher for states, which nobody chooses in bad faith: a rotation and a multiplication for each field.
struct FastHasher(u64);

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.unsigned_abs() as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The states seen, in the order in which they were found: an open-addressed table of indices, so that each state is stored once.
struct Seen<S> {
    states: Vec<S>,
    parents: Vec<u32>,
    table: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

impl<S: Copy + Eq + Hash> Seen<S> {
    fn new(first: S) -> Self {
        let mut seen = Self { states: Vec::new(), parents: Vec::new(), table: vec![EMPTY; 1 << 12] };
        seen.add(first, 0);
        seen
    }

    fn slot(&self, state: &S) -> usize {
        let mut hasher = FastHasher(0);
        state.hash(&mut hasher);
        let mask = self.table.len() - 1;
        let mut slot = usize::try_from(hasher.finish() >> 32).expect("32 bits") & mask;
        while self.table[slot] != EMPTY && self.states[self.table[slot] as usize] != *state {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The index of a state, and whether it is new.
    fn add(&mut self, state: S, parent: u32) -> (u32, bool) {
        let slot = self.slot(&state);
        if self.table[slot] != EMPTY {
            return (self.table[slot], false);
        }
        let index = index32(self.states.len());
        self.table[slot] = index;
        self.states.push(state);
        self.parents.push(parent);
        if self.states.len() * 2 > self.table.len() {
            self.table = vec![EMPTY; self.table.len() * 2];
            for index in 0..self.states.len() {
                let slot = self.slot(&self.states[index]);
                self.table[slot] = index32(index);
            }
        }
        (index, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that may run in a circle, be trapped, or overflow.
    struct Counter {
        trap: bool,
        overflow: bool,
    }

    impl Model for Counter {
        type State = u32;

        fn initial(&self) -> u32 {
            1
        }

        fn steps(&self, state: &u32, steps: &mut Vec<Step<u32>>) {
            let mut step = |what, kind, next| {
                let label = Label { who: ("counter", 0), what, block: None };
                steps.push(Step { label, kind, next });
            };
            match state {
                100 => {}
                9 if self.overflow => step("overflows", StepKind::Progress, Err("overflow")),
                9 => step("returns", StepKind::Progress, Ok(1)),
                _ => step("counts", StepKind::Progress, Ok(state + 1)),
            }
            if *state == 5 {
                step("stops", StepKind::Wish, Ok(0));
            }
            if self.trap && *state == 3 {
                step("breaks", StepKind::Fault, Ok(100));
            }
        }

        fn canonical(&self, state: &u32) -> u32 {
            *state
        }

        fn tidied(&self, state: &u32) -> u32 {
            *state
        }

        fn violation(&self, _: &u32) -> Option<&'static str> {
            None
        }

        fn is_settled(&self, state: &u32) -> bool {
            *state == 7
        }
    }

    #[test]
    fn the_explorer_finds_a_trap_and_an_overflow_by_the_shortest_way_and_is_not_fooled_by_a_circle() {
        let good = explore(&Counter { trap: false, overflow: false }, 100);
        assert!(good.violation.is_none());
        assert_eq!((good.states, good.steps), (10, 11));
        let trapped = explore(&Counter { trap: true, overflow: false }, 100).violation.unwrap();
        assert_eq!(trapped.trace, ["counter A: counts", "counter A: counts", "counter A: breaks"]);
        let overflow = explore(&Counter { trap: true, overflow: true }, 100).violation.unwrap();
        assert_eq!((overflow.what, overflow.trace.len()), ("overflow", 9));
    }

    #[test]
    #[should_panic(expected = "more than 5 states")]
    fn a_bound_that_is_exceeded_fails() {
        explore(&Counter { trap: false, overflow: false }, 5);
    }
}
