//! Disks that crash, fail or fill up under the daemon: nothing acknowledged is lost, and the daemon recovers by itself.
//!
//! `TENURE_DISK_ROUNDS=n` sets the number of crashes of each file system; `TENURE_SEED=n` repeats a run's random choices.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::client::Failure;
use tenure_e2e::journal::{Journal, Pod};
use tenure_e2e::load::{Fuse, Load};
use tenure_e2e::mount::{self, BlockByBlock, Kind, Mount};
use tenure_e2e::random::{self, Random};
use tenure_e2e::strace::Fault;
use tenure_e2e::{Need, Suite, Victim, binaries, scratch, wait};

const EXT4: Need = Need::File("/usr/sbin/mkfs.ext4", "e2fsprogs");
const XFS: Need = Need::File("/usr/sbin/mkfs.xfs", "xfsprogs");
const STRACE: Need = Need::File("/usr/bin/strace", "strace");

/// The CNI code for "the checkpoint could not be written".
const CHECKPOINT_FAILED: u32 = 111;
/// The CNI code for "the disk is full".
const DISK_FULL: u32 = 112;

/// The time limit for the daemon to recover after its disk has.
const LIMIT: Duration = Duration::from_secs(60);
/// A bound on the syncs of a short load, and on the ADDs that a full disk takes, so that the test ends.
const MOST: u32 = 200;

fn main() -> ExitCode {
    Suite::new()
        .test("what_was_acknowledged_survives_crashes_of_ext4", &[Need::Root, EXT4], || crashes(Kind::Ext4))
        .test("what_was_acknowledged_survives_crashes_of_xfs", &[Need::Root, XFS], || crashes(Kind::Xfs))
        .test("a_sync_that_fails_is_never_taken_for_one_that_did_not", &[STRACE], failing_syncs)
        .test("a_disk_that_loses_writes_is_told_and_left_behind", &[Need::Root, EXT4], lost_writes)
        .test("what_a_failed_sync_left_in_memory_is_not_believed", &[Need::Root, EXT4, STRACE], lost_group)
        .test("a_state_directory_without_a_durable_name_is_not_used", &[STRACE], unnamed_state)
        .test("a_state_directory_below_others_has_every_name_durable", &[STRACE], unnamed_states_above)
        .test("a_start_whose_first_sync_fails_serves_nothing", &[STRACE], unsynced_start)
        .test("a_full_disk_refuses_adds_and_serves_dels", &[Need::Root], full_disk)
        .run()
}

fn crashes(kind: Kind) -> anyhow::Result<()> {
    mount::private_namespace()?;
    random::seeds("disks")?.try_for_each(|seed| crashes_of(kind, seed))
}

fn crashes_of(kind: Kind, seed: u64) -> anyhow::Result<()> {
    let rounds = random::rounds("TENURE_DISK_ROUNDS", 20)?;
    let mut random = Random::new(seed);
    let directory = scratch::directory()?;
    let image = directory.path().join("image");
    kind.make(&image)?;
    let journal = Arc::new(Journal::default());
    let mut answers = 0;
    for round in 0..rounds {
        let disk = Mount::image(&image)?;
        let mut victim = on(&disk, &journal).with_context(|| format!("before round {round}"))?;
        let load = Load { refusals: &[CHECKPOINT_FAILED], ..Load::endless(random.next_number()) };
        // A new name each time: the kernel writes out a file that replaces another early.
        let (control, switch) = (disk.path(&format!("{CONTROL}-{round}")), disk.switch()?);
        let fuse = Fuse::power_cut(1 + random.below(250), move || {
            fs::write(control, CONTROL)?;
            switch.crash()
        });
        load.run(&victim, &journal, &fuse).with_context(|| format!("round {round}"))?;
        answers += fuse.answers();
        victim.kill()?;
        disk.unmount()?;
    }
    let disk = Mount::image(&image)?;
    let victim = on(&disk, &journal)?;
    victim.daemon.ctl(&["check"])?;
    victim.deletes_everything(&journal)?;
    println!("{rounds} crashes of {kind:?}, {answers} answers, nothing lost");
    Ok(())
}

/// The name prefix of a file that is written but not synced right before a crash.
const CONTROL: &str = "not-synced";

/// Starts a daemon on a disk that may have crashed, and checks its promises.
fn on(disk: &Mount, journal: &Journal) -> anyhow::Result<Victim> {
    for entry in fs::read_dir(disk.path(""))? {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        let survived = name.to_string_lossy().starts_with(CONTROL) && fs::read(&path)? == CONTROL.as_bytes();
        ensure!(!survived, "the crash lost nothing: {} exists, but was never synced", path.display());
    }
    let mut victim = victim_on(disk)?;
    victim.start()?;
    victim.keeps_promises(journal)?;
    Ok(victim)
}

