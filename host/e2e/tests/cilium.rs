//! Cilium's own addresses: the plugin, run in the agent's container as Cilium's source runs it, has claims of that agent.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::cage::{Cage, MOUNTED};
use tenure_e2e::{Attachment, Daemon, Need, Outcome, Plugin, Suite, binaries, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Cilium's agent and another one, on the node; each is root in its container.
const CILIUM: u32 = 42_201;
const OTHER: u32 = 42_202;

const NETWORK: &str =
    "[networks.cilium.ipam]\nranges = [[{ subnet = \"10.94.0.0/24\", gateway = \"10.94.0.1\" }]]\n";

/// How a revision of Cilium calls the plugin.
struct Call {
    container: &'static str,
    netns: &'static str,
    /// The environment beside `CNI_COMMAND`, `CNI_CONTAINERID`, `CNI_NETNS` and `CNI_IFNAME=eth0`. `CNI_PATH` is the default of
    /// `--delegated-ipam-cni-bin-path`.
    more: &'static [(&'static str, &'static str)],
}

/// The calls as cilium/cilium and cilium/design-cfps describe them. The standard input is `NetConf.PluginConfig.Bytes`: the block of `cilium-cni` in the
/// configuration list, with the list's `name` and `cniVersion` (`ReadNetConf` in plugins/cilium-cni/types/types.go).
const CALLS: [Call; 3] = [
    // daemon/infraendpoints/delegated_ipam.go at 8f95e28a5dee: newDelegatedIPAMArgs. The namespace is a descriptor of the agent.
    Call {
        container: "cilium-ingress-node-a",
        netns: "/proc/self/fd/17",
        more: &[
            (
                "CNI_ARGS",
                "IgnoreUnknown=true;K8S_POD_NAME=cilium-ingress-node-a;K8S_POD_NAMESPACE=kube-system",
            ),
            ("CNI_PATH", "/host/opt/cni/bin"),
        ],
    },
    // The same file at 3b43bc341f3f: newDelegatedIPAMArgs, and AsEnv for the last variable.
    Call {
        container: "cilium-ingress-node-b",
        netns: "/proc/1/ns/net",
        more: &[
            (
                "CNI_ARGS",
                "IgnoreUnknown=true;K8S_POD_NAME=cilium-ingress-node-b;K8S_POD_NAMESPACE=kube-system",
            ),
            ("CNI_PATH", "/host/opt/cni/bin"),
            ("CNI_NETNS_OVERRIDE", "1"),
        ],
    },
    // cilium/CFP-TODO-delegated-ipam-cilium-ips.md, "Process for cilium-agent to invoke delegated IPAM".
    Call { container: "cilium-agent-health", netns: "host", more: &[("CNI_PATH", "/host/opt/cni/bin")] },
];

fn main() -> ExitCode {
    Suite::new()
        .test("ciliums_calls_are_claims_that_outlive_everything", &[Need::Root], claims)
        .test("no_pods_call_is_a_claim_and_no_agents_call_an_attachment", &[Need::Root], apart)
        .test("only_an_agent_that_may_has_claims_by_the_plugin", &[Need::Root], allowed)
        .test("an_agents_del_while_the_daemon_is_away_fails_and_is_not_spooled", &[Need::Root], away)
        .test("an_agents_add_waits_for_its_network", &[Need::Root], early)
        .test("an_agents_check_confirms_its_claim_after_a_reboot", &[Need::Root], rebooted)
        .run()
}

/// The network, and both agents.
fn config(network: &str, cilium: &str) -> String {
    let table = |name: &str, uid: u32, more: &str| {
        format!("[agents.{name}]\nuid = {uid}\nnetworks = [\"*\"]\n{more}")
    };
    let agents = table("cilium", CILIUM, cilium) + &table("other", OTHER, "cni = true\n");
    format!("{network}[claims]\nsocket_mode = \"0666\"\n{agents}")
}

/// The block of the node's configuration list that Cilium passes on.
fn block(version: &str) -> Value {
    json!({
        "cniVersion": version,
        "name": "cilium",
        "type": "cilium-cni",
        "enable-debug": true,
        "log-file": "/var/run/cilium/cilium-cni.log",
        "ipam": { "type": "tenure" },
    })
}

/// The plugin in the container of an agent: the node's program, and the socket's directory.
struct Container {
    daemon: Daemon,
    cage: Cage,
}

impl Container {
    fn start(config: &str) -> anyhow::Result<Self> {
        let daemon = Daemon::start_with(config)?;
        wait::holds("the agents' socket", LIMIT, || {
            Ok(daemon.run_directory().join(tenure_rpc::AGENT_SOCKET).exists())
        })?;
        Ok(Self { daemon, cage: Cage::new(&binaries::find("tenure")?)? })
    }

    fn plugin(&self, user: u32) -> anyhow::Result<Plugin> {
        let command = self.cage.command(user, &self.daemon.run_directory().join("agent"), &[]);
        let plugin = Plugin::new(&binaries::find("tenure")?).under(&command);
        Ok(plugin.env("TENURE_AGENT_SOCKET", format!("{MOUNTED}/agent.sock")))
    }

    /// A call as Cilium makes it.
    fn call(&self, verb: &str, user: u32, call: &Call, config: &Value) -> anyhow::Result<Outcome> {
        let plugin = call
            .more
            .iter()
            .try_fold(self.plugin(user)?, |plugin, (name, value)| anyhow::Ok(plugin.env(name, *value)))?;
        plugin.call(verb, &Attachment::in_netns(call.container, call.netns), config)
    }

    /// The owner of each allocated address.
    fn held(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let text = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let owner = |found: &Value| match text(found, "/kind").as_str() {
            "claim" => format!("{}/{}", text(found, "/claim/agent"), text(found, "/claim/name")),
            kind => format!("{kind} {}", text(found, "/container_id")),
        };
        let found = self.daemon.allocations("cilium")?;
        Ok(found.iter().map(|found| (text(found, "/addresses/0"), owner(found))).collect())
    }
}

fn first() -> anyhow::Result<&'static Call> {
    CALLS.first().context("no calls")
}

