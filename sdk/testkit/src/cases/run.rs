//! Runs a case file.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use tenure_types::Error;

use super::{Case, CaseStep, ExpectedOutcome, SupplyChange, plan};
use crate::{Node, Subject};

/// The result of a case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseRun {
    /// The file.
    pub path: PathBuf,
    /// How many steps were run.
    pub steps: usize,
    /// The step that ended otherwise than it must; the steps behind it are not run.
    pub failure: Option<CaseFailure>,
}

/// A step that ended otherwise than it must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure {
    /// The file.
    pub path: PathBuf,
    /// The line of the step, from 1.
    pub line: usize,
    /// The step.
    pub step: String,
    /// The expected outcome.
    pub expected: String,
    /// The actual outcome.
    pub got: String,
}

impl fmt::Display for CaseFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, step, expected, got } = self;
        write!(formatter, "{}:{line}: {step}\n  expected: {expected}\n  got:      {got}", path.display())
    }
}

/// Runs a case file with the policy that `subject` returns, one for each network of the file.
pub fn run<S: Subject>(case: &Case, subject: impl Fn() -> S) -> CaseRun {
    let mut node: Option<Node<S>> = None;
    let mut run = CaseRun { path: case.path.clone(), steps: 0, failure: None };
    for (line, step) in &case.steps {
        run.steps += 1;
        if let Err((expected, got)) = take(step, &mut node, &subject) {
            let (path, line, step) = (case.path.clone(), *line, step.to_string());
            run.failure = Some(CaseFailure { path, line, step, expected, got });
            break;
        }
    }
    run
}

/// Takes a step; an error has what was expected, and what happened.
fn take<S: Subject>(
    step: &CaseStep,
    node: &mut Option<Node<S>>,
    subject: &impl Fn() -> S,
) -> Result<(), (String, String)> {
    if let CaseStep::Network { ipam, refused } = step {
        *node = None;
        let ended = Node::of(subject(), ipam).map(|defined| {
            *node = Some(defined);
            Vec::new()
        });
        return match refused {
            Some(refused) if ended.is_ok() => Err((refused.to_string(), "a network".into())),
            Some(refused) => check(refused, &ended),
            None if ended.is_ok() => Ok(()),
            None => Err(("a network".into(), ExpectedOutcome::told(&ended))),
        };
    }
    let node = node.as_mut().ok_or_else(|| ("a network first".to_owned(), "none".to_owned()))?;
    match step {
        CaseStep::Add { owner, metadata, requested, outcome } => {
            node.tell_only(metadata);
            check(outcome, &node.add_requesting(owner, requested))
        }
        CaseStep::Del { owner } => match node.del(owner) {
            Ok(true) => Ok(()),
            Ok(false) => Err((format!("{owner} holds an address"), "it holds none".into())),
            Err(error) => Err(("a deletion".into(), error.to_string())),
        },
        CaseStep::Thaw => {
            node.thaw();
            Ok(())
        }
        CaseStep::Supply { pool, change } => {
            let changed = match change {
                SupplyChange::Add(range) => node.supply(pool, range).map(|()| true),
                SupplyChange::Drain(range) => node.drain(pool, range),
                SupplyChange::Withdraw(range) => node.withdraw(pool, range),
            };
            match changed {
                Ok(true) => Ok(()),
                Ok(false) => {
                    Err((format!("a range of {pool}"), "no such range, or it drains already".into()))
                }
                Err(error) => Err(("a change of the supply".into(), error.to_string())),
            }
        }
        CaseStep::Plan { situation, outcome, .. } => {
            let planned =
                situation.state(node.book()).and_then(|state| node.policy().plan(&state, node.book()));
            plan::check(outcome, planned, node.book())
        }
        CaseStep::Network { .. } => Ok(()),
    }
}

fn check(expected: &ExpectedOutcome, ended: &Result<Vec<IpAddr>, Error>) -> Result<(), (String, String)> {
    if expected.is(ended) { Ok(()) } else { Err((expected.to_string(), ExpectedOutcome::told(ended))) }
}
