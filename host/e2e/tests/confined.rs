//! The children that read what strangers have written: another user can neither touch them nor what they answer.
//!
//! What the policy compiler answers runs as the daemon, so a process that could attach to it would be the daemon.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_writev};
use rustix::process::{Gid, Pid, Signal, Uid, kill_process, test_kill_process};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tenure_e2e::{Daemon, Need, Suite, bomb, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
const NOBODY: u32 = 65534;
/// The first of the users that the children become, as SECURITY.md has it.
const FIRST_USER: u32 = 2_113_929_216;
/// How many compilers are started while another user tries to reach them.
const STARTED: usize = 24;

fn main() -> ExitCode {
    Suite::new()
        .test("another_user_cannot_touch_the_policy_compiler", &[Need::Root], compiler)
        .test("another_user_cannot_touch_a_policy_compiler_that_starts", &[Need::Root], starting)
        .test("another_user_cannot_touch_what_speaks_to_a_registry", &[Need::Root], fetcher)
        .run()
}

/// Runs work on a thread with another user's ID and without capabilities.
fn as_user<T: Send>(user: u32, work: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
    let run = || {
        let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        anyhow::Ok(work())
    };
    thread::scope(|scope| scope.spawn(run).join()).map_err(|_| anyhow!("the other user panicked"))?
}

/// The ways to get at a process, and those among them that succeed.
fn successes(pid: Pid) -> Vec<&'static str> {
    let number = pid.as_raw_nonzero().get();
    let process = nix::unistd::Pid::from_raw(number);
    let open = |file: &str| fs::OpenOptions::new().write(true).open(format!("/proc/{number}/{file}"));
    let written = || {
        // Nothing is mapped there: who may write gets EFAULT.
        let there = RemoteIoVec { base: 8, len: 1 };
        process_vm_writev(process, &[std::io::IoSlice::new(b"x")], &[there]) == Err(Errno::EFAULT)
    };
    let attached = || {
        let attached = nix::sys::ptrace::attach(process).is_ok();
        // The thread that attached ends, and lets go of it.
        attached
    };
    let ways: [(&str, bool); 7] = [
        ("writes to its memory", open("mem").is_ok()),
        ("opens its input", fs::File::open(format!("/proc/{number}/fd/0")).is_ok()),
        ("opens its output", open("fd/1").is_ok()),
        ("lists its descriptors", fs::read_dir(format!("/proc/{number}/fd")).is_ok()),
        ("writes by process_vm_writev", written()),
        ("signals it", test_kill_process(pid).is_ok()),
        ("attaches to it", attached()),
    ];
    ways.into_iter().filter_map(|(way, succeeds)| succeeds.then_some(way)).collect()
}

/// The children of a process.
fn children(parent: Pid) -> anyhow::Result<Vec<Pid>> {
    let parent = format!("PPid:\t{}\n", parent.as_raw_nonzero());
    let processes = fs::read_dir("/proc")?.flatten().filter_map(|process| {
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        let number = process.file_name().to_str()?.parse().ok()?;
        status.contains(&parent).then(|| Pid::from_raw(number)).flatten()
    });
    Ok(processes.collect())
}

/// Waits until a child has taken everything from itself that it does not need, and checks what is left.
fn confined(pid: Pid) -> anyhow::Result<()> {
    let number = pid.as_raw_nonzero();
    let status = wait::until("the filter of system calls", LIMIT, || {
        let status = fs::read_to_string(format!("/proc/{number}/status"))?;
        Ok(status.contains("Seccomp:\t2\n").then_some(status))
    })?;
    let user = FIRST_USER + number.get().unsigned_abs();
    let lines = [
        format!("Uid:\t{user}\t{user}\t{user}\t{user}"),
        format!("Gid:\t{user}\t{user}\t{user}\t{user}"),
        "CapInh:\t0000000000000000".to_owned(),
        "CapPrm:\t0000000000000000".to_owned(),
        "CapEff:\t0000000000000000".to_owned(),
        "NoNewPrivs:\t1".to_owned(),
    ];
    for line in lines {
        ensure!(status.lines().any(|found| found == line), "{line} is missing: {status}");
    }
    ensure!(status.lines().any(|line| line.trim_end() == "Groups:"), "it has groups: {status}");
    Ok(())
}

