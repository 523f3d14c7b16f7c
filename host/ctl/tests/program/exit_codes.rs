//! The contract with scripts: exit codes, and what goes to which stream. Tests the built program against an Admin server.

use std::path::Path;
use std::pin::Pin;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;
use tenure_rpc::door::Door;
use tenure_rpc::status::to_status;
use tenure_rpc::v1;
use tenure_rpc::v1::admin_server::{Admin, AdminServer};
use tenure_types::{Error, ErrorCode};
use tonic::{Request, Response, Status, Streaming};

/// A daemon with one network, `pods`, that is ready from the third status request on.
#[derive(Default)]
struct Fake {
    asked: AtomicU32,
}

fn unknown(network: &str) -> Status {
    to_status(&Error::new(ErrorCode::UnknownNetwork, format!("no network {network:?} on this node")))
}

#[tonic::async_trait]
impl Admin for Fake {
    type ListAllocationsStream = Pin<Box<dyn Stream<Item = Result<v1::Allocation, Status>> + Send>>;
    type ImportAllStream = Pin<Box<dyn Stream<Item = Result<v1::ImportOutcomes, Status>> + Send>>;

    async fn get_status(
        &self,
        _: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::GetStatusResponse>, Status> {
        let ready = self.asked.fetch_add(1, Ordering::Relaxed) >= 2;
        let (state, reasons) =
            if ready { ("ready", vec![]) } else { ("not-ready", vec!["starting".to_owned()]) };
        Ok(Response::new(v1::GetStatusResponse { state: state.into(), reasons, ..Default::default() }))
    }

    async fn list_networks(
        &self,
        _: Request<v1::ListNetworksRequest>,
    ) -> Result<Response<v1::ListNetworksResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NotReady, "the checkpoint is being read")))
    }

    async fn list_allocations(
        &self,
        request: Request<v1::ListAllocationsRequest>,
    ) -> Result<Response<Self::ListAllocationsStream>, Status> {
        match request.into_inner().network.as_str() {
            "" | "pods" => {
                let held = |generation| v1::Allocation { generation, ..v1::Allocation::default() };
                Ok(Response::new(Box::pin(stream::iter([Ok(held(1)), Ok(held(2))]))))
            }
            other => Err(unknown(other)),
        }
    }

    async fn get_address(
        &self,
        _: Request<v1::GetAddressRequest>,
    ) -> Result<Response<v1::GetAddressResponse>, Status> {
        Ok(Response::new(v1::GetAddressResponse::default()))
    }

    async fn get_configuration(
        &self,
        _: Request<v1::GetConfigurationRequest>,
    ) -> Result<Response<v1::GetConfigurationResponse>, Status> {
        Ok(Response::new(v1::GetConfigurationResponse::default()))
    }

    async fn check(&self, _: Request<v1::CheckRequest>) -> Result<Response<v1::CheckResponse>, Status> {
        let findings = vec![v1::Finding { kind: "missing-from-memory".into(), ..v1::Finding::default() }];
        Ok(Response::new(v1::CheckResponse { compared: 1, findings, ..v1::CheckResponse::default() }))
    }

    async fn list_policies(
        &self,
        _: Request<v1::ListPoliciesRequest>,
    ) -> Result<Response<v1::ListPoliciesResponse>, Status> {
        Ok(Response::new(v1::ListPoliciesResponse::default()))
    }

    async fn activate_policy(
        &self,
        request: Request<v1::ActivatePolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        let code = match request.into_inner().policy.as_str() {
            "broken" => ErrorCode::PolicyUnloadable,
            _ => ErrorCode::UnknownPolicy,
        };
        Err(to_status(&Error::new(code, "it is not")))
    }

    async fn inspect_policy(
        &self,
        _: Request<v1::InspectPolicyRequest>,
    ) -> Result<Response<v1::InspectPolicyResponse>, Status> {
        Ok(Response::new(v1::InspectPolicyResponse::default()))
    }

    async fn load_policy(
        &self,
        _: Request<Streaming<v1::LoadPolicyPart>>,
    ) -> Result<Response<v1::LoadPolicyResponse>, Status> {
        Ok(Response::new(v1::LoadPolicyResponse::default()))
    }

    async fn unload_policy(
        &self,
        _: Request<v1::UnloadPolicyRequest>,
    ) -> Result<Response<v1::UnloadPolicyResponse>, Status> {
        Ok(Response::new(v1::UnloadPolicyResponse::default()))
    }

    async fn shadow_policy(
        &self,
        _: Request<v1::ShadowPolicyRequest>,
    ) -> Result<Response<v1::ShadowPolicyResponse>, Status> {
        Ok(Response::new(v1::ShadowPolicyResponse::default()))
    }

    async fn promote_policy(
        &self,
        _: Request<v1::PromotePolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::ShadowInconclusive, "too few")))
    }

    async fn roll_back_policy(
        &self,
        _: Request<v1::RollBackPolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NothingBefore, "none")))
    }

    async fn get_policy_history(
        &self,
        _: Request<v1::GetPolicyHistoryRequest>,
    ) -> Result<Response<v1::GetPolicyHistoryResponse>, Status> {
        Ok(Response::new(v1::GetPolicyHistoryResponse::default()))
    }

    async fn get_policy_state(
        &self,
        _: Request<v1::GetPolicyStateRequest>,
    ) -> Result<Response<v1::GetPolicyStateResponse>, Status> {
        Ok(Response::new(v1::GetPolicyStateResponse::default()))
    }

    async fn replace_policy_state(
        &self,
        _: Request<v1::ReplacePolicyStateRequest>,
    ) -> Result<Response<v1::ReplacePolicyStateResponse>, Status> {
        Ok(Response::new(v1::ReplacePolicyStateResponse::default()))
    }

    async fn define_network(
        &self,
        request: Request<v1::DefineNetworkRequest>,
    ) -> Result<Response<v1::DefineNetworkResponse>, Status> {
        let config: Value = serde_json::from_slice(&request.get_ref().config).unwrap();
        let network = config.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Response::new(v1::DefineNetworkResponse { network, changed: true, ..Default::default() }))
    }

    async fn remove_network(
        &self,
        request: Request<v1::RemoveNetworkRequest>,
    ) -> Result<Response<v1::RemoveNetworkResponse>, Status> {
        match request.into_inner().network.as_str() {
            "full" => {
                Err(to_status(&Error::new(ErrorCode::NetworkInUse, "network full has 7 live allocations")))
            }
            network => Ok(Response::new(v1::RemoveNetworkResponse { existed: network == "pods" })),
        }
    }

    async fn adopt(&self, _: Request<v1::AdoptRequest>) -> Result<Response<v1::AdoptResponse>, Status> {
        Ok(Response::new(v1::AdoptResponse { was_lost: true }))
    }

    async fn import(&self, _: Request<v1::ImportRequest>) -> Result<Response<v1::ImportResponse>, Status> {
        Err(Status::unimplemented("for programs one version older"))
    }

    async fn abandon_import(
        &self,
        request: Request<v1::AbandonImportRequest>,
    ) -> Result<Response<v1::AbandonImportResponse>, Status> {
        Err(unknown(&request.into_inner().network))
    }

    async fn import_all(
        &self,
        request: Request<Streaming<v1::ImportPart>>,
    ) -> Result<Response<Self::ImportAllStream>, Status> {
        let mut parts = request.into_inner();
        let first = parts.message().await?.unwrap();
        let head = first.head.unwrap();
        if head.network != "pods" {
            return Err(unknown(&head.network));
        }
        let taken = v1::ImportOutcome { outcome: "taken".into(), reason: String::new() };
        let answer = move |entries: &[v1::ImportEntry]| {
            Ok(v1::ImportOutcomes { outcomes: vec![taken.clone(); entries.len()] })
        };
        let answers = stream::once(std::future::ready(answer(&first.entries)))
            .chain(parts.map(move |part| answer(&part?.entries)));
        Ok(Response::new(Box::pin(answers)))
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseRequest>,
    ) -> Result<Response<v1::ReleaseResponse>, Status> {
        let outcome = if request.get_ref().address == "10.1.0.7" { "released" } else { "kept" };
        Ok(Response::new(v1::ReleaseResponse { outcome: outcome.into(), ..Default::default() }))
    }

    async fn repair(
        &self,
        request: Request<v1::RepairRequest>,
    ) -> Result<Response<v1::RepairResponse>, Status> {
        let released = v1::RepairOutcome { outcome: "released".into(), reason: String::new() };
        Ok(Response::new(v1::RepairResponse {
            outcomes: vec![released; request.get_ref().allocations.len()],
        }))
    }

    async fn list_all_claims(
        &self,
        _: Request<v1::ListAllClaimsRequest>,
    ) -> Result<Response<v1::ListAllClaimsResponse>, Status> {
        Ok(Response::new(v1::ListAllClaimsResponse::default()))
    }

    async fn list_delegations(
        &self,
        _: Request<v1::ListDelegationsRequest>,
    ) -> Result<Response<v1::ListDelegationsResponse>, Status> {
        Ok(Response::new(v1::ListDelegationsResponse::default()))
    }

    async fn list_quarantine(
        &self,
        _: Request<v1::ListQuarantineRequest>,
    ) -> Result<Response<v1::ListQuarantineResponse>, Status> {
        Ok(Response::new(v1::ListQuarantineResponse::default()))
    }

    async fn quarantine_address(
        &self,
        _: Request<v1::QuarantineAddressRequest>,
    ) -> Result<Response<v1::QuarantineAddressResponse>, Status> {
        Ok(Response::new(v1::QuarantineAddressResponse { changed: true }))
    }

    async fn lift_quarantine(
        &self,
        _: Request<v1::LiftQuarantineRequest>,
    ) -> Result<Response<v1::LiftQuarantineResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::UnknownAddress, "10.1.0.7 is not in quarantine")))
    }

    async fn get_cluster(
        &self,
        _: Request<v1::GetClusterRequest>,
    ) -> Result<Response<v1::GetClusterResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NoCluster, "this node leases no blocks of a cluster")))
    }

    async fn get_cloud(
        &self,
        _: Request<v1::GetCloudRequest>,
    ) -> Result<Response<v1::GetCloudResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NoCloud, "this node uses no cloud interfaces")))
    }

    async fn explain_plan(
        &self,
        request: Request<v1::ExplainPlanRequest>,
    ) -> Result<Response<v1::ExplainPlanResponse>, Status> {
        let network = request.into_inner().network;
        Ok(Response::new(v1::ExplainPlanResponse { network, ..Default::default() }))
    }

    async fn release_claim_of(
        &self,
        _: Request<v1::ReleaseClaimOfRequest>,
    ) -> Result<Response<v1::ReleaseClaimOfResponse>, Status> {
        Ok(Response::new(v1::ReleaseClaimOfResponse::default()))
    }

    async fn reload(&self, _: Request<v1::ReloadRequest>) -> Result<Response<v1::ReloadResponse>, Status> {
        let problem = v1::ReloadProblem { key: "networks.pods".into(), message: "no policy mine".into() };
        Ok(Response::new(v1::ReloadResponse { problems: vec![problem], ..Default::default() }))
    }
}

