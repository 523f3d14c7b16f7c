//! podman with its CNI backend, including `--ip`.

use std::process::ExitCode;

use anyhow::ensure;
use serde_json::{Value, json};
use tenure_e2e::podman::Podman;
use tenure_e2e::{Daemon, Need, Suite};

const NEEDS: &[Need] =
    &[Need::Root, Need::PLUGINS, Need::IPROUTE, Need::UTIL_LINUX, Need::PODMAN, Need::RUNC];

fn main() -> ExitCode {
    Suite::new().test("containers_get_the_next_address_or_the_one_they_ask_for", NEEDS, containers).run()
}

fn containers() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let network = json!({
        "cniVersion": "0.4.0",
        "name": "containers",
        "plugins": [{
            "type": "bridge",
            "bridge": "br0",
            "isGateway": true,
            "ipam": {
                "type": "tenure",
                "socket": daemon.socket(),
                "ranges": [[{ "subnet": "10.65.0.0/24" }]],
                "routes": [{ "dst": "0.0.0.0/0" }],
            },
        }],
    });
    let podman = Podman::new(&daemon.plugin_directory(&["tenure"])?, &network)?;
    podman.start("next", "containers", &[])?;
    podman.start("asked", "containers", &["--ip", "10.65.0.77"])?;
    for (name, address) in [("next", "10.65.0.2"), ("asked", "10.65.0.77")] {
        let told = podman.run(&["inspect", "--format", "{{json .NetworkSettings.Networks}}", name])?;
        let told: Value = serde_json::from_str(&told)?;
        let told_address = told.pointer("/containers/IPAddress").and_then(Value::as_str);
        ensure!(told_address == Some(address), "{name} has a different address: {told}");
    }
    let taken = podman.start("taken", "containers", &["--ip", "10.65.0.77"]);
    ensure!(
        taken.as_ref().is_err_and(|error| error.to_string().contains("10.65.0.77 is not available")),
        "an address got a second owner: {taken:?}"
    );
    ensure!(daemon.allocations("containers")?.len() == 2, "the failed container kept an address");
    podman.run(&["rm", "--force", "--time", "0", "next", "asked"])?;
    let left = daemon.allocations("containers")?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}
