//! Writes that are held up, or fail: nothing else waits for them, and they are made again soon.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressPool};
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_operator::reports::Reports;

use crate::Test;
use crate::claims::{claim, told};
use crate::clock::TestClock;
use crate::cluster::Cluster;
use crate::ipam_claims::{define, make, status, undefine};

pub(crate) const TESTS: &[Test] =
    &[("held_up::a_claim_whose_writes_are_held_up_keeps_no_other_from_its_address", held_up)];

fn held_up(cluster: &Cluster) -> anyhow::Result<()> {
    undefine(cluster)?;
    define(cluster)?;
    let pool = json!({
        "usage": "Claims", "networks": ["blue"], "ipv4": { "cidrs": ["10.60.0.0/29"], "blockPrefix": 32 },
    });
    cluster.create(&AddressPool::new("names", serde_json::from_value(pool)?))?;
    claim(cluster, "one", &json!({}))?;
    claim(cluster, "other", &json!({}))?;
    make(cluster, "vm", "blue", &json!([]))?;
    // The operator looks at the older one first.
    let api: Api<AddressClaim> = Api::namespaced(cluster.client.clone(), "default");
    let made = cluster.runtime.block_on(call(api.list(&ListParams::default())))?;
    let order = |claim: &&AddressClaim| (claim.metadata.creation_timestamp.clone(), claim.uid());
    let slow = made.items.iter().min_by_key(order).context("no claim")?.name_any();
    let young = if slow == "one" { "other" } else { "one" };
    let path = format!("/addressclaims/{slow}");
    let clock: Arc<TestClock> = Arc::default();
    let (proxy, passes) = (cluster.with_plane(|plane| plane.proxy())?, Arc::clone(&clock));
    // Somebody's webhook takes its time, and does not answer then.
    proxy.choose(move |request| match request.method == "PATCH" && request.path.contains(&path) {
        true => {
            passes.advance(10);
            ProxyFault::Refuse(500)
        }
        false => ProxyFault::Pass,
    });
    let client = cluster.client_through(&proxy)?;
    let mut operator = cluster.operator_with(&client, &clock, Reports::default())?;
    cluster.drive(&mut operator, "the addresses of both others", || {
        let told = told(cluster, young)?.context("no claim")?;
        Ok((told.phase == "Bound" && status(cluster, "vm")?.ips.len() == 1).then_some(()))
    })?;
    ensure!(told(cluster, &slow)?.context("no claim")?.phase.is_empty());
    undefine(cluster)
}
