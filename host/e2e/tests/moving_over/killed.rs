//! `tenurectl` is killed in the middle of an import of many entries, and the import is run again.

use std::fs;
use std::io::{Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::{binaries, wait};

use crate::Moving;

/// How many entries there are; `tenurectl` sends 2,048 at a time.
const ENTRIES: u16 = 6000;

/// How much of what `tenurectl` sends arrives: its first part, and some of its second.
const ARRIVES: usize = 400 << 10;

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn in_the_middle() -> anyhow::Result<()> {
    let mut moving = Moving::with("", "10.83.0.0/16")?;
    for number in 0..ENTRIES {
        let [high, low] = number.to_be_bytes();
        moving.holds(&format!("10.83.{}.{low}", high + 1), &container(number))?;
    }
    let slow = moving.daemon.path("slow");
    fs::create_dir(&slow)?;
    let listener = UnixListener::bind(slow.join("admin.sock"))?;
    let there = moving.daemon.run_directory().join("admin.sock");
    let between = thread::spawn(move || carry(&listener, &there));
    let mut tenurectl = Command::new(binaries::find("tenurectl")?)
        .arg("--run-dir")
        .arg(&slow)
        .args(["import", "--apply", "host-local"])
        .arg(&moving.directory)
        .arg("--config")
        .arg(&moving.config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let told = |moving: &Moving, text: &str| {
        wait::holds(text, LIMIT, || Ok(moving.told()?.iter().any(|told| told.contains(text))))
    };
    told(&moving, "is in progress, after 2048 of 6000 entries")?;
    tenurectl.kill()?;
    tenurectl.wait()?;
    between.join().map_err(|_| anyhow::anyhow!("the connection between the two failed"))??;

    // A person sees how far it came, also after a restart; those who came over are served and may leave.
    let said = "was interrupted after 2048 of 6000 entries; run the same `tenurectl import --apply` again";
    told(&moving, said)?;
    // What is shown may be ahead of the disk. An answer is not, and the log keeps its order.
    moving.call("DEL", &container(8))?.silent()?;
    moving.daemon.kill()?;
    moving.daemon.start_again()?;
    told(&moving, said)?;
    ensure!(moving.refused("new")?.contains("after 2048 of 6000"), "{}", moving.refused("new")?);
    ensure!(moving.add(&container(7))? == "10.83.1.7", "a pod that came over keeps its address");
    // One that has not come over is deleted, too.
    moving.call("DEL", &container(5000))?.silent()?;

    let outcomes = moving.import(&moving.directory)?;
    let count = |outcome: &str| {
        outcomes.as_object().map(|all| all.values().filter(|one| *one == &json!(outcome)).count())
    };
    ensure!([count("held"), count("taken"), count("released")] == [Some(2047), Some(3951), Some(2)]);
    ensure!(outcomes.get("10.83.1.8") == Some(&Value::from("released")), "its DEL was answered");
    ensure!(moving.told()?.is_empty(), "{:?}", moving.told()?);
    ensure!(moving.daemon.allocations("pods")?.len() == 5998);
    let given = moving.add("new")?;
    ensure!(outcomes.get(&given).is_none_or(|outcome| outcome == "released"), "{given} is live");
    Ok(())
}

fn container(number: u16) -> String {
    format!("{number:064x}")
}

/// Carries a connection; of what is sent there, nothing arrives beyond a limit.
fn carry(listener: &UnixListener, there: &Path) -> anyhow::Result<()> {
    let (mut near, _) = listener.accept()?;
    let mut far = UnixStream::connect(there)?;
    let (mut answers, mut back) = (far.try_clone()?, near.try_clone()?);
    let returning = thread::spawn(move || drop(std::io::copy(&mut answers, &mut back)));
    let (mut left, mut some) = (ARRIVES, [0; 16 << 10]);
    // A killed process may reset the connection.
    while let Ok(count @ 1..) = near.read(&mut some) {
        let carried = some.get(..count.min(left)).context("more than there is")?;
        far.write_all(carried)?;
        left -= carried.len();
    }
    far.shutdown(Shutdown::Both)?;
    returning.join().map_err(|_| anyhow::anyhow!("the way back failed"))
}
