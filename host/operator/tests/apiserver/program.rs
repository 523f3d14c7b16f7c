//! The built program: two replicas, of which the leader is killed.

use std::process::{Child, Command, Stdio};

use anyhow::ensure;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;
use tenure_cluster::client::call;

use crate::Test;
use crate::agent::referee;
use crate::cluster::Cluster;
use crate::grants::agents;

pub(crate) const TESTS: &[Test] = &[("program::a_replica_goes_on_where_a_killed_leader_left_off", killed)];

/// A replica; killed when it is dropped.
struct Replica(Child);

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(cluster: &Cluster, name: &str) -> anyhow::Result<Replica> {
    let child = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_tenure-operator"), "--identity", name])
        .arg("--kubeconfig")
        .arg(&cluster.kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Replica(child))
}

/// The holder of the election's Lease.
fn leader(cluster: &Cluster) -> anyhow::Result<Option<String>> {
    let api: Api<Lease> = Api::namespaced(cluster.client.clone(), "tenure-system");
    let lease = cluster.runtime.block_on(call(api.get_opt("tenure-operator")))?;
    Ok(lease.and_then(|lease| lease.spec?.holder_identity))
}

fn killed(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("served", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let first = start(cluster, "first")?;
    cluster
        .until("the first to lead", || Ok((leader(cluster)?.as_deref() == Some("first")).then_some(())))?;
    let mut second = start(cluster, "second")?;
    let serve = |agents: &mut [crate::agent::TestAgent], blocks: usize| {
        cluster.until("blocks", || {
            agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
            Ok((referee(agents)? == blocks).then_some(()))
        })
    };
    agents[0].want(cluster, &pool, 1)?;
    serve(&mut agents, 1)?;
    ensure!(leader(cluster)?.as_deref() == Some("first"), "the second one leads, too");
    drop(first);
    agents[1].want(cluster, &pool, 2)?;
    serve(&mut agents, 3)?;
    ensure!(leader(cluster)?.as_deref() == Some("second"));
    // A leader that is asked to stop gives the Lease up.
    let pid = rustix::process::Pid::from_child(&second.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let status = second.0.wait()?;
    ensure!(status.success(), "{status}");
    ensure!(leader(cluster)?.is_none(), "the Lease is still held");
    Ok(())
}