/// Tries everything as another user: as `nobody`, as another child, and as the very user that the child has become. The
/// kernel lets that user signal the process; who can become it is root.
fn untouched(pid: Pid) -> anyhow::Result<()> {
    let own = FIRST_USER + pid.as_raw_nonzero().get().unsigned_abs();
    for (user, allowed) in [(NOBODY, &[][..]), (own - 1, &[]), (own, &["signals it"])] {
        let successes = as_user(user, || successes(pid))?;
        ensure!(successes == allowed, "user {user}: {successes:?}");
    }
    Ok(())
}

/// Starts `tenurectl` and leaves it at its work.
fn beside(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Running> {
    Ok(Running(daemon.tenurectl(arguments)?.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Loads a component that takes minutes to compile, and returns its compiler.
fn busy(daemon: &Daemon) -> anyhow::Result<(Running, Pid)> {
    let path = daemon.path("bomb.wasm");
    fs::write(&path, wat::parse_str(bomb::component(2000))?)?;
    let load = beside(daemon, &["policy", "load", &path.display().to_string()])?;
    let pid = daemon.pid()?;
    let compiler = wait::until("the compiler", LIMIT, || Ok(children(pid)?.first().copied()))?;
    Ok((load, compiler))
}

fn compiler() -> anyhow::Result<()> {
    // A start's own policies are compiled first.
    let mut daemon = Daemon::start_with("[sandbox]\ncompile_seconds = 600\n")?;
    daemon.loads_policies()?;
    let (load, compiler) = busy(&daemon)?;
    confined(compiler)?;
    let open = fs::read_dir(format!("/proc/{}/fd", compiler.as_raw_nonzero()))?;
    let mut open: Vec<_> = open.flatten().map(|entry| entry.file_name()).collect();
    open.sort();
    ensure!(open == ["0", "1", "2"], "it has {open:?} open");
    untouched(compiler)?;
    // What the test itself may do shows that the ways lead there.
    let ours = successes(compiler);
    ensure!(ours.len() == 7, "root only {ours:?}");
    kill_process(compiler, Signal::CONT)?;
    drop(load);
    ensure!(daemon.stop()?.success(), "the daemon did not stop cleanly");
    Ok(())
}

/// Clients that wait for the compiler get no hold of it from its first instruction on.
fn starting() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    daemon.loads_policies()?;
    let pid = daemon.pid()?;
    let done = AtomicBool::new(false);
    let (seen, touched) = thread::scope(|scope| {
        let trying = scope.spawn(|| {
            as_user(NOBODY, || {
                let (mut seen, mut touched) = (0, Vec::new());
                while !done.load(Ordering::Acquire) {
                    for child in children(pid).unwrap_or_default() {
                        let number = child.as_raw_nonzero();
                        let memory = fs::OpenOptions::new().write(true).open(format!("/proc/{number}/mem"));
                        seen += 1;
                        if let Ok(memory) = memory {
                            let _ = memory.write_at(b"x", 8);
                            touched.push(number);
                        }
                    }
                }
                (seen, touched)
            })
        });
        for number in 0..STARTED {
            let path = daemon.path(&format!("{number}.wasm"));
            // It is refused, after a compiler was started for it.
            let component = format!("(component (core module (func (result i32) i32.const {number})))");
            fs::write(&path, wat::parse_str(component)?)?;
            daemon.ctl_output(&["policy", "load", &path.display().to_string()])?;
        }
        done.store(true, Ordering::Release);
        trying.join().map_err(|_| anyhow!("the other user panicked"))?
    })?;
    ensure!(seen > 0, "it has not met a compiler");
    ensure!(touched.is_empty(), "another user could write to the memory of {touched:?}");
    Ok(())
}

fn fetcher() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    // A registry that does not answer.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let source = format!("oci://{}/policy@sha256:{}", silent.local_addr()?, "0".repeat(64));
    let load = beside(&daemon, &["policy", "load", &source])?;
    let connection = silent.accept()?;
    let parent = i32::try_from(load.0.id()).ok().and_then(Pid::from_raw).context("no process")?;
    let fetcher = wait::until("the fetcher", LIMIT, || Ok(children(parent)?.first().copied()))?;
    confined(fetcher)?;
    untouched(fetcher)?;
    drop((connection, load));
    Ok(())
}
