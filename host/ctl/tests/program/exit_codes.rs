//! The contract with scripts: exit codes, and what goes to which stream. Tests the built program against an Admin server.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use tenure_rpc::door::Door;
use tenure_rpc::v1::admin_server::AdminServer;
use tokio::task::JoinHandle;

use crate::admin::FakeAdmin;

/// Runs the program against a fresh daemon.
pub(crate) async fn ask(arguments: &[&str]) -> Output {
    ask_of(FakeAdmin::default(), arguments).await
}

/// Runs the program against a daemon.
pub(crate) async fn ask_of(admin: FakeAdmin, arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), admin);
    let output = run(directory.path(), arguments).await;
    server.abort();
    output
}

/// Starts a daemon in a run directory.
pub(crate) fn serve(run_dir: &Path, admin: FakeAdmin) -> JoinHandle<Result<(), tonic::transport::Error>> {
    let door = Door::open(run_dir.join("admin.sock")).unwrap();
    let server = tonic::transport::Server::builder()
        .add_service(AdminServer::new(admin))
        .serve_with_incoming(door.connections(std::future::pending, |_| {}));
    tokio::spawn(server)
}

pub(crate) async fn run(run_dir: &Path, arguments: &[&str]) -> Output {
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
    assert_eq!(json["error"]["cause"], "no network blue on this node");
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
async fn an_import_of_which_a_network_fails_says_what_became_of_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Each is another pod's.
        std::fs::write(path, format!("{}\r\neth0", name.replace(['/', ' '], "-"))).unwrap();
    };
    let path = directory.path().to_str().unwrap();
    file("full/10.1.0.2");
    let output = ask(&["import", "--apply", "host-local", path]).await;
    assert_eq!((code(&output), text(&output.stdout)), (1, ""), "an error says all: {output:?}");
    assert!(text(&output.stderr).contains("checkpoint-failed: no space left"), "{output:?}");
    for name in ["half/10.2.0.2", "half/10.2.0.3", "pods/10.3.0.2", "a network/10.4.0.2"] {
        file(name);
    }
    let output = ask(&["--output", "json", "import", "--apply", "host-local", path]).await;
    assert_eq!(code(&output), 1, "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let outcomes = json["entries"].as_array().unwrap().iter().map(|entry| {
        let word = |of: &str| entry[of].as_str().unwrap().to_owned();
        (word("network"), word("outcome"))
    });
    let outcomes: Vec<_> = outcomes.collect();
    let count = |network: &str, outcome: &str| {
        outcomes.iter().filter(|(of, is)| of == network && is == outcome).count()
    };
    let counts = [
        count("full", "refused"),
        count("half", "taken"),
        count("half", "refused"),
        count("pods", "taken"),
        count("a network", "refused"),
    ];
    assert_eq!((counts, outcomes.len()), ([1; 5], 5), "{json}");
    let reason = |network: &str| {
        let mut entries = json["entries"].as_array().unwrap().iter();
        entries.find(|entry| entry["network"] == network).unwrap()["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("full"), "checkpoint-failed: no space left");
    assert!(!reason("a network").contains("--config"), "no configuration can have that name: {json}");
    let errors = text(&output.stderr);
    assert!(errors.contains("network full: no space left"), "{errors}");
    assert!(errors.contains("network half: no space left"), "{errors}");
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
    let written = std::fs::read_dir(directory.path()).unwrap().count();
    assert!(text(&output.stdout).starts_with(&format!("wrote {written} pages to ")), "{output:?}");
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

#[tokio::test]
async fn a_value_that_means_nothing_is_an_invalid_command_line() {
    for arguments in [
        &["--timeout", "0", "status"][..],
        &["policy", "load", "zones.wasm", "--sha256", "zz"],
        &["import", "abandon", "pods", "--config", "pods.conflist"],
    ] {
        assert_eq!(code(&ask(arguments).await), 2, "{arguments:?}");
    }
}
