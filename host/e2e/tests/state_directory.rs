//! A state directory that is taken away from a running daemon, or that others may write to: nothing is acknowledged that a
//! restart would not find.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Plugin, Suite, mount, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The CNI code for "the checkpoint could not be written".
const CHECKPOINT_FAILED: u32 = 111;
/// The daemon's exit code for failures that a restart does not fix.
const PERMANENT: i32 = 2;

fn main() -> ExitCode {
    Suite::new()
        .test("a_state_directory_that_is_removed_is_noticed", &[], removed)
        .test("one_that_is_emptied_in_place_is_written_again_from_memory", &[], emptied)
        .test("one_that_is_renamed_is_noticed_and_served_again_when_it_is_back", &[], renamed)
        .test("one_that_is_replaced_by_an_empty_one_is_noticed", &[], replaced)
        .test("one_that_is_replaced_by_a_copy_of_itself_is_noticed", &[], copied)
        .test("one_that_is_mounted_over_is_noticed", &[Need::Root, Need::UTIL_LINUX], mounted_over)
        .test("a_state_directory_that_others_may_write_to_is_refused", &[], writable)
        .test("what_a_start_refuses_the_check_refuses_too", &[], checked)
        .run()
}

fn config() -> Value {
    let ranges = json!([[{ "subnet": "10.86.0.0/24" }]]);
    json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure", "ranges": ranges } })
}

fn add(shim: &Plugin, pod: &str) -> anyhow::Result<()> {
    shim.call("ADD", &Attachment::of(pod), &config())?.result()?;
    Ok(())
}

/// The status of the node, which must say what became of the directory, without any request in between.
fn is_told(daemon: &Daemon) -> anyhow::Result<()> {
    wait::holds("the status to say it", LIMIT, || {
        let output = daemon.ctl_output(&["status"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(output.status.code() == Some(1)
            && text.contains("checkpoint-failed")
            && text.contains("no longer what this daemon opened"))
    })
}

/// Takes the directory away and expects that nothing is acknowledged from then on, and that it is said.
fn gone(
    take: impl FnOnce(&Path, &Path) -> anyhow::Result<()>,
    clean_up: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    add(&shim, "before")?;
    take(&daemon.state_directory(), &daemon.path("aside"))?;
    refuses(&daemon, &shim)?;
    is_told(&daemon)?;
    // A restart finds that the state is not the one that it acknowledged, or that it is whole.
    daemon.kill()?;
    daemon.launch()?;
    let held = daemon.allocations("pods").unwrap_or_default();
    let lost = daemon.ctl_output(&["status"])?;
    let is_lost = String::from_utf8_lossy(&lost.stdout).contains("state-lost");
    ensure!(is_lost || held.len() == 1, "neither lost nor whole: {held:?}");
    daemon.kill()?;
    clean_up(&daemon.state_directory())
}

/// No request of any kind is acknowledged.
fn refuses(daemon: &Daemon, shim: &Plugin) -> anyhow::Result<()> {
    for pod in ["after", "later"] {
        let answer = shim.call("ADD", &Attachment::of(pod), &config())?;
        answer.error_code(CHECKPOINT_FAILED).with_context(|| daemon.log("acknowledged"))?;
    }
    Ok(())
}

fn removed() -> anyhow::Result<()> {
    gone(|state, _| Ok(fs::remove_dir_all(state)?), |_| Ok(()))
}

fn replaced() -> anyhow::Result<()> {
    let replace = |state: &Path, aside: &Path| {
        fs::rename(state, aside)?;
        Ok(fs::create_dir(state)?)
    };
    gone(replace, |_| Ok(()))
}

fn copied() -> anyhow::Result<()> {
    let copy = |state: &Path, aside: &Path| {
        fs::rename(state, aside)?;
        mount::run(Command::new("cp").arg("-a").arg(aside).arg(state))
    };
    gone(copy, |_| Ok(()))
}

fn renamed() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    add(&shim, "before")?;
    let (state, aside) = (daemon.state_directory(), daemon.path("aside"));
    fs::rename(&state, &aside)?;
    // Nobody asks for anything, and it is said.
    is_told(&daemon)?;
    refuses(&daemon, &shim)?;
    fs::rename(&aside, &state)?;
    let ready = daemon.ctl_output(&["status", "--wait", &LIMIT.as_secs().to_string()])?;
    ensure!(ready.status.success(), "not ready again");
    add(&shim, "after")?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(daemon.allocations("pods")?.len() == 2, "a restart finds something else");
    Ok(())
}

/// The files are gone and the directory is not: memory has everything.
fn emptied() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    add(&shim, "before")?;
    for file in fs::read_dir(daemon.state_directory())? {
        let path = file?.path();
        if path.is_file() {
            fs::remove_file(path)?;
        }
    }
    let snapshot = daemon.state_directory().join("snapshot.0000000002");
    wait::holds("the state to be written again", LIMIT, || Ok(snapshot.exists()))?;
    let ready = daemon.ctl_output(&["status", "--wait", &LIMIT.as_secs().to_string()])?;
    ensure!(ready.status.success(), "not ready again");
    add(&shim, "after")?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(daemon.allocations("pods")?.len() == 2, "a restart finds something else");
    Ok(())
}