/// A daemon whose state is on a disk.
fn victim_on(disk: &Mount) -> anyhow::Result<Victim> {
    let state = disk.path("state");
    fs::create_dir_all(&state)?;
    File::open(disk.path(""))?.sync_all()?;
    Victim::with_state_in(&state)
}

fn failing_syncs() -> anyhow::Result<()> {
    let journal = Arc::new(Journal::default());
    let mut victim = Victim::new()?;
    let mut failures = Vec::new();
    let mut seeds = 0..;
    for calls in ["fdatasync", "fsync"] {
        for at in 1.. {
            ensure!(at < MOST, "a short load makes too many calls of {calls}");
            victim.start()?;
            let trace = victim.daemon.path("trace");
            let tracer = Fault { calls, effect: "error=EIO", at }.attach(victim.pid()?, &trace)?;
            let seed = seeds.next().unwrap_or_default();
            let load = Load { refusals: &[CHECKPOINT_FAILED], ..Load::short(seed) };
            load.run(&victim, &journal, &Fuse::none()).with_context(|| format!("{calls} {at}"))?;
            goes_on(&victim, &journal, &format!("{calls}-{at}"))?;
            undone(&victim, &journal)?;
            victim.kill()?;
            drop(tracer);
            let failed = left_the_file(&fs::read_to_string(&trace)?)?;
            victim.start()?;
            exactly(&victim, &journal).with_context(|| format!("after EIO at {calls} {at}"))?;
            victim.keeps_promises(&journal)?;
            victim.kill()?;
            if !failed {
                ensure!(at > 1, "no {calls} has failed");
                failures.push(format!("{} at {calls}", at - 1));
                break;
            }
        }
    }
    println!("failed syncs: {}", failures.join(", "));
    Ok(())
}

/// Whether a sync failed in a trace. If one did, checks that the same log was not synced again.
fn left_the_file(trace: &str) -> anyhow::Result<bool> {
    let path = |line: &str| Some(line.split_once('<')?.1.split_once('>')?.0.to_owned());
    let mut lines = trace.lines().skip_while(|line| !line.contains("INJECTED"));
    let Some(failed) = lines.next() else { return Ok(false) };
    let file = path(failed).with_context(|| failed.to_owned())?;
    // A temporary file is rewritten under the same name before it becomes a segment, and a directory has no content to lose.
    let is_segment =
        Path::new(&file).file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."));
    if is_segment && !file.ends_with(".tmp") {
        ensure!(!lines.any(|line| path(line).as_ref() == Some(&file)), "{file} was synced again:\n{trace}");
    }
    Ok(true)
}

/// A file system on an image in memory, `IMAGE`: once the memory is full, writes are lost.
fn on_memory() -> anyhow::Result<(Mount, Mount, BlockByBlock)> {
    let memory = Mount::tmpfs(96 << 20)?;
    let image = memory.path(IMAGE);
    Kind::Ext4.make(&image)?;
    // Reserve memory for the whole image. `fstrim` below returns the free blocks, which then need memory when they are written.
    let file = File::options().write(true).open(&image)?;
    fallocate(&file, FallocateFlags::empty(), 0, file.metadata()?.len())?;
    let disk = Mount::image(&image)?;
    let limit = disk.block_by_block()?;
    mount::run(Command::new("fstrim").arg(disk.path("")))?;
    Ok((memory, disk, limit))
}

/// The image's name.
const IMAGE: &str = "image";

fn lost_writes() -> anyhow::Result<()> {
    mount::private_namespace()?;
    let (memory, disk, _limit) = on_memory()?;
    let journal = Arc::new(Journal::default());
    let mut victim = on(&disk, &journal)?;
    goes_on(&victim, &journal, "before")?;
    memory.fill("ballast", 0)?;
    // Which of the two errors occurs depends on the kernel.
    add_until_refused(&victim, &journal, &[CHECKPOINT_FAILED, DISK_FULL])?;
    fs::remove_file(memory.path("ballast"))?;
    goes_on(&victim, &journal, "after")?;
    undone(&victim, &journal)?;
    victim.kill()?;
    victim.start()?;
    exactly(&victim, &journal)?;
    victim.kill()?;
    drop(victim);
    exactly_without_cache(disk, &memory, &journal)
}

/// Checks the allocations on the remounted image, so that nothing comes from the page cache.
fn exactly_without_cache(disk: Mount, memory: &Mount, journal: &Journal) -> anyhow::Result<()> {
    disk.unmount()?;
    let disk = Mount::image(&memory.path(IMAGE))?;
    let mut victim = victim_on(&disk)?;
    victim.start()?;
    exactly(&victim, journal)?;
    victim.deletes_everything(journal)
}

