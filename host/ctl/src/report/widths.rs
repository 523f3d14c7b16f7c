//! Every table with the longest texts that a node can report: it fits on a terminal.

use std::path::Path;

use serde_json::json;
use tenure_policy::decisions::Function;

use super::filled::{Values, filled_with};
use super::*;
use crate::render::{AllocationList, Page, Shown, View};

/// The width of a terminal.
const WIDTH: usize = 100;

/// An age of 104 days, in milliseconds.
const AGE_MS: u64 = 9_000_000_000;

const V4: &str = "255.255.254.254/32";
const V6: &str = "2001:db80:1234:5678:9abc:def0:1234:5678/128";

/// A message with the longest texts that a node can report: names up to the limits of Kubernetes, and addresses of both families; numbers have
/// six digits, and ages are a hundred days.
fn longest<M: prost::Message + Default>(name: &str) -> M {
    filled_with(name, Values { text, number })
}

/// The text of a field, by its full name; `text` is its own name, with its place in a list.
fn text(field: &str, text: &str) -> String {
    let name = field.rsplit('.').next().unwrap_or_default();
    let is_second = text.ends_with('2');
    match name {
        "address" if field.ends_with("CloudInterface.address") => "255.255.254.254".to_owned(),
        "first" | "last" => V6.replace("/128", ""),
        "addresses" | "address" | "gateways" | "net" | "cidr" | "ranges" => {
            if is_second || !text.contains('-') { V6 } else { V4 }.to_owned()
        }
        "id" | "interface" if field.contains("Cloud") => "eni-0123456789abcdef0".to_owned(),
        "interface" => "eth0123456789ab".to_owned(),
        "subnet" => "subnet-0123456789abcdef0".to_owned(),
        "pod_namespace" => "n".repeat(63),
        "pod_name" => "p".repeat(253),
        "container_id" | "sha256" => "0123456789abcdef".repeat(4),
        "uid" | "pod_uid" => "01234567-89ab-cdef-0123-456789abcdef".to_owned(),
        "kind" => "release-address".to_owned(),
        "hold" => "contested".to_owned(),
        "phase" => "leaving".to_owned(),
        "family" => "IPv6".to_owned(),
        "gateway" => V6.replace("/128", ""),
        "routes" => "2001:db80:1234:5678::/64".to_owned(),
        "supply" => "configuration".to_owned(),
        "need" => "optional".to_owned(),
        "by" => "operator".to_owned(),
        "call" => "ModifyNetworkInterfaceAttribute".to_owned(),
        "answer" => "cordoned".to_owned(),
        "network" | "name" | "agent" | "scope" | "delegate" | "pool" | "mark" => "m".repeat(255),
        "networks" | "shadows" | "owner" | "source" | "reference" => format!("/{}", "m".repeat(255)),
        _ => format!("{name} in a sentence with {} and more words than fit", "w".repeat(120)),
    }
}

/// The value of a field of 64 bits.
fn number(name: &str, number: u32) -> u64 {
    match name {
        "age_ms" | "idle_ms" | "waits_ms" | "step_age_ms" => AGE_MS,
        name if name.ends_with("_ms") => 1_000_000,
        _ => number.into(),
    }
}

fn name() -> String {
    "m".repeat(255)
}

fn sentence() -> String {
    text("a.reason", "reason")
}

