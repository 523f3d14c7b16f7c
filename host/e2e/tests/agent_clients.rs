//! The clients for agents, as their authors get them: the example agents of the SDKs with a real daemon.

#[path = "agent_clients/caged.rs"]
mod caged;
#[path = "agent_clients/components.rs"]
mod components;
#[path = "agent_clients/example.rs"]
mod example;
#[path = "agent_clients/golang.rs"]
mod golang;
#[path = "agent_clients/java.rs"]
mod java;
#[path = "agent_clients/python.rs"]
mod python;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use example::Example;
use serde_json::Value;
use tenure_e2e::{Daemon, Need, Suite, binaries, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The variable that makes the test of the stubs in Go write them.
const WRITE: &str = "TENURE_WRITE_STUBS";

fn main() -> ExitCode {
    Suite::new()
        .test("the_example_in_rust_keeps_its_claims", &[], || keeps(&rust()?))
        .test("components_in_rust_keep_their_own_claims", &[], || components::keep_their_own(&rust()?))
        .test("caged_agents_keep_their_addresses_whoever_is_killed", &[Need::Root], || {
            caged::rounds(&rust()?, 200)
        })
        .test("the_stubs_in_go_are_those_of_the_protocol", &[Need::GO], golang::stubs)
        .test("the_example_in_go_keeps_its_claims", &[Need::GO], || keeps(&golang::example()?))
        .test("components_in_go_keep_their_own_claims", &[Need::GO], || {
            components::keep_their_own(&golang::example()?)
        })
        .test("caged_agents_in_go_keep_their_addresses_whoever_is_killed", &[Need::Root, Need::GO], || {
            caged::rounds(&golang::example()?, 50)
        })
        .test("an_agent_in_python_keeps_its_claims_with_grpcs_own_library", &[Need::Grpcio], python::keeps)
        .test("a_plain_client_in_java_is_served", &[Need::MAVEN], java::is_served)
        .run()
}

/// A path in the folder of the SDKs.
fn sdk(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk").join(path)
}

/// The example in Rust.
fn rust() -> anyhow::Result<PathBuf> {
    binaries::find("examples/agent")
}

/// Compares a committed file with what is generated.
fn same(file: &Path, generated: &str) -> anyhow::Result<()> {
    if std::env::var_os(WRITE).is_some() {
        return Ok(fs::write(file, generated)?);
    }
    let committed = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let path = file.display();
    ensure!(committed == generated, "{path} is out of date: run this test with {WRITE}=1");
    Ok(())
}

/// A network, and one agent that may have claims on it: the user who runs the test.
fn config(network: &str) -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("{network}[agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n")
}

const NETWORK: &str =
    "[networks.pods.ipam]\nranges = [[{ subnet = \"10.92.0.0/24\", gateway = \"10.92.0.1\" }]]\n";

/// Checks the duties of any client, on its example.
fn keeps(program: &Path) -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let start = |names: &[&str]| {
        let mut command = Command::new(program);
        command.arg(&socket).arg("pods").args(names);
        Example::start(command)
    };
    // Before there is a daemon, and then before there is a network.
    let mut agent = start(&["health", "router"])?;
    agent.knows("away", 0)?;
    daemon.configure(&config(""))?;
    daemon.start_again()?;
    daemon.configure(&config(NETWORK))?;
    daemon.ctl(&["reload"])?;
    let first = agent.knows("current", 2)?;
    ensure!(
        first.keys().eq(["health", "router"]) && first.values().all(|text| text.ends_with("/24")),
        "{first:?}"
    );

    // It keeps what it knows, and says why that may be out of date.
    daemon.stop()?;
    ensure!(agent.knows("away", 2)? == first, "{:?}", agent.lines());
    ensure!(agent.lines().last().is_some_and(|line| line.ends_with(')')), "{:?}", agent.lines());
    daemon.start_again()?;
    ensure!(agent.knows("current", 2)? == first, "{:?}", agent.lines());
    daemon.kill()?;
    ensure!(agent.knows("away", 2)? == first, "{:?}", agent.lines());
    daemon.start_again()?;
    ensure!(agent.knows("current", 2)? == first, "{:?}", agent.lines());

    // A claim that an operator releases is told, and claimed again.
    daemon.ctl(&["claims", "release", "cilium", "pods", "router", "--apply", "--reason", "a test"])?;
    wait::holds("another address", LIMIT, || {
        Ok(agent.lines().last().and_then(|line| example::claims(line, "current")).is_some_and(|now| {
            now.len() == 2
                && now.get("router") != first.get("router")
                && now.get("health") == first.get("health")
        }))
    })
    .with_context(|| format!("{:?}", agent.lines()))?;
    let lines = agent.lines();
    ensure!(
        lines.iter().any(|line| line.starts_with("away") && line.contains("operator: a test")),
        "{lines:?}"
    );

    // One that it may not have is refused with the rule, and costs it nothing.
    daemon.configure(&format!("{}names = [\"health\", \"ingress\"]\n", config(NETWORK)))?;
    daemon.ctl(&["reload"])?;
    agent.kill();
    let mut agent = start(&["health", "router"])?;
    agent.knows("away", 0)?;
    let last = agent.lines().pop().unwrap_or_default();
    ensure!(last.contains("claim-denied") && last.contains("agents.cilium.names"), "{last}");
    ensure!(daemon.allocations("pods")?.len() == 2, "a refused declaration released something");

    // What is no longer declared is released.
    agent.kill();
    let mut agent = start(&["health"])?;
    let only = agent.knows("current", 1)?;
    ensure!(only.get("health") == first.get("health"), "{only:?}");
    let left = daemon.allocations("pods")?;
    let is_claim = |found: &Value| found.get("kind").and_then(Value::as_str) == Some("claim");
    ensure!(left.len() == 1 && left.iter().all(is_claim), "{left:?}");
    Ok(())
}