fn claims() -> anyhow::Result<()> {
    let mut node = Container::start(&config(NETWORK, "cni = true\n"))?;
    let mut held = BTreeMap::new();
    for call in &CALLS {
        let add = node.call("ADD", CILIUM, call, &block("0.3.1"))?;
        let (address, result) = (add.address()?, add.result()?);
        ensure!(result.pointer("/ips/0/gateway") == Some(&json!("10.94.0.1")), "{result}");
        // ADD is not idempotent elsewhere; here it is.
        ensure!(
            node.call("ADD", CILIUM, call, &block("0.3.1"))?.address()? == address,
            "not the same: {add}"
        );
        node.call("CHECK", CILIUM, call, &block("1.1.0"))?.silent()?;
        held.insert(address, format!("cilium/{}", call.container));
    }
    ensure!(node.held()? == held && held.len() == CALLS.len(), "{:?} instead of {held:?}", node.held()?);

    // The runtime lists none of them as valid.
    let mut gc = block("1.1.0");
    gc.as_object_mut().context("no object")?.insert("cni.dev/valid-attachments".to_owned(), json!([]));
    node.daemon.shim()?.call("GC", &Attachment::of("runtime"), &gc)?.silent()?;
    node.call("GC", CILIUM, first()?, &gc)?.silent()?;
    node.daemon.kill()?;
    node.daemon.start_again()?;
    node.call("STATUS", CILIUM, first()?, &block("1.1.0"))?.silent()?;
    for call in &CALLS {
        let address = node.call("ADD", CILIUM, call, &block("0.3.1"))?.address()?;
        ensure!(held.contains_key(&address), "{address} after a restart");
    }
    ensure!(node.held()? == held, "{:?} instead of {held:?}", node.held()?);

    // The feature is switched off: DEL at each start of the agent.
    for call in &CALLS {
        for _ in 0..2 {
            node.call("DEL", CILIUM, call, &block("0.3.1"))?.silent()?;
        }
        node.call("CHECK", CILIUM, call, &block("1.1.0"))?.error_code(138)?;
    }
    ensure!(node.held()?.is_empty(), "{:?}", node.held()?);
    Ok(())
}

