//! Rows that have ended, and whose files are still there after the network was removed and host-local has served it for a while.

use std::fs;

use anyhow::ensure;
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
