//! The daemon's sockets: whether they are there, and for root alone.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use super::node::Location;
use crate::report::NodeCheck;

/// The sockets for the plugin and for operators.
const SOCKETS: [&str; 2] = ["cni.sock", "admin.sock"];

/// The mode bits for anybody.
const ANYBODY: u32 = 0o007;

const RESTART: &str = "restart tenured, which creates its sockets for root alone";

/// Checks the sockets in the run directory.
pub(super) fn sockets(run: &Location, is_before: bool) -> NodeCheck {
    const NAME: &str = "sockets";
    let own = rustix::process::geteuid().as_raw();
    for socket in SOCKETS {
        let (path, named) = (run.real.join(socket), run.named.join(socket));
        let named = named.display();
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_before => {
                return NodeCheck::skipped(NAME, format!("{named} does not exist yet"));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return NodeCheck::problem(NAME, format!("{named}: {error}"), "run this command as root");
            }
            Err(error) => {
                return NodeCheck::problem(
                    NAME,
                    format!("{named}: {error}"),
                    "start tenured; it creates them",
                );
            }
        };
        if !metadata.file_type().is_socket() {
            let next = "move it away; tenured creates its socket again";
            return NodeCheck::problem(NAME, format!("{named} is not a socket"), next);
        }
        if metadata.mode() & ANYBODY != 0 {
            let found = format!("{named} has mode {:o}: any user may connect", metadata.mode() & 0o777);
            return NodeCheck::problem(NAME, found, RESTART);
        }
        if metadata.uid() != 0 && metadata.uid() != own {
            let found = format!("{named} belongs to user {}", metadata.uid());
            return NodeCheck::problem(NAME, found, RESTART);
        }
    }
    NodeCheck::fine(NAME, format!("{} in {}", SOCKETS.join(" and "), run.named.display()))
}
