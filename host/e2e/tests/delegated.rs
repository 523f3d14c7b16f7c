//! The policy `plugins/delegated` in the real sandbox: agents and pods share a network by its rules.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod agent;
#[path = "support/component.rs"]
mod component;

use std::process::ExitCode;
use std::time::Duration;

use agent::{Agent, claim};
use anyhow::ensure;
use component::{build, entry};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Suite, wait};
use tenure_types::ErrorCode;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The groups of two agents.
const CILIUM: u32 = 42_001;
const MONITOR: u32 = 42_002;

const NETWORK: &str = r#"
[networks.pods]
policy = "delegated"

[networks.pods.ipam]
ranges = [[{ subnet = "10.93.0.0/27", gateway = "10.93.0.1" }]]
agents = { first = 3, quota = { cilium = 4, "*" = 1 }, fixed = { "cilium/router" = "10.93.0.20" } }
fixed = { "shop/web-0" = "10.93.0.25" }
"#;

fn main() -> ExitCode {
    Suite::new().test("agents_and_pods_share_a_network_by_the_policys_rules", &[Need::Root], shared).run()
}

fn config() -> Value {
    json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": { "type": "tenure" } })
}

fn shared() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let policy = entry("delegated", &build("tenure-delegated", &daemon)?)?;
    let table = |name: &str, gid: u32| format!("[agents.{name}]\ngid = {gid}\nnetworks = [\"pods\"]\n");
    let agents = [table("cilium", CILIUM), table("monitor", MONITOR)].concat();
    daemon.configure(&format!("{NETWORK}{policy}{agents}"))?;
    daemon.start_again()?;
    let agent = Agent::at(&daemon.run_directory());
    let (cilium, monitor) = (agent.in_group(CILIUM), agent.in_group(MONITOR));
    wait::holds("the agents' socket", LIMIT, || Ok(cilium.lists()?.is_ok()))?;
    wait::holds("the network", LIMIT, || Ok(!daemon.networks()?.is_empty()))?;

    let shim = daemon.shim()?;
    let pod = |name: &str| -> anyhow::Result<String> {
        let args = format!("K8S_POD_NAMESPACE=shop;K8S_POD_NAME={name}");
        let shim = shim.clone().env("CNI_ARGS", args);
        let address = shim.call("ADD", &Attachment::of(name), &config())?.address()?;
        Ok(address.split('/').next().unwrap_or_default().to_owned())
    };
    // Pods come after the first addresses, and one has an address of its own.
    ensure!(pod("web-1")? == "10.93.0.5" && pod("web-0")? == "10.93.0.25", "the pods");
    let claimed = |agent: &Agent, name: &str| anyhow::Ok(agent.ensures(claim(name))??.concat());
    ensure!(claimed(&cilium, "router")? == "10.93.0.20", "a fixed address by name");
    ensure!(
        claimed(&cilium, "health")? == "10.93.0.2" && claimed(&monitor, "probe")? == "10.93.0.3",
        "the first"
    );
    ensure!(claimed(&cilium, "ingress")? == "10.93.0.4", "the last of the first");
    ensure!(claimed(&cilium, "egress")? == "10.93.0.6", "what pods get, once these are used up");
    for (agent, name) in [(&cilium, "more"), (&monitor, "more")] {
        let refused = agent.ensures(claim(name))?;
        ensure!(
            refused
                .as_ref()
                .is_err_and(|error| error.code == ErrorCode::OverQuota && error.cause.contains("quota")),
            "{refused:?}"
        );
    }

    // All others are for pods, and none of the agents' ever is, not even when the agent has gone.
    let left: Vec<String> = (2..).map(|number| pod(&format!("web-{number}"))).map_while(Result::ok).collect();
    ensure!(left.len() == 22, "{} pods: {left:?}", left.len());
    cilium.releases("pods", "router")??;
    ensure!(pod("late").is_err(), "a pod got the address of an agent");
    daemon.kill()?;
    daemon.start_again()?;
    wait::holds("the agents' socket", LIMIT, || Ok(cilium.lists()?.is_ok()))?;
    wait::holds("the router's address", LIMIT, || {
        Ok(cilium.ensures(claim("router"))?.is_ok_and(|address| address == ["10.93.0.20"]))
    })
}