/// Runs the program against a fresh daemon.
async fn ask(arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let door = Door::open(directory.path().join("admin.sock")).unwrap();
    let server = tonic::transport::Server::builder()
        .add_service(AdminServer::new(Fake::default()))
        .serve_with_incoming(door.connections(std::future::pending, |_| {}));
    let server = tokio::spawn(server);
    let output = run(directory.path(), arguments).await;
    server.abort();
    output
}

async fn run(run_dir: &Path, arguments: &[&str]) -> Output {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_tenurectl"));
    command.env("TENURE_RUN_DIR", run_dir).args(arguments).stdin(Stdio::null()).output().await.unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn what_is_so_ends_with_0() {
    let output = ask(&["allocations", "--network", "pods", "--output", "json"]).await;
    assert_eq!(code(&output), 0, "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["allocations"][1]["generation"], 2);
    assert_eq!(json["allocations"][1]["policy"], Value::Null);
}

#[tokio::test]
async fn problems_and_refusals_end_with_1() {
    for arguments in [&["check"][..], &["status"], &["networks"], &["policy", "activate", "pods", "broken"]] {
        assert_eq!(code(&ask(arguments).await), 1, "{arguments:?}");
    }
    let output = ask(&["check"]).await;
    assert!(text(&output.stdout).contains("missing-from-memory"), "a finding is an answer: {output:?}");
}

#[tokio::test]
async fn a_wrong_command_line_ends_with_2() {
    for arguments in [&["allocation", "pods"][..], &["status", "--wait", "soon"], &["policies"], &[]] {
        assert_eq!(code(&ask(arguments).await), 2, "{arguments:?}");
    }
}

#[tokio::test]
async fn a_daemon_that_is_not_there_ends_with_3() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["status"][..], &["status", "--wait", "0.2"], &["networks"], &["policy", "list"]] {
        let output = run(directory.path(), arguments).await;
        assert_eq!(code(&output), 3, "{arguments:?}");
        let error = text(&output.stderr);
        assert!(error.starts_with("error: daemon-unreachable: ") && error.contains("\n next: "), "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[tokio::test]
async fn tables_are_wide_sorted_and_bare_if_asked() {
    let output = ask(&["allocations", "-o", "wide", "--sort-by", "generation", "--no-headers"]).await;
    assert_eq!(code(&output), 0, "{output:?}");
    let rows: Vec<Vec<_>> =
        text(&output.stdout).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 2, "neither heads nor a count: {rows:?}");
    assert!(rows[0].contains(&"1") && rows[1].contains(&"2"), "{rows:?}");
    let output = ask(&["status", "--wait", "30", "--sort-by", "age"]).await;
    assert!(text(&output.stdout).starts_with("ready\n"), "what was answered is printed: {output:?}");
    for arguments in [&["allocations", "--sort-by", "owners"][..], &["status", "--sort-by", "age"]] {
        let output = ask(arguments).await;
        assert_eq!(code(&output), 2, "{output:?}");
        assert!(text(&output.stderr).contains("cannot sort by"), "{output:?}");
    }
}

#[tokio::test]
async fn what_does_not_exist_ends_with_4() {
    let arguments = [
        &["allocations", "--network", "blue"][..],
        &["allocation", "10.9.9.9"],
        &["policy", "activate", "pods", "none"],
    ];
    for arguments in arguments {
        assert_eq!(code(&ask(arguments).await), 4, "{arguments:?}");
    }
}

#[tokio::test]
async fn programs_get_errors_as_json() {
    let output = ask(&["--output", "json", "allocations", "--network", "blue"]).await;
    let json: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(json["error"]["code"], "unknown-network");
    assert_eq!(json["error"]["cause"], "no network \"blue\" on this node");
    assert!(json["error"]["next_step"].as_str().is_some_and(|next| !next.is_empty()));
    assert!(output.stdout.is_empty());
}

#[tokio::test]
async fn waiting_ends_when_the_node_serves() {
    let output = ask(&["status", "--wait", "30"]).await;
    assert_eq!(code(&output), 0, "{output:?}");
    assert!(text(&output.stdout).starts_with("ready\n"));
}

#[tokio::test]
async fn a_wait_that_is_over_tells_the_last_reason() {
    let output = ask(&["status", "--wait", "0"]).await;
    assert_eq!(code(&output), 1, "{output:?}");
    assert!(text(&output.stdout).starts_with("not-ready\n  - starting\n"));
}

#[tokio::test]
async fn a_daemon_that_hangs_ends_with_3_at_the_deadline() {
    let directory = tempfile::tempdir().unwrap();
    // It accepts connections and never answers.
    let _door = Door::open(directory.path().join("admin.sock")).unwrap();
    for arguments in [
        &["status", "--wait", "1"][..],
        &["--timeout", "0.5", "networks"],
        &["--timeout", "0.5", "allocations"],
    ] {
        let limit = std::time::Duration::from_secs(30);
        let output = tokio::time::timeout(limit, run(directory.path(), arguments)).await.unwrap();
        assert_eq!(code(&output), 3, "{output:?}");
        assert!(text(&output.stderr).starts_with("error: deadline-exceeded: "), "{output:?}");
    }
}

#[tokio::test]
async fn a_release_is_so_or_is_not() {
    assert_eq!(code(&ask(&["release", "10.1.0.7/16"]).await), 0);
    assert_eq!(code(&ask(&["release", "10.1.0.8", "--apply", "--reason", "it is gone"]).await), 1);
    assert_eq!(code(&ask(&["release", "pods"]).await), 2);
}

#[tokio::test]
async fn a_network_is_defined_from_a_file_and_removed_when_it_holds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pods.conflist");
    std::fs::write(&file, r#"{"name": "pods", "plugins": [{"ipam": {"type": "tenure"}}]}"#).unwrap();
    let output = ask(&["network", "define", file.to_str().unwrap()]).await;
    assert_eq!(code(&output), 0, "{output:?}");
    assert!(text(&output.stdout).starts_with("pods would be defined; "), "{output:?}");
    assert!(text(&output.stdout).ends_with("dry run; pass --apply to define it\n"), "{output:?}");
    // Standard input is empty here.
    assert_eq!(code(&ask(&["network", "define", "-"]).await), 1);
    for (network, expected) in [("pods", 0), ("blue", 0), ("full", 1)] {
        assert_eq!(code(&ask(&["network", "remove", network, "--apply"]).await), expected, "{network}");
    }
}

#[tokio::test]
async fn a_reload_that_leaves_something_to_be_done_ends_with_1() {
    let output = ask(&["reload"]).await;
    assert_eq!(code(&output), 1, "{output:?}");
    assert!(text(&output.stdout).contains("not yet: networks.pods: no policy mine"), "{output:?}");
}

#[tokio::test]
async fn a_node_without_cloud_interfaces_says_what_would_have_to_be_set() {
    let output = ask(&["cloud"]).await;
    assert_eq!(code(&output), 1, "{output:?}");
    let words = "error: no-cloud: this node uses no cloud interfaces\n next: set `network` in `[aws]` of tenured.toml";
    assert!(text(&output.stderr).starts_with(words), "{output:?}");
}

#[tokio::test]
async fn a_plan_is_only_explained_and_of_the_network_that_is_named() {
    assert_eq!(code(&ask(&["plan"]).await), 2);
    for (arguments, network) in [(&["plan", "--explain"][..], ""), (&["plan", "--explain", "pods"], "pods")] {
        let output = ask(&[arguments, &["--output", "json"]].concat()).await;
        assert_eq!(code(&output), 0, "{output:?}");
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["network"], network);
    }
}

#[tokio::test]
async fn an_import_of_many_parts_is_answered_whole() {
    let directory = tempfile::tempdir().unwrap();
    let pods = directory.path().join("pods");
    std::fs::create_dir_all(&pods).unwrap();
    for number in 0..3_000_u32 {
        let [.., third, last] = number.to_be_bytes();
        std::fs::write(pods.join(format!("10.1.{third}.{last}")), format!("c{number}\r\neth0")).unwrap();
    }
    let output = ask(&["import", "host-local", directory.path().to_str().unwrap()]).await;
    assert_eq!(code(&output), 0, "{output:?}");
    assert!(text(&output.stdout).contains("3000 attachments would be imported"), "{output:?}");
}

#[tokio::test]
async fn the_log_needs_no_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let output = run(directory.path(), &["log", "--state-dir", path]).await;
    assert_eq!((code(&output), text(&output.stdout)), (0, ""), "{output:?}");
    let output = run(directory.path(), &["log", "--state-dir", &format!("{path}/none")]).await;
    assert_eq!(code(&output), 1, "{output:?}");
    assert!(text(&output.stderr).starts_with("error: input-output: "), "{output:?}");
}

