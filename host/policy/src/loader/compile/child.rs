//! The child's part: it gives up what it does not need, reads, compiles and writes.

use std::fs;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use rustix::process::{
    Resource, Rlimit, Signal, set_parent_process_death_signal, setpriority_process, setrlimit,
};

use super::here;

/// What tells a child that it is one; the seconds that it has follow.
pub(super) const ARGUMENT: &str = "--compile-policy-from-standard-input";

/// The child's address space.
const MEMORY: u64 = 2 << 30;

/// What the child may open beside its pipes: what a program looks at when it starts.
const FILES: u64 = 16;

/// The child's priority: whatever serves requests comes first.
const NICE: i32 = 10;

/// Where the kernel is told whom to end first when memory runs out, and what: this child, before nearly everything else.
const OUT_OF_MEMORY: (&str, &str) = ("/proc/self/oom_score_adj", "800");

/// Compiles and says so, if this process was started for it. The first thing that a daemon's `main` does.
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
    // It does not outlive the daemon, whose thread waits for it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let (file, adjustment) = OUT_OF_MEMORY;
    // The daemon may be spared by the kernel's choice, and its child would be with it.
    match fs::write(file, adjustment) {
        Err(error) if fs::read_to_string(file)?.starts_with('-') => return Err(error),
        _ => {}
    }
    // Where even that is forbidden, it compiles as everybody else.
    let _ = setpriority_process(None, NICE);
    for (resource, most) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, seconds.max(1)),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        (Resource::Nofile, FILES),
    ] {
        // Where both are the same, the kernel ends a child whose time is over without saying why.
        let maximum = if resource == Resource::Cpu { most + 1 } else { most };
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(maximum) })?;
    }
    Ok(())
}
