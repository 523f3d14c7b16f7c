//! The child's side: drops every privilege and limits itself, then reads, compiles and writes.

use std::fs;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};

use super::here;
use crate::confine::{SystemCalls, close_inherited, drop_rights, filter};

/// The argument that marks a child; its limit of processor seconds follows.
pub(super) const ARGUMENT: &str = "--compile-policy-from-standard-input";

/// The child's address space, in bytes.
const MEMORY: u64 = 2 << 30;

/// The number of its pipes: it can open neither a file nor a socket besides.
const FILES: u64 = 3;

/// The child's niceness: serving requests takes precedence.
const NICE: i32 = 10;

/// The file and value that make this child one of the first processes that the kernel kills when memory runs out.
const OUT_OF_MEMORY: (&str, &str) = ("/proc/self/oom_score_adj", "800");

/// System calls for reading, compiling and writing: memory, the pipes, and what the standard library does at a thread's end.
const CALLS: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_write,
    libc::SYS_writev,
];

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
    close_inherited()?;
    let (file, adjustment) = OUT_OF_MEMORY;
    // The daemon may be protected from the OOM killer, and its child inherits that.
    match fs::write(file, adjustment) {
        Err(error) if fs::read_to_string(file)?.starts_with('-') => return Err(error),
        _ => {}
    }
    // If even that is forbidden, the child compiles at the usual priority.
    let _ = setpriority_process(None, NICE);
    drop_rights()?;
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
    filter(SystemCalls::Only(CALLS))?;
    Ok(())
}
