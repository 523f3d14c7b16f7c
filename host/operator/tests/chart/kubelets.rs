//! Daemons outside of pods, which use the kubelet's credentials.

use kube::api::DeleteParams;
use tenure_cluster::NodeIPAM;
use tenure_fixtures::control_plane::ADMIN_TOKEN;

use crate::Test;
use crate::agents::{agent, object};
use crate::cluster::{Cluster, RELEASE, all, chart, forbidden};

pub(crate) const TESTS: &[Test] = &[("kubelets::a_kubelet_writes_its_own_object_if_the_values_say_so", own)];

fn own(cluster: &Cluster) -> anyhow::Result<()> {
    // For the nodes and the policy.
    agent(cluster, "node-a")?;
    let kubelet = cluster.connect(ADMIN_TOKEN, ", as: \"system:node:node-a\", as-groups: [system:nodes]")?;
    forbidden(cluster.create(&kubelet, &object("node-a")), "cannot create resource \"nodeipams\"")?;
    let chart = chart();
    let path = chart.to_str().unwrap();
    cluster.helm(&[
        "upgrade",
        RELEASE,
        path,
        "--reuse-values",
        "--set",
        "cluster.kubeletCredentials=true",
    ])?;
    cluster.until("the role to be in force", || {
        Ok(cluster.create(&kubelet, &object("node-a")).ok().map(drop))
    })?;
    forbidden(
        cluster.create(&kubelet, &object("node-b")),
        "node-a writes the NodeIPAM of its own node, and not node-b",
    )?;
    cluster.call(all::<NodeIPAM>(&cluster.client).delete("node-a", &DeleteParams::default()))?;
    cluster.release()
}
