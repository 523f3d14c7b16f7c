//! The run directory: it belongs to one daemon only, and holds the DELs that wait for it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Plugin, Suite, binaries, mount, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;
/// The daemon's exit code for failures that a restart does not fix.
const PERMANENT: i32 = 2;

fn main() -> ExitCode {
    Suite::new()
        .test("a_second_daemon_by_mistake_changes_nothing", &[], second_daemon)
        .test("a_run_directory_that_others_may_write_to_is_refused", &[Need::Root], writable)
        .test("a_spooled_del_that_is_none_keeps_no_other_waiting", &[], bad_entries)
        .test("a_del_is_not_done_where_no_daemon_has_its_directory", &[], mistyped_socket)
        .test("a_del_before_the_first_start_of_a_boot_is_kept", &[Need::Root], first_of_a_boot)
        .test("a_del_makes_no_run_directory_that_others_could_replace", &[Need::Root], unsafe_above)
        .run()
}

fn config() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": "pods",
        "ipam": { "type": "tenure", "wait": 0, "ranges": [[{ "subnet": "10.84.0.0/24" }]] },
    })
}

fn containers(daemon: &Daemon) -> anyhow::Result<BTreeSet<String>> {
    let id = |held: &Value| Some(held.get("container_id")?.as_str()?.to_owned());
    Ok(daemon.allocations("pods")?.iter().filter_map(id).collect())
}

/// The contents of a directory: names, and the text of regular files.
fn contents(directory: &Path) -> anyhow::Result<Vec<(String, Option<String>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let text = if entry.file_type()?.is_file() { Some(fs::read_to_string(entry.path())?) } else { None };
        found.push((entry.file_name().to_string_lossy().into_owned(), text));
    }
    found.sort();
    Ok(found)
}

/// Starts a daemon that is expected to exit by itself, and returns its output.
fn refused(daemon: &Daemon, run_directory: &Path) -> anyhow::Result<(Output, String)> {
    let mut command = daemon.command_in(run_directory)?;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let ended = wait::holds("the daemon to refuse", LIMIT, || Ok(child.try_wait()?.is_some()));
    // If it is still running, it must not outlive the test.
    let _ = child.kill();
    let output = child.wait_with_output()?;
    ended?;
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    Ok((output, said))
}

fn second_daemon() -> anyhow::Result<()> {
    let mut first = Daemon::start()?;
    let shim = first.shim()?;
    for pod in ["stays", "goes"] {
        shim.call("ADD", &Attachment::of(pod), &config())?.result()?;
    }
    // The first daemon hangs for a while, and the plugin spools a DEL for it.
    first.signal(Signal::STOP)?;
    let nobody = first.run_directory().join("nobody.sock").display().to_string();
    first.shim()?.env("TENURE_SOCKET", nobody).call("DEL", &Attachment::of("goes"), &config())?.silent()?;
    let before = (contents(&first.run_directory())?, contents(&first.run_directory().join("spool"))?);
    ensure!(before.1.len() == 1, "the DEL is not spooled: {before:?}");

    let second = Daemon::prepare()?;
    let (output, said) = refused(&second, &first.run_directory())?;
    ensure!(!output.status.success(), "a second daemon serves: {said}");
    let holder = format!("in use by process {}", first.pid()?.as_raw_nonzero());
    ensure!(said.contains(&holder), "it does not name the process that uses the directory: {said}");
    let after = (contents(&first.run_directory())?, contents(&first.run_directory().join("spool"))?);
    ensure!(before == after, "before: {before:?}\nafter: {after:?}");

    first.kill()?;
    first.start_again()?;
    wait::holds("the DEL to be done", LIMIT, || {
        Ok(containers(&first)? == BTreeSet::from(["stays".to_owned()]))
    })?;
    shim.call("ADD", &Attachment::of("next"), &config())?.result()?;
    Ok(())
}

fn writable() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    let run = daemon.run_directory();
    fs::create_dir(&run)?;
    for (owner, mode, who) in [(0, 0o757, "any user"), (0, 0o1777, "any user"), (4711, 0o750, "user 4711")] {
        fs::set_permissions(&run, fs::Permissions::from_mode(mode))?;
        std::os::unix::fs::chown(&run, Some(owner), None)?;
        let (output, said) = refused(&daemon, &run)?;
        ensure!(output.status.code() == Some(PERMANENT), "{mode:o} ended with {}: {said}", output.status);
        ensure!(said.contains(who) && said.contains(&run.display().to_string()), "{said}");
        ensure!(fs::read_dir(&run)?.count() == 0, "something was created in it");
        let metadata = fs::metadata(&run)?;
        ensure!((metadata.uid(), metadata.mode() & 0o7777) == (owner, mode), "its owner or mode was changed");
    }
    // Nor does the plugin spool a DEL where no daemon would ever read it.
    daemon.shim()?.call("DEL", &Attachment::of("pod"), &config())?.error_code(TRY_AGAIN)?;
    ensure!(fs::read_dir(&run)?.count() == 0, "a DEL was spooled");
    Ok(())
}

