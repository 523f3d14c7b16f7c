//! The output of every report: its text, and its JSON, whose names are a contract with programs.

use serde_json::json;
use tenure_policy::decisions::Function;

use super::filled::filled;
use super::*;
use crate::render::Shown;

/// A time after every time of the messages.
const NOW_MS: u64 = 100_000_000;

/// Compares what is printed of an answer with its snapshot.
pub(crate) fn snapshot(name: &str, answer: &impl Shown) {
    let (text, json) = (answer.page(NOW_MS), crate::render::json(answer).unwrap());
    let json = serde_json::to_string_pretty(&json).unwrap();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, format!("{text}----\n{json}"));
    });
}

fn digest() -> String {
    "9f86d081884c7d659a2feaa0c55ad015".to_owned()
}

#[test]
fn answers_of_the_daemon() {
    snapshot("status", &filled::<v1::GetStatusResponse>("GetStatusResponse"));
    snapshot("networks", &filled::<v1::ListNetworksResponse>("ListNetworksResponse"));
    snapshot("check", &filled::<v1::CheckResponse>("CheckResponse"));
    snapshot("claims", &ClaimList::from(filled::<v1::ListAllClaimsResponse>("ListAllClaimsResponse")));
    let claims = v1::ListAllClaimsResponse { standings: Vec::new(), ..filled("ListAllClaimsResponse") };
    snapshot("claims-of-an-older-daemon", &ClaimList::from(claims));
    snapshot("delegations", &filled::<v1::ListDelegationsResponse>("ListDelegationsResponse"));
    snapshot("cloud", &filled::<v1::GetCloudResponse>("GetCloudResponse"));
    snapshot("plan", &filled::<v1::ExplainPlanResponse>("ExplainPlanResponse"));
    snapshot("quarantine", &filled::<v1::ListQuarantineResponse>("ListQuarantineResponse"));
    snapshot("adopted", &filled::<v1::AdoptResponse>("AdoptResponse"));
    snapshot("policies", &filled::<v1::ListPoliciesResponse>("ListPoliciesResponse"));
    snapshot("policy", &filled::<v1::InspectPolicyResponse>("InspectPolicyResponse"));
    snapshot("unloaded", &filled::<v1::UnloadPolicyResponse>("UnloadPolicyResponse"));
    snapshot("history", &filled::<v1::GetPolicyHistoryResponse>("GetPolicyHistoryResponse"));
    snapshot("config", &filled::<v1::GetConfigurationResponse>("GetConfigurationResponse"));
    snapshot("reloaded", &filled::<v1::ReloadResponse>("ReloadResponse"));
}

#[test]
fn answers_without_a_value() {
    snapshot("no-status", &v1::GetStatusResponse::default());
    snapshot("no-cloud", &v1::GetCloudResponse::default());
    snapshot("no-plan", &v1::ExplainPlanResponse::default());
    snapshot("no-history", &v1::GetPolicyHistoryResponse::default());
    let networks = vec![
        v1::Network::default(),
        v1::Network { pools: vec![v1::Pool::default()], ..v1::Network::default() },
    ];
    snapshot("empty-networks", &v1::ListNetworksResponse { networks });
    let policies = vec![v1::Policy::default()];
    snapshot("empty-policy", &v1::ListPoliciesResponse { policies });
    let versions = vec![v1::PolicyVersion::default()];
    snapshot("empty-version", &v1::InspectPolicyResponse { versions });
    let states =
        vec![v1::AddressState { allocation: Some(v1::Allocation::default()), ..v1::AddressState::default() }];
    let answer = v1::GetAddressResponse { states };
    snapshot("empty-address", &Address { address: "10.1.0.7".parse().unwrap(), answer });
}

