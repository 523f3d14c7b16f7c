//! Every verb in every situation: the cells of [`tenure_e2e::matrix`], run against the built daemon.
//!
//! One test for each situation. It brings a daemon into the situation, asks every verb in turn, and compares each answer and the
//! ledger with the row. Then it kills the daemon, ends the situation, and compares the ledger once more.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "the suite of agents uses more of it")]
mod agent;
#[path = "matrix/ask.rs"]
mod ask;
#[path = "support/component.rs"]
mod component;
#[path = "matrix/enter.rs"]
mod enter;
#[path = "matrix/full.rs"]
mod full;
#[path = "matrix/importing.rs"]
mod importing;
#[path = "matrix/node.rs"]
mod node;
#[path = "matrix/owners.rs"]
mod owners;
#[path = "delegates/script.rs"]
#[expect(dead_code, reason = "the suite of delegates uses more of it")]
mod script;
#[path = "matrix/starting.rs"]
mod starting;

use std::process::ExitCode;

use anyhow::{Context, ensure};
use tenure_e2e::matrix::{Cell, Effect, Situation, Verb, row};
use tenure_e2e::{Need, Suite};

use self::ask::Asked;
use self::node::Node;
use self::owners::Owners;

const STRACE: Need = Need::File("/usr/bin/strace", "strace");

fn main() -> ExitCode {
    let needs = |situation: Situation| match situation {
        Situation::DiskFull => &[Need::Root][..],
        Situation::DiskFailing => &[Need::Root, STRACE],
        Situation::SourceGone | Situation::Rebooted => &[Need::Root, Need::UTIL_LINUX],
        _ => &[],
    };
    let suite = Situation::ALL.iter().fold(Suite::new(), |suite, situation| {
        suite.test(situation.name(), needs(*situation), move || every_verb(*situation))
    });
    suite.run()
}

/// Asks every verb in a situation.
fn every_verb(situation: Situation) -> anyhow::Result<()> {
    let mut node = Node::prepare()?;
    enter::enter(situation, &mut node).with_context(|| format!("cannot bring a node into {situation:?}"))?;
    // A daemon that does not answer holds what it held before.
    let mut course =
        Course { held: node.owners()?.unwrap_or_else(|| node.before.clone()), ..Course::default() };
    for (verb, cell) in Verb::ALL.iter().zip(row(situation)) {
        let asked = match situation {
            Situation::TwoAtOnce => ask::ask_twice(*verb, &node),
            _ => ask::ask(*verb, &node),
        };
        let asked = asked.with_context(|| format!("cannot ask {verb:?}"))?;
        course.compare(*verb, cell, &asked, &node).with_context(|| format!("cannot ask {verb:?}"))?;
    }
    course.report()?;
    node.end()?;
    course.held.remove(&course.later);
    node.holds(&course.held, &course.unsure)
}

/// The outcome of the verbs so far.
#[derive(Default)]
struct Course {
    /// The owners that the ledger holds.
    held: Owners,
    /// The owners that are freed once the situation has ended.
    later: Owners,
    /// The owners that may or may not be held after a kill.
    unsure: Owners,
    /// The cells as they were found, in the table's own form.
    found: Vec<String>,
    wrong: Vec<String>,
}

impl Course {
    /// Compares an answer, and what the ledger holds after it, with the cell.
    fn compare(&mut self, verb: Verb, cell: Cell, asked: &Asked, node: &Node) -> anyhow::Result<()> {
        let (mut expected, mut fresh) = (self.held.clone(), self.held.clone());
        fresh.complete(verb.of());
        fresh.apply(verb.effects());
        match cell {
            Cell::Done | Cell::Once(_) | Cell::Overtaken(_) => expected.apply(verb.effects()),
            Cell::Fresh => expected.clone_from(&fresh),
            Cell::Doubtful => expected.apply(&[Effect::Gains(owners::DOUBTED)]),
            Cell::Later => self.later.note(verb.effects()),
            Cell::Unconfirmed(_) => self.unsure.note(verb.effects()),
            Cell::Nothing | Cell::Refused(_) => {}
        }
        // A daemon that does not answer shows no difference now; the kill at the end does.
        let held = node.owners()?.unwrap_or_else(|| expected.clone());
        let found = match (asked.cell, cell) {
            (Cell::Done, Cell::Later) if held == self.held => Cell::Later,
            (Cell::Done, _) if held == self.held && !verb.effects().is_empty() => Cell::Nothing,
            (Cell::Done, _)
                if self.held.address(owners::DOUBTED).is_none()
                    && held.address(owners::DOUBTED).is_some() =>
            {
                Cell::Doubtful
            }
            (Cell::Done, _)
                if held == fresh && verb.of().iter().any(|owner| self.held.address(owner).is_none()) =>
            {
                Cell::Fresh
            }
            (Cell::Done | Cell::Once(_), Cell::Overtaken(code))
                if asked.cell == Cell::Done || asked.cell == Cell::Once(code) =>
            {
                Cell::Overtaken(code)
            }
            (Cell::Refused(code), Cell::Unconfirmed(_)) => Cell::Unconfirmed(code),
            (found, _) => found,
        };
        if found != cell || (held != expected && !matches!(cell, Cell::Unconfirmed(_))) {
            let ledger = if held == expected {
                String::new()
            } else {
                format!("the ledger holds {held}, not {expected}; ")
            };
            self.wrong.push(format!(
                "{}: {ledger}expected {cell:?}, got {found:?}: {}",
                verb.name(),
                asked.words
            ));
        }
        self.found.push(format!("{found:?}"));
        self.held = held;
        Ok(())
    }

    fn report(&self) -> anyhow::Result<()> {
        let Self { found, wrong, .. } = self;
        ensure!(
            wrong.is_empty(),
            "{} of {} cells differ:\n  {}\nfound: [{}]",
            wrong.len(),
            Verb::COUNT,
            wrong.join("\n  "),
            found.join(", ")
        );
        Ok(())
    }
}
