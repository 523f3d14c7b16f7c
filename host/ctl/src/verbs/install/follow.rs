//! `tenurectl install --follow` and `uninstall --follow`: repeated until a signal, for a container beside the daemon's.
//!
//! Each round is a whole installation, which changes nothing where nothing has changed. So it brings back what somebody has removed, and takes a new
//! configuration over, as Kubernetes brings it with a changed ConfigMap. A removal waits until the last pod has given its address back, and a while
//! longer: its runtime has freed the address and still takes its sandbox down, for which it needs the configuration.

use std::path::PathBuf;
use std::time::Duration;

use tenure_types::{Error, ErrorCode};
use tokio::time::{Instant, sleep};

use super::{once, uninstall};
use crate::arguments::{NodeVerb, UninstallArguments};
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{FileOutcome, InstallReport};
use crate::verbs::rounds::until_signal;

/// The time between two rounds.
const EVERY: Duration = Duration::from_secs(5);

/// How long no address must have been in use before anything is removed. containerd asks for the configuration again in each attempt to stop a sandbox, and a
/// kubelet makes several: without it, the pod would stay for good.
const UNUSED_FOR: Duration = Duration::from_secs(20);

/// The note of a removal that has come to its end.
const NOTHING_LEFT: &str = "nothing is installed any more";

/// The time since which no round has found an address in use.
#[derive(Debug, Default)]
struct UnusedSince(Option<Instant>);

impl UnusedSince {
    /// Records whether a round has found no address, and returns whether that has been so for long enough.
    fn is_long(&mut self, is_unused: bool, now: Instant) -> bool {
        let since = self.0.take().unwrap_or(now);
        self.0 = is_unused.then_some(since);
        is_unused && now.duration_since(since) >= UNUSED_FOR
    }
}

/// The end of the last round, so that nothing is printed twice.
#[derive(Debug, Default, PartialEq, Eq)]
enum LastRound {
    #[default]
    None,
    /// Done, but for the files that have to stay, each with the reason; and the notes.
    Done(Vec<(PathBuf, String)>, Vec<String>),
    Failed(String),
}

impl LastRound {
    /// Records a round, and returns what to print of it.
    fn news(&mut self, round: Result<InstallReport, Error>) -> Option<Result<Report, Error>> {
        match round {
            Ok(report) => {
                let changes = [FileOutcome::Created, FileOutcome::Replaced, FileOutcome::Removed];
                let changed = report.files.iter().any(|file| changes.contains(&file.outcome));
                let left = report.files.iter().filter(|file| file.outcome == FileOutcome::Left);
                let left = left.map(|left| (left.file.clone(), left.reason.clone())).collect();
                let done = Self::Done(left, report.notes.clone());
                let is_new = *self != done;
                *self = done;
                (changed || is_new).then(|| Ok(Report::of(report)))
            }
            Err(error) => {
                let failed = Self::Failed(error.to_string());
                let is_new = *self != failed;
                *self = failed;
                is_new.then_some(Err(error))
            }
        }
    }
}

/// Makes rounds of a verb until SIGTERM or SIGINT; hands on what is new.
///
/// # Errors
/// `InputOutput` if signals cannot be received. What fails in a round is handed on, and tried again in the next.
pub(crate) async fn follow(
    daemon: &Daemon,
    verb: &NodeVerb,
    mut print: impl FnMut(Result<Report, Error>),
) -> Result<(), Error> {
    let (mut last, mut unused) = (LastRound::default(), UnusedSince::default());
    // A round writes whole files only, so it may be interrupted while it waits for the daemon.
    until_signal(async {
        loop {
            let made = match verb {
                NodeVerb::Install(arguments) => Some(once(daemon, arguments).await),
                NodeVerb::Uninstall(arguments) => removal(daemon, arguments, &mut unused).await,
                NodeVerb::Doctor(_) => None,
            };
            if let Some(news) = made.and_then(|made| last.news(made)) {
                print(news);
            }
            sleep(EVERY).await;
        }
    })
    .await
}

