//! Diagnoses of made-up trees.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use tempfile::TempDir;

use super::node::MountPoint;
use super::*;
use crate::arguments::{CtlArguments, CtlCommand, NodeVerb};
use crate::report::{CheckVerdict, NodeCheck};

const ROOT_MOUNT: &str = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw";
const MOUNTS: &str =
    "23 22 0:21 / /run rw - tmpfs tmpfs rw\n24 22 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
const CONFLIST: &str =
    r#"{"name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "tenure"}}, {"type": "portmap"}]}"#;

/// A node's files below a directory.
struct Tree(TempDir);

impl Tree {
    /// A node on which all is well, but nothing runs.
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.file("proc/sys/kernel/osrelease", "6.8.0-31-generic\n");
        tree.file("proc/self/mountinfo", &format!("{ROOT_MOUNT}\n{MOUNTS}\n"));
        tree.file("proc/sys/net/ipv4/ip_forward", "1\n");
        tree.file("proc/net/route", "Iface\tDestination\tGateway\neth0\t00000000\t0100000A\n");
        for directory in ["var/lib/tenure", "run/tenure", "opt/cni/bin", "etc/cni/net.d"] {
            fs::create_dir_all(tree.path(directory)).unwrap();
        }
        for program in ["bridge", "portmap"] {
            tree.file(&format!("opt/cni/bin/{program}"), "");
        }
        let plugin = "#!/bin/sh\necho 'tenure 1.0.0, a CNI IPAM plugin' >&2\n";
        tree.file("opt/cni/bin/tenure", plugin);
        fs::set_permissions(tree.path("opt/cni/bin/tenure"), fs::Permissions::from_mode(0o755)).unwrap();
        tree.file("etc/cni/net.d/00-tenure.conflist", CONFLIST);
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Makes every check, by its name.
    async fn checks(&self, words: &[&str]) -> BTreeMap<&'static str, NodeCheck> {
        let root = self.0.path().display().to_string();
        let line = ["tenurectl", "doctor", "--root", &root].into_iter().chain(words.iter().copied());
        let arguments = CtlArguments::parse_from(line);
        let CtlCommand::Node(NodeVerb::Doctor(doctor)) = arguments.command else { panic!("another verb") };
        let run = Path::new("/run/tenure");
        let daemon = Daemon::at(run, Duration::from_secs(5));
        let checks = diagnose(&daemon, run, &doctor).await.checks;
        checks.into_iter().map(|check| (check.name, check)).collect()
    }

    /// The verdict of one check, with its finding and the next step.
    async fn check(&self, name: &str) -> (CheckVerdict, String) {
        let mut checks = self.checks(&[]).await;
        let check = checks.remove(name).unwrap();
        let is_helped = matches!(check.verdict, CheckVerdict::Fine | CheckVerdict::Skipped);
        assert_eq!(check.next_step.is_empty(), is_helped, "{check:?}");
        (check.verdict, check.found)
    }

    async fn expect(&self, name: &str, verdict: CheckVerdict, words: &str) {
        let check = self.check(name).await;
        assert!(check.0 == verdict && check.1.contains(words), "{name}: {check:?}");
    }
}

#[tokio::test]
async fn a_node_without_tenure_has_nothing_wrong_before_its_installation() {
    let tree = Tree::new();
    fs::remove_file(tree.path("opt/cni/bin/tenure")).unwrap();
    fs::remove_file(tree.path("etc/cni/net.d/00-tenure.conflist")).unwrap();
    for directory in ["var/lib/tenure", "run/tenure"] {
        fs::remove_dir(tree.path(directory)).unwrap();
    }
    let before = tree.checks(&["--before"]).await;
    let problems: Vec<_> = before.values().filter(|check| check.verdict == CheckVerdict::Problem).collect();
    assert!(problems.is_empty(), "{problems:?}");
    let after = tree.checks(&[]).await;
    for name in ["plugin", "daemon", "sockets", "run-directory", "configurations"] {
        assert_eq!(after[name].verdict, CheckVerdict::Problem, "{name}");
    }
    let root = tree.0.path().display().to_string();
    assert!(after.values().filter(|check| check.name != "daemon").all(|check| !check.found.contains(&root)));
}

