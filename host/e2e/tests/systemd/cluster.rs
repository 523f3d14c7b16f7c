//! The unit with the drop-in of clusters: a node that leases blocks. Its API server is not on loopback.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

use anyhow::ensure;
use tenure_e2e::{traffic, wait};

use crate::eni::LIMIT;
use crate::machine::{Unit, boot};

const DROP_IN: &str = "tenure-cluster.conf";

/// The address of the API server.
const SERVER: &str = "169.254.79.1:8103";

const CONFIG: &str = "[node]
name = \"node\"
machine_id = \"5c9a1d3e0f7b42668f0c1a2b3c4d5e6f\"
system_uuid = \"00000000-0000-4000-8000-000000000001\"
[cluster]
networks = { pods = [\"pods\"] }
kubeconfig = \"/etc/tenure/kubeconfig\"
[networks.pods]
ipam = { type = \"tenure\", policy = \"cluster-range\", pools = [\"pods\"] }
";

/// The unit keeps the daemon from the API server; the drop-in opens the way.
pub(crate) fn opened() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    unit.configure(CONFIG)?;
    let kubeconfig = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: \"http://{SERVER}\"}}}}], \
         users: [{{name: u, user: {{token: t}}}}], contexts: [{{name: c, context: {{cluster: c, user: u}}}}]}}"
    );
    fs::write(node.enclave.outside("/etc/tenure/kubeconfig"), kubeconfig)?;
    node.sh("ip addr add 169.254.79.1/32 dev lo")?;
    // It accepts connections, and answers none: that one arrives is enough.
    let server = traffic::inside(&node.own(), || Ok(TcpListener::bind(SERVER)?))?;
    server.set_nonblocking(true)?;
    unit.systemctl(&["start", "tenured"])?;
    wait::holds("a daemon that reaches nobody", LIMIT, || {
        Ok(node
            .daemon
            .ctl_output(&["status"])?
            .stdout
            .windows(19)
            .any(|found| found == b"cluster-unreachable"))
    })?;
    let refused = server.accept().err().map(|error| error.kind());
    ensure!(refused == Some(ErrorKind::WouldBlock), "somebody was reached: {refused:?}");
    unit.install(DROP_IN)?;
    unit.systemctl(&["restart", "tenured"])?;
    wait::holds("a connection", LIMIT, || Ok(server.accept().is_ok()))
}
