//! A cage for a program: mount, process and user namespaces of its own, in which there are the program, its libraries and one directory
//! of the node, read-only.
//!
//! This is what a container that mounts only that directory sees. Unlike an [`Enclave`](crate::Enclave), it shares the node's network.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use crate::{binaries, scratch};

/// The path of the node's directory in the cage.
pub const MOUNTED: &str = "/run/tenure-agent";

/// The path of the cage in the mount namespace in which it is made: a directory that every user can reach.
const PLACE: &str = "/mnt";

/// Mounts the cage in a mount namespace of its own, then gives up root, and enters a user namespace in which it is root again.
const SCRIPT: &str = r#"place=$1; root=$2; node=$3; user=$4; shift 4
mount --bind "$root" "$place"
mount --bind "$node" "$place/run/tenure-agent"
mount -o remount,bind,ro "$place/run/tenure-agent"
exec setpriv --reuid "$user" --regid "$user" --clear-groups \
    unshare --user --map-root-user --mount "$place/tenure-cage" "$place" /program "$@""#;

/// The root directory of a cage with a program.
#[derive(Debug)]
pub struct Cage(TempDir);

impl Cage {
    /// A cage with a program and its libraries in it.
    ///
    /// # Errors
    /// When something cannot be copied.
    pub fn new(program: &Path) -> anyhow::Result<Self> {
        let root = scratch::directory()?;
        fs::set_permissions(root.path(), Permissions::from_mode(0o755))?;
        fs::create_dir_all(root.path().join(MOUNTED.trim_start_matches('/')))?;
        fs::copy(program, root.path().join("program")).with_context(|| program.display().to_string())?;
        let cage = binaries::find("tenure-cage")?;
        fs::copy(&cage, root.path().join("tenure-cage"))?;
        for library in libraries(program)? {
            let to = root.path().join(library.strip_prefix("/")?);
            fs::create_dir_all(to.parent().context("a library without a folder")?)?;
            fs::copy(&library, to)?;
        }
        Ok(Self(root))
    }

    /// The command that runs the program in the cage as the user and group `user` of the node, with a directory of the node at
    /// [`MOUNTED`]. Needs root. Killing the command kills the program.
    #[must_use]
    pub fn command(&self, user: u32, node: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", SCRIPT, "sh", PLACE]);
        command.arg(self.0.path()).arg(node).arg(user.to_string()).args(arguments);
        command
    }
}

/// The libraries that a program is linked with, and the one that loads them; none for a static program.
fn libraries(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("ldd")?;
    let text = String::from_utf8(output.stdout)?;
    let is_static = text.contains("statically linked") || !output.status.success();
    let paths: Vec<PathBuf> =
        text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect();
    ensure!(is_static || !paths.is_empty(), "ldd says nothing of {}", program.display());
    Ok(paths)
}
