//! The agent in Python that the book shows, with gRPC's own library: nothing of it is ours but the protocol.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use rustix::process::Signal;
use tenure_e2e::{Daemon, grpcio, wait};

use super::{LIMIT, NETWORK, config, example, sdk};
use crate::example::Example;

/// The longest that the program may be, so that the book can show it.
const LONGEST: usize = 60;

pub(crate) fn keeps() -> anyhow::Result<()> {
    let python = grpcio::python().context("no Python")?;
    let program = sdk("agent-python/agent.py");
    let lines = std::fs::read_to_string(&program)?.lines().count();
    ensure!(lines < LONGEST, "it has {lines} lines");
    let mut daemon = Daemon::prepare()?;
    let modules = daemon.path("modules");
    generate(&python, &modules)?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let mut command = Command::new(python);
    command.arg(program).arg(&socket).args(["pods", "health", "router"]).env("PYTHONPATH", &modules);
    let mut agent = Example::start(command)?;
    agent.knows("away", 0)?;
    daemon.configure(&config(NETWORK))?;
    daemon.start_again()?;
    let first = agent.knows("current", 2)?;
    ensure!(first.values().all(|text| text.ends_with("/24")), "{first:?}");
    daemon.stop()?;
    ensure!(agent.knows("away", 2)? == first, "{:?}", agent.lines());
    daemon.start_again()?;
    ensure!(agent.knows("current", 2)? == first, "{:?}", agent.lines());
    // A daemon that hangs keeps its connections: only its silence shows it.
    daemon.signal(Signal::STOP)?;
    ensure!(agent.knows("away", 2)? == first, "{:?}", agent.lines());
    daemon.signal(Signal::CONT)?;
    ensure!(agent.knows("current", 2)? == first, "{:?}", agent.lines());
    daemon.ctl(&["claims", "release", "cilium", "pods", "router", "--apply", "--reason", "a test"])?;
    wait::holds("another address", LIMIT, || {
        let lines = agent.lines();
        let now = lines.last().and_then(|line| example::claims(line, "current")).unwrap_or_default();
        Ok(now.len() == 2
            && now.get("router") != first.get("router")
            && now.get("health") == first.get("health"))
    })
    .with_context(|| format!("{:?}", agent.lines()))?;
    let told = agent.lines();
    ensure!(told.iter().any(|line| line.contains("operator: a test")), "{told:?}");
    // It leaves the daemon nothing to complain about.
    agent.kill();
    Ok(())
}

/// Generates the modules of the protocol.
fn generate(python: &Path, modules: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(modules)?;
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rpc/proto");
    let mut command = Command::new(python);
    command.args(["-m", "grpc_tools.protoc", "-I"]).arg(proto);
    for option in ["--python_out", "--grpc_python_out"] {
        command.arg(format!("{option}={}", modules.display()));
    }
    let output = command.arg("tenure/v1/claims.proto").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
