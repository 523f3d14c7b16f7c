//! Clocks that jump by a day, suspends and reboots: addresses become free when they should, and never earlier.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::clocks::{Clocks, DAY};
use tenure_e2e::containerd::Containerd;
use tenure_e2e::journal::Pod;
use tenure_e2e::{Attachment, Need, Suite, Victim, wait};

const FAKETIME: Need = Need::File("/usr/bin/faketime", "faketime");
const NAMESPACES: &[Need] = &[Need::Root, Need::UTIL_LINUX, FAKETIME];

const CONTAINERD: &[Need] =
    &[FAKETIME, Need::Root, Need::PLUGINS, Need::IPROUTE, Need::UTIL_LINUX, Need::CONTAINERD, Need::RUNC];

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;
/// Longer than any test, and much less than a day.
const AN_HOUR: u32 = 3600;

fn main() -> ExitCode {
    Suite::new()
        .test("a_wall_clock_that_jumps_moves_no_cooldown", &[FAKETIME], wall_clock)
        .test("a_cooldown_goes_on_while_the_machine_is_suspended", NAMESPACES, suspend)
        .test("a_boot_begins_every_cooldown_anew", NAMESPACES, boot)
        .test("a_cooldown_outlives_its_network", &[FAKETIME], outlives)
        .test("a_wall_clock_that_jumps_moves_no_del", &[FAKETIME], dels)
        .test("a_wall_clock_that_jumps_ends_no_grace_period", CONTAINERD, leaks)
        .run()
}

/// A daemon with its own clocks, whose policy picks the highest free address.
struct Node {
    victim: Victim,
    clocks: Clocks,
    pods: u32,
}

impl Node {
    fn start(cooldown: u32) -> anyhow::Result<Self> {
        let mut node = Self::prepare()?;
        node.cool(cooldown)?;
        node.start_again()?;
        Ok(node)
    }

    fn prepare() -> anyhow::Result<Self> {
        Ok(Self { victim: Victim::new()?, clocks: Clocks::new()?, pods: 0 })
    }

    /// Sets the cooldown of freed addresses for the next start.
    fn cool(&self, seconds: u32) -> anyhow::Result<()> {
        self.victim.daemon.configure(&format!("[addresses]\ncooldown_seconds = {seconds}\n"))
    }

    fn start_again(&mut self) -> anyhow::Result<()> {
        self.victim.kill()?;
        let words = self.clocks.words();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ended = self.victim.start_under(&words)?;
        ensure!(ended.is_none(), "the daemon ended: {ended:?}");
        Ok(())
    }

    /// ADDs a new pod; returns it with its address.
    fn add(&mut self) -> anyhow::Result<(Pod, u8)> {
        self.pods += 1;
        let pod = Pod { network: "net".to_owned(), container: format!("pod-{}", self.pods) };
        let client = self.victim.client()?;
        let address = self.victim.block_on(client.add(&pod, &config()))?;
        let last = address.strip_suffix("/24").and_then(|address| address.rsplit('.').next());
        Ok((pod, last.context(address.clone())?.parse()?))
    }

    /// ADDs a new pod, which must get this address.
    fn expect(&mut self, address: u8) -> anyhow::Result<Pod> {
        let (pod, got) = self.add()?;
        ensure!(got == address, "expected address {address}, got {got}");
        Ok(pod)
    }

    fn del(&self, pod: &Pod) -> anyhow::Result<()> {
        let client = self.victim.client()?;
        Ok(self.victim.block_on(client.del(pod))?)
    }

    /// ADDs pods until these addresses have been assigned again.
    fn come_back(&mut self, addresses: &[u8]) -> anyhow::Result<()> {
        let mut missing = addresses.to_vec();
        wait::holds("the addresses to be free again", LIMIT, || {
            let got = self.add()?.1;
            missing.retain(|address| *address != got);
            Ok(missing.is_empty())
        })
    }

    /// The wall-clock time at which a pod got its address, in seconds.
    fn wall(&self, pod: &Pod) -> anyhow::Result<i64> {
        let allocations = self.victim.daemon.allocations("net")?;
        let id = |held: &Value| held.get("container_id")?.as_str().map(str::to_owned);
        let held = allocations.iter().find(|held| id(held).as_deref() == Some(pod.container.as_str()));
        let at = held.and_then(|held| held.get("allocated_at_ms")?.as_i64());
        Ok(at.with_context(|| format!("{pod} has no time: {allocations:?}"))? / 1000)
    }
}

fn config() -> Value {
    let ipam =
        json!({ "type": "tenure", "policy": "highest-first", "ranges": [[{ "subnet": "10.93.0.0/24" }]] });
    json!({ "cniVersion": "1.1.0", "name": "net", "ipam": ipam })
}

fn wall_clock() -> anyhow::Result<()> {
    let mut node = Node::start(AN_HOUR)?;
    let freed = node.expect(254)?;
    let began = node.wall(&freed)?;
    node.del(&freed)?;
    for (ahead, next) in [(DAY, 253), (-DAY, 251)] {
        node.clocks.set_wall(ahead)?;
        let pod = node.expect(next)?;
        let jumped = node.wall(&pod)? - began;
        ensure!((jumped - ahead).abs() < DAY / 2, "the wall clock jumped by {jumped} s, not {ahead}");
        // And an address that begins to cool down after the jump.
        node.del(&pod)?;
        node.start_again()?;
        node.expect(next - 1)?;
    }
    // Addresses that were freed when the clock was two days ahead become free again.
    node.cool(1)?;
    node.start_again()?;
    node.come_back(&[251, 253, 254])
}