fn apart() -> anyhow::Result<()> {
    let node = Container::start(&config(NETWORK, "cni = true\n"))?;
    let call = first()?;
    let claim = node.call("ADD", CILIUM, call, &block("1.1.0"))?.address()?;
    // A pod of the same name has an address of its own, and its DEL ends nothing of the agent.
    let pod = Attachment::in_netns(call.container, call.netns);
    let shim = node.daemon.shim()?;
    let address = shim.call("ADD", &pod, &block("1.1.0"))?.address()?;
    ensure!(address != claim, "both have {claim}");
    ensure!(
        node.held()?.get(&address).is_some_and(|owner| owner.starts_with("attachment")),
        "{:?}",
        node.held()?
    );
    shim.call("DEL", &pod, &block("1.1.0"))?.silent()?;
    // The agent's DEL ends nothing of the pod.
    shim.call("ADD", &pod, &block("1.1.0"))?.address()?;
    node.call("DEL", CILIUM, call, &block("1.1.0"))?.silent()?;
    let held: Vec<_> = node.held()?.into_values().collect();
    ensure!(held == [format!("attachment {}", call.container)], "{held:?}");
    shim.call("DEL", &pod, &block("1.1.0"))?.silent()?;

    // A call that reaches the wrong socket by mistake is refused there.
    let run = node.daemon.run_directory();
    let agents = run.join(tenure_rpc::AGENT_SOCKET).display().to_string();
    let pods_there = Plugin::new(&binaries::find("tenure")?).env("TENURE_SOCKET", agents.clone());
    let agents_there =
        Plugin::new(&binaries::find("tenure")?).env("TENURE_AGENT_SOCKET", node.daemon.socket());
    // The runtime is not an agent, so it is refused before its request is read.
    for (wrong, why) in [(pods_there, "no agent of tenured.toml"), (agents_there, "gRPC status 12")] {
        for verb in ["ADD", "DEL"] {
            let error = wrong.call(verb, &pod, &block("1.1.0"))?.error()?;
            ensure!(error.msg.contains(why), "{verb}: {error:?}");
        }
    }
    // Nor what a runtime asks for the sandbox of a pod, even if it runs as the agent.
    let runtime = Call {
        more: &[(
            "CNI_ARGS",
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=front;K8S_POD_INFRA_CONTAINER_ID=4c01",
        )],
        ..CALLS[0]
    };
    for verb in ["ADD", "DEL"] {
        let error = node.call(verb, CILIUM, &runtime, &block("1.1.0"))?.error_code(130)?;
        ensure!(error.msg.contains("for the sandbox of a pod"), "{verb}: {error:?}");
    }
    ensure!(node.held()?.is_empty(), "{:?}", node.held()?);
    Ok(())
}

fn allowed() -> anyhow::Result<()> {
    let mut node = Container::start(&config(NETWORK, "cni = true\nnames = [\"cilium-*\"]\n"))?;
    let call = first()?;
    let address = node.call("ADD", CILIUM, call, &block("1.1.0"))?.address()?;
    // Another agent has claims of its own by the same names, and no way to this one's.
    node.call("DEL", OTHER, call, &block("1.1.0"))?.silent()?;
    node.call("CHECK", OTHER, call, &block("1.1.0"))?.error_code(138)?;
    let others = node.call("ADD", OTHER, call, &block("1.1.0"))?.address()?;
    ensure!(others != address, "both have {address}");
    node.call("DEL", OTHER, call, &block("1.1.0"))?.silent()?;
    let held = [(address.clone(), format!("cilium/{}", call.container))];
    ensure!(node.held()?.into_iter().eq(held), "{:?}", node.held()?);

    // A caller that is not an agent, a network that its table does not allow, and calls that no claim could be told apart by.
    node.call("ADD", 42_203, call, &block("1.1.0"))?.error_code(133)?;
    let named = Call { container: "router", ..CALLS[0] };
    let error = node.call("ADD", CILIUM, &named, &block("1.1.0"))?.error_code(130)?;
    ensure!(error.msg.contains("agents.cilium.names"), "{error:?}");
    let wanted = Call { more: &[("CNI_ARGS", "IP=10.94.0.77")], container: "cilium-wanted", ..CALLS[0] };
    let error = node.call("ADD", CILIUM, &wanted, &block("1.1.0"))?.error_code(130)?;
    ensure!(error.msg.contains("agents.cilium.addresses"), "{error:?}");
    let interface = Attachment { interface: "eth1".to_owned(), ..Attachment::of(call.container) };
    node.plugin(CILIUM)?.call("ADD", &interface, &block("1.1.0"))?.error_code(132)?;

    // An agent that may not use the plugin keeps what it has.
    node.daemon.configure(&config(NETWORK, ""))?;
    node.daemon.ctl(&["reload"])?;
    for verb in ["ADD", "CHECK", "STATUS", "DEL"] {
        let error = node.call(verb, CILIUM, call, &block("1.1.0"))?.error_code(130)?;
        ensure!(error.msg.contains("agents.cilium.cni does not allow"), "{verb}: {error:?}");
    }
    ensure!(node.held()?.len() == 1, "{:?}", node.held()?);
    node.daemon.stop()?;
    Ok(())
}