/// The kernel marks the pages of a failed sync as clean. If the daemon is killed at that moment, the next one could read a
/// group that no sync would ever write, and everything it acknowledged after that group would be lost with it.
fn lost_group() -> anyhow::Result<()> {
    mount::private_namespace()?;
    let (memory, disk, _limit) = on_memory()?;
    let journal = Arc::new(Journal::default());
    let mut victim = on(&disk, &journal)?;
    add_with(&victim, &journal, "before", "")?;
    // After a failed sync, the daemon truncates the log: kill it between the two.
    let fault = Fault { calls: "ftruncate", effect: "signal=KILL", at: 1 };
    let tracer = fault.attach(victim.pid()?, &victim.daemon.path("trace"))?;
    memory.fill("ballast", 0)?;
    // The configurations are identical, so that what is lost is an allocation and not a definition.
    let mut fill = (0..MOST).map(|number| add_with(&victim, &journal, &format!("filling-{number}"), ""));
    let unanswered = fill.find_map(Result::err);
    ensure!(matches!(unanswered, Some(Failure::Unanswered(_))), "no write was lost: {unanswered:?}");
    let status = victim.ended()?;
    ensure!(status.signal() == Some(Signal::KILL.as_raw()), "{status}");
    drop(tracer);
    fs::remove_file(memory.path("ballast"))?;

    victim.start()?;
    ensure!(
        !victim.daemon.log("only in the page cache").is_empty(),
        "no group was lost, so the test shows nothing"
    );
    victim.keeps_promises(&journal)?;
    goes_on(&victim, &journal, "after")?;
    disk.switch()?.crash()?;
    victim.kill()?;
    drop(victim);
    exactly_without_cache(disk, &memory, &journal)
}

/// A crash would remove everything below a directory entry that was never synced.
fn unnamed_state() -> anyhow::Result<()> {
    let mut victim = Victim::new()?;
    refuses_to_start(&mut victim, "fsync", "state directory")?;
    victim.start()
}

/// If a start is killed between creating a directory and syncing its entry, the next start syncs it.
fn unnamed_states_above() -> anyhow::Result<()> {
    // The existing directory counts too: an earlier start may have created it.
    for killed_at in 1..=4 {
        let directory = scratch::directory()?;
        let levels = ["", "a", "a/b", "a/b/state"].map(|level| directory.path().join(level));
        let asked = syncs_until(directory.path(), "fsync", killed_at)?;
        ensure!(asked.len() == killed_at, "syncs before kill {killed_at}: {asked:?}");
        let made = levels.iter().filter(|level| level.exists()).count();
        ensure!(made == killed_at, "levels created before kill {killed_at}: {made}");
        // The directories are synced before the first file.
        let synced = syncs_until(directory.path(), "fdatasync", 1)?;
        let above: Vec<_> = levels.iter().skip(killed_at - 1).filter_map(|level| level.parent()).collect();
        let first: Vec<_> = synced.iter().map(PathBuf::as_path).take(above.len()).collect();
        ensure!(first == above, "{synced:?} were synced, not {above:?} first");
    }
    Ok(())
}