#[tokio::test]
async fn an_import_that_leaves_something_out_ends_with_1() {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let path = directory.path().to_str().unwrap();
    file("pods/10.1.0.2", "c1\r\neth0");
    assert_eq!(code(&ask(&["import", "host-local", path]).await), 0);
    file("blue/10.2.0.2", "c1\r\neth0");
    let output = ask(&["--output", "json", "import", "--apply", "host-local", path]).await;
    assert_eq!(code(&output), 1, "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["entries"][0]["outcome"], "refused", "network blue does not exist");
    assert_eq!(json["entries"][1]["outcome"], "taken", "the other network is still imported");
    assert_eq!(code(&ask(&["import", "host-local", &format!("{path}/none")]).await), 1);
}

#[tokio::test]
async fn a_repair_takes_what_is_proven_from_a_report() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.json");
    let output = ask(&["--output", "json", "check"]).await;
    std::fs::write(&report, &output.stdout).unwrap();
    let output = ask(&["repair", "--from", report.to_str().unwrap()]).await;
    assert_eq!(code(&output), 1, "a finding is left to the operator: {output:?}");
    assert!(text(&output.stdout).starts_with("not repaired: missing-from-memory"), "{output:?}");
    let proven = r#"{"findings": [{"kind": "sandbox-gone", "network": "pods", "subject": "c/eth0", "generation": 7}]}"#;
    std::fs::write(&report, proven).unwrap();
    let output = ask(&["repair", "--apply", "--from", report.to_str().unwrap()]).await;
    assert_eq!(code(&output), 0, "{output:?}");
    assert!(text(&output.stdout).ends_with("1 allocation released\n"), "{output:?}");
}

