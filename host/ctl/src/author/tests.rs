//! Pages of the author's verbs.

use std::path::PathBuf;
use std::time::Duration;

use tenure_engine::Conformance;
use tenure_policy::Contents;
use tenure_testkit::cases::{CaseFailure, CaseRun};
use tenure_types::{Error, ErrorCode};

use super::bench::{Benched, Row};
use super::build::Built;
use super::check::{Checked, Trial};
use super::new::Created;
use super::pack::{Packed, PackedKind};
use super::sign::Signed;
use super::test::Tested;
use crate::render::Shown;
use crate::report::tests::snapshot;

fn digest() -> String {
    "9f86d081884c7d659a2feaa0c55ad015".to_owned()
}

#[test]
fn work_of_an_author() {
    let (file, language, sha256) = (PathBuf::from("zones/policy.wasm"), "rust", digest());
    let files = vec!["Cargo.toml".into()];
    let created = Created { folder: "zones".into(), language, files };
    snapshot("created", &created);
    let built = Built { file: file.clone(), language, bytes: 96_154, sha256: digest() };
    snapshot("built", &built);
    let (path, line, step) = (PathBuf::from("zones/cases/b.txt"), 4, "add shop/web-0".to_owned());
    let failure =
        CaseFailure { path: path.clone(), line, step, expected: "10.1.1.2".into(), got: "full".into() };
    let runs = [None, Some(failure)].map(|failure| CaseRun { path: path.clone(), steps: 7, failure }).into();
    snapshot("tested", &Tested { file: file.clone(), runs });
    let row = Row {
        call: "propose",
        held: 252,
        median: Duration::from_nanos(9_870),
        p99: Duration::from_micros(1_204),
    };
    snapshot("benched", &Benched { file: file.clone(), rows: vec![row] });
    let manifest = "sha256:17".to_owned();
    let (folder, kind) = ("zones/oci".into(), PackedKind::Component);
    let packed = Packed { folder, manifest, sha256: sha256.clone(), signed: true, kind };
    snapshot("packed", &packed);
    let signed = Signed { signature: "policy.wasm.minisig".into(), public_key: "RWQ".into(), sha256 };
    snapshot("signed", &signed);
}

#[test]
fn checks_of_a_component() {
    let contents = Contents {
        imports: vec!["tenure:ipam/ledger@0.1.0".into()],
        exports: vec!["tenure:ipam/network@0.1.0".into()],
        memories: 1,
        initial_memory: 1 << 20,
    };
    let checked = |trial, conformance| {
        let (file, contents) = ("policy.wasm".into(), contents.clone());
        Checked { file, bytes: 96_154, sha256: digest(), contents, trial, conformance }
    };
    let why = || Error::new(ErrorCode::PolicyFailed, "it ran longer than 50 ms");
    let suite =
        Conformance { passed: vec!["one"], failure: Some("nonsense".into()), skipped: Some("rest".into()) };
    snapshot("checked-served", &checked(Trial::Served { memory: 4 }, Some(suite)));
    snapshot("checked-refused", &checked(Trial::Refused { memory: 4, why: why() }, None));
    let unsupplied = checked(Trial::Unsupplied { memory: 4 }, Some(Conformance::default()));
    assert!(unsupplied.is_usable());
    snapshot("checked-unsupplied", &unsupplied);
    let refused = Trial::Refused { memory: 4, why: why() };
    let is_usable = checked(refused, Some(Conformance::default())).is_usable();
    assert!(!is_usable, "a policy that refused everything has shown nothing");
    snapshot("checked-failed", &checked(Trial::Failed(why()), None));
}

