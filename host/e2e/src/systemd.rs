//! A systemd of a test's own, which runs units as a node's does: in namespaces of its own, and in a control group of its own as the root.
//!
//! It has an empty `/var`, `/tmp` and `/usr/local/bin`, a copy of `/etc` without the host's units, and the journal.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::{scratch, wait};

/// The script of an enclave's first process: it starts another that enters its control group, and becomes systemd in namespaces within.
/// Its arguments are a name for the group, where groups are made, the rest of the way to systemd, and that one's arguments.
pub(crate) const SCRIPT: &str = r#"group=$2/$1; boot=$3; shift 3; mkdir "$group"
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec unshare --pid --mount --cgroup --ipc --uts --fork bash -c "$boot" boot "$@"
    ) </dev/null &
    read -r _"#;

/// The rest of the way to systemd.
pub(crate) const BOOT: &str = include_str!("systemd/boot.sh");

/// The longest that a boot may take, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// How many lines of the journal a failure shows.
const LINES: &str = "--lines=150";

/// Waits until systemd has started everything, given `systemctl`.
pub(crate) fn has_booted(systemctl: impl Fn() -> Command) -> anyhow::Result<()> {
    wait::holds("a machine that has booted", LIMIT, || {
        let output = systemctl().arg("is-system-running").output()?;
        match String::from_utf8_lossy(&output.stdout).trim() {
            "running" => Ok(true),
            state @ ("degraded" | "maintenance") => bail!("the machine is {state}"),
            _ => Ok(false),
        }
    })
}

/// The end of a journal, for a failure's reader, given `journalctl`.
pub(crate) fn journal(mut journalctl: Command) -> String {
    match journalctl.args(["--no-pager", LINES]).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// Why no systemd can be started on this host.
pub(crate) fn cannot_boot() -> Option<String> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    REASON
        .get_or_init(|| try_out().err().map(|error| format!("needs control groups of version 2: {error:#}")))
        .clone()
}

/// Makes a control group, and mounts the hierarchy in other namespaces.
fn try_out() -> anyhow::Result<()> {
    let group = hierarchy()?.join(format!("{}probe", scratch::prefix()));
    fs::create_dir(&group).with_context(|| group.display().to_string())?;
    fs::remove_dir(&group)?;
    let namespaces = ["--net", "--mount", "--pid", "--cgroup", "--ipc", "--uts", "--fork"];
    let mounts =
        "mount -t proc proc /proc; umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup";
    let output = Command::new("unshare").args(namespaces).args(["sh", "-ec", mounts]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// Returns the directory of control groups: on a host with both versions, the second has a directory of its own.
pub(crate) fn hierarchy() -> anyhow::Result<&'static Path> {
    let places = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
    let found = places.into_iter().find(|place| place.join("cgroup.controllers").exists());
    found.context("their hierarchy is not mounted")
}
