//! The node's machine: namespaces within the enclave, with a first process of their own, a disk that outlives a boot, and a `/run` that does not.
//!
//! ```text
//!   Enclave (network, PID, mounts)      etcd, API server, controller manager, scheduler
//!      └─ Machine (PID, mounts, UTS, IPC)   containerd, kubelet, pods; killing its first process is a power cut
//! ```
//!
//! All data is in the enclave's `/run`, in memory, and ends with it. The daemons have their usual paths on the machine, and the host sees none of
//! them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::super::enclave::{Enclave, child_of};

/// The name of the machine, and of the Node.
pub(super) const NAME: &str = "node1";

/// The address of the machine in the enclave's network.
pub(super) const ADDRESS: &str = "10.78.0.1";

/// The address of the kubelet, outside of the pods' subnets.
pub(super) const KUBELET: &str = "10.78.0.1:10250";

/// The target folder, on the machine.
pub(super) const TARGET: &str = "/run/target";

/// The disk, in the enclave.
const DISK: &str = "/run/disk";

/// A folder in memory, in the enclave, that the machine sees under the same path.
pub(super) const SHARED: &str = "/run/shared";

/// The network of the enclave; the kernel of a test may know no dummy interface, so the machine's is one end of a pair.
const NETWORK: &str = "ip link add uplink type veth peer name upstream; ip address add 10.78.0.1/24 dev uplink; ip link set uplink up; \
     ip link set upstream up; ip route add default dev uplink";

/// Boots: `$1` is the disk, `$2` the target folder, `$3` the shared folder.
///
/// The kubelet sets some parameters of the kernel unless they have its values: files with these values are in their places, so that the host's
/// do not change. Each boot has an id of its own, by which the daemon and the kubelet tell boots apart.
const BOOT: &str = r#"set -eu
disk=$1 run=$1/run
mount --make-rshared /
mount -t proc proc /proc
mkdir -p $disk/var/lib $disk/var/log $disk/opt/cni/bin $disk/net.d $disk/etc $disk/etc.work $run
mount -t tmpfs -o mode=755 tmpfs $run
mkdir -p $run/target $run/shared $run/kernel
mount --bind "$2" $run/target
mount --bind "$3" $run/shared
mount -t overlay -o lowerdir=/etc,upperdir=$disk/etc,workdir=$disk/etc.work overlay /etc
mkdir -p /etc/cni/net.d
mount --bind $disk/net.d /etc/cni/net.d
echo 7d0c1de0a1b24f6c8e5d3a9b00c0ffee >/etc/machine-id
echo node1 >/proc/sys/kernel/hostname
cat /proc/sys/kernel/random/uuid >$run/kernel/boot_id
mount --bind $run/kernel/boot_id /proc/sys/kernel/random/boot_id
for parameter in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=$run/kernel/$(basename ${parameter%=*})
  echo ${parameter#*=} >$file
  mount --bind $file /proc/sys/${parameter%=*}
done
mount --bind $disk/var/log /var/log
mount --bind $disk/opt /opt
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount --bind $disk/var/lib /var/lib
mount --rbind $run /run
echo booted
read -r _
"#;

/// A running machine, until this is dropped.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    enclave: &'a Enclave,
    target: PathBuf,
    holder: Child,
    /// The first process, by its id on the host.
    first: u32,
}

impl<'a> Machine<'a> {
    /// Makes the network and boots the machine for the first time.
    ///
    /// # Errors
    /// When the kernel refuses a namespace or a mount.
    pub(super) fn start(enclave: &'a Enclave, target: &Path) -> Result<Self> {
        crate::command::output(enclave.command("bash").args(["-ec", NETWORK]))?;
        fs::create_dir_all(enclave.outside(SHARED))?;
        let (holder, first) = boot(enclave, target)?;
        Ok(Self { enclave, target: target.to_owned(), holder, first })
    }

    /// Cuts the power: all processes end at once, and so do `/run` and the links; the disk stays. Then the machine boots.
    ///
    /// # Errors
    /// When it does not boot.
    pub(super) fn power_cycle(&mut self) -> Result<()> {
        kill_process(Pid::from_raw(self.first.try_into()?).context("no process")?, Signal::KILL)?;
        self.holder.wait()?;
        // The network is the enclave's, so what a boot removes is removed here.
        let links = "ip -o link | sed -nE 's/^[0-9]+: ([^:@]+).*/\\1/p' | grep -vxE 'lo|uplink|upstream|tunl0|sit0|ip6tnl0' | \
             while read -r link; do ip link delete $link 2>/dev/null || true; done";
        crate::command::output(self.enclave.command("bash").args(["-c", links]))?;
        (self.holder, self.first) = boot(self.enclave, &self.target)?;
        Ok(())
    }

    /// A command on the machine, with nothing of our environment.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .env_clear()
            .env("HOME", "/root")
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.args([
            "--target",
            &self.first.to_string(),
            "--net",
            "--mount",
            "--pid",
            "--uts",
            "--ipc",
            "--",
        ]);
        command.arg(program);
        command
    }

    /// A path on the machine, as seen from outside.
    pub(super) fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.first))
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        // If the wait fails, the machine is already off.
        let _ = self.holder.wait();
    }
}

fn boot(enclave: &Enclave, target: &Path) -> Result<(Child, u32)> {
    let mut command = enclave.command("unshare");
    command.args([
        "--mount",
        "--pid",
        "--uts",
        "--ipc",
        "--fork",
        "--kill-child",
        "bash",
        "-c",
        BOOT,
        "boot",
        DISK,
    ]);
    command.arg(target).arg(SHARED);
    let log = enclave.outside(&format!("{SHARED}/machine.log"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log)?);
    let mut holder = command.spawn().context("cannot start `nsenter`")?;
    let mut line = String::new();
    if let Some(stdout) = holder.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    ensure!(line.trim_end() == "booted", "the machine does not boot: {}", fs::read_to_string(&log)?);
    // `nsenter` waits for `unshare`, which waits for the first process.
    let first = child_of(child_of(holder.id())?)?;
    Ok((holder, first))
}
