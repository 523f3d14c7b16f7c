//! Looks for network namespaces other than the host's: a container in any of them may have an address of ours.
//!
//! They are found by name in the runtimes' directories, as mounts, and through the processes in them. What cannot be
//! inspected is an error, never "none": a daemon may not be allowed to see all processes of the node.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The directories in which runtimes keep named namespaces.
const KEPT: [&str; 4] = ["/run/netns", "/var/run/netns", "/run/docker/netns", "/run/containerd/netns"];

/// The inode number of the kernel's initial PID namespace, in which all processes are visible.
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Looks on this node, and returns a network namespace other than the host's, if there is one.
///
/// # Errors
/// If not all processes are visible from here, or not all namespaces can be inspected.
pub(crate) fn look() -> io::Result<Option<PathBuf>> {
    let proc = Path::new("/proc");
    if fs::metadata(proc.join("self/ns/pid"))?.ino() != FIRST_PID_NAMESPACE {
        return Err(io::Error::other("the daemon is not in the host's PID namespace"));
    }
    if hides_processes(&fs::read_to_string(proc.join("self/mountinfo"))?) {
        return Err(io::Error::other("/proc is mounted with `hidepid`"));
    }
    foreign(proc, &KEPT.map(Path::new))
}

/// The mount point and inode number of a network namespace, from a line of `mountinfo`.
fn mounted(line: &str) -> Option<(PathBuf, u64)> {
    let mut fields = line.split(' ').skip(3);
    let inode = fields.next()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()?;
    Some((PathBuf::from(fields.next()?), inode))
}

/// Whether `/proc` hides some processes.
fn hides_processes(mountinfo: &str) -> bool {
    let of_proc = mountinfo.lines().filter(|line| line.split(' ').nth(4) == Some("/proc"));
    let options = of_proc.filter_map(|line| line.rsplit(' ').next());
    let mut options = options.flat_map(|options| options.split(','));
    options.any(|option| option.strip_prefix("hidepid=").is_some_and(|hide| !matches!(hide, "0" | "off")))
}