#[tokio::test]
async fn a_node_on_which_all_is_well_but_nothing_runs() {
    let checks = Tree::new().checks(&[]).await;
    for name in [
        "kernel",
        "control-groups",
        "clock",
        "state-directory",
        "cni-directories",
        "plugin",
        "configurations",
    ] {
        assert_eq!(checks[name].verdict, CheckVerdict::Fine, "{name}: {:?}", checks[name]);
    }
    for name in ["listed-plugins", "other-ipams", "ip-forward"] {
        assert_eq!(checks[name].verdict, CheckVerdict::Fine, "{name}: {:?}", checks[name]);
    }
    assert_eq!(checks["runtime-socket"].verdict, CheckVerdict::Warning);
}

#[tokio::test]
async fn an_old_kernel_is_told() {
    let tree = Tree::new();
    for (release, verdict, words) in [
        ("4.19.0-26-amd64", CheckVerdict::Problem, "4.19.0"),
        ("5.2.21", CheckVerdict::Problem, "5.2.21"),
        ("5.10.0-28", CheckVerdict::Warning, "number of its process"),
        ("6.5.0", CheckVerdict::Fine, "6.5.0"),
        ("unknown", CheckVerdict::Skipped, "not the version"),
    ] {
        tree.file("proc/sys/kernel/osrelease", release);
        tree.expect("kernel", verdict, words).await;
    }
}

#[tokio::test]
async fn the_state_directory_must_survive_a_reboot() {
    let tree = Tree::new();
    for (mount, verdict, words) in [
        ("25 22 0:30 / /var/lib rw - tmpfs tmpfs rw", CheckVerdict::Problem, "lost at a reboot"),
        ("25 22 8:2 / /var/lib/tenure ro,noatime - ext4 /dev/sdb rw", CheckVerdict::Problem, "read-only"),
        ("25 22 0:31 / /var/lib rw - nfs4 server:/x rw", CheckVerdict::Warning, "nfs4"),
        ("25 22 0:31 / / rw - overlay overlay rw", CheckVerdict::Warning, "end with a container"),
        ("25 22 0:30 / /var/li rw - tmpfs tmpfs rw", CheckVerdict::Fine, "ext4"),
        (
            "25 22 0:30 / /var rw - tmpfs tmpfs rw\n26 25 8:3 / /var/lib rw - xfs /dev/sdc rw",
            CheckVerdict::Fine,
            "xfs",
        ),
    ] {
        tree.file("proc/self/mountinfo", &format!("{ROOT_MOUNT}\n{MOUNTS}\n{mount}\n"));
        tree.expect("state-directory", verdict, words).await;
    }
    fs::set_permissions(tree.path("var/lib/tenure"), fs::Permissions::from_mode(0o777)).unwrap();
    tree.expect("state-directory", CheckVerdict::Problem, "any user can write to it").await;
    let line = "30 1 0:1 / /a\\040b ro,nosuid shared:1 - fuse.sshfs x rw";
    let mount = MountPoint { point: "/a b".into(), kind: "fuse.sshfs".into(), is_read_only: true };
    assert_eq!(MountPoint::parse(line), Some(mount));
}

