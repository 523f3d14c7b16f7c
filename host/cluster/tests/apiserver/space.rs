//! AddressSpaces.

use serde_json::{Value, json};
use tenure_cluster::AddressSpace;
use tenure_leases::Uid;

use crate::Test;
use crate::cluster::{Cluster, refused};

pub(crate) const TESTS: &[Test] = &[("space::a_range_changes_its_state_alone", states)];

fn range(id: &str, cidr: &str, state: &str) -> Value {
    let pool = json!({ "name": "blue", "uid": Uid(31).to_string() });
    json!({ "id": id, "cidr": cidr, "unit": 26, "usage": "Blocks", "pool": pool, "state": state })
}

fn states(cluster: &Cluster) -> anyhow::Result<()> {
    let (one, two) = ("0000000000000001", "0000000000000002");
    let spec = json!({ "ranges": [range(one, "10.0.0.0/16", "Open")] });
    cluster.create::<AddressSpace>(
        json!({ "apiVersion": "ipam.tenure.dev/v1alpha1", "kind": "AddressSpace", "metadata": { "name": "states" }, "spec": spec }),
    )?;
    let change =
        |ranges: Value| cluster.change::<AddressSpace>("states", &json!({ "spec": { "ranges": ranges } }));
    refused(change(json!([range(one, "10.1.0.0/16", "Open")])), "a range is immutable but for its state")?;
    refused(change(json!([range("1", "10.1.0.0/16", "Open")])), "spec.ranges[0].id")?;
    refused(change(json!([range(one, "10.0.0.0/16", "Shut")])), "Unsupported value")?;
    let twice = json!([range(one, "10.0.0.0/16", "Open"), range(one, "10.1.0.0/16", "Open")]);
    refused(change(twice), "Duplicate value")?;
    change(json!([range(one, "10.0.0.0/16", "Closed"), range(two, "10.1.0.0/16", "Open")]))?;
    let open = json!([range(one, "10.0.0.0/16", "Open"), range(two, "10.1.0.0/16", "Open")]);
    change(open)?;
    change(json!([range(two, "10.1.0.0/16", "Open")]))?;
    Ok(())
}
