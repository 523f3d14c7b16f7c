//! For which daemon the files of a node are. Two installations may meet on a node, such as two releases of the Helm chart: the first one has it until it
//! is uninstalled.
//!
//! While a daemon answers, the files are that one's. While none does, the record says whose they are: a daemon that is being upgraded comes back.

use std::path::PathBuf;

use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use super::record::RecordStore;
use crate::arguments::DaemonArgument;
use crate::daemon::Daemon;

/// The next step where the files are those of a daemon that does not run.
const FIRST_UNINSTALL: &str = "if that daemon is only being restarted or upgraded, wait for it; if it is not to come back, uninstall what was installed for it, \
                               or drain the node and remove the record and the CNI configuration that it names";

/// Refuses to touch the files of another daemon, such as that of a second release on the node.
///
/// # Errors
/// `FileInTheWay` if the files are another daemon's; what the daemon answers otherwise.
pub(super) async fn check(
    daemon: &Daemon,
    argument: &DaemonArgument,
    store: &RecordStore,
) -> Result<(), Error> {
    match is_running(daemon, argument).await? {
        true => Ok(()),
        false => check_record(argument, store),
    }
}

/// Whether the daemon for which the files are to be answers.
///
/// # Errors
/// `FileInTheWay` if another one answers; what the daemon answers otherwise.
pub(super) async fn is_running(daemon: &Daemon, argument: &DaemonArgument) -> Result<bool, Error> {
    let Some(ours) = &argument.daemon_config else { return Ok(false) };
    let request = v1::GetConfigurationRequest {};
    let theirs = match daemon.call(async |mut admin| admin.get_configuration(request).await).await {
        Ok(answer) => PathBuf::from(answer.file),
        Err(error) if error.code == ErrorCode::Unreachable => return Ok(false),
        Err(error) => return Err(error),
    };
    if theirs == *ours {
        return Ok(true);
    }
    let cause = format_args!(
        "the daemon that runs on this node reads {} and not {}: plugin and network are for that one. Keep one of the two \
         off this node, or uninstall it",
        theirs.display(),
        ours.display()
    );
    Err(Error::new(ErrorCode::FileInTheWay, cause))
}

/// Refuses files that were installed for another daemon, while none answers.
///
/// # Errors
/// `FileInTheWay` if the record names another one.
pub(super) fn check_record(argument: &DaemonArgument, store: &RecordStore) -> Result<(), Error> {
    // An older version has recorded none.
    let named = argument.daemon_config.as_ref().zip(store.record.daemon_config.as_ref());
    let Some((ours, theirs)) = named else { return Ok(()) };
    if theirs == ours {
        return Ok(());
    }
    let cause = format_args!(
        "no daemon runs on this node, and {} says that plugin and network are for the one that reads {}, and not {}",
        store.path().display(),
        theirs.display(),
        ours.display()
    );
    Err(Error::new(ErrorCode::FileInTheWay, cause).to_be_solved_by(FIRST_UNINSTALL))
}