fn away() -> anyhow::Result<()> {
    let mut node = Container::start(&config(NETWORK, "cni = true\n"))?;
    let call = first()?;
    node.call("ADD", CILIUM, call, &block("1.1.0"))?.address()?;
    node.daemon.stop()?;
    for verb in ["DEL", "ADD"] {
        let error = node.call(verb, CILIUM, call, &block("1.1.0"))?.error_code(11)?;
        ensure!(error.msg.contains("cannot reach tenured"), "{verb}: {error:?}");
    }
    node.daemon.start_again()?;
    ensure!(node.held()?.len() == 1, "a DEL that failed was carried out: {:?}", node.held()?);
    wait::holds("the agents' socket", LIMIT, || {
        Ok(node.call("DEL", CILIUM, call, &block("1.1.0"))?.succeeded)
    })?;
    ensure!(node.held()?.is_empty(), "{:?}", node.held()?);
    Ok(())
}

fn early() -> anyhow::Result<()> {
    let node = Container::start(&config("", "cni = true\n"))?;
    let call = first()?;
    node.call("STATUS", CILIUM, call, &block("1.1.0"))?.error_code(50)?;
    let mut patient = block("1.1.0");
    *patient.pointer_mut("/ipam").context("no ipam")? = json!({ "type": "tenure", "timeout": 120 });
    let waiting = node.plugin(CILIUM)?.start(
        "ADD",
        &Attachment::in_netns(call.container, call.netns),
        &serde_json::to_vec(&patient)?,
    )?;
    node.daemon.configure(&config(NETWORK, "cni = true\n"))?;
    node.daemon.ctl(&["reload"])?;
    let address = waiting.finish()?.address()?;
    ensure!(address.starts_with("10.94.0."), "{address}");
    // One that does not come is told.
    let mut brief = block("1.1.0");
    *brief.pointer_mut("/name").context("no name")? = json!("nowhere");
    *brief.pointer_mut("/ipam").context("no ipam")? = json!({ "type": "tenure", "timeout": 2 });
    let error = node.call("ADD", CILIUM, call, &brief)?.error_code(109)?;
    ensure!(error.msg.contains("network nowhere does not exist yet"), "{error:?}");
    Ok(())
}

fn rebooted() -> anyhow::Result<()> {
    let mut node = Container::start(&config(NETWORK, "cni = true\n"))?;
    let call = first()?;
    let address = node.call("ADD", CILIUM, call, &block("1.1.0"))?.address()?;
    node.daemon.stop()?;
    node.daemon.reboot()?;
    node.daemon.start_again()?;
    let is_reserved = || -> anyhow::Result<Option<bool>> {
        let claims = node.daemon.ctl(&["claims"])?;
        Ok(claims.pointer("/claims/0/reserved").and_then(Value::as_bool))
    };
    ensure!(is_reserved()? == Some(true), "{}", node.daemon.ctl(&["claims"])?);
    // Cilium keeps an address that CHECK confirms, and never asks for it again.
    wait::holds("the agents' socket", LIMIT, || {
        Ok(node.call("CHECK", CILIUM, call, &block("1.1.0"))?.succeeded)
    })?;
    ensure!(is_reserved()? == Some(false), "{}", node.daemon.ctl(&["claims"])?);
    ensure!(node.held()?.contains_key(&address), "{:?}", node.held()?);
    Ok(())
}
