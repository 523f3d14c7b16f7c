//! Rows that have ended, and whose files are still there after the network was removed and host-local has served it for a while.

use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::Moving;

/// Any removal ends it: a boot, an operator, or a DEL.
pub(crate) fn not_after_removal() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    moving.holds("10.83.0.2", "T1")?;
    // A crash left this file without an owner.
    fs::write(moving.file("10.83.0.6"), "")?;
    ensure!(moving.import(&moving.directory)? == json!({ "10.83.0.2": "taken", "10.83.0.6": "unknown" }));
    moving.daemon.kill()?;
    moving.daemon.reboot()?;
    moving.daemon.start_again()?;
    let remove = ["network", "remove", "pods", "--apply"];
    moving.daemon.ctl(&remove)?;
    moving.holds("10.83.0.3", "T2")?;
    moving.refused("new")?;
    let mut third = "taken";
    for _ in 0..2 {
        let said = moving.import(&moving.directory)?;
        let expected = json!({ "10.83.0.2": "released", "10.83.0.3": third, "10.83.0.6": "released" });
        ensure!(said == expected, "{said}");
        third = "held";
        moving.daemon.kill()?;
        moving.daemon.start_again()?;
    }
    // By an operator, and by a DEL; over a start between the removal and the next import.
    moving.daemon.ctl(&["release", "10.83.0.3", "--apply", "--reason", "no answer to arping"])?;
    moving.daemon.ctl(&remove)?;
    moving.daemon.kill()?;
    moving.daemon.start_again()?;
    moving.holds("10.83.0.4", "T3")?;
    let said = moving.import(&moving.directory)?;
    let expected = json!({ "10.83.0.2": "released", "10.83.0.3": "released", "10.83.0.4": "taken", "10.83.0.6": "released" });
    ensure!(said == expected, "{said}");
    moving.call("DEL", "T3")?.silent()?;
    moving.daemon.ctl(&remove)?;
    // Nothing is left to import, so the next pod makes the network, also after a boot.
    moving.daemon.kill()?;
    moving.daemon.reboot()?;
    moving.daemon.start_again()?;
    moving.add("new")?;
    let said = moving.import(&moving.directory)?;
    ensure!(said.as_object().is_some_and(|all| all.values().all(|one| one == "released")), "{said}");
    // A file that is written anew is a new claim.
    fs::remove_file(moving.file("10.83.0.6"))?;
    moving.holds("10.83.0.6", "T4")?;
    let said = moving.import(&moving.directory)?;
    ensure!(said.get("10.83.0.6") == Some(&json!("taken")), "{said}");
    Ok(())
}

/// The other IPAM serves the network between two times of tenure, and the daemon knows where from: it was told at the first time.
pub(crate) fn sources_outlive_their_network() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    let (renamed, file) = (moving.directory.join("cbr0"), moving.daemon.path("ipam.json"));
    fs::create_dir(&renamed)?;
    let checkpoint = |rows: serde_json::Value| {
        fs::write(&file, json!({ "version": "vpc-cni-ipam/1", "allocations": rows }).to_string())
    };
    checkpoint(
        json!([{ "networkName": "aws-cni", "containerID": "T1", "ifName": "eth0", "ipv4": "10.83.0.2",
        "allocationTimestamp": 1_700_000_000_000_000_000_u64 }]),
    )?;
    fs::write(renamed.join("10.83.0.3"), "T2\r\neth0")?;
    let [directory, path, config] = [&moving.directory, &file, &moving.config]
        .map(|path| path.to_str().map(str::to_owned).context("the path is not UTF-8"));
    let (directory, path, config) = (directory?, path?, config?);
    let of = ["import", "--apply", "host-local", &directory, "--of", "cbr0", "--network", "pods"];
    let ipamd = ["import", "--apply", "ipamd", &path, "--network", "pods"];
    moving.daemon.ctl(&[&ipamd[..], &["--config", &config]].concat())?;
    moving.daemon.ctl(&of)?;
    for container in ["T1", "T2"] {
        moving.call("DEL", container)?.silent()?;
    }
    moving.daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    moving.daemon.kill()?;
    moving.daemon.start_again()?;
    // What has ended is known; what either has given out since is not.
    checkpoint(
        json!([{ "networkName": "aws-cni", "containerID": "T3", "ifName": "eth0", "ipv4": "10.83.0.4",
        "allocationTimestamp": 1_700_000_009_000_000_000_u64 }]),
    )?;
    let refused = moving.refused("new")?;
    ensure!(refused.contains("10.83.0.4") && refused.contains("--apply ipamd"), "{refused}");
    moving.daemon.ctl(&[&ipamd[..], &["--config", &config]].concat())?;
    fs::write(renamed.join("10.83.0.5"), "T4\r\neth0")?;
    let refused = moving.refused("new")?;
    ensure!(refused.contains("10.83.0.5") && refused.contains("--of cbr0"), "{refused}");
    moving.daemon.ctl(&of)?;
    moving.add("new")?;
    // A source of a network that is there no more is let go of, too.
    for container in ["T3", "T4", "new"] {
        moving.call("DEL", container)?.silent()?;
    }
    moving.daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    fs::write(renamed.join("10.83.0.6"), "T5\r\neth0")?;
    moving.refused("new")?;
    let source = format!("host-local-network {}", fs::canonicalize(&renamed)?.display());
    moving.daemon.ctl(&["import", "abandon", "pods", "--source", &source, "--apply"])?;
    moving.add("new")?;
    Ok(())
}
