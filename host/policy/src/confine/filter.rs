//! The filter of a child's system calls.

use std::io;

use rustix::thread::{SecureComputingMode, secure_computing_mode};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// The bit of the system calls of the x32 interface, which a filter for `x86_64` sees as well.
const X32: i64 = 0x4000_0000;

/// Which system calls a process may make.
#[derive(Debug, Clone, Copy)]
pub enum SystemCalls<'a> {
    /// Only the listed calls; `mmap` and `mprotect` without the permission to execute, and `tgkill` for itself. To the process it looks as if
    /// the kernel had no other.
    Only(&'a [libc::c_long]),
    /// Every one but these, which are not permitted.
    AllBut(&'a [libc::c_long]),
}

/// Filters the system calls of the calling thread, and of the threads that it starts, for ever.
///
/// On processors for which there is no filter, nothing is done. Where the process is filtered already and may not add to
/// that, as in a systemd unit of an older version, that filter remains.
///
/// # Errors
/// When the kernel does not accept the filter.
pub fn filter(calls: SystemCalls<'_>) -> io::Result<()> {
    let Ok(processor) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let filter = match calls {
        SystemCalls::Only(calls) => {
            let rules: io::Result<_> = calls.iter().map(|call| Ok((*call, rules(*call)?))).collect();
            let absent = SeccompAction::Errno(code(nix::errno::Errno::ENOSYS));
            SeccompFilter::new(rules?, absent, SeccompAction::Allow, processor)
        }
        SystemCalls::AllBut(calls) => {
            let both = calls.iter().flat_map(|call| [*call, *call | X32]);
            let denied = SeccompAction::Errno(code(nix::errno::Errno::EPERM));
            let rules = both.map(|call| (call, Vec::new())).collect();
            SeccompFilter::new(rules, SeccompAction::Allow, denied, processor)
        }
    };
    let program: BpfProgram =
        filter.and_then(BpfProgram::try_from).map_err(|error| io::Error::other(error.to_string()))?;
    match apply_filter(&program) {
        Err(seccompiler::Error::Seccomp(error))
            if error.kind() == io::ErrorKind::PermissionDenied
                && secure_computing_mode().is_ok_and(|mode| mode == SecureComputingMode::Filter) =>
        {
            Ok(())
        }
        Err(seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error)) => Err(error),
        applied => applied.map_err(|error| io::Error::other(error.to_string())),
    }
}

fn code(error: nix::errno::Errno) -> u32 {
    (error as i32).unsigned_abs()
}

/// The conditions under which an allowed call is allowed; without any, it always is.
fn rules(call: libc::c_long) -> io::Result<Vec<SeccompRule>> {
    let one = |argument, operation, value: u64| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
            .and_then(|condition| SeccompRule::new(vec![condition]))
            .map(|rule| vec![rule])
            .map_err(|error| io::Error::other(error.to_string()))
    };
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    match call {
        libc::SYS_mmap | libc::SYS_mprotect => one(2, SeccompCmpOp::MaskedEq(executable), 0),
        libc::SYS_tgkill => one(0, SeccompCmpOp::Eq, u64::from(std::process::id())),
        _ => Ok(Vec::new()),
    }
}
