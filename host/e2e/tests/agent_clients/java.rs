//! A client in Java with gRPC's own library, which sends the socket's path as the authority of its requests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use tenure_e2e::{Daemon, wait};

use super::{LIMIT, NETWORK, config};

pub(crate) fn is_served() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
    let libraries = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("java");
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies", "-f"]).arg(folder.join("pom.xml"));
    maven.arg(format!("-DoutputDirectory={}", libraries.display()));
    run(&mut maven)?;
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&config(NETWORK))?;
    daemon.start_again()?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    wait::holds("the agents' socket", LIMIT, || Ok(socket.exists()))?;
    let mut client = Command::new("java");
    client.arg("-cp").arg(format!("{}/*", libraries.display())).arg(folder.join("Client.java")).arg(&socket);
    let said = run(&mut client)?;
    // There is no claim, and an empty message has no bytes.
    ensure!(said.trim() == "0", "{said}");
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let [said, told] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    ensure!(output.status.success(), "{command:?}: {}: {said}{told}", output.status);
    Ok(said.into_owned())
}