fn bad_entries() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address()))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    for pod in ["stays", "goes"] {
        shim.call("ADD", &Attachment::of(pod), &config())?.result()?;
    }
    daemon.kill()?;
    // Names that begin with zeros sort first.
    let spool = daemon.run_directory().join("spool");
    shim.call("DEL", &Attachment::of("goes"), &config())?.silent()?;
    let bad = |name: &str| spool.join(format!("0000000000000000-{name}.json"));
    fs::write(bad("text"), "not JSON")?;
    fs::create_dir(bad("directory"))?;
    fs::write(bad("directory").join("file"), "")?;
    mknodat(CWD, bad("pipe"), FileType::Fifo, 0o600.into(), 0)?;
    symlink("nowhere", bad("dangling"))?;
    symlink("/dev/zero", bad("endless"))?;
    fs::File::create(bad("sparse"))?.set_len(3 << 30)?;
    let nameless = json!({ "config": config().to_string(), "started_at_boot_ms": 1, "interface": "eth0" });
    fs::write(bad("nameless"), nameless.to_string())?;
    const SET_ASIDE: usize = 7;

    daemon.start_again()?;
    wait::holds("the DEL to be done", LIMIT, || {
        Ok(containers(&daemon)? == BTreeSet::from(["stays".to_owned()]))
    })?;
    let names: Vec<String> = fs::read_dir(&spool)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<_>>()?;
    ensure!(!names.iter().any(|name| name.ends_with(".json")), "still waiting: {names:?}");
    ensure!(names.len() == SET_ASIDE, "{names:?} were kept");
    let page = daemon.metrics()?;
    let counted = page.lines().find_map(|line| line.strip_prefix("tenure_spool_set_aside_total "));
    ensure!(counted.context("not counted")? == SET_ASIDE.to_string(), "{counted:?} were counted");
    ensure!(!daemon.log("set aside").is_empty(), "the log does not mention it");
    Ok(())
}

fn mistyped_socket() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &config())?.result()?;
    let mistyped = daemon.path("rum/tenure/cni.sock").display().to_string();
    let shim = daemon.shim()?.env("TENURE_SOCKET", mistyped);
    let error = shim.call("DEL", &Attachment::of("pod"), &config())?.error_code(TRY_AGAIN)?;
    ensure!(format!("{error:?}").contains("rum/tenure"), "{error:?}");
    ensure!(!daemon.path("rum").exists(), "no daemon would ever read a spool there");
    Ok(())
}

/// The directory in which a plugin without any setting looks for the daemon.
const DEFAULT: &str = "/run/tenure";

/// Gives this test an empty /run of its own, and returns a plugin without any setting.
fn just_booted() -> anyhow::Result<Plugin> {
    mount::private_namespace()?;
    mount::run(Command::new("mount").args(["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"]))?;
    Ok(Plugin::new(&binaries::find("tenure")?).without("TENURE_SOCKET"))
}

/// Pods of before the reboot are cleaned up before the daemon starts for the first time.
fn first_of_a_boot() -> anyhow::Result<()> {
    let shim = just_booted()?;
    let pod = Attachment::of("pod");
    let mut late = shim.begin("ADD", &pod)?;
    late.rests()?;
    shim.call("DEL", &pod, &config())?.silent()?;
    let (run, spool) = (Path::new(DEFAULT), Path::new(DEFAULT).join("spool"));
    for directory in [run, &spool] {
        let metadata = fs::metadata(directory)?;
        let found = (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777);
        ensure!(found == (0, 0, 0o750), "{}: {found:?}", directory.display());
    }
    let error = shim.call("ADD", &pod, &config())?.error_code(TRY_AGAIN)?;
    ensure!(error.msg.contains("the socket does not exist"), "{error:?}");
    ensure!(fs::read_dir(&spool)?.count() == 1, "the DEL is not spooled");

    let mut daemon = Daemon::prepare()?.served_in(run.to_owned());
    daemon.start_again()?;
    ensure!(fs::read_dir(&spool)?.count() == 0, "the daemon did not take in the DEL");
    late.send(config().to_string().as_bytes())?;
    let error = late.finish()?.error_code(TRY_AGAIN)?;
    ensure!(error.details.contains("superseded"), "the daemon does not know the DEL: {error:?}");
    shim.call("ADD", &pod, &config())?.result()?;
    Ok(())
}

fn unsafe_above() -> anyhow::Result<()> {
    let shim = just_booted()?;
    fs::set_permissions("/run", fs::Permissions::from_mode(0o1777))?;
    let error = shim.call("DEL", &Attachment::of("pod"), &config())?.error_code(TRY_AGAIN)?;
    let why = "run directory /run/tenure: cannot be created in /run: any user can write to it";
    ensure!(error.msg.contains(why), "{error:?}");
    ensure!(!Path::new(DEFAULT).exists(), "anybody could have replaced it");
    Ok(())
}