/// The first network namespace found that is not that of process 1. `kept` are the directories of named namespaces.
fn foreign(proc: &Path, kept: &[&Path]) -> io::Result<Option<PathBuf>> {
    let of = |id: &OsStr| proc.join(id).join("ns/net");
    let host = identity(&of(OsStr::new("1")))?.ok_or(ErrorKind::NotFound)?;
    // The mounts of process 1, which sees what the runtimes see.
    let mounts = fs::read_to_string(proc.join("1/mountinfo"))?;
    if let Some((path, _)) = mounts.lines().filter_map(mounted).find(|(_, inode)| *inode != host.1) {
        return Ok(Some(path));
    }
    for directory in kept {
        // Anything with a name there belongs to someone, even if it does not look like a namespace from here.
        for name in names(directory)? {
            let path = directory.join(name);
            if identity(&path)? != Some(host) {
                return Ok(Some(path));
            }
        }
    }
    let is_process = |name: &std::ffi::OsString| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    for id in names(proc)?.into_iter().filter(is_process) {
        let path = of(&id);
        // A process that has ended meanwhile is in no namespace.
        if identity(&path)?.is_some_and(|found| found != host) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The names in a directory; none if it does not exist.
fn names(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The identity of a namespace; `None` if it does not exist any more.
fn identity(path: &Path) -> io::Result<Option<(u64, u64)>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some((metadata.dev(), metadata.ino()))),
        // The kernel's error for a process that is exiting.
        Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// No such process.
const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();

#[cfg(test)]
mod tests {
    use super::*;

    /// A node whose namespaces are files: those of process 1 and of other processes, and named ones.
    struct Node(tempfile::TempDir);

    impl Node {
        fn new() -> Self {
            let node = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(node.path("proc/1/ns")).unwrap();
            fs::write(node.path("proc/1/ns/net"), "").unwrap();
            fs::write(node.path("proc/1/mountinfo"), "25 1 0:24 / /proc rw - proc proc rw\n").unwrap();
            node.process("20", true);
            node
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn process(&self, id: &str, in_hosts: bool) {
            let namespaces = self.path("proc").join(id).join("ns");
            fs::create_dir_all(&namespaces).unwrap();
            if in_hosts {
                fs::hard_link(self.path("proc/1/ns/net"), namespaces.join("net")).unwrap();
            } else {
                fs::write(namespaces.join("net"), "").unwrap();
            }
        }

        fn found(&self) -> io::Result<Option<PathBuf>> {
            foreign(&self.path("proc"), &[&self.path("netns"), &self.path("other")])
        }
    }

    #[test]
    fn a_node_whose_every_process_is_in_the_hosts_network_has_no_strangers() {
        let node = Node::new();
        assert_eq!(node.found().unwrap(), None);
        fs::create_dir(node.path("netns")).unwrap();
        fs::hard_link(node.path("proc/1/ns/net"), node.path("netns/host")).unwrap();
        // It ended between the listing and the look.
        fs::create_dir(node.path("proc/30")).unwrap();
        assert_eq!(node.found().unwrap(), None);
    }

    #[test]
    fn whoever_is_in_a_network_of_its_own_is_a_stranger() {
        let node = Node::new();
        node.process("30", false);
        assert_eq!(node.found().unwrap(), Some(node.path("proc/30/ns/net")));
    }

    #[test]
    fn a_namespace_that_only_has_a_name_may_be_lived_in() {
        for name in ["netns", "other"] {
            let node = Node::new();
            fs::create_dir(node.path(name)).unwrap();
            fs::write(node.path(name).join("cni-1"), "").unwrap();
            assert_eq!(node.found().unwrap(), Some(node.path(name).join("cni-1")));
        }
        let node = Node::new();
        fs::create_dir(node.path("netns")).unwrap();
        std::os::unix::fs::symlink("nowhere", node.path("netns/broken")).unwrap();
        assert_eq!(node.found().unwrap(), Some(node.path("netns/broken")));
    }

    #[test]
    fn a_namespace_that_is_mounted_anywhere_may_be_lived_in() {
        let node = Node::new();
        let host = fs::metadata(node.path("proc/1/ns/net")).unwrap().ino();
        let mounts = |inode: u64| format!("9 1 0:4 net:[{inode}] /var/keep/me rw shared:3 - nsfs nsfs rw\n");
        fs::write(node.path("proc/1/mountinfo"), mounts(host)).unwrap();
        assert_eq!(node.found().unwrap(), None);
        fs::write(node.path("proc/1/mountinfo"), mounts(host + 1)).unwrap();
        assert_eq!(node.found().unwrap(), Some(PathBuf::from("/var/keep/me")));
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_nobody() {
        let node = Node::new();
        fs::remove_file(node.path("proc/1/mountinfo")).unwrap();
        assert!(node.found().is_err());
        let node = Node::new();
        fs::write(node.path("netns"), "no directory").unwrap();
        assert!(node.found().is_err());
        let node = Node::new();
        fs::remove_file(node.path("proc/1/ns/net")).unwrap();
        assert!(node.found().is_err(), "the host's network is unknown");
        let node = Node::new();
        fs::create_dir(node.path("proc/30")).unwrap();
        fs::write(node.path("proc/30/ns"), "no directory").unwrap();
        assert!(node.found().is_err());
    }

    #[test]
    fn a_proc_that_hides_processes_is_known() {
        let line = |options: &str| format!("25 1 0:24 / /proc rw,nosuid shared:12 - proc proc {options}\n");
        let others = "26 1 0:25 / /sys rw - sysfs sysfs rw,hidepid=2\n";
        for (options, hides) in
            [("rw", false), ("rw,hidepid=0", false), ("rw,hidepid=off", false)].into_iter().chain(
                ["rw,hidepid=2", "rw,hidepid=invisible", "rw,gid=1,hidepid=ptraceable"]
                    .map(|each| (each, true)),
            )
        {
            assert_eq!(hides_processes(&format!("{others}{}", line(options))), hides, "{options}");
        }
    }
}
