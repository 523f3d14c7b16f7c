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

/// What the log says of an address that another IPAM has given out, and of which nobody knows who uses it.
fn unknown(address: &str) -> Value {
    json!({ "allocated": { "network": "net0", "generation": 5, "owner": { "unknown": address },
        "addresses": [{ "address": format!("{address}/8"), "pool": "0", "range": "10.0.0.1-10.0.3.255" }],
        "policy": { "name": "host-local", "digest": "ab".repeat(32) },
        "origin": { "source": "ipamd /var/run/aws-node/ipam.json", "claims": ["1700000000000000000"], "why": "no range had it" },
        "requested_at": { "boot_ns": 5_000_000_000_u64, "wall_ms": 1_700_000_000_000_u64 },
        "allocated_at": { "boot_ns": 5_000_000_000_u64, "wall_ms": 1_700_000_000_000_u64 } } })
}

/// Adds a fact to the log.
fn note(directory: &Path, fact: &Value) {
    let log = directory.join("state/log.0000000001");
    let fact = format!(r#"{{"group":[11,11],"chapter":"ledger","version":1,"fact":{fact}}}"#);
    let line = format!("11 {} {fact}", fact.len());
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{text}{:08x} {line}\n", crc32c(line.as_bytes()))).unwrap();
}

/// The checksum of a line, by Castagnoli's polynomial.
fn crc32c(line: &[u8]) -> u32 {
    let step = |sum: u32| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg());
    !line.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

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

/// Regression: the one file that had the pod was replaced by one that lacked it, since an unknown owner held its address for the daemon.
#[tokio::test]
async fn an_export_keeps_the_row_of_a_pod_whose_address_an_unknown_owner_has() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    prepare(directory);
    note(directory, &unknown("10.0.0.9"));
    let boot = directory.join("boot").display().to_string();
    let before = beside(directory, &[("3", "10.0.0.3"), ("9", "10.0.0.9")]);
    let written = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(counts(&written), (json!(3), json!(0)), "{written:?}");
    assert_eq!(written.status.code(), Some(0), "nothing is left out");
    let rows = |text: &[u8]| {
        let file: Value = serde_json::from_slice(text).unwrap();
        let rows = file.get("allocations").unwrap().as_array().unwrap().clone();
        rows.into_iter().find(|row| row.get("ipv4") == Some(&json!("10.0.0.9"))).unwrap()
    };
    let (before, after) = (rows(&before), rows(&fs::read(directory.join("ipam.json")).unwrap()));
    for key in ["networkName", "containerID", "ifName", "ipv4", "allocationTimestamp"] {
        assert_eq!(before.get(key), after.get(key), "{key}");
    }
    // A row that an unknown owner does not stand for.
    beside(directory, &[("9", "10.0.0.9"), ("8", "10.0.0.8")]);
    let refused = export(directory, &["--boot-id-file", &boot]).await;
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains("10.0.0.8 of ") && !words.contains("10.0.0.9"), "{words}");
}

#[tokio::test]
async fn an_export_replaces_no_row_whose_address_has_two_owners() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    prepare(directory);
    // It waits behind the pod that has the address.
    note(directory, &unknown("10.0.0.3"));
    let boot = directory.join("boot").display().to_string();
    let before = beside(directory, &[("9", "10.0.0.3")]);
    let refused = export(directory, &["--boot-id-file", &boot]).await;
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains("10.0.0.3 of ") && words.contains("contested-address"), "{words}");
    assert_eq!(fs::read(directory.join("ipam.json")).unwrap(), before);
}

#[tokio::test]
async fn an_export_names_the_addresses_in_quarantine_that_nobody_has() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    prepare(directory);
    let since = json!({ "boot_ns": 5_000_000_000_u64, "wall_ms": 1_700_000_000_000_u64 });
    let mark = json!({ "since": since, "reason": "a duplicate" });
    note(
        directory,
        &json!({ "quarantined": { "network": "net0", "of": { "address": "10.0.0.7" }, "mark": mark } }),
    );
    let boot = directory.join("boot").display().to_string();
    let written = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(counts(&written), (json!(2), json!(0)), "{written:?}");
    assert_eq!(written.status.code(), Some(1), "ipamd may hand it out");
    assert!(String::from_utf8_lossy(&written.stdout).contains("10.0.0.7 in quarantine"), "{written:?}");
}

/// Regression: the second attempt was refused because of each pod that had ended since the first.
#[tokio::test]
async fn an_export_that_nobody_has_changed_is_replaced_although_its_pods_have_ended() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    prepare(directory);
    let boot = directory.join("boot").display().to_string();
    let written = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(counts(&written), (json!(2), json!(0)), "{written:?}");
    let first = fs::read(directory.join("ipam.json")).unwrap();
    // tenured has served once more, and a DEL came.
    let at = json!({ "boot_ns": 5_000_000_000_u64, "wall_ms": 1_700_000_000_000_u64 });
    note(
        directory,
        &json!({ "released": { "network": "net0", "generation": 3, "at": at, "reason": "del" } }),
    );
    let written = export(directory, &["--boot-id-file", &boot]).await;
    assert_eq!(counts(&written), (json!(1), json!(0)), "{written:?}");
    // ipamd has written the file since, and another pod has that address.
    fs::write(directory.join("ipam.json"), [&first[..], b"\n"].concat()).unwrap();
    let refused = export(directory, &["--boot-id-file", &boot]).await;
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && words.contains("10.0.0.3 of "), "{words}");
}
