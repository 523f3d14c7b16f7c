//! The child's side: drops every privilege and limits itself, then reads, compiles and writes.

use std::fs;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use rustix::process::{
    Resource, Rlimit, Signal, geteuid, set_parent_process_death_signal, setpriority_process, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, capabilities, set_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::here;

/// The argument that marks a child; its limit of processor seconds follows.
pub(super) const ARGUMENT: &str = "--compile-policy-from-standard-input";

/// The user and group `nobody`.
pub(super) const NOBODY: u32 = 65534;

/// The child's address space, in bytes.
const MEMORY: u64 = 2 << 30;

/// The number of its pipes: it can open neither a file nor a socket besides.
const FILES: u64 = 3;

/// The child's niceness: serving requests takes precedence.
const NICE: i32 = 10;

/// The file and value that make this child one of the first processes that the kernel kills when memory runs out.
const OUT_OF_MEMORY: (&str, &str) = ("/proc/self/oom_score_adj", "800");

/// Compiles if this process was started for it, and returns its exit code. A daemon's `main` must call it first.
#[must_use]
pub fn maybe_run_compiler_child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let seconds = arguments.next().and_then(|seconds| seconds.to_str()?.parse().ok()).unwrap_or(1);
    Some(match serve(seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprint!("{cause}");
            ExitCode::FAILURE
        }
    })
}

fn serve(seconds: u64) -> Result<(), String> {
    confine(seconds).map_err(|error| format!("cannot limit the compiler: {error}"))?;
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let compiled = here::compile(&bytes)?;
    io::stdout().lock().write_all(&compiled).map_err(|error| error.to_string())
}

fn confine(seconds: u64) -> io::Result<()> {
    let (file, adjustment) = OUT_OF_MEMORY;
    // The daemon may be protected from the OOM killer, and its child inherits that.
    match fs::write(file, adjustment) {
        Err(error) if fs::read_to_string(file)?.starts_with('-') => return Err(error),
        _ => {}
    }
    // If even that is forbidden, the child compiles at the usual priority.
    let _ = setpriority_process(None, NICE);
    drop_rights()?;
    // The child does not outlive the daemon's thread that waits for it. A change of the user clears this.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    for (resource, most) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, seconds.max(1)),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        (Resource::Nofile, FILES),
    ] {
        // If both limits are equal, the kernel sends SIGKILL at once, without SIGXCPU, and the parent cannot tell why
        // the child died.
        let maximum = if resource == Resource::Cpu { most + 1 } else { most };
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(maximum) })?;
    }
    Ok(())
}

/// Becomes `nobody`, unless the parent has done that or may not, and gives up every capability for ever.
///
/// A daemon without capabilities cannot become another user. Its child stays `root` by name, with no right but that of
/// the owner of files, of which it can open none.
fn drop_rights() -> io::Result<()> {
    let to_be_another = CapabilitySet::SETUID | CapabilitySet::SETGID;
    if geteuid().is_root() && capabilities(None)?.effective.contains(to_be_another) {
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        set_thread_res_uid(user, user, user)?;
    }
    let (left, none) = (capabilities(None)?, CapabilitySet::empty());
    // A filter may deny the call where there is nothing to give up.
    if !(left.effective | left.permitted).is_empty() {
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    }
    Ok(set_no_new_privs(true)?)
}
