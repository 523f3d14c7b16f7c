//! `tenurectl export` reads the state that a daemon has left.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::exit_codes::run;

/// The boot in which the daemon of this log ran, with two pods.
const BOOT: &str = "00000000-0000-4000-8000-000000000001";

/// A line of the log that says that an import has begun.
const IMPORTING: &str = r#"352b5c72 11 157 {"group":[11,11],"chapter":"ledger","version":1,"fact":{"importing":{"network":"net0","under_way":true,"at":{"boot_ns":5000000000,"wall_ms":1700000000000}}}}"#;

/// Prepares a run directory and the state.
fn prepare(directory: &Path) {
    let log = "../checkpoint/src/tests/golden/log.0000000001";
    let state = directory.join("state");
    fs::create_dir(&state).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(log), state.join("log.0000000001")).unwrap();
    fs::write(directory.join("boot"), format!("{BOOT}\n")).unwrap();
}

async fn export(directory: &Path, more: &[&str]) -> Output {
    let [file, state] = ["ipam.json", "state"].map(|name| directory.join(name).display().to_string());
    let export = ["--output", "json", "export", "ipamd", &file, "--network", "net0", "--replace"];
    run(directory, &[&export, &["--state-dir", &state][..], more].concat()).await
}

fn counts(output: &Output) -> (Value, Value) {
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |name| json.get(name).unwrap().clone();
    (count("written"), count("ended_by_reboot"))
}

#[tokio::test]
async fn an_export_takes_no_pod_for_ended_whose_boot_has_another_id_to_the_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    prepare(directory);
    fs::write(directory.join("state-seen"), format!("{BOOT} seen\n")).unwrap();
    let refused = export(directory, &[]).await;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains(BOOT) && words.contains("--boot-id-file"), "{words}");
    assert!(!directory.join("ipam.json").exists());
    let boot = directory.join("boot").display().to_string();
    let written = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(counts(&written), (json!(2), json!(0)), "{written:?}");
}

#[tokio::test]
async fn an_export_after_a_boot_says_how_many_pods_have_ended() {
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path());
    let written = export(directory.path(), &[]).await;
    assert_eq!(counts(&written), (json!(0), json!(2)), "{written:?}");
}

/// Writes ipamd's file as the way there has left it, with these pods, and returns it.
fn beside(directory: &Path, pods: &[(&str, &str)]) -> Vec<u8> {
    let row = |(number, address): &(&str, &str)| {
        json!({ "networkName": "aws-cni", "containerID": format!("{number:0>64}"), "ifName": "eth0", "ipv4": address,
            "allocationTimestamp": 1_700_000_000_000_000_000_i64 })
    };
    let rows: Vec<_> = pods.iter().map(row).collect();
    let text = json!({ "version": "vpc-cni-ipam/1", "allocations": rows }).to_string().into_bytes();
    fs::write(directory.join("ipam.json"), &text).unwrap();
    text
}

#[tokio::test]
async fn an_export_replaces_no_file_that_has_pods_which_the_state_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    prepare(directory);
    let boot = directory.join("boot").display().to_string();
    let before = beside(directory, &[("3", "10.0.0.3"), ("9", "10.0.0.9")]);
    let refused = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains("not-taken-over") && words.contains("10.0.0.9 of "), "{words}");
    assert!(!words.contains("10.0.0.3"), "{words}");
    assert_eq!(fs::read(directory.join("ipam.json")).unwrap(), before);
    beside(directory, &[("3", "10.0.0.3")]);
    let written = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(counts(&written), (json!(2), json!(0)), "{written:?}");
}

#[tokio::test]
async fn an_export_is_refused_while_an_import_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    prepare(directory);
    let log = directory.join("state/log.0000000001");
    let text = format!("{}{IMPORTING}\n", fs::read_to_string(&log).unwrap());
    fs::write(&log, text).unwrap();
    let boot = directory.join("boot").display().to_string();
    let refused = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains("is not complete, so the file would lack pods"), "{words}");
    assert!(words.contains("tenurectl import abandon net0"), "{words}");
    assert!(!directory.join("ipam.json").exists());
}
