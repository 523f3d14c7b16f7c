//! How the daemon ends when it cannot go on: whether trying again helps, and what to do.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};
use std::path::Path;

use tenure_checkpoint::Error as Checkpoint;

use crate::parts::{PartEnded, SocketUnusable};
use crate::run_dir::RunDirError;

/// Trying again may help: a disk in trouble, another daemon that has not ended yet.
pub(crate) const TRANSIENT: u8 = 1;

/// Trying again does not help: the configuration, the command line, the state or the rights to a directory are wrong.
pub(crate) const PERMANENT: u8 = 2;

/// A setting that cannot be had on this machine.
#[derive(Debug, thiserror::Error)]
#[error("{keys}: {cause}")]
pub(crate) struct Setting {
    /// The keys that it comes from.
    pub(crate) keys: &'static str,
    /// What is wrong with them.
    pub(crate) cause: String,
}

/// The exit code for an error.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    // A part that served and ended is worth another try, whatever it met; a socket that cannot be had may not be.
    let served = has::<PartEnded>(error) && !has::<SocketUnusable>(error);
    if !served && error.chain().any(is_permanent) { PERMANENT } else { TRANSIENT }
}

/// Whether an error of a type is among its causes.
fn has<T: StdError + 'static>(error: &anyhow::Error) -> bool {
    error.chain().any(<dyn StdError>::is::<T>)
}

fn is_permanent(cause: &(dyn StdError + 'static)) -> bool {
    if let Some(error) = cause.downcast_ref::<Checkpoint>() {
        return !matches!(error, Checkpoint::Io { .. });
    }
    if let Some(error) = cause.downcast_ref::<io::Error>() {
        // What a path is, and who may use it; neither changes by waiting.
        return matches!(
            error.kind(),
            ErrorKind::PermissionDenied
                | ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::AlreadyExists
                | ErrorKind::InvalidInput
                | ErrorKind::InvalidFilename
        );
    }
    cause.is::<Setting>() || matches!(cause.downcast_ref(), Some(RunDirError::Unsafe { .. }))
}

/// What a person is to do next, where the error itself does not say.
pub(crate) fn next_step(error: &anyhow::Error, state_dir: &Path) -> Option<String> {
    let damage = error.chain().find_map(|cause| cause.downcast_ref::<Checkpoint>())?;
    let directory = state_dir.display();
    let afresh = format!(
        "to begin without it, drain the node, move {directory} away, start tenured, and confirm with `tenurectl adopt --empty`"
    );
    let step = match damage {
        Checkpoint::Io { .. } => format!("check the disk under {directory} (`dmesg`, SMART) and its rights"),
        Checkpoint::UnknownVersion { .. } => return None,
        Checkpoint::UnknownChapter { program, .. } => {
            return Some(format!(
                "run {program} or a newer one: what it wrote cannot be done without. Nothing was changed"
            ));
        }
        Checkpoint::Unreleased { .. } => format!("this version begins a new state: {afresh}"),
        Checkpoint::Damaged { file, offset, .. } if file.starts_with("log.") && *offset > 0 => format!(
            "copy {directory} somewhere else, then put an intact copy of {file} back; or, if what it says from that byte on \
             may be lost, drain the node and run `truncate --size={offset} {directory}/{file}`; {afresh}"
        ),
        Checkpoint::Damaged { file, .. } | Checkpoint::Missing { file } => {
            format!("copy {directory} somewhere else, then put an intact copy of {file} back; {afresh}")
        }
        Checkpoint::Contradiction { .. } => {
            format!(
                "copy {directory} somewhere else and report it, with the output of `tenurectl log`; {afresh}"
            )
        }
    };
    Some(format!("{step}. See \"What a start decides\" in the book's page on the checkpoint"))
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

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
        Err::<(), _>(error).context("the checkpoint in /x cannot be trusted").unwrap_err()
    }

    #[test]
    fn what_a_person_must_mend_is_permanent() {
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
        assert!(!step(damaged("snapshot.0000000002")).contains("truncate"), "half a snapshot is none");
        assert!(next_step(&io(ErrorKind::StorageFull), Path::new("/x")).is_none());
    }
}