#[tokio::test]
async fn the_first_configuration_is_the_one_that_counts() {
    let tree = Tree::new();
    tree.expect("configurations", CheckVerdict::Fine, "network pods").await;
    tree.file("etc/cni/net.d/10-other.conf", r#"{"name": "o", "type": "ptp", "ipam": {"type": "dhcp"}}"#);
    tree.expect("configurations", CheckVerdict::Fine, "comes first").await;
    tree.expect("other-ipams", CheckVerdict::Warning, "10-other.conf (dhcp)").await;
    tree.file("etc/cni/net.d/00-a.conflist", r#"{"name": "a", "type": "flannel"}"#);
    tree.expect("configurations", CheckVerdict::Problem, "00-a.conflist comes before 00-tenure").await;
    for multus in ["multus", "multus-shim"] {
        tree.file("etc/cni/net.d/00-a.conflist", &format!(r#"{{"name": "a", "type": "{multus}"}}"#));
        tree.expect("configurations", CheckVerdict::Fine, "Multus").await;
    }
    tree.file("etc/cni/net.d/00-a.conflist", "{");
    tree.expect("configurations", CheckVerdict::Problem, "unusable").await;
    fs::remove_file(tree.path("opt/cni/bin/portmap")).unwrap();
    tree.expect("listed-plugins", CheckVerdict::Problem, "needs the plugin portmap").await;
    tree.file("var/lib/cni/networks/pods/10.1.0.2", "c1");
    tree.file("var/lib/cni/networks/pods/lock", "");
    tree.expect("other-ipams", CheckVerdict::Warning, "1 addresses of network pods").await;
    fs::remove_dir_all(tree.path("var/lib/cni/networks/pods")).unwrap();
    // Under flannel, whose name of the network is its own.
    tree.file("var/lib/cni/networks/cbr0/10.1.0.2", "c1");
    tree.expect("other-ipams", CheckVerdict::Warning, "has addresses of cbr0 in").await;
}

/// Regression: it was looked for below the root directory, so that `--state-dir state` was of no effect.
#[test]
fn a_relative_path_is_one_of_the_working_directory() {
    let state = NodePaths::below(Path::new("/")).at(Path::new("state"));
    assert_eq!(state.real, std::env::current_dir().unwrap().join("state"));
}

/// Regression: the kernel followed an absolute link of the node to this program's own files.
#[tokio::test]
async fn a_link_of_the_node_leads_to_its_own_files() {
    let tree = Tree::new();
    std::os::unix::fs::symlink("/run", tree.path("var/run")).unwrap();
    tree.file("run/aws-node/ipam.json", r#"{"version": "vpc-cni-ipam/1", "allocations": []}"#);
    tree.expect("other-ipams", CheckVerdict::Warning, "ipamd's checkpoint is in /var/run/aws-node").await;
    let node = NodePaths::below(tree.0.path());
    let at = |path: &str| node.at(Path::new(path)).real;
    for (name, target) in [("a", "../../../run/b"), ("run/b", "/c/../run/aws-node"), ("loop", "/loop")] {
        std::os::unix::fs::symlink(target, tree.path(name)).unwrap();
    }
    assert_eq!(at("/a/ipam.json"), tree.path("run/aws-node/ipam.json"), "also above its root");
    assert_eq!((at("/none/x"), at("/loop/x")), (tree.path("none/x"), tree.path("loop/x")));
}

#[tokio::test]
async fn what_is_not_mounted_into_a_container_is_not_called_absent() {
    let tree = Tree::new();
    let node = NodePaths::below(tree.0.path());
    let at = |path: &str| node.at(Path::new(path));
    let files = ConfigurationFiles::read(&at("/etc/cni/net.d"), &at("/opt/cni/bin"));
    let none = Daemon::at(Path::new("/nowhere"), Duration::from_secs(1));
    let networks = Err(Error::new(tenure_types::ErrorCode::Unreachable, "no daemon"));
    let daemon = AssigningDaemon { daemon: &none, networks };
    let of = async |sees_mounts_only| {
        let check = others::other_ipams(&node, &files, &daemon, sees_mounts_only).await;
        (check.verdict, check.found)
    };
    assert_eq!(of(false).await, (CheckVerdict::Fine, "none".to_owned()));
    let (verdict, found) = of(true).await;
    assert_eq!(verdict, CheckVerdict::Skipped);
    assert!(found.ends_with("cannot be seen from this container"), "{found}");
    fs::create_dir_all(tree.path("var/lib/cni/networks")).unwrap();
    assert_eq!(of(true).await.0, CheckVerdict::Fine);
}

/// The chart sets these, for `kubectl exec`; the suite `chart` has their names, too.
#[test]
fn the_places_of_the_runtime_come_from_the_environment_as_well() {
    let command = CtlArguments::command();
    let doctor = command.find_subcommand("doctor").unwrap();
    for (argument, variable) in [
        ("cni_bin_dir", "TENURE_CNI_BIN_DIR"),
        ("cni_conf_dir", "TENURE_CNI_CONF_DIR"),
        ("runtime_socket", "TENURE_RUNTIME_SOCKET"),
    ] {
        let found = doctor.get_arguments().find(|found| found.get_id() == argument).unwrap();
        assert_eq!(found.get_env().unwrap(), variable);
    }
}

#[tokio::test]
async fn a_plugin_that_was_changed_or_is_none_is_told() {
    let tree = Tree::new();
    let record = r#"{"format": 1, "plugin": {"path": "/opt/cni/bin/tenure", "sha256": "0", "version": "1.0.0",
        "replaces": null}, "previous": null, "configuration": null}"#;
    tree.file("var/lib/tenure/installed.json", record);
    tree.expect("plugin", CheckVerdict::Warning, "somebody has changed").await;
    tree.file("opt/cni/bin/tenure", "half");
    tree.expect("plugin", CheckVerdict::Problem, "does not run here").await;
    fs::set_permissions(tree.path("opt/cni/bin"), fs::Permissions::from_mode(0o777)).unwrap();
    tree.expect("cni-directories", CheckVerdict::Problem, "any user can write").await;
}

#[tokio::test]
async fn settings_of_the_kernel_matter_where_the_daemon_makes_links() {
    let tree = Tree::new();
    tree.file("proc/sys/net/ipv4/ip_forward", "0");
    tree.expect("ip-forward", CheckVerdict::Warning, "is 0").await;
    let filter = |all: &str, primary: &str| {
        tree.file("proc/sys/net/ipv4/conf/all/rp_filter", all);
        tree.file("proc/sys/net/ipv4/conf/eth0/rp_filter", primary);
    };
    filter("1", "0");
    tree.expect("rp-filter", CheckVerdict::Skipped, "no network").await;
    tree.file("etc/cni/net.d/00-tenure.conflist", r#"{"name": "pods", "plugins": [{"type": "tenure-eni"}]}"#);
    tree.expect("rp-filter", CheckVerdict::Warning, "rp_filter of eth0 is strict").await;
    filter("1", "2");
    tree.expect("rp-filter", CheckVerdict::Fine, "2 for eth0").await;
    tree.expect("accept-ra", CheckVerdict::Skipped, "not forward").await;
    tree.file("proc/sys/net/ipv6/conf/all/forwarding", "1");
    tree.file("proc/sys/net/ipv6/conf/eth0/accept_ra", "1");
    tree.expect("accept-ra", CheckVerdict::Warning, "ignores router advertisements").await;
    // A node without IPv4.
    tree.file("proc/net/route", "Iface\tDestination\tGateway\n");
    tree.expect("accept-ra", CheckVerdict::Skipped, "no default route").await;
    let zeros = "0".repeat(32);
    let route = |metric: &str, interface: &str| {
        format!("{zeros} 00 {zeros} 00 {zeros} {metric} 00000001 00000000 00200200 {interface:>8}\n")
    };
    tree.file("proc/net/ipv6_route", &[route("ffffffff", "lo"), route("00000400", "eth0")].concat());
    tree.expect("accept-ra", CheckVerdict::Warning, "accept_ra of eth0 is 1").await;
}

#[tokio::test]
async fn a_runtime_answers_as_grpc_does_or_not() {
    let tree = Tree::new();
    let path = tree.path("run/containerd/containerd.sock");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || {
        for answer in [&b"\0\0\0\x04\0\0\0\0\0"[..], b"HTTP/1.1 400 Bad", b""] {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 64]).unwrap();
            stream.write_all(answer).unwrap();
        }
    });
    tree.expect("runtime-socket", CheckVerdict::Fine, "/run/containerd/containerd.sock answers").await;
    tree.expect("runtime-socket", CheckVerdict::Problem, "does not speak gRPC").await;
    tree.expect("runtime-socket", CheckVerdict::Problem, "closes the connection").await;
    server.join().unwrap();
    tree.expect("runtime-socket", CheckVerdict::Problem, "refused").await;
    let given = tree.checks(&["--runtime-socket", "unix:///run/none.sock"]).await;
    assert!(given["runtime-socket"].found.starts_with("/run/none.sock: No such file"), "{given:?}");
}

#[tokio::test]
async fn sockets_are_for_root_alone() {
    let tree = Tree::new();
    tree.expect("sockets", CheckVerdict::Problem, "No such file").await;
    let _sockets = ["cni.sock", "admin.sock"].map(|name| {
        let path = tree.path("run/tenure").join(name);
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        listener
    });
    tree.expect("sockets", CheckVerdict::Fine, "/run/tenure").await;
    let admin = tree.path("run/tenure/admin.sock");
    fs::set_permissions(&admin, fs::Permissions::from_mode(0o666)).unwrap();
    tree.expect("sockets", CheckVerdict::Problem, "mode 666").await;
    fs::remove_file(&admin).unwrap();
    fs::write(&admin, "").unwrap();
    tree.expect("sockets", CheckVerdict::Problem, "not a socket").await;
}