#[test]
fn what_was_made_is_listed_with_the_next_step() {
    let created = Created {
        folder: "zones".into(),
        language: "rust",
        files: vec!["Cargo.toml".into(), "src/lib.rs".into()],
    };
    insta::assert_snapshot!(created.page(0), @"
    Created a policy in zones, in rust:
      Cargo.toml
      src/lib.rs
    Next: tenurectl policy test zones
    ");
    let built = Built {
        file: "zones/policy.wasm".into(),
        language: "rust",
        bytes: 96_154,
        sha256: "9f86d081884c7d659a2feaa0c55ad015".into(),
    };
    insta::assert_snapshot!(built.page(0), @"zones/policy.wasm: 96154 bytes, sha256 9f86d081884c7d659a2feaa0c55ad015");
}

#[test]
fn a_failed_case_has_its_line_what_was_expected_and_what_came() {
    let run = |path: &str, failure| CaseRun { path: path.into(), steps: 7, failure };
    let failure = CaseFailure {
        path: "zones/cases/b.txt".into(),
        line: 4,
        step: "add shop/web-0".into(),
        expected: "10.1.1.2".into(),
        got: "exhausted \"no address is free\"".into(),
    };
    let runs = vec![run("zones/cases/a.txt", None), run("zones/cases/b.txt", Some(failure))];
    let tested = Tested { file: "zones/policy.wasm".into(), runs };
    assert!(!tested.is_well());
    insta::assert_snapshot!(tested.page(0), @r#"
    zones/cases/a.txt: 7 steps passed
    FAILED zones/cases/b.txt:4: add shop/web-0
      expected: 10.1.1.2
      got:      exhausted "no address is free"
    zones/policy.wasm: 1 of 2 case files failed
    "#);
}

#[test]
fn a_check_says_what_a_component_is_and_needs() {
    let contents = Contents {
        imports: vec!["tenure:ipam/ledger@0.1.0".into()],
        exports: vec!["tenure:ipam/network@0.1.0".into(), "tenure:ipam/allocation@0.1.0".into()],
        memories: 1,
        initial_memory: 1 << 20,
    };
    let checked = |trial, conformance| {
        let (file, sha256) = ("policy.wasm".into(), "9f86d081".into());
        let contents = contents.clone();
        Checked { file, bytes: 96_154, sha256, contents, trial, conformance }.page(0).to_string()
    };
    let passed = Conformance { passed: vec!["one", "two"], ..Conformance::default() };
    insta::assert_snapshot!(checked(Trial::Served { memory: 4 }, Some(passed)), @"
    COMPONENT            policy.wasm
    sha256               9f86d081
    size                 93.9 KiB (96154 bytes)
    interface            tenure:ipam@0.1.0
    worlds               policy
    imports              tenure:ipam/ledger@0.1.0
    exports              tenure:ipam/network@0.1.0
                         tenure:ipam/allocation@0.1.0
    memory at the start  1.0 MiB in 1 memory
    memory tier          4 MiB
    trial                served a pod
    conformance          2 checks passed
    ");
    let one = Conformance { passed: vec!["one"], ..Conformance::default() };
    assert!(checked(Trial::Served { memory: 4 }, Some(one)).contains("1 check passed"));
    let nonconforming =
        Conformance { failure: Some("it proposes nonsense".into()), ..Conformance::default() };
    let shown = checked(Trial::Served { memory: 4 }, Some(nonconforming));
    assert!(shown.contains("FAILED: it proposes nonsense"), "{shown}");
    let failed = Trial::Failed(Error::new(ErrorCode::PolicyFailed, "it ran longer than 50 ms"));
    assert!(checked(failed, None).contains("UNUSABLE: it ran longer than 50 ms"));
}

#[test]
fn times_are_in_microseconds() {
    let row = |call, held, median, p99| Row {
        call,
        held,
        median: Duration::from_nanos(median),
        p99: Duration::from_nanos(p99),
    };
    let rows = vec![row("define", 0, 31_250, 90_000), row("propose", 252, 9_870, 1_204_000)];
    insta::assert_snapshot!(Benched { file: "policy.wasm".into(), rows }.page(0), @"
    CALL     ALLOCATIONS   MEDIAN        P99
    define             0  31.2 us    90.0 us
    propose          252   9.8 us  1204.0 us
    ");
}
