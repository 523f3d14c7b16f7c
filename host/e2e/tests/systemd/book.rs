//! Drop-ins that the book describes.

use anyhow::ensure;
use serde_json::json;
use tenure_e2e::Attachment;

use crate::machine::{Unit, boot};

/// host-local with its own directory, as in `delegates.md`.
pub(crate) fn delegates() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    unit.configure(
        "[delegates.host-local]
         path = \"/usr/lib/cni/host-local\"
         [networks.pods]
         delegate = \"host-local\"
         delegate_config = { subnet = \"10.84.0.0/24\" }\n",
    )?;
    unit.start()?;
    let config = json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": { "type": "tenure" } });
    let refused = unit.ipam()?.call("ADD", &Attachment::of("pod"), &config)?;
    ensure!(!refused.succeeded && refused.to_string().contains("read-only file system"), "{refused}");
    unit.add("StateDirectory=cni")?;
    unit.restart()?;
    let address = unit.ipam()?.call("ADD", &Attachment::of("pod"), &config)?.address()?;
    let bare = address.trim_end_matches("/24");
    node.sh(&format!("test -e /var/lib/cni/networks/pods/{bare}"))?;
    unit.ipam()?.call("DEL", &Attachment::of("pod"), &config)?.silent()
}

/// A group for the agents' socket, as in `agents.md`.
pub(crate) fn agents() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    unit.configure(
        "[claims]
         socket_mode = \"0660\"
         socket_group = 1234
         [agents.someone]
         uid = 1234
         networks = [\"pods\"]\n",
    )?;
    unit.add("PrivateUsers=no\nCapabilityBoundingSet=CAP_CHOWN\nSystemCallFilter=@chown")?;
    unit.start()?;
    let owner = node.sh("stat -c '%a %u %g' /run/tenure/agent/agent.sock")?;
    ensure!(owner == "660 0 1234", "{owner}");
    // Policies load beside a capability, too.
    unit.ipam()?.call("STATUS", &Attachment::of("pod"), &crate::machine::config("10.83.0.0/24"))?.silent()
}
