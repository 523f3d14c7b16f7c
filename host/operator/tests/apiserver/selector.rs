//! A selector that the API server takes, and that says nothing about nodes.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::json;
use tenure_cluster::{AddressPool, IPBlock};

use crate::Test;
use crate::clock::TestClock;
use crate::cluster::Cluster;
use crate::grants::{agents, ready, settle};

pub(crate) const TESTS: &[Test] =
    &[("selector::an_invalid_selector_grants_nothing_and_takes_nothing", invalid)];

fn invalid(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("pods", "10.0.0.0/24", 28, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    agents[0].want(cluster, &pool, 2)?;
    let mut operator = cluster.operator(&clock)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    let selector = json!({ "matchExpressions": [{ "key": "zone", "operator": "Inn", "values": ["a"] }] });
    cluster.change::<AddressPool>("pods", &json!({ "spec": { "nodeSelector": selector } }))?;
    agents[1].want(cluster, &pool, 1)?;
    cluster.drive(&mut operator, "the condition and the node's reason", || {
        let refused =
            cluster.condition("pods", "Allocatable")? == Some(("False".into(), "InvalidSelector".into()));
        Ok((refused && ready(cluster, "n2")?.as_deref() == Some("InvalidSelector")).then_some(()))
    })?;
    // Long after a selector that matches nobody would drain.
    clock.advance(3600);
    for _ in 0..5 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    let blocks = cluster.list::<IPBlock>()?;
    let marked =
        blocks.iter().filter(|block| block.status.as_ref().is_some_and(|status| status.mark.is_some()));
    ensure!(blocks.len() == 2 && marked.count() == 0, "{blocks:?}");
    cluster.change::<AddressPool>("pods", &json!({ "spec": { "nodeSelector": null } }))?;
    settle(cluster, &mut operator, &mut agents, 3)
}
