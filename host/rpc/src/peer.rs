//! The process at the other end of a connection, as the kernel recorded it when the connection was made.
//!
//! A process is named by a descriptor of itself (a pidfd), because its number may soon be another's. A process that is given
//! the connection by its maker, or inherits it, acts as its maker.

pub(crate) mod forks;

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::sys::socket::{getsockopt, sockopt};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::UnixStream;

/// The longest `/proc/PID/cgroup` to read: a line for each hierarchy of version 1, and one for version 2.
const LONGEST_CGROUP: usize = 64 << 10;

/// The process that made a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// User of the process.
    pub uid: u32,
    /// Group of the process.
    pub gid: u32,
    /// The uid of the pod that it is in, according to its control groups; `None` if it is in none, or has ended.
    pub pod_uid: Option<String>,
}

impl Peer {
    /// The peer of a connection.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        let pod_uid = pidfd(stream, credentials.pid()).and_then(|process| {
            let cgroup = cgroup_of(&process)?;
            pod_uid(&cgroup)
        });
        Ok(Self { uid: credentials.uid(), gid: credentials.gid(), pod_uid })
    }
}

/// The descriptor of the process that made a connection: from the connection itself where the kernel can (6.5), else by its number.
fn pidfd(stream: &UnixStream, pid: Option<i32>) -> Option<OwnedFd> {
    match getsockopt(stream, sockopt::PeerPidfd) {
        Ok(process) => Some(process),
        Err(nix::errno::Errno::ENOPROTOOPT) => {
            let process = pidfd_open(Pid::from_raw(pid?)?, PidfdFlags::empty()).ok()?;
            // The number may have been another's by then, which takes as many new processes as there are numbers.
            if forks::may_have_reused() {
                return None;
            }
            let owner = fs::metadata(format!("/proc/{}", number(&process)?)).ok()?;
            let credentials = stream.peer_cred().ok()?;
            use std::os::unix::fs::MetadataExt as _;
            (owner.uid() == credentials.uid()).then_some(process)
        }
        Err(_) => None,
    }
}

/// The number of a process as it is now; `None` if the process has ended.
fn number(process: &OwnedFd) -> Option<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd())).ok()?;
    // -1 once it has ended, and 0 if it is in a process namespace that is not below this one.
    let pid: i64 = info.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    u32::try_from(pid).ok().filter(|pid| *pid != 0)
}

/// The control groups of a process.
fn cgroup_of(process: &OwnedFd) -> Option<String> {
    let pid = number(process)?;
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    // If the process still has its number, what was read is its own.
    (number(process) == Some(pid) && text.len() <= LONGEST_CGROUP).then_some(text)
}

/// The uid of the pod in a text like `/proc/PID/cgroup`, of either version and either driver of the kubelet.
///
/// Only the groups that the kubelet makes at the root count, and of these the outermost: users and containers to which a part of
/// the hierarchy was delegated may make groups of any name inside it.
fn pod_uid(cgroup: &str) -> Option<String> {
    let mut pods = cgroup.lines().filter_map(|line| kubelets(line.splitn(3, ':').nth(2)?)?.find_map(pod_of));
    let pod = pods.next()?;
    // A process that has itself moved to other groups in one of the hierarchies is in no pod.
    pods.all(|other| other == pod).then_some(pod)
}

/// The parts of a path, if it is one of the kubelet's.
fn kubelets(path: &str) -> Option<impl Iterator<Item = &str>> {
    // The parts that lead out of the daemon's own cgroup namespace come first.
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "..")).collect();
    let is_kubelets = |part: &str| part.starts_with("kubepods") || part.starts_with("kubelet");
    let skipped = match parts.as_slice() {
        [first, ..] if is_kubelets(first) => 0,
        // A kubelet with systemd's driver, and a containerd without it.
        ["system.slice", "containerd.service", third, ..] if is_kubelets(third) => 2,
        _ => return None,
    };
    Some(parts.into_iter().skip(skipped))
}

/// The uid in the name of a pod's control group: `pod<uid>`, `kubepods-burstable-pod<uid>.slice`, or that with the container behind a
/// colon.
fn pod_of(part: &str) -> Option<String> {
    let name = part.split(':').next()?;
    let name = name.strip_suffix(".slice").unwrap_or(name);
    let uid = name.strip_prefix("pod").or_else(|| name.rsplit_once("-pod").map(|(_, uid)| uid))?;
    let is_uid =
        uid.len() >= 32 && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'_'));
    is_uid.then(|| uid.replace('_', "-"))
}

#[cfg(test)]
mod tests;