fn suspend() -> anyhow::Result<()> {
    let mut node = Node::start(AN_HOUR)?;
    let freed = node.expect(254)?;
    node.del(&freed)?;
    // While suspended, only boot time advances, and addresses continue to cool down.
    node.clocks.set(0, DAY);
    node.start_again()?;
    node.expect(253)?;
    node.clocks.set(DAY, 0);
    node.start_again()?;
    node.expect(254)?;
    Ok(())
}

fn boot() -> anyhow::Result<()> {
    let mut node = Node::start(AN_HOUR)?;
    let freed = node.expect(254)?;
    node.del(&freed)?;
    // The reboot ends this allocation.
    node.expect(253)?;
    // After a reboot, each clock may be ahead or behind; none is comparable with the previous boot's.
    for (next, ahead, boottime) in [(252, DAY, DAY), (251, -DAY, 1 - uptime()?)] {
        node.victim.kill()?;
        node.victim.daemon.reboot()?;
        node.clocks.set_wall(ahead)?;
        node.clocks.set(boottime, 0);
        node.start_again()?;
        let held = node.victim.daemon.allocations("net")?;
        ensure!(held.is_empty(), "pods of another boot still own addresses: {held:?}");
        node.expect(next)?;
    }
    node.cool(1)?;
    node.start_again()?;
    node.come_back(&[252, 253, 254])
}

/// The claim's network is removed and defined again, and so is another one with its range, over restarts and with a clock that jumps back.
fn outlives() -> anyhow::Result<()> {
    let mut node = Node::start(AN_HOUR)?;
    let freed = node.expect(254)?;
    node.del(&freed)?;
    let remove = |node: &Node, name: &str| node.victim.daemon.ctl(&["network", "remove", name, "--apply"]);
    remove(&node, "net")?;
    let pod = node.expect(253)?;
    node.start_again()?;
    node.del(&pod)?;
    remove(&node, "net")?;
    node.clocks.set_wall(-DAY)?;
    node.start_again()?;
    node.expect(252)?;
    let other = Pod { network: "other".to_owned(), container: "other".to_owned() };
    let mut config = config();
    *config.pointer_mut("/name").context("no name")? = json!("other");
    let client = node.victim.client()?;
    let address = node.victim.block_on(client.add(&other, &config))?;
    ensure!(address == "10.93.0.252/24", "{address}");
    drop(client);
    // They come back when their time is over.
    node.cool(1)?;
    node.start_again()?;
    node.come_back(&[253, 254])
}

/// The machine's uptime, including time suspended.
fn uptime() -> anyhow::Result<i64> {
    let uptime = std::fs::read_to_string("/proc/uptime")?;
    Ok(uptime.split('.').next().context("an empty uptime")?.parse()?)
}

fn leaks() -> anyhow::Result<()> {
    let mut node = Node::prepare()?;
    let network =
        json!({ "cniVersion": "0.4.0", "name": "net", "plugins": [{ "type": "bridge", "ipam": {} }] });
    let containerd = Containerd::start(&node.victim.daemon.plugin_directory(&["tenure"])?, &network)?;
    let with_grace = |seconds: u32| {
        let socket = containerd.socket().display().to_string();
        format!(
            "[runtime]\nsocket = \"{socket}\"\ngrace_seconds = {seconds}\n\
             [log]\nlevel = \"info,tenure_runtime::leaks=debug\"\n"
        )
    };
    node.victim.daemon.configure(&with_grace(AN_HOUR))?;
    node.start_again()?;
    let namespaces = node.victim.daemon.path("netns");
    std::fs::create_dir_all(&namespaces)?;
    let namespace = namespaces.join("ghost");
    std::fs::write(&namespace, "")?;
    let ghost = Attachment::in_netns("ghost", namespace.display().to_string());
    node.victim.shim()?.call("ADD", &ghost, &config())?.address()?;
    std::fs::remove_file(namespace)?;

    let looks = |node: &Node| node.victim.daemon.log("looked for sandboxes held=1 gone=1").lines().count();
    wait::holds("the leak to be found", LIMIT, || Ok(looks(&node) > 0))?;
    let before = looks(&node);
    node.clocks.set_wall(DAY)?;
    wait::holds("another check", LIMIT, || Ok(looks(&node) > before))?;
    ensure!(node.victim.daemon.allocations("net")?.len() == 1, "freed before the grace period was over");

    node.victim.daemon.configure(&with_grace(1))?;
    node.clocks.set_wall(-DAY)?;
    node.start_again()?;
    wait::holds("the leak to be freed", LIMIT, || Ok(node.victim.daemon.allocations("net")?.is_empty()))
}

fn dels() -> anyhow::Result<()> {
    let node = Node::start(0)?;
    let shim = node.victim.shim()?;
    let (pod, input) = (Attachment::of("pod"), config().to_string());
    for ahead in [DAY, -DAY] {
        let mut late = shim.begin("ADD", &pod)?;
        late.rests()?;
        shim.call("DEL", &pod, &config())?.silent()?;
        node.clocks.set_wall(ahead)?;
        late.send(input.as_bytes())?;
        late.finish()?.error_code(TRY_AGAIN)?;
        shim.call("ADD", &pod, &config())?.address()?;
        shim.call("DEL", &pod, &config())?.silent()?;
    }
    Ok(())
}