fn mounted_over() -> anyhow::Result<()> {
    mount::private_namespace()?;
    let over = |state: &Path, _: &Path| {
        mount::run(Command::new("mount").args(["-t", "tmpfs", "-o", "mode=0700", "tmpfs"]).arg(state))
    };
    gone(over, |state| mount::run(Command::new("umount").arg(state)))
}

/// Runs a start that is expected to fail, and returns its output.
fn start(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut command = daemon.command()?;
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let ended = wait::holds("the daemon to refuse", LIMIT, || Ok(child.try_wait()?.is_some()));
    let _ = child.kill();
    let output = child.wait_with_output()?;
    ended?;
    Ok(output)
}

fn writable() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    add(&daemon.shim()?, "before")?;
    ensure!(daemon.stop()?.success(), "the stop is not clean");
    let state = daemon.state_directory();
    let log = state.join("log.0000000001");
    let whole = fs::read(&log)?;
    for (path, mode, back) in [(&state, 0o777, 0o700), (&state, 0o1777, 0o700), (&log, 0o666, 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        for arguments in [&[][..], &["--check-config"]] {
            let output = start(&daemon, arguments)?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            ensure!(output.status.code() == Some(PERMANENT), "{mode:o}, {arguments:?}: {said}");
            let words = format!("any user can write to it; run `chmod go-w {}`", path.display());
            ensure!(said.contains(&words), "{mode:o}, {arguments:?}: {said}");
        }
        fs::set_permissions(path, fs::Permissions::from_mode(back))?;
    }
    ensure!(fs::read(&log)? == whole, "a refused start changed the log");
    daemon.start_again()?;
    ensure!(daemon.allocations("pods")?.len() == 1, "it is not served again");
    Ok(())
}

/// The files below a directory with their contents.
fn files(directory: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.is_file() {
            let bytes = fs::read(&path)?;
            found.insert(path, bytes);
        }
    }
    Ok(found)
}

fn checked() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    add(&daemon.shim()?, "before")?;
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    // Beside the running daemon.
    let whole = start(&daemon, &["--check-config"])?;
    ensure!(whole.status.success(), "{}", said(&whole));
    ensure!(daemon.stop()?.success(), "the stop is not clean");

    let missing = daemon.path("nothing");
    daemon.configure(&format!(
        "[delegates.other]\npath = \"{0}\"\n[cni]\ndirectory = \"{0}\"\n[runtime]\nsocket = \"{0}\"\n",
        missing.display()
    ))?;
    let warned = start(&daemon, &["--check-config"])?;
    for key in ["delegates.other", "cni.directory", "runtime.socket"] {
        let is_said = said(&warned).contains(&format!("warning: {key}: {}: No such file", missing.display()));
        ensure!(warned.status.success() && is_said, "{key}: {}", said(&warned));
    }

    let log = daemon.state_directory().join("log.0000000001");
    let text = fs::read_to_string(&log)?;
    fs::write(&log, text.replacen("before", "becore", 1))?;
    let (state, run) = (files(&daemon.state_directory())?, files(&daemon.run_directory())?);
    let damaged = start(&daemon, &["--check-config"])?;
    ensure!(damaged.status.code() == Some(PERMANENT), "{}", said(&damaged));
    ensure!(said(&damaged).contains("log.0000000001 is damaged at byte"), "{}", said(&damaged));
    ensure!(said(&damaged).contains(" next: "), "{}", said(&damaged));
    let now = (files(&daemon.state_directory())?, files(&daemon.run_directory())?);
    ensure!(now == (state, run), "the check changed a file");

    fs::write(&log, text)?;
    fs::set_permissions(daemon.run_directory(), fs::Permissions::from_mode(0o777))?;
    let writable = start(&daemon, &["--check-config"])?;
    fs::set_permissions(daemon.run_directory(), fs::Permissions::from_mode(0o750))?;
    ensure!(writable.status.code() == Some(PERMANENT), "{}", said(&writable));
    ensure!(said(&writable).contains("any user can write to it"), "{}", said(&writable));
    Ok(())
}
