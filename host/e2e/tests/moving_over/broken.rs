//! Sources that cannot be read as a whole: what cannot be read is held and said, or nothing is imported.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::binaries;

use crate::{Moving, outcomes};

/// Makes a file or directory of somebody else, who lets nobody else read it.
fn close(path: &Path, mode: u32) -> anyhow::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(chown(path, Some(65534), Some(65534))?)
}

/// Imports as root without the capability to read everything.
fn import(moving: &Moving) -> anyhow::Result<Output> {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-all", "--inh-caps", "-all"]).arg(binaries::find("tenurectl")?);
    command
        .arg("--run-dir")
        .arg(moving.daemon.run_directory())
        .args(["--output", "json", "import", "--apply"]);
    command.arg("host-local").arg(&moving.directory).arg("--config").arg(&moving.config);
    Ok(command.output()?)
}

pub(crate) fn files_of_host_local() -> anyhow::Result<()> {
    let moving = Moving::start()?;
    moving.holds("10.83.0.2", "T1")?;
    fs::create_dir(moving.file("10.83.0.3"))?;
    fs::write(moving.file("10.83.0.4"), b"\xff\xfe\x00garbage\r\neth0")?;
    moving.holds("10.83.0.5", "T5")?;
    close(&moving.file("10.83.0.5"), 0o600)?;
    let printed = import(&moving)?;
    ensure!(printed.status.code() == Some(1), "{printed:?}");
    let said = outcomes(&printed)?;
    let unknown = "unknown";
    let expected =
        json!({ "10.83.0.2": "taken", "10.83.0.3": unknown, "10.83.0.4": unknown, "10.83.0.5": unknown });
    ensure!(said == expected, "{said}");
    let text = String::from_utf8(printed.stdout)?;
    ensure!(text.contains("not a regular file") && text.contains("Permission denied"), "{text}");
    // Nobody gets the addresses that may be in use.
    ensure!(moving.add("new")? == "10.83.0.6");
    ensure!(moving.call("ADD", "newer")?.result().is_err(), "only addresses that may be in use are left");
    // What can be read in the end belongs to its owner.
    chown(moving.file("10.83.0.5"), Some(0), Some(0))?;
    let said = outcomes(&import(&moving)?)?;
    ensure!(said.get("10.83.0.5") == Some(&json!("taken")), "{said}");
    // What an operator has released is not held again, although it still cannot be read.
    moving.call("DEL", "T5")?.silent()?;
    fs::remove_file(moving.file("10.83.0.5"))?;
    moving.holds("10.83.0.5", "T6")?;
    close(&moving.file("10.83.0.5"), 0o600)?;
    let release = ["release", "10.83.0.5", "--apply", "--reason", "it is not in use"];
    for expected in ["unknown", "released"] {
        let said = outcomes(&import(&moving)?)?;
        ensure!(said.get("10.83.0.5") == Some(&json!(expected)), "{said}");
        moving.daemon.ctl_output(&release)?;
    }
    Ok(())
}

pub(crate) fn directory_of_host_local() -> anyhow::Result<()> {
    let moving = Moving::start()?;
    moving.holds("10.83.0.2", "T1")?;
    let other = moving.directory.join("blue");
    fs::create_dir(&other)?;
    for (directory, mode) in [(other.as_path(), 0o700), (moving.directory.as_path(), 0o744)] {
        // Of the second, only the names can be read.
        close(directory, mode)?;
        let printed = import(&moving)?;
        let said = String::from_utf8(printed.stderr)?;
        ensure!(printed.status.code() == Some(1) && said.contains("Permission denied"), "{said}");
        ensure!(said.contains(&directory.display().to_string()), "{said}");
        ensure!(moving.daemon.allocations("pods")?.is_empty() && moving.told()?.is_empty(), "half an import");
        chown(directory, Some(0), Some(0))?;
    }
    ensure!(outcomes(&import(&moving)?)? == json!({ "10.83.0.2": "taken" }));
    Ok(())
}

pub(crate) fn row_of_ipamd() -> anyhow::Result<()> {
    let moving = Moving::start()?;
    let file = moving.daemon.path("ipam.json");
    let row = |container: &str, addresses: [Value; 2]| {
        let [ipv4, ipv6] = addresses;
        json!({ "networkName": "aws-cni", "containerID": container, "ifName": "eth0", "ipv4": ipv4, "ipv6": ipv6,
                "allocationTimestamp": 1_700_000_000_000_000_000_u64, "metadata": {} })
    };
    let good = row("T1", [json!("10.83.0.2"), json!("")]);
    let write = |allocations: Value| {
        let new = moving.daemon.path("ipam.json.new");
        fs::write(&new, json!({ "version": "vpc-cni-ipam/1", "allocations": allocations }).to_string())?;
        fs::rename(new, &file)
    };
    let path = file.to_str().context("the path is not UTF-8")?;
    let config = moving.config.to_str().context("the path is not UTF-8")?;
    let arguments = ["import", "--apply", "ipamd", path, "--network", "pods", "--config", config];
    let broken = [
        json!([good, row("T2", [json!("10.83.0.300"), json!("")])]),
        json!([good, row("T2", [json!("10.83.0.3"), json!("fd00::x")])]),
        json!([good, row("T2", [json!(7), json!("")])]),
        json!({ "T1": good }),
    ];
    for broken in &broken {
        write(broken.clone())?;
        let printed = moving.daemon.ctl_output(&arguments)?;
        let said = String::from_utf8(printed.stderr)?;
        ensure!(printed.status.code() == Some(1) && said.contains(path), "{broken}: {said}");
        ensure!(moving.daemon.allocations("pods")?.is_empty(), "{broken} was imported in part");
        ensure!(moving.told()?.is_empty(), "{:?}", moving.told()?);
    }
    write(json!([good]))?;
    moving.daemon.ctl(&arguments)?;
    // It becomes broken after the import: an address that cannot be read may be in use.
    for broken in &broken {
        write(broken.clone())?;
        let refused = moving.refused("new")?;
        ensure!(refused.contains(path), "{broken}: {refused}");
    }
    write(json!([good]))?;
    ensure!(moving.add("new")? == "10.83.0.3");
    Ok(())
}
