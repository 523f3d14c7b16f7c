//! Disks that crash, fail or fill up under the daemon: what it acknowledged is there, and it goes on by itself.
//!
//! `TENURE_DISK_ROUNDS=n` crashes each file system so many times, `TENURE_SEED=n` repeats a run's choices.

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

/// The checkpoint could not be written.
const CHECKPOINT_FAILED: u32 = 111;
/// The disk is full.
const DISK_FULL: u32 = 112;

/// How long a daemon may take to go on after its disk has come back.
const LIMIT: Duration = Duration::from_secs(60);
/// A short load has fewer syncs, and a full disk takes fewer ADDs, or the test would not end.
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
    let seed = random::seed()?;
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
        // A name of its own: what replaces a file is written out early.
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

/// What is written and not synced right before a crash, and how its file's name begins.
const CONTROL: &str = "not-synced";

/// Starts a daemon on a disk that may have crashed, and holds it against its promises.
fn on(disk: &Mount, journal: &Journal) -> anyhow::Result<Victim> {
    for entry in fs::read_dir(disk.path(""))? {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        let survived = name.to_string_lossy().starts_with(CONTROL) && fs::read(&path)? == CONTROL.as_bytes();
        ensure!(!survived, "the crash was none: {} is there, and was never synced", path.display());
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
            ensure!(at < MOST, "a short load has no end of {calls}");
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

/// Whether a sync failed in a trace; then that log must not have been synced again.
fn left_the_file(trace: &str) -> anyhow::Result<bool> {
    let path = |line: &str| Some(line.split_once('<')?.1.split_once('>')?.0.to_owned());
    let mut lines = trace.lines().skip_while(|line| !line.contains("INJECTED"));
    let Some(failed) = lines.next() else { return Ok(false) };
    let file = path(failed).with_context(|| failed.to_owned())?;
    // What is no segment yet is written anew under the same temporary name, and a directory has no content to lose.
    let is_segment =
        Path::new(&file).file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."));
    if is_segment && !file.ends_with(".tmp") {
        ensure!(!lines.any(|line| path(line).as_ref() == Some(&file)), "{file} was synced again:\n{trace}");
    }
    Ok(true)
}

/// A file system on an image in memory, `IMAGE`: once the memory is full, what is written is lost.
fn on_memory() -> anyhow::Result<(Mount, Mount, BlockByBlock)> {
    let memory = Mount::tmpfs(96 << 20)?;
    let image = memory.path(IMAGE);
    Kind::Ext4.make(&image)?;
    // The file system's own blocks get their room now, and those that it has still to give when they are written.
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
    // Which of the two it is, the kernel decides.
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

/// Not only what the page cache still has: everything is there on the image mounted anew.
fn exactly_without_cache(disk: Mount, memory: &Mount, journal: &Journal) -> anyhow::Result<()> {
    disk.unmount()?;
    let disk = Mount::image(&memory.path(IMAGE))?;
    let mut victim = victim_on(&disk)?;
    victim.start()?;
    exactly(&victim, journal)?;
    victim.deletes_everything(journal)
}

/// The kernel calls the pages of a failed sync clean. A daemon that is killed right then leaves a group that the next one could
/// read and no sync would write; whatever that one acknowledged behind it would be lost with it.
fn lost_group() -> anyhow::Result<()> {
    mount::private_namespace()?;
    let (memory, disk, _limit) = on_memory()?;
    let journal = Arc::new(Journal::default());
    let mut victim = on(&disk, &journal)?;
    add_with(&victim, &journal, "before", "")?;
    // After a failure the log is cut: this is the moment between the two.
    let fault = Fault { calls: "ftruncate", effect: "signal=KILL", at: 1 };
    let tracer = fault.attach(victim.pid()?, &victim.daemon.path("trace"))?;
    memory.fill("ballast", 0)?;
    // Each the same but for its name, so that what is lost is an allocation.
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
        "no group was lost, so there is nothing to try"
    );
    victim.keeps_promises(&journal)?;
    goes_on(&victim, &journal, "after")?;
    disk.switch()?.crash()?;
    victim.kill()?;
    drop(victim);
    exactly_without_cache(disk, &memory, &journal)
}

/// A crash would take everything along with a name that was never synced.
fn unnamed_state() -> anyhow::Result<()> {
    let mut victim = Victim::new()?;
    refuses_to_start(&mut victim, "fsync", "state directory")?;
    victim.start()
}

/// Killed between a directory and the sync of its name, a start leaves to the next what was not synced yet.
fn unnamed_states_above() -> anyhow::Result<()> {
    // The directory that is there already counts: it may be what a start before made.
    for killed_at in 1..=4 {
        let directory = scratch::directory()?;
        let levels = ["", "a", "a/b", "a/b/state"].map(|level| directory.path().join(level));
        let asked = syncs_until(directory.path(), "fsync", killed_at)?;
        ensure!(asked.len() == killed_at, "{asked:?} before sync {killed_at}");
        let made = levels.iter().filter(|level| level.exists()).count();
        ensure!(made == killed_at, "{made} levels before sync {killed_at}");
        // The first sync of a file comes after those of the directories.
        let synced = syncs_until(directory.path(), "fdatasync", 1)?;
        let above: Vec<_> = levels.iter().skip(killed_at - 1).filter_map(|level| level.parent()).collect();
        let first: Vec<_> = synced.iter().map(PathBuf::as_path).take(above.len()).collect();
        ensure!(first == above, "{synced:?} were synced, not {above:?} first");
    }
    Ok(())
}

/// Starts a daemon on `a/b/state` in a directory, kills it right before a call, and says what it asked to be synced.
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
    // The call that the process is killed in may be written down twice; no directory is synced twice in a row.
    paths.dedup();
    Ok(paths)
}

/// Nobody knows what a disk has that says so; it is asked again by the next start.
fn unsynced_start() -> anyhow::Result<()> {
    let journal = Arc::new(Journal::default());
    let mut victim = Victim::new()?;
    victim.start()?;
    goes_on(&victim, &journal, "before")?;
    victim.kill()?;
    // As often as the disk is in trouble, and more often than a service manager may try unless it is told to.
    for _ in 0..6 {
        refuses_to_start(&mut victim, "fdatasync", "syncing log.0000000001")?;
    }
    victim.start()?;
    exactly(&victim, &journal)
}

/// The first sync of a start fails, and it says so and ends.
fn refuses_to_start(victim: &mut Victim, calls: &'static str, cause: &str) -> anyhow::Result<()> {
    let words = Fault { calls, effect: "error=EIO", at: 1 }.words(&victim.daemon.path("trace"));
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let ended = victim.start_under(&words)?;
    ensure!(ended.is_some_and(|status| status.code() == Some(1)), "ended with {ended:?}");
    ensure!(!victim.daemon.log(cause).is_empty(), "it does not say what is wrong");
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

/// ADDs a pod under a configuration that is long and new, so that much is written.
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
    bail!("{MOST} ADDs, and none was refused")
}

/// The daemon serves an ADD again by itself.
fn goes_on(victim: &Victim, journal: &Journal, name: &str) -> anyhow::Result<()> {
    let mut attempt = 0;
    wait::holds("the daemon to go on", LIMIT, || {
        attempt += 1;
        match add(victim, journal, &format!("{name}-{attempt}")) {
            Ok(()) => Ok(true),
            Err(Failure::Refused { code: CHECKPOINT_FAILED | DISK_FULL, .. }) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    })
}

/// What was refused is undone without anybody's DEL.
fn undone(victim: &Victim, journal: &Journal) -> anyhow::Result<()> {
    let result = wait::holds("what was refused to be undone", LIMIT, || Ok(exactly(victim, journal).is_ok()));
    result.and_then(|()| exactly(victim, journal))
}

/// What pods own is what they were told, no more and no less.
fn exactly(victim: &Victim, journal: &Journal) -> anyhow::Result<()> {
    let client = victim.client()?;
    journal.check_exactly(&victim.block_on(client.owners())?)
}
