//! The author's verbs, run as a program: no daemon, no compiler.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn tenurectl(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenurectl"));
    // Without a compiler: a path that has none, and no hint from cargo.
    command.env_clear().env("PATH", "/nonexistent").current_dir(folder);
    command.args(["policy"]).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_new_policy_is_complete_and_a_missing_compiler_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    // Wherever the tests are built, no SDK is beside this copy of the program.
    let program = scratch.path().join("tenurectl");
    fs::copy(env!("CARGO_BIN_EXE_tenurectl"), &program).unwrap();
    let mut alone = Command::new(program);
    let alone =
        alone.env_clear().current_dir(scratch.path()).args(["policy", "new", "my-zones"]).output().unwrap();
    let error = text(&alone.stderr);
    assert!(
        error.starts_with("error: tool-missing: no SDK of version") && error.contains("pass --sdk with"),
        "{error}"
    );
    assert!(!scratch.path().join("my-zones").exists(), "nothing is left that would not build");
    let made = tenurectl(scratch.path(), &["new", "my-zones", "--sdk", env!("CARGO_PKG_VERSION")]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let manifest = fs::read_to_string(scratch.path().join("my-zones/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"my-zones\""), "{manifest}");
    assert!(manifest.contains(concat!("tenure-sdk = \"", env!("CARGO_PKG_VERSION"), "\"")), "{manifest}");
    let source = fs::read_to_string(scratch.path().join("my-zones/src/lib.rs")).unwrap();
    assert!(source.contains("pub struct MyZones;"), "{source}");
    let keyword = tenurectl(scratch.path(), &["new", "self", "--sdk", env!("CARGO_PKG_VERSION")]);
    assert!(keyword.status.code() == Some(1) && text(&keyword.stderr).contains("choose another name"));
    let again = tenurectl(scratch.path(), &["new", "my-zones", "--sdk", env!("CARGO_PKG_VERSION")]);
    assert!(again.status.code() == Some(1) && text(&again.stderr).contains("is not empty"));
    let build = tenurectl(scratch.path(), &["build", "my-zones"]);
    let error = text(&build.stderr);
    assert_eq!(build.status.code(), Some(1));
    assert!(error.starts_with("error: tool-missing: cannot find rustc: install Rust"), "{error}");
    let none = tenurectl(scratch.path(), &["build", "."]);
    assert!(text(&none.stderr).contains("`tenurectl policy new` creates one"), "{}", text(&none.stderr));
}

#[test]
fn a_component_is_tested_and_checked_without_a_daemon() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    fs::write(at("policy.wasm"), tenure_policy::embedded::HOST_LOCAL).unwrap();
    fs::create_dir(at("cases")).unwrap();
    let network = "network { \"subnet\": \"10.1.1.0/29\" }\n";
    fs::write(at("cases/a.txt"), format!("{network}add shop/web-0 -> 10.1.1.2\n")).unwrap();
    let test = || tenurectl(scratch.path(), &["test", ".", "--component", "policy.wasm", "--output", "json"]);
    let passed = test();
    assert!(passed.status.success(), "{}", text(&passed.stderr));
    fs::write(at("cases/b.txt"), format!("{network}\nadd shop/web-0 -> 10.1.1.9\n")).unwrap();
    let failed = test();
    assert_eq!(failed.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&failed.stdout).unwrap();
    let failure = report.pointer("/cases/1/failure").unwrap();
    assert_eq!(failure.get("line").and_then(Value::as_u64), Some(3), "{failure}");
    assert_eq!(failure.get("got").and_then(Value::as_str), Some("10.1.1.2"), "{failure}");

    let check = tenurectl(scratch.path(), &["check", "policy.wasm", "--output", "json"]);
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!(report.get("trial").and_then(Value::as_str), Some("served"), "{report}");
    assert_eq!(report.get("memory_tier_mib").and_then(Value::as_u64), Some(4), "{report}");
    fs::write(at("module.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let check = tenurectl(scratch.path(), &["check", "module.wasm"]);
    assert!(text(&check.stderr).contains("it is a core module, not a component"), "{}", text(&check.stderr));
}

#[test]
fn a_policy_that_needs_a_configuration_asks_for_it() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    fs::write(at("policy.wasm"), tenure_policy::embedded::HOST_LOCAL).unwrap();
    let full =
        r#"{ "ranges": [[{ "subnet": "10.1.0.0/30", "rangeStart": "10.1.0.1", "rangeEnd": "10.1.0.1" }]] }"#;
    for (name, ipam) in [("wrong.json", "{}"), ("full.json", full)] {
        fs::write(at(name), ipam).unwrap();
        let trial = ["policy.wasm", "--network", name, "--namespace", "shop"];
        let check = tenurectl(scratch.path(), &[&["check"], &trial[..]].concat());
        let page = text(&check.stdout);
        let hint = "the `ipam` object in the file of --network must be one under which the policy serves the pod; the \
                    pod's namespace was \"shop\", which --namespace sets";
        assert!(
            check.status.code() == Some(1) && page.contains("REFUSED: ") && page.contains(hint),
            "{name}: {page}"
        );
        let bench = tenurectl(scratch.path(), &[&["bench"], &trial[..]].concat());
        let error = text(&bench.stderr);
        assert!(bench.status.code() == Some(1) && error.contains(hint), "{name}: {error}");
    }
}

/// A component with one more module, which each of its instances instantiates, too: it has 400 pages of memory, 25 MiB.
fn with_memory(component: &[u8]) -> Vec<u8> {
    let (mut rest, mut modules) = (component.get(8..).unwrap(), 0);
    while let Some((section, after)) = rest.split_first() {
        modules += u8::from(*section == 1);
        let length = after.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let (head, body) = after.split_at(length);
        let size = head.iter().rev().fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
        rest = body.get(size..).unwrap();
    }
    let module = b"\0asm\x01\0\0\0\x05\x04\x01\0\x90\x03";
    let instance = [1, 0, modules, 0];
    [component, &[1, 14], module, &[2, 4], &instance].concat()
}

/// Regression: cases ran with 16 MiB, with which nothing in Python that has modules of its own could be tested.
#[test]
fn cases_have_the_memory_that_a_node_may_grant() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    fs::write(at("policy.wasm"), with_memory(tenure_policy::embedded::HOST_LOCAL)).unwrap();
    fs::create_dir(at("cases")).unwrap();
    let case = "network { \"subnet\": \"10.1.1.0/29\" }\nadd shop/web-0 -> 10.1.1.2\n";
    fs::write(at("cases/a.txt"), case).unwrap();
    let tested = tenurectl(scratch.path(), &["test", ".", "--component", "policy.wasm"]);
    assert!(tested.status.success(), "{}", text(&tested.stderr));
    let check = tenurectl(scratch.path(), &["check", "policy.wasm", "--output", "json"]);
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!(report.get("memory_tier_mib").and_then(Value::as_u64), Some(32), "{report}");
}
