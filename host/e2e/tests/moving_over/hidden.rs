//! A source that the daemon cannot read, though who imports from it can: its unit hides the home directories, and it has no capability.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tenure_e2e::binaries;

use crate::Moving;

/// Lets the daemon's next start have no capability, as its unit does.
fn without_capabilities(moving: &mut Moving) -> anyhow::Result<()> {
    let program = moving.daemon.path("confined");
    let tenured = binaries::find("tenured")?;
    let script =
        format!("#!/bin/sh\nexec setpriv --bounding-set -all --inh-caps -all {} \"$@\"\n", tenured.display());
    fs::write(&program, script)?;
    fs::set_permissions(&program, Permissions::from_mode(0o755))?;
    moving.daemon.kill()?;
    moving.daemon.exchange_program(Some(program));
    moving.daemon.start_again()
}

/// Writes ipamd's checkpoint with one pod into somebody's directory.
fn at_home(moving: &Moving, name: &str) -> anyhow::Result<PathBuf> {
    let home = moving.daemon.path("home");
    fs::create_dir_all(&home)?;
    let row = json!({ "networkName": "aws-cni", "containerID": "T1", "ifName": "eth0", "ipv4": "10.83.0.2",
        "allocationTimestamp": 1_700_000_000_000_000_000_u64, "metadata": {} });
    let file = home.join(name);
    fs::write(&file, json!({ "version": "vpc-cni-ipam/1", "allocations": [row] }).to_string())?;
    Ok(file)
}

pub(crate) fn from_the_daemon() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    let file = at_home(&moving, "ipam.json")?;
    let home = file.parent().context("no directory")?.to_owned();
    let path = file.to_str().context("the path is not UTF-8")?.to_owned();
    let config = moving.config.to_str().context("the path is not UTF-8")?.to_owned();
    let import = ["import", "--apply", "ipamd", &path, "--network", "pods", "--config", &config];
    let close = || {
        fs::set_permissions(&home, Permissions::from_mode(0o700))?;
        anyhow::Ok(chown(&home, Some(65534), Some(65534))?)
    };
    close()?;
    without_capabilities(&mut moving)?;
    let said = moving.daemon.ctl_output(&import)?;
    let words = String::from_utf8(said.stderr)?;
    ensure!(said.status.code() == Some(1) && words.contains(&path), "{words}");
    ensure!(words.contains("Permission denied") && words.contains("cp -a"), "{words}");
    ensure!(moving.told()?.is_empty(), "{:?}", moving.told()?);
    ensure!(moving.add("first")? == "10.83.0.2", "nothing was imported");
    moving.call("DEL", "first")?.silent()?;
    moving.daemon.ctl(&["network", "remove", "pods", "--apply"])?;

    // A node that has moved over from there by a daemon that did not ask.
    chown(&home, Some(0), Some(0))?;
    moving.daemon.ctl(&import)?;
    close()?;
    let let_go = ["import", "abandon", "pods", "--source", &format!("ipamd {path}")];
    for _ in 0..2 {
        let refused = moving.refused("new")?;
        ensure!(refused.contains("import abandon pods --source 'ipamd "), "{refused}");
        ensure!(!refused.contains("host_local.ignore"), "{refused}");
        ensure!(moving.told()?.concat().contains(&path), "{:?}", moving.told()?);
        moving.daemon.ctl(&let_go)?;
    }
    moving.daemon.ctl(&[&let_go[..], &["--reason", "it is an old copy", "--apply"]].concat())?;
    ensure!(moving.add("new")? == "10.83.0.3");
    ensure!(moving.add("T1")? == "10.83.0.2", "what came over stays its owner's");
    moving.daemon.kill()?;
    moving.daemon.start_again()?;
    ensure!(moving.add("newer")? == "10.83.0.4");
    let log = String::from_utf8(moving.daemon.ctl_output(&["log"])?.stdout)?;
    ensure!(log.contains("it is an old copy"), "{log}");
    Ok(())
}
