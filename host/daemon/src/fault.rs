//! The daemon's exit after a failure: whether a restart helps, and what the operator can do.

use std::error::Error as StdError;
use std::io;
use std::path::Path;

use tenure_checkpoint::Error as Checkpoint;
use tenure_supervise::exit::{self, Lasts};

use crate::parts::SocketUnusable;
use crate::run_dir::RunDirError;
use crate::state_dir::StateDirUnsafe;

/// A setting that this machine cannot provide.
#[derive(Debug, thiserror::Error)]
#[error("{keys}: {cause}")]
pub(crate) struct Setting {
    /// The keys concerned.
    pub(crate) keys: &'static str,
    /// Description of the fault.
    pub(crate) cause: String,
}

/// The error and its causes in one line. A cause that the text before it ends with is not repeated.
pub(crate) fn line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.ends_with(&cause) {
            line.push_str(": ");
            line.push_str(&cause);
        }
    }
    line
}

/// The exit code for an error.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    exit::code(error, lasts)
}

/// Judges the causes that only the daemon knows.
fn lasts(cause: &(dyn StdError + 'static)) -> Option<Lasts> {
    if let Some(error) = cause.downcast_ref::<Checkpoint>() {
        let is_passing = matches!(error, Checkpoint::Io { .. });
        return Some(if is_passing { Lasts::Shortly } else { Lasts::AtStart });
    }
    if let Some(socket) = cause.downcast_ref::<SocketUnusable>() {
        // Serving begins after the part did: what keeps its socket from being made is for somebody to fix.
        let is_lasting = exit::of_the_system(&socket.source) != Lasts::Shortly;
        return Some(if is_lasting { Lasts::Always } else { Lasts::Shortly });
    }
    let is_run_dir = match cause.downcast_ref() {
        Some(RunDirError::Unsafe { .. }) => true,
        // It is created with all that is above it: a file system does not allow it.
        Some(RunDirError::Io { source, .. }) => source.kind() == io::ErrorKind::NotFound,
        Some(RunDirError::Lock(_)) | None => false,
    };
    let is_ours = is_run_dir || cause.is::<Setting>() || cause.is::<StateDirUnsafe>();
    is_ours.then_some(Lasts::AtStart)
}

/// The operator's next step, if the error does not say it itself.
pub(crate) fn next_step(error: &anyhow::Error, state_dir: &Path) -> Option<String> {
    let damage = error.chain().find_map(|cause| cause.downcast_ref::<Checkpoint>())?;
    let directory = state_dir.display();
    let afresh = format!(
        "to start with an empty state, drain the node, move {directory} away, start tenured, and confirm with `tenurectl adopt --empty`"
    );
    let step = match damage {
        Checkpoint::Io { .. } => {
            format!("check the disk under {directory} (`dmesg`, SMART) and the directory's permissions")
        }
        Checkpoint::UnknownVersion { .. } => return None,
        Checkpoint::UnknownChapter { program, .. } => {
            return Some(format!(
                "run {program} or newer: the state has facts from it that this version cannot ignore. Nothing was changed"
            ));
        }
        Checkpoint::Unreleased { .. } => format!("this version cannot read the state: {afresh}"),
        Checkpoint::Damaged { file, offset, .. } if file.starts_with("log.") && *offset > 0 => format!(
            "back up {directory}, then restore an intact copy of {file}; or, if its content from that byte on may be \
             lost, drain the node and run `truncate --size={offset} {directory}/{file}`; {afresh}"
        ),
        Checkpoint::Damaged { file, .. } | Checkpoint::Missing { file } => {
            format!("back up {directory}, then restore an intact copy of {file}; {afresh}")
        }
        Checkpoint::Contradiction { .. } => {
            format!("back up {directory} and report a bug, with the output of `tenurectl log`; {afresh}")
        }
    };
    Some(format!("{step}. See \"What a start decides\" in the book's page on the checkpoint"))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use anyhow::Context as _;
    use tenure_supervise::PartEnded;
    use tenure_supervise::exit::{PERMANENT, TRANSIENT};

    use super::*;

    fn io(kind: ErrorKind) -> anyhow::Error {
        Err::<(), _>(io::Error::from(kind)).context("state directory /x").unwrap_err()
    }

    fn damaged(file: &str) -> anyhow::Error {
        let error = Checkpoint::Damaged {
            file: file.to_owned(),
            offset: 77,
            why: "its checksum is wrong".to_owned(),
        };
        Err::<(), _>(error).context("cannot trust the checkpoint in /x").unwrap_err()
    }

    #[test]
    fn what_a_person_must_fix_is_permanent() {
        let missing = Checkpoint::Missing { file: "log.0000000001".into() };
        let setting = Setting { keys: "sandbox.memory_mib", cause: "too much".into() };
        for error in [
            damaged("log.0000000001"),
            missing.into(),
            setting.into(),
            io(ErrorKind::NotADirectory),
            io(ErrorKind::PermissionDenied),
        ] {
            assert_eq!(code(&error), PERMANENT, "{error:#}");
        }
    }

    #[test]
    fn a_run_directory_that_cannot_be_created_is_permanent_and_said_once() {
        let directory = |kind| RunDirError::Io { path: "/x".into(), source: io::Error::from(kind) }.into();
        let error = directory(ErrorKind::NotFound);
        assert_eq!(code(&error), PERMANENT);
        assert_eq!(line(&error), "run directory /x: entity not found");
        assert_eq!(code(&directory(ErrorKind::StorageFull)), TRANSIENT);
        assert_eq!(line(&io(ErrorKind::StorageFull)), "state directory /x: no storage space");
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        let read = Checkpoint::Io { what: "reading".into(), source: io::Error::other("the disk is gone") };
        for error in [
            io(ErrorKind::StorageFull),
            io(ErrorKind::AddrInUse),
            io(ErrorKind::ReadOnlyFilesystem),
            read.into(),
        ] {
            assert_eq!(code(&error), TRANSIENT, "{error:#}");
        }
    }

    #[test]
    fn a_part_that_ends_is_tried_again_unless_its_socket_cannot_be_had() {
        let ended = |why: anyhow::Error| PartEnded { name: "cni", why }.into();
        let taken = |kind| SocketUnusable { path: "/x/cni.sock".into(), source: kind };
        assert_eq!(code(&ended(anyhow::anyhow!("it panicked: "))), TRANSIENT);
        assert_eq!(code(&ended(io::Error::from(ErrorKind::PermissionDenied).into())), TRANSIENT);
        assert_eq!(code(&ended(taken(ErrorKind::AddrInUse.into()).into())), TRANSIENT);
        let error = ended(taken(ErrorKind::AlreadyExists.into()).into());
        assert_eq!(code(&error), PERMANENT, "{error:#}");
        assert!(format!("{error:#}").starts_with("part cni has ended: socket /x/cni.sock: "), "{error:#}");
    }

    #[test]
    fn a_damaged_file_comes_with_what_to_run() {
        let step = |error| next_step(&error, Path::new("/var/lib/tenure")).unwrap();
        assert!(
            step(damaged("log.0000000001")).contains("`truncate --size=77 /var/lib/tenure/log.0000000001`")
        );
        assert!(!step(damaged("snapshot.0000000002")).contains("truncate"), "half a snapshot is useless");
        assert!(next_step(&io(ErrorKind::StorageFull), Path::new("/x")).is_none());
    }
}
