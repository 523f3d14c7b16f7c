//! `tenurectl` on a healthy node: reports, a policy exchange and releases.

use tenure_e2e::recording::Step;

use super::{Scenario, add, ctl, del, plugin, subnet, with};

pub(super) fn scenario() -> Scenario {
    let pods = || subnet("1.0.0", "pods", "10.86.0.0/24");
    let pod = plugin(
        "a pod identity in CNI_ARGS",
        "ADD",
        "4c01db0b339c7a9ac2cf8a5e5c3bd4d0e5f5b8a1a3f6f4f1a6b2f5d7c9e1b3a5",
        pods(),
    );
    let mut steps = vec![
        ctl(&["status"]),
        ctl(&["networks"]),
        ctl(&["allocations"]),
        Step::Plugin(with(
            pod,
            "CNI_ARGS",
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-1;K8S_POD_UID=b2c4",
        )),
        add("a pod that stays", "stays", pods()),
        add("a pod that is deleted", "goes", pods()),
        del("its DEL", "goes", pods()),
        add("an overlapping network", "blue", subnet("1.0.0", "blue", "10.86.0.0/24")),
    ];
    let looks: [&[&str]; 13] = [
        &["status"],
        &["networks"],
        &["allocations"],
        &["allocations", "--network", "pods"],
        &["allocations", "--network", "nowhere"],
        &["allocation", "10.86.0.2"],
        &["allocation", "10.86.0.3/24"],
        &["allocation", "10.86.0.4"],
        &["allocation", "10.86.0.1"],
        &["allocation", "10.86.0.200"],
        &["allocation", "192.0.2.1"],
        &["check"],
        &["policy", "list"],
    ];
    steps.extend(looks.map(ctl));
    let changes: [&[&str]; 12] = [
        &["policy", "activate", "pods", "highest-first"],
        &["policy", "activate", "pods", "nobodys"],
        &["policy", "activate", "nowhere", "host-local"],
        &["policy", "list"],
        &["networks"],
        &["release", "10.86.0.3", "--network", "pods"],
        &["release", "10.86.0.3", "--network", "pods", "--apply", "--reason", "ping and arping are silent"],
        &["release", "10.86.0.3", "--network", "pods", "--apply"],
        &["release", "10.86.0.2"],
        &["release", "10.86.0.2", "--network", "blue", "--generation", "1", "--apply"],
        &["allocations"],
        &["check"],
    ];
    steps.extend(changes.map(ctl));
    steps.push(add("an ADD under the new policy", "high", pods()));
    Scenario {
        name: "operator",
        about: "tenurectl on a healthy node: reports, a policy exchange and releases",
        configuration: "",
        answers_only: None,
        steps,
    }
}
