//! The real systemd-networkd, which removes each rule that it did not make, unless it is of protocol kernel.
//!
//! It sweeps whenever a link appears that it configures. It runs without D-Bus and udev, as in a container; `/sys` read-only and
//! the file that names the container's manager tell it so.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use tenure_netlink::KernelPlan;

use crate::room::shell;
use crate::suite::Suite;
use crate::world::World;

/// The program.
const NETWORKD: &str = "/lib/systemd/systemd-networkd";

/// How often something is looked for, and how long to wait between.
const LOOKS: usize = 300;
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) fn tests(suite: &mut Suite) {
    suite.needing("systemd_networkds_sweep_leaves_ours_alone", &[(NETWORKD, "systemd")], leaves_ours);
}

/// networkd, which ends with the test.
struct Networkd(Child);

impl Drop for Networkd {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn leaves_ours() {
    let world = World::whole();
    // The canary: a rule as ipamd makes it, which no protocol protects.
    shell(
        &world.node,
        "ip rule add pref 1536 from 10.0.7.7 lookup 7
         mkdir -p /run/systemd/network /run/systemd/netif
         chown -R systemd-network:systemd-network /run/systemd/netif
         echo other >/run/systemd/container
         printf '[Match]\\nName=eth9\\n[Network]\\nAddress=192.0.2.9/24\\n' >/run/systemd/network/10-eth9.network",
    );
    let script = format!("mount -o remount,ro,bind /sys || mount -o remount,ro /sys; exec {NETWORKD}");
    let networkd = Command::new("ip")
        .args(["netns", "exec", &world.node, "sh", "-ec", &script])
        .env("SYSTEMD_LOG_LEVEL", "debug")
        .env("SYSTEMD_LOG_TARGET", "console")
        .stdin(Stdio::null())
        .stderr(std::fs::File::create("/run/networkd.log").unwrap())
        .spawn()
        .unwrap();
    let mut networkd = Networkd(networkd);
    let mut until = |what: &str, reached: &dyn Fn() -> bool| {
        let found = (0..LOOKS).any(|_| {
            assert!(networkd.0.try_wait().unwrap().is_none(), "networkd ended: {}", log());
            reached() || wait()
        });
        assert!(found, "{what}: {}", log());
    };
    until("networkd starts", &|| log().contains("Enumeration completed"));
    assert_ne!(shell(&world.node, "ip rule show from 10.0.7.7"), "", "it has not swept yet");
    shell(&world.node, "ip link add eth9 type veth peer name v9; ip link set v9 up; ip link set eth9 up");
    until("networkd sweeps", &|| shell(&world.node, "ip rule show from 10.0.7.7").is_empty());
    let plan = world.plan();
    assert_eq!(plan, KernelPlan::default(), "{}", shell(&world.node, "ip -d rule"));
}

fn log() -> String {
    std::fs::read_to_string("/run/networkd.log").unwrap_or_default()
}

/// Waits a little before the next look; always false.
fn wait() -> bool {
    let (_open, never) = channel::<()>();
    never.recv_timeout(PAUSE).is_ok()
}
