//! Makes a directory the root of its mount namespace and becomes a program in it: `tenure-cage DIRECTORY PROGRAM ARGUMENTS...`
//!
//! The program sees nothing but the directory and what is mounted in it, and ends with its parent.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::Context as _;
use rustix::mount::{UnmountFlags, mount_bind_recursive, unmount};
use rustix::process::{Signal, pivot_root, set_parent_process_death_signal};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let directory = arguments.next().context("no directory")?;
    let program = arguments.next().context("no program")?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // What was mounted outside of this user namespace cannot become a root itself.
    mount_bind_recursive(&directory, &directory).context("mount")?;
    std::env::set_current_dir(&directory)?;
    pivot_root(".", ".").context("pivot_root")?;
    // The former root, which now lies on top of the new one.
    unmount(".", UnmountFlags::DETACH).context("umount")?;
    std::env::set_current_dir("/")?;
    Err(Command::new(&program).args(arguments).exec()).context(program.display().to_string())
}
