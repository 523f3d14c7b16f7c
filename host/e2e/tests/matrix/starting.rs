//! A daemon that still compiles the policy of the network: its compiler is stopped.

use std::fs;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};
use tenure_e2e::{Daemon, bomb, wait};

use crate::component;
use crate::node::{LIMIT, Node};

/// How often the compiler may have ended before it could be stopped.
const ATTEMPTS: u32 = 20;

/// Starts the daemon again without the compiled form of the network's policy, and stops its compiler. The policy takes seconds to compile,
/// so that the compiler can be found.
pub(crate) fn starting(node: &mut Node) -> anyhow::Result<()> {
    let file = node.daemon.path("slow.wasm");
    fs::write(&file, bomb::within(fs::read(component::build("tenure-host-local", &node.daemon)?)?)?)?;
    let digest = component::digest(&file)?;
    node.start(&format!("[sandbox]\ncompile_seconds = 600\n{}", component::entry("host-local", &file)?))?;
    let seconds = LIMIT.as_secs().to_string();
    node.daemon.ctl(&["policy", "list", "--wait", &seconds])?;
    node.populate()?;
    // Only the network's policy is to be compiled again, and not the one beside it.
    let compiled = node.daemon.state_directory().join("compiled");
    wait::holds("the compiled form of both policies", LIMIT, || Ok(fs::read_dir(&compiled)?.count() >= 2))?;
    for _ in 0..ATTEMPTS {
        node.daemon.kill()?;
        forget(&node.daemon, &digest)?;
        node.daemon.spawn()?;
        let stopped = wait::until("the compiler", LIMIT, || {
            let Some(compiler) = compiler(&node.daemon)? else {
                return Ok(is_up(&node.daemon).then_some(None));
            };
            // It may have ended meanwhile.
            let _ = kill_process(compiler, Signal::STOP);
            Ok(Some(Some(compiler)))
        })?;
        let Some(stopped) = stopped else { continue };
        let stopped = Stopped(stopped);
        for socket in ["admin.sock", "cni.sock", "agent/agent.sock"] {
            let path = node.daemon.run_directory().join(socket);
            wait::holds(socket, LIMIT, || Ok(UnixStream::connect(&path).is_ok()))?;
        }
        if compiler(&node.daemon)?.is_some() {
            node.causes.push(Box::new(stopped));
            return Ok(());
        }
    }
    anyhow::bail!("the compiler was never stopped in time")
}

/// A compiler that is stopped. Dropping it ends it: it was stopped before it could learn that the daemon has ended.
struct Stopped(Pid);

impl Drop for Stopped {
    fn drop(&mut self) {
        if is_compiler(self.0.as_raw_nonzero().get()) {
            let _ = kill_process(self.0, Signal::KILL);
        }
    }
}

/// Removes the compiled form of a policy. There is none yet if the daemon was ended between compiling and keeping it.
fn forget(daemon: &Daemon, digest: &str) -> anyhow::Result<()> {
    for entry in fs::read_dir(daemon.state_directory().join("compiled"))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(digest) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether the daemon answers.
fn is_up(daemon: &Daemon) -> bool {
    daemon.ctl_output(&["status"]).is_ok_and(|output| matches!(output.status.code(), Some(0 | 1)))
}

/// The daemon's compiler, if one is at work.
fn compiler(daemon: &Daemon) -> anyhow::Result<Option<Pid>> {
    let daemon = daemon.pid()?.as_raw_nonzero().get();
    for task in fs::read_dir(format!("/proc/{daemon}/task"))? {
        // The thread may have ended.
        let children = fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        let mut children = children.split_whitespace().filter_map(|child| child.parse().ok());
        if let Some(child) = children.find(|child| is_compiler(*child)) {
            return Ok(Pid::from_raw(child));
        }
    }
    Ok(None)
}

/// Whether a process has become a compiler: until then, it shares the daemon's locks.
fn is_compiler(process: i32) -> bool {
    let words = fs::read_to_string(format!("/proc/{process}/cmdline"));
    words.is_ok_and(|words| words.starts_with("tenure-compiler"))
}