#[tokio::test]
async fn an_adoption_needs_its_word() {
    assert_eq!(code(&ask(&["adopt"]).await), 2);
    assert_eq!(code(&ask(&["adopt", "--empty"]).await), 0);
}

#[tokio::test]
async fn completions_and_pages_are_made() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let output = run(directory.path(), &["completions", shell]).await;
        assert!(text(&output.stdout).contains("allocations"), "{shell}");
    }
    let output = run(directory.path(), &["man", directory.path().to_str().unwrap()]).await;
    assert_eq!(code(&output), 0, "{output:?}");
    for page in ["tenurectl.1", "tenurectl-policy-activate.1"] {
        assert!(directory.path().join(page).is_file(), "{page}");
    }
}

#[tokio::test]
async fn a_quarantine_is_listed_begun_and_lifted() {
    let output = ask(&["quarantine", "list"]).await;
    assert_eq!((code(&output), text(&output.stdout)), (0, "Nothing is in quarantine.\n"));
    let output = ask(&["quarantine", "add", "10.1.0.7/16", "--network", "pods", "--reason", "odd"]).await;
    assert_eq!((code(&output), text(&output.stdout)), (0, "10.1.0.7 on pods is in quarantine\n"));
    assert_eq!(code(&ask(&["quarantine", "lift", "10.1.0.7"]).await), 4, "it is not in quarantine");
    assert_eq!(code(&ask(&["quarantine", "add", "10.1.0.7", "--network", "pods"]).await), 2, "no reason");
}