/// Starts a daemon on `a/b/state` in a directory, kills it right before a call, and returns the paths that it synced.
fn syncs_until(directory: &Path, call: &str, at: usize) -> anyhow::Result<Vec<PathBuf>> {
    let trace = directory.join("trace");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync", "-e"])
        .arg(format!("inject={call}:signal=KILL:when={at}"))
        .arg("-o")
        .arg(&trace)
        .arg(binaries::find("tenured")?)
        .arg("--run-dir")
        .arg(directory.join("run"))
        .arg("--state-dir")
        .arg(directory.join("a/b/state"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.signal() == Some(Signal::KILL.as_raw()), "{status}");
    let trace = fs::read_to_string(trace)?;
    let path =
        |line: &str| Some(PathBuf::from(line.split_once("sync(")?.1.split_once('<')?.1.split_once('>')?.0));
    let mut paths: Vec<PathBuf> = trace.lines().filter_map(path).collect();
    // The trace may contain the call in which the process was killed twice; no directory is synced twice in a row.
    paths.dedup();
    Ok(paths)
}

/// After a failed sync, the disk's content is unknown; the next start syncs again.
fn unsynced_start() -> anyhow::Result<()> {
    let journal = Arc::new(Journal::default());
    let mut victim = Victim::new()?;
    victim.start()?;
    goes_on(&victim, &journal, "before")?;
    victim.kill()?;
    // More often than a service manager retries by default.
    for _ in 0..6 {
        refuses_to_start(&mut victim, "fdatasync", "syncing log.0000000001")?;
    }
    victim.start()?;
    exactly(&victim, &journal)
}

/// Starts a daemon whose first sync fails; it must log the failure and exit.
fn refuses_to_start(victim: &mut Victim, calls: &'static str, cause: &str) -> anyhow::Result<()> {
    let words = Fault { calls, effect: "error=EIO", at: 1 }.words(&victim.daemon.path("trace"));
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let ended = victim.start_under(&words)?;
    ensure!(ended.is_some_and(|status| status.code() == Some(1)), "ended with {ended:?}");
    ensure!(!victim.daemon.log(cause).is_empty(), "the log does not say what is wrong");
    Ok(())
}

fn full_disk() -> anyhow::Result<()> {
    mount::private_namespace()?;
    let disk = Mount::tmpfs(32 << 20)?;
    let journal = Arc::new(Journal::default());
    let mut victim = on(&disk, &journal)?;
    goes_on(&victim, &journal, "before")?;
    disk.fill("ballast", 0)?;
    add_until_refused(&victim, &journal, &[DISK_FULL])?;
    for restarted in [false, true] {
        if restarted {
            victim.kill()?;
            victim.start()?;
            victim.keeps_promises(&journal)?;
        }
        let client = victim.client()?;
        let pods = journal.held();
        ensure!(pods.len() > 4, "too few pods for this test: {pods:?}");
        for pod in pods.iter().take(pods.len() / 2) {
            journal.del_sent(pod);
            victim
                .block_on(client.del(pod))
                .with_context(|| format!("DEL on a full disk, restarted: {restarted}"))?;
            journal.deleted(pod);
        }
        let refused = add(&victim, &journal, &format!("refused-{restarted}"));
        ensure!(matches!(refused, Err(Failure::Refused { code: DISK_FULL, .. })), "{refused:?}");
    }
    fs::remove_file(disk.path("ballast"))?;
    goes_on(&victim, &journal, "after")?;
    undone(&victim, &journal)?;
    victim.kill()?;
    victim.start()?;
    exactly(&victim, &journal)?;
    victim.daemon.ctl(&["check"])?;
    victim.deletes_everything(&journal)
}

/// ADDs a pod with a new and long configuration, so that much is written.
fn add(victim: &Victim, journal: &Journal, container: &str) -> Result<(), Failure> {
    add_with(victim, journal, container, &format!("{container}-{}", "x".repeat(64 << 10)))
}

fn add_with(victim: &Victim, journal: &Journal, container: &str, comment: &str) -> Result<(), Failure> {
    let pod = Pod { network: "disk".to_owned(), container: container.to_owned() };
    let config: Value = json!({
        "cniVersion": "1.1.0",
        "name": pod.network,
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.92.0.0/16" }]], "comment": comment },
    });
    journal.add_sent(&pod);
    let client = victim.client()?;
    let address = victim.block_on(client.add(&pod, &config))?;
    Ok(journal.added(&pod, &address)?)
}

/// ADDs pods until one is refused with one of these codes.
fn add_until_refused(victim: &Victim, journal: &Journal, codes: &[u32]) -> anyhow::Result<()> {
    for number in 0..MOST {
        match add(victim, journal, &format!("filling-{number}")) {
            Ok(()) => {}
            Err(Failure::Refused { code, .. }) if codes.contains(&code) => return Ok(()),
            Err(failure) => bail!("ADD {number}: {failure}"),
        }
    }
    bail!("none of {MOST} ADDs was refused")
}

/// Waits until the daemon serves an ADD again by itself.
fn goes_on(victim: &Victim, journal: &Journal, name: &str) -> anyhow::Result<()> {
    let mut attempt = 0;
    wait::holds("the daemon to recover", LIMIT, || {
        attempt += 1;
        match add(victim, journal, &format!("{name}-{attempt}")) {
            Ok(()) => Ok(true),
            Err(Failure::Refused { code: CHECKPOINT_FAILED | DISK_FULL, .. }) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    })
}

/// Waits until refused ADDs are undone without a DEL.
fn undone(victim: &Victim, journal: &Journal) -> anyhow::Result<()> {
    let result = wait::holds("refused ADDs to be undone", LIMIT, || Ok(exactly(victim, journal).is_ok()));
    result.and_then(|()| exactly(victim, journal))
}

/// Checks that pods own exactly the addresses that they were answered.
fn exactly(victim: &Victim, journal: &Journal) -> anyhow::Result<()> {
    let client = victim.client()?;
    journal.check_exactly(&victim.block_on(client.owners())?)
}