#[test]
fn answers_with_what_was_asked() {
    let (address, applied, network) = ("10.1.0.7".parse().unwrap(), true, "pods".to_owned());
    snapshot("address", &Address { address, answer: filled("GetAddressResponse") });
    let release = Release { address, applied, answer: filled("ReleaseResponse") };
    snapshot("release", &release);
    let answer = filled("QuarantineAddressResponse");
    snapshot("quarantined", &AddedToQuarantine { address, network: network.clone(), answer });
    snapshot("lifted-quarantine", &LiftedQuarantine { address, answer: filled("LiftQuarantineResponse") });
    snapshot("released-claim", &ReleasedClaim { applied, claim: Some(filled("Claim")) });
    snapshot("no-claim", &ReleasedClaim { applied, claim: None });
    let abandoned =
        AbandonedImport { network: network.clone(), applied, answer: filled("AbandonImportResponse") };
    snapshot("abandoned", &abandoned);
    snapshot("loaded", &LoadedPolicy { source: "file".into(), answer: filled("LoadPolicyResponse") });
    let activated = Activated { network: network.clone(), answer: filled("ActivatePolicyResponse") };
    snapshot("activated", &activated);
    let shadowed = Shadowed { network: network.clone(), answer: filled("ShadowPolicyResponse") };
    snapshot("shadowed", &shadowed);
    let state = PolicyStateReport { network: network.clone(), answer: filled("GetPolicyStateResponse") };
    snapshot("state", &state);
    let exported =
        ExportedState { network: network.clone(), state: filled("PolicyState"), file: "state.bin".into() };
    snapshot("state-exported", &exported);
    let imported = ReplacedState { network: network.clone(), answer: filled("ReplacePolicyStateResponse") };
    snapshot("state-imported", &imported);
    snapshot("defined", &NetworkRedefinition { applied, answer: filled("DefineNetworkResponse") });
    let answer = filled("RemoveNetworkResponse");
    snapshot("removed", &NetworkRemoval { network, applied, answer });
}

#[test]
fn answers_about_the_files_of_a_node() {
    let change = |file: &str, kind, outcome| FileChange {
        file: file.into(),
        kind,
        outcome,
        version: "0.1.0".into(),
        sha256: digest(),
        reason: String::new(),
    };
    let files = vec![
        change("/opt/cni/bin/tenure", InstalledKind::Plugin, FileOutcome::Replaced),
        change("/etc/cni/net.d/00-tenure.conflist", InstalledKind::Configuration, FileOutcome::Created),
        change(
            "/var/lib/tenure/installed.plugins/tenure-0.1.0",
            InstalledKind::KeptPlugin,
            FileOutcome::Removed,
        ),
    ];
    snapshot("installed", &InstallReport { applied: true, files, notes: vec!["a note".into()] });
    let checks = vec![
        NodeCheck::fine("kernel", "6.1.0"),
        NodeCheck::warning("clock", "it was set back", "check the time"),
        NodeCheck::problem("state-directory", "/var/lib/tenure is on tmpfs", "mount a disk"),
        NodeCheck::skipped("plugin", "not installed yet"),
    ];
    snapshot("diagnosis", &Diagnosis { checks });
}

#[test]
fn what_several_answers_say_together() {
    let finding = || Finding {
        kind: "sandbox-gone".into(),
        network: "pods".into(),
        subject: "c1/eth0".into(),
        generation: 7,
        addresses: vec!["10.1.0.7/24".into()],
        pod_namespace: "shop".into(),
        pod_name: "web-0".into(),
    };
    let repaired = vec![RepairedFinding { finding: finding(), outcome: filled("RepairOutcome") }];
    snapshot("repair", &Repair { applied: true, repaired, left: vec![finding()] });
    let entry = FoundAttachment { network: "pods".into(), entry: filled("ImportEntry") };
    let judged = vec![Judged { entry, outcome: filled("ImportOutcome") }];
    let left_out = || vec![PassedOver { what: "10.1.0.9".into(), why: "not an address".into() }];
    snapshot(
        "import",
        &ImportReport { applied: true, judged, passed_over: left_out(), failures: Vec::new() },
    );
    let export = Export { file: "ipam.json".into(), written: 3, ended_by_reboot: 2, left_out: left_out() };
    snapshot("export", &export);
    let decision = RecordedDecision {
        number: 3,
        at_ms: 1_700_000_000_000,
        network: "pods".into(),
        policy: "host-local".into(),
        digest: digest(),
        function: Function::Propose,
        given: json!({ "attributes": [{ "name": "pod.name", "value": "web-0" }] }),
        state: None,
        limits: None,
        asked: Vec::new(),
        outcome: DecisionOutcome::Proposal(json!({ "assignments": [{ "address": "10.1.0.2" }] })),
        view: None,
    };
    let now = DecisionOutcome::Failure { kind: "trap".into(), cause: "unreachable".into() };
    let replayed = Replayed {
        policy: ComponentStamp { name: "mine".into(), sha256: digest() },
        recorded: [ComponentStamp { name: "host-local".into(), sha256: digest() }].into(),
        decisions: 10,
        unanswered: 0,
        differences: vec![ReplayDifference::of(decision, now)],
        passed_over: 1,
    };
    snapshot("replayed", &replayed);
}
