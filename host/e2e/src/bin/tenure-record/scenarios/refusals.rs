//! Requests of pods that fail.

use serde_json::json;
use tenure_e2e::recording::Step;

use super::{Scenario, add, and, ctl, del, early, network, plugin, subnet, with};

pub(super) fn scenario() -> Scenario {
    let small = || subnet("1.1.0", "small", "10.90.0.0/30");
    let wide = || subnet("1.0.0", "wide", "10.91.0.0/24");
    let asking = |address: &str| and(wide(), "args", json!({ "cni": { "ips": [address] } }));
    let steps = vec![
        add("an ADD of the last free address", "first", small()),
        add("an ADD on an exhausted pool", "second", small()),
        Step::Plugin(plugin("a STATUS of an exhausted network", "STATUS", "", small())),
        ctl(&["status"]),
        add(
            "an invalid subnet",
            "odd",
            network("1.0.0", "odd", json!({ "ranges": [[{ "subnet": "10.92.0.0/33" }]] })),
        ),
        add("a configuration without ranges", "none", network("1.0.0", "none", json!({}))),
        add(
            "an unknown policy",
            "stray",
            network(
                "1.0.0",
                "stray",
                json!({ "policy": "nobodys", "ranges": [[{ "subnet": "10.93.0.0/24" }]] }),
            ),
        ),
        add("an ADD of a requested address", "has", asking("10.91.0.7")),
        add("a requested address that is taken", "wants", asking("10.91.0.7")),
        add("a requested address outside the ranges", "wants", asking("192.0.2.1")),
        add("a requested address that is malformed", "wants", asking("here")),
        Step::Plugin(early(plugin("an ADD that began before the daemon started", "ADD", "late", wide()))),
        add("more networks than the limit", "more", subnet("1.0.0", "more", "10.94.0.0/24")),
        Step::Plugin(plugin(
            "a CHECK on an unknown network",
            "CHECK",
            "first",
            subnet("1.0.0", "nowhere", "10.95.0.0/24"),
        )),
        Step::Plugin(with(plugin("malformed CNI_ARGS", "ADD", "garbled", wide()), "CNI_ARGS", "IP")),
        del("a DEL that makes room again", "first", small()),
        ctl(&["allocations"]),
    ];
    Scenario {
        name: "refusals",
        about: "requests that fail, each for another reason",
        configuration: "[limits]\nnetworks = 2\n",
        answers_only: None,
        steps,
    }
}
