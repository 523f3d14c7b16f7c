//! `tenurectl import`, and `check`, `repair` and `release` of what was imported.

use serde_json::{Value, json};

use super::{Scenario, ctl, ctl_into, del, subnet, write};

/// A check's report of two sandboxes that are gone: the first is not confirmed, the second never existed.
const REPORT: &str = r#"{"compared":2,"findings":[
{"kind":"sandbox-gone","network":"pods","subject":"T1/eth0","detail":"","next_step":"","generation":1,"addresses":["10.87.0.2/24"],"pod_namespace":"","pod_name":""},
{"kind":"sandbox-gone","network":"pods","subject":"T9/eth0","detail":"","next_step":"","generation":900,"addresses":["10.87.0.99/24"],"pod_namespace":"","pod_name":""}]}"#;

pub(super) fn scenario() -> Scenario {
    let pods = || subnet("1.0.0", "pods", "10.87.0.0/24");
    let host_local = |address: &str, content: &str| write(&format!("networks/pods/{address}"), content);
    let import: [&[&str]; 4] = [
        &["import", "host-local", "$DIR/networks", "--config", "$DIR/pods.conf"],
        &["import", "--apply", "host-local", "$DIR/networks", "--config", "$DIR/pods.conf"],
        &["allocations"],
        &["import", "--apply", "host-local", "$DIR/networks"],
    ];
    let after: [&[&str]; 7] = [
        &["import", "--apply", "host-local", "$DIR/networks"],
        &["import", "ipamd", "$DIR/ipam.json", "--network", "pods"],
        &["import", "--apply", "ipamd", "$DIR/ipam.json", "--network", "pods"],
        &["networks"],
        &["allocations"],
        &["allocation", "10.87.0.6"],
        &["allocation", "10.87.0.3"],
    ];
    let last: [&[&str]; 5] = [
        &["repair", "--from", "$DIR/report.json"],
        &["repair", "--from", "$DIR/gone.json"],
        &["repair", "--from", "$DIR/gone.json", "--apply"],
        &["release", "10.87.0.6", "--apply", "--reason", "nobody answers"],
        &["allocations"],
    ];
    let mut steps = vec![
        write("pods.conf", pods().to_string()),
        host_local("10.87.0.2", "T1\r\neth0"),
        host_local("10.87.0.3", "T2\r\neth0"),
        host_local("10.87.0.4", "T3\r\neth0"),
        host_local("10.87.0.5", "T3\r\neth0"),
        host_local("10.87.0.6", ""),
        host_local("192.0.2.6", "T4\r\neth0"),
        host_local("notes.txt", "of the operator"),
        write("ipam.json", ipamd().to_string()),
        write("gone.json", REPORT),
    ];
    steps.extend(import.map(ctl));
    steps.push(del("a DEL of an imported attachment", "T2", pods()));
    steps.extend(after.map(ctl));
    steps.push(ctl_into("report.json", &["check"]));
    steps.extend(last.map(ctl));
    Scenario {
        name: "import",
        about: "imports from host-local and ipamd, and the check, repair and release of what was imported",
        configuration: "",
        answers_only: None,
        steps,
    }
}

/// ipamd's checkpoint: a new address, one that is taken, and one outside the ranges.
fn ipamd() -> Value {
    let row = |container: &str, ipv4: &str| {
        let metadata = json!({ "k8sPodNamespace": "shop", "k8sPodName": container });
        json!({ "networkName": "aws-cni", "containerID": container, "ifName": "eth0", "ipv4": ipv4, "metadata": metadata })
    };
    let rows = [row("c1", "10.87.0.77"), row("c2", "10.87.0.2"), row("c3", "192.0.2.77")];
    json!({ "version": "vpc-cni-ipam/1", "allocations": rows })
}
