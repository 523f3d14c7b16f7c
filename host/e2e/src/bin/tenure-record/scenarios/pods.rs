//! Requests of pods that succeed.

use serde_json::{Value, json};
use tenure_e2e::recording::Step;

use super::{Scenario, add, and, ctl, del, early, network, plugin, subnet, with, write};

/// Every version of CNI.
const VERSIONS: [&str; 7] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

pub(super) fn scenario() -> Scenario {
    let four = || subnet("1.0.0", "four", "10.80.0.0/24");
    let mut steps = vec![
        write(
            "resolv.conf",
            "nameserver 10.96.0.10\nsearch shop.svc.cluster.local svc.cluster.local\noptions ndots:5\n",
        ),
        add("a single-stack ADD", "web-1", four()),
        add("a repeated ADD", "web-1", four()),
        add("a dual-stack ADD with routes", "both", both("1.1.0")),
        Step::Plugin(with(
            plugin("a pod identity in CNI_ARGS", "ADD", "named", four()),
            "CNI_ARGS",
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0;K8S_POD_UID=7f3b;K8S_POD_INFRA_CONTAINER_ID=named",
        )),
        Step::Plugin(with(
            plugin("a requested address in CNI_ARGS", "ADD", "asks-1", four()),
            "CNI_ARGS",
            "IgnoreUnknown=1;IP=10.80.0.77",
        )),
        add(
            "a requested address in args.cni",
            "asks-2",
            and(four(), "args", json!({ "cni": { "ips": ["10.80.0.78"] } })),
        ),
        add(
            "a requested address in runtimeConfig",
            "asks-3",
            and(four(), "runtimeConfig", json!({ "ips": ["10.80.0.79/24"] })),
        ),
        add(
            "ranges in runtimeConfig",
            "ranged",
            and(
                network("1.0.0", "ranged", json!({})),
                "runtimeConfig",
                json!({ "ipRanges": [[{ "subnet": "10.82.0.0/24" }]] }),
            ),
        ),
        add(
            "name servers from resolvConf",
            "resolves",
            network(
                "1.0.0",
                "resolves",
                json!({ "resolvConf": "$DIR/resolv.conf", "ranges": [[{ "subnet": "10.83.0.0/24" }]] }),
            ),
        ),
        add(
            "another policy",
            "high",
            network(
                "1.0.0",
                "high",
                json!({ "policy": "highest-first", "ranges": [[{ "subnet": "10.84.0.0/24" }]] }),
            ),
        ),
    ];
    steps.extend(
        VERSIONS.map(|version| add("an ADD in another CNI version", &format!("v{version}"), both(version))),
    );
    let newest = || subnet("1.1.0", "four", "10.80.0.0/24");
    let listed =
        json!([{ "containerID": "web-1", "ifname": "eth0" }, { "containerID": "named", "ifname": "eth0" }]);
    steps.extend([
        Step::Plugin(plugin("an attachment that exists", "CHECK", "web-1", four())),
        Step::Plugin(with(
            plugin("an attachment that does not exist", "CHECK", "web-1", four()),
            "CNI_IFNAME",
            "eth1",
        )),
        Step::Plugin(plugin("a network with free addresses", "STATUS", "", newest())),
        ctl(&["allocations"]),
        del("a DEL", "both", both("1.1.0")),
        del("a repeated DEL", "both", both("1.1.0")),
        del("a DEL of an unknown container", "never", four()),
        del(
            "a DEL on an unknown network, without an ipam key",
            "never",
            json!({ "cniVersion": "1.0.0", "name": "never" }),
        ),
        Step::Plugin(early(plugin(
            "a DEL that began before the ADD and must not free its address",
            "DEL",
            "web-1",
            four(),
        ))),
        Step::Plugin(plugin("the address is still allocated", "CHECK", "web-1", four())),
        Step::Plugin(plugin(
            "a GC that keeps two attachments",
            "GC",
            "",
            and(newest(), "cni.dev/valid-attachments", listed),
        )),
        Step::Plugin(plugin("the GC has freed this attachment", "CHECK", "asks-1", four())),
        ctl(&["allocations", "--network", "four"]),
        ctl(&["networks"]),
    ]);
    Scenario {
        name: "pods",
        about: "every CNI verb, in every CNI version, and what the operator sees of it",
        configuration: "",
        answers_only: None,
        steps,
    }
}

/// A network of both families, with routes.
fn both(version: &str) -> Value {
    let ranges =
        json!([[{ "subnet": "10.81.0.0/24", "gateway": "10.81.0.254" }], [{ "subnet": "fd00:81::/64" }]]);
    let routes = json!([{ "dst": "0.0.0.0/0" }, { "dst": "fd00::/8", "gw": "fd00:81::1" }]);
    network(version, "both", json!({ "ranges": ranges, "routes": routes }))
}