/// A round of a removal, unless an address was in use a moment ago.
async fn removal(
    daemon: &Daemon,
    arguments: &UninstallArguments,
    unused: &mut UnusedSince,
) -> Option<Result<InstallReport, Error>> {
    if !arguments.force {
        let found = uninstall::unused(daemon).await;
        let is_long = unused.is_long(found.is_ok(), Instant::now());
        match found {
            Err(error) => return Some(Err(error)),
            Ok(()) if !is_long => return None,
            Ok(()) => {}
        }
    }
    Some(match uninstall::once(daemon, arguments).await {
        // The record goes with the last file, and the rounds go on.
        Err(error) if error.code == ErrorCode::NotInstalled => Ok(nothing_left()),
        removed => removed,
    })
}

/// A round that finds nothing to remove.
fn nothing_left() -> InstallReport {
    InstallReport { applied: true, files: Vec::new(), notes: vec![NOTHING_LEFT.to_owned()] }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser as _;

    use super::*;
    use crate::arguments::{CtlArguments, CtlCommand};
    use crate::report::{FileChange, InstalledKind};

    fn report(outcome: FileOutcome) -> Result<InstallReport, Error> {
        let (version, sha256, reason) = Default::default();
        let file = FileChange {
            file: "/opt/cni/bin/tenure".into(),
            kind: InstalledKind::Plugin,
            outcome,
            version,
            sha256,
            reason,
        };
        Ok(InstallReport { applied: true, files: vec![file], notes: vec![] })
    }

    #[test]
    fn a_removal_waits_until_no_address_has_been_in_use_for_a_while() {
        let (mut unused, start) = (UnusedSince::default(), Instant::now());
        let mut at = |seconds, is_unused| unused.is_long(is_unused, start + Duration::from_secs(seconds));
        assert!(!at(0, true) && !at(15, true));
        assert!(!at(16, false) && !at(21, true), "an address was in use again");
        assert!(!at(40, true) && at(41, true));
    }

    /// Regression: the rounds after the last removal failed, for want of a record, and advised to remove the files by hand.
    #[tokio::test]
    async fn a_removal_goes_on_once_nothing_is_installed() {
        let line = "tenurectl uninstall --apply --follow --force --record /nowhere/installed.json";
        let CtlCommand::Node(NodeVerb::Uninstall(uninstall)) =
            CtlArguments::parse_from(line.split_whitespace()).command
        else {
            panic!("another verb")
        };
        let daemon = Daemon::at(Path::new("/nowhere"), Duration::from_secs(1));
        let round = removal(&daemon, &uninstall, &mut UnusedSince::default()).await;
        assert_eq!(round.unwrap().unwrap().notes, [NOTHING_LEFT]);
    }

    #[test]
    fn each_thing_is_said_once() {
        let mut last = LastRound::default();
        let mut said = |round| last.news(round).map(|news| news.is_ok());
        let failed = || Err(Error::new(ErrorCode::NotReady, "not yet"));
        assert_eq!(said(failed()), Some(false));
        assert_eq!(said(failed()), None);
        assert_eq!(said(Err(Error::new(ErrorCode::NotReady, "for another reason"))), Some(false));
        assert_eq!(said(report(FileOutcome::Unchanged)), Some(true), "it is well again");
        assert_eq!(said(report(FileOutcome::Unchanged)), None);
        assert_eq!(said(report(FileOutcome::Replaced)), Some(true));
        assert_eq!(said(report(FileOutcome::Left)), Some(true), "something has to stay");
        assert_eq!(said(report(FileOutcome::Left)), None);
        assert_eq!(said(report(FileOutcome::Unchanged)), Some(true), "it need not stay any more");
        assert_eq!(said(failed()), Some(false));
        let noted = || {
            let notes = vec!["00-a.conflist comes before 00-tenure.conflist".to_owned()];
            report(FileOutcome::Unchanged).map(|report| InstallReport { notes, ..report })
        };
        assert_eq!((said(noted()), said(noted())), (Some(true), None));
        assert_eq!(said(report(FileOutcome::Unchanged)), Some(true), "the note does not hold any more");
        assert_eq!(said(report(FileOutcome::Removed)), Some(true));
        assert_eq!((said(Ok(nothing_left())), said(Ok(nothing_left()))), (Some(true), None));
    }
}
