//! Writes that are held up, or fail: nothing else waits for them, and they are made again soon.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressPool};
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_fixtures::wait;
use tenure_operator::Operator;
use tenure_operator::reports::Reports;
use tenure_operator::view::Watches;
use tenure_supervise::{Gate, Interruptible as _};

use crate::Test;
use crate::claims::{bound, claim, told};
use crate::clock::TestClock;
use crate::cluster::Cluster;
use crate::ipam_claims::{define, make, status, undefine};

pub(crate) const TESTS: &[Test] = &[
    ("held_up::a_claim_whose_writes_are_held_up_keeps_no_other_from_its_address", held_up),
    ("held_up::a_write_that_fails_is_made_again_within_seconds", failed),
];

/// The failures one after the other. The other writes of the first pass make an event or two.
const FAILURES: u32 = 4;

/// Less than the time after which a pass is made anyway, and more than the pauses after the failures, which are 15 s.
const SOON: Duration = Duration::from_secs(45);

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

fn failed(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.pool("names", "10.60.0.0/29", 32, &json!({ "usage": "Claims" }))?;
    claim(cluster, "one", &json!({}))?;
    let clock: Arc<TestClock> = Arc::default();
    bound(cluster, &mut cluster.operator(&clock)?, "one")?;
    claim(cluster, "other", &json!({}))?;
    let (proxy, failures) = (cluster.with_plane(|plane| plane.proxy())?, Arc::new(AtomicU32::new(0)));
    let seen = Arc::clone(&failures);
    // Nothing else happens in the cluster.
    proxy.choose(move |request| match request.method == "POST" && request.path.contains("/ipblocks") {
        true if seen.fetch_add(1, Ordering::Relaxed) < FAILURES => ProxyFault::Refuse(500),
        _ => ProxyFault::Pass,
    });
    let client = cluster.client_through(&proxy)?;
    let reports = Reports::default();
    let (mut watches, leading) = (Watches::new(&client, &reports.metrics), Gate::default());
    let mut operator = Operator::new(client, &watches, clock, leading.clone());
    let parts = cluster.runtime.spawn(async move {
        leading.open();
        tokio::join!(watches.work(), operator.work())
    });
    let granted = wait::until("another grant", SOON, || {
        Ok((told(cluster, "other")?.context("no claim")?.phase == "Bound").then_some(()))
    });
    parts.abort();
    granted?;
    ensure!(failures.load(Ordering::Relaxed) > FAILURES);
    Ok(())
}
