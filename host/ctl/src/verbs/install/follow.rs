//! `tenurectl install --follow` and `uninstall --follow`: repeated until a signal, for a container beside the daemon's.
//!
//! Each round is a whole installation, which changes nothing where nothing has changed. So it brings back what somebody has removed, and takes a new
//! configuration over, as Kubernetes brings it with a changed ConfigMap. A removal is repeated until the last pod has given its address back.

use std::time::Duration;

use tenure_types::Error;
use tokio::time::sleep;

use super::{once, uninstall};
use crate::arguments::NodeVerb;
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{FileOutcome, InstallReport};
use crate::verbs::rounds::until_signal;

/// The time between two rounds.
const EVERY: Duration = Duration::from_secs(5);

/// The end of the last round, so that nothing is printed twice.
#[derive(Debug, Default, PartialEq, Eq)]
enum LastRound {
    #[default]
    None,
    Done,
    Failed(String),
}

impl LastRound {
    /// Records a round, and returns what to print of it.
    fn news(&mut self, round: Result<InstallReport, Error>) -> Option<Result<Report, Error>> {
        match round {
            Ok(report) => {
                let idle = [FileOutcome::Unchanged, FileOutcome::Absent];
                let changed = report.files.iter().any(|file| !idle.contains(&file.outcome));
                let was_done = std::mem::replace(self, Self::Done) == Self::Done;
                (changed || !was_done).then(|| Ok(Report::of(report)))
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
    let mut last = LastRound::default();
    // A round writes whole files only, so it may be interrupted while it waits for the daemon.
    until_signal(async {
        loop {
            let made = match verb {
                NodeVerb::Install(arguments) => Some(once(daemon, arguments).await),
                NodeVerb::Uninstall(arguments) => Some(uninstall::once(daemon, arguments).await),
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

#[cfg(test)]
mod tests {
    use tenure_types::ErrorCode;

    use super::*;
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
        assert_eq!(said(failed()), Some(false));
    }
}