/// The tables of every answer that has any.
fn tables() -> Vec<String> {
    let mut tables = Vec::new();
    let mut add = |page: Page| tables.extend(page.tables());
    let now = AGE_MS;
    add(longest::<v1::ListNetworksResponse>("ListNetworksResponse").page(now));
    add(ClaimList::from(longest::<v1::ListAllClaimsResponse>("ListAllClaimsResponse")).page(now));
    add(longest::<v1::ListDelegationsResponse>("ListDelegationsResponse").page(now));
    add(longest::<v1::GetCloudResponse>("GetCloudResponse").page(now));
    add(longest::<v1::GetClusterResponse>("GetClusterResponse").page(now));
    add(longest::<v1::ExplainPlanResponse>("ExplainPlanResponse").page(now));
    add(longest::<v1::ListQuarantineResponse>("ListQuarantineResponse").page(now));
    add(longest::<v1::ListPoliciesResponse>("ListPoliciesResponse").page(now));
    add(longest::<v1::GetPolicyHistoryResponse>("GetPolicyHistoryResponse").page(now));
    add(Shadowed { network: name(), answer: longest("ShadowPolicyResponse") }.page(now));
    add(PolicyStateReport { network: name(), answer: longest("GetPolicyStateResponse") }.page(now));
    let file = FileChange {
        file: Path::new("/").join(name()),
        kind: InstalledKind::Configuration,
        outcome: FileOutcome::Left,
        version: "0.1.0-rc.1".into(),
        sha256: String::new(),
        reason: sentence(),
    };
    add(InstallReport { applied: true, files: vec![file], notes: Vec::new() }.page(now));
    let check = NodeCheck::problem("state-directory", sentence(), sentence());
    add(Diagnosis { checks: vec![check] }.page(now));
    #[cfg(feature = "registry")]
    add(PullReport {
        policies: vec![PulledPolicy {
            name: name(),
            reference: name(),
            outcome: PullOutcome::Unchanged,
            problem: sentence(),
        }],
    }
    .page(now));
    let entry = FoundAttachment { network: name(), entry: longest("ImportEntry") };
    let judged = vec![Judged { entry, outcome: longest("ImportOutcome") }];
    add(ImportReport { applied: true, judged, passed_over: Vec::new(), failures: Vec::new() }.page(now));
    add(repair().page(now));
    add(replayed().page(now));
    let list = AllocationList::new("", View { is_wide: false, ..View::default() }, now);
    tables.extend(list.map(|mut list| {
        let mut text = String::new();
        list.add(longest("Allocation"), &mut text);
        list.end(&mut text);
        text
    }));
    tables
}

fn repair() -> Repair {
    let finding = Finding {
        kind: "sandbox-gone".into(),
        network: name(),
        subject: name(),
        generation: u64::from(u32::MAX),
        addresses: vec![V4.into(), V6.into()],
        pod_namespace: "n".repeat(63),
        pod_name: "p".repeat(253),
    };
    let repaired = vec![RepairedFinding { finding, outcome: longest("RepairOutcome") }];
    Repair { applied: true, repaired, left: Vec::new() }
}

fn replayed() -> Replayed {
    let difference = ReplayDifference {
        network: name(),
        number: 1_000_000,
        at_ms: 1_700_000_000_000,
        function: Function::Propose,
        pod_namespace: String::new(),
        pod_name: String::new(),
        who: format!("{}/{}", "n".repeat(63), "p".repeat(253)),
        recorded: DecisionOutcome::Proposal(json!({ "assignments": [{ "address": V6 }] })),
        now: DecisionOutcome::Failure { kind: "trap".into(), cause: sentence() },
    };
    Replayed {
        policy: ComponentStamp { name: name(), sha256: name() },
        recorded: BTreeSet::new(),
        decisions: 1,
        unanswered: 0,
        differences: vec![difference],
        passed_over: 0,
    }
}

#[test]
fn every_table_fits_on_a_terminal_with_the_longest_names_and_both_families() {
    let tables = tables();
    let wide = |table: &&String| table.lines().any(|line| line.chars().count() > WIDTH);
    let wide: Vec<_> = tables.iter().filter(wide).map(|table| format!("\n{table}")).collect();
    assert!(wide.is_empty(), "{} of {} tables are too wide:{}", wide.len(), tables.len(), wide.concat());
    for address in [V4, V6] {
        assert!(tables.iter().any(|table| table.contains(address)), "an address was shortened: {address}");
    }
}

#[test]
fn no_table_is_missing_here() {
    let mut declared = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/render")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.file_name().is_some_and(|name| name != "tests.rs") {
                declared += std::fs::read_to_string(&path).unwrap().matches("Table::of(").count();
            }
        }
    }
    // The page's own has values and no names: it is the form of one answer.
    assert_eq!(tables().len(), declared - 1);
}
