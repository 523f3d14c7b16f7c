//! `policy pull`: the components that a file of references names, in a directory from which the daemon takes them.
//!
//! ```text
//! references ─▶ differ from the record? ─▶ pull ─▶ signature, component ─▶ record
//! ```
//!
//! The daemon never connects to a registry, and a registry that is down stops nothing: what is in the directory stays there until another
//! reference was pulled whole.

mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_policy::sha256;
use tenure_types::{Error, ErrorCode, PolicyName};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use self::record::PullRecord;
use super::file;
use super::install::place;
use super::rounds::until_signal;
use crate::arguments::PullArguments;
use crate::registry::{self, Pull, Pulled};
use crate::render::Report;
use crate::report::{PullOutcome, PullReport, PulledPolicy};

/// The time between two looks at the file of references.
const EVERY: Duration = Duration::from_secs(5);

/// The longest time until a registry that has failed is asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The mode of what is written; anybody may read a policy.
const MODE: u32 = 0o644;

/// The references of policies, by name.
type References = BTreeMap<PolicyName, String>;

/// The work of one round, without the means to pull.
#[derive(Debug, Clone)]
struct PullRound {
    references: References,
    directory: PathBuf,
}

/// Pulls what the directory does not have.
///
/// # Errors
/// `InputOutput` or `InvalidConfig` if the file of references cannot be used. A policy that cannot be pulled is a row of the report.
pub(super) async fn pull(arguments: &PullArguments, patience: Duration) -> Result<Report, Error> {
    let round = PullRound::read(arguments)?;
    Ok(Report::of(round.run_with(pull_options(arguments, patience)).await?))
}

/// Makes rounds until a signal; hands on what is new.
///
/// # Errors
/// `InputOutput` if signals cannot be received. What fails in a round is handed on, and tried again later.
pub(crate) async fn follow(
    arguments: &PullArguments,
    patience: Duration,
    mut print: impl FnMut(Result<Report, Error>),
) -> Result<(), Error> {
    let options = pull_options(arguments, patience);
    let mut last = None;
    let (mut pause, mut next, mut before) = (EVERY, Instant::now(), None);
    until_signal(async {
        loop {
            let read = PullRound::read(arguments);
            let is_changed = read.as_ref().is_ok_and(|round| before.as_ref() != Some(&round.references));
            if is_changed || Instant::now() >= next {
                let made = match read {
                    Ok(round) => {
                        before = Some(round.references.clone());
                        round.run_with(options).await
                    }
                    Err(error) => Err(error),
                };
                let failures = failures(&made);
                pause = match failures.is_empty() || is_changed {
                    true => EVERY,
                    false => pause.saturating_mul(2).min(LONGEST_PAUSE),
                };
                next = Instant::now() + pause;
                let has_changed = made.as_ref().is_ok_and(PullReport::has_changed);
                if has_changed || last.as_ref() != Some(&failures) {
                    print(made.map(Report::of));
                }
                last = Some(failures);
            }
            sleep(EVERY).await;
        }
    })
    .await
}

fn pull_options(arguments: &PullArguments, patience: Duration) -> Pull {
    Pull { unpinned: false, plain_http: arguments.plain_http, patience }
}

/// The failures of a round, in words.
fn failures(made: &Result<PullReport, Error>) -> Vec<String> {
    match made {
        Ok(report) => {
            report.policies.iter().map(|of| of.problem.clone()).filter(|of| !of.is_empty()).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

impl PullRound {
    /// Reads the file of references.
    fn read(arguments: &PullArguments) -> Result<Self, Error> {
        let path = &arguments.references;
        let references = serde_json::from_slice(&file::read(path)?).map_err(|error| {
            let cause =
                format_args!("{}: {error}; it must be an object of names and references", path.display());
            Error::new(ErrorCode::InvalidConfig, cause)
        })?;
        Ok(Self { references, directory: arguments.directory.clone() })
    }

    /// Makes the round on a thread of its own, which a signal does not wait for.
    async fn run_with(&self, options: Pull) -> Result<PullReport, Error> {
        let (sender, made) = oneshot::channel();
        let round = self.clone();
        std::thread::spawn(move || {
            // The receiver may be gone.
            let _ = sender.send(round.run(|reference| registry::pull(reference, options)));
        });
        made.await.map_err(|error| Error::new(ErrorCode::Internal, error))?
    }

    /// Pulls what the directory does not have, and removes what is no longer named. What one policy's place does not permit keeps no other back.
    fn run(&self, pull: impl Fn(&str) -> Result<Pulled, Error>) -> Result<PullReport, Error> {
        let mut record = PullRecord::open(&self.directory)?;
        let mut policies = Vec::new();
        for name in record.names().filter(|name| !self.references.contains_key(name)) {
            let removed = self.remove(&name);
            let reference = if removed.is_ok() { record.forget(&name)? } else { record.reference(&name) };
            policies.push(outcome(&name, &reference, removed.map(|()| PullOutcome::Removed)));
        }
        for (name, reference) in &self.references {
            let made = self.provide(name, reference, &mut record, &pull);
            policies.push(outcome(name, reference, made));
        }
        Ok(PullReport { policies })
    }

    /// Pulls a component, unless its place has it.
    fn provide(
        &self,
        name: &PolicyName,
        reference: &str,
        record: &mut PullRecord,
        pull: impl Fn(&str) -> Result<Pulled, Error>,
    ) -> Result<PullOutcome, Error> {
        let found = place::content(&self.component(name))?.map(|content| sha256(&content));
        if found.is_some() && found == record.digest(name, reference) {
            return Ok(PullOutcome::Unchanged);
        }
        self.put(name, &pull(reference)?, record, reference)?;
        Ok(PullOutcome::Pulled)
    }

    /// Puts a component into its place, after its signature: the daemon reads both once neither changes any more.
    fn put(
        &self,
        name: &PolicyName,
        pulled: &Pulled,
        record: &mut PullRecord,
        reference: &str,
    ) -> Result<(), Error> {
        let component = self.component(name);
        match &pulled.signature {
            Some(signature) => place::write(&signature_of(&component), signature.as_bytes(), MODE)?,
            None => remove(&signature_of(&component))?,
        }
        place::write(&component, &pulled.bytes, MODE)?;
        record.note(name, reference, &sha256(&pulled.bytes))
    }

    fn remove(&self, name: &PolicyName) -> Result<(), Error> {
        let component = self.component(name);
        remove(&component)?;
        remove(&signature_of(&component))
    }

    fn component(&self, name: &PolicyName) -> PathBuf {
        self.directory.join(format!("{name}.wasm"))
    }
}

/// The row of a policy.
fn outcome(name: &PolicyName, reference: &str, made: Result<PullOutcome, Error>) -> PulledPolicy {
    let problem = made.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let outcome = made.unwrap_or(PullOutcome::Failed);
    PulledPolicy { problem, ..PulledPolicy::new(name, reference.to_owned(), outcome) }
}

fn signature_of(component: &Path) -> PathBuf {
    component.with_added_extension("minisig")
}

/// Removes a file, if there is one.
fn remove(path: &Path) -> Result<(), Error> {
    match place::content(path)? {
        Some(_) => place::remove(path),
        None => Ok(()),
    }
}
