//! What an author's verb has done.

use std::fmt::Write as _;
use std::time::Duration;

use super::parts::{bytes, clean};
use super::table::{align_right, table, text};
use crate::author::{Benched, Built, Checked, Created, Packed, Signed, Tested, Trial, Work};

/// The work's text.
pub(super) fn work(work: &Work) -> String {
    match work {
        Work::Created(created) => self::created(created),
        Work::Built(built) => self::built(built),
        Work::Tested(tested) => self::tested(tested),
        Work::Checked(checked) => self::checked(checked),
        Work::Benched(benched) => self::benched(benched),
        Work::Packed(packed) => self::packed(packed),
        Work::Signed(signed) => self::signed(signed),
    }
}

fn created(created: &Created) -> String {
    let folder = created.folder.display();
    let mut text = format!("Created a policy in {folder}, in {}:\n", created.language);
    for file in &created.files {
        text.push_str(&format!("  {}\n", file.display()));
    }
    text + &format!("Next: tenurectl policy test {folder}\n")
}

fn built(built: &Built) -> String {
    format!("{}: {} bytes, sha256 {}\n", built.file.display(), built.bytes, built.sha256)
}

fn tested(tested: &Tested) -> String {
    let mut text = String::new();
    for run in &tested.runs {
        let (path, steps) = (run.path.display(), run.steps);
        let _ = match &run.failure {
            None => writeln!(text, "{path}: {steps} steps passed"),
            Some(failure) => writeln!(text, "FAILED {failure}"),
        };
    }
    let failed = tested.runs.iter().filter(|run| run.failure.is_some()).count();
    let files = match tested.runs.len() {
        1 => "1 case file".to_owned(),
        count => format!("{count} case files"),
    };
    let component = tested.file.display();
    let _ = match failed {
        0 => writeln!(text, "{component}: {files} passed"),
        _ => writeln!(text, "{component}: {failed} of {files} failed"),
    };
    text
}

fn checked(checked: &Checked) -> String {
    let Checked { file, bytes: size, sha256, contents, trial, conformance } = checked;
    let conformance = conformance.as_ref().map_or_else(
        || "-".to_owned(),
        |suite| {
            let passed = format!("{} checks passed", suite.passed.len());
            match (&suite.failure, &suite.skipped) {
                (Some(why), _) => format!("FAILED: {}", clean(why)),
                (None, Some(why)) => format!("{passed}; {}", clean(why)),
                (None, None) => passed,
            }
        },
    );
    let mut rows = table(["COMPONENT", &clean(&file.display().to_string())]);
    let list = |names: &[String]| match names {
        [] => "-".to_owned(),
        names => names.iter().map(|name| clean(name)).collect::<Vec<_>>().join("\n"),
    };
    let initial = format!("{} in {}", bytes(contents.initial_memory), memories(contents.memories));
    let (memory, verdict) = match trial {
        Trial::Served { memory } => (format!("{memory} MiB"), "served a pod".to_owned()),
        Trial::Refused { memory, why } => {
            (format!("{memory} MiB"), format!("refused: {}", clean(&why.cause)))
        }
        Trial::Failed(why) => ("-".to_owned(), format!("UNUSABLE: {}", clean(&why.cause))),
    };
    let worlds = contents.worlds();
    for (what, value) in [
        ("sha256", sha256.clone()),
        ("size", format!("{} ({size} bytes)", bytes(u64::try_from(*size).unwrap_or(u64::MAX)))),
        (
            "interface",
            contents
                .version()
                .map_or_else(|| "-".to_owned(), |version| format!("tenure:ipam@{}", clean(version))),
        ),
        ("worlds", if worlds.is_empty() { "-".to_owned() } else { worlds.join(", ") }),
        ("imports", list(&contents.imports)),
        ("exports", list(&contents.exports)),
        ("memory at the start", initial),
        ("memory tier", memory),
        ("trial", verdict),
        ("conformance", conformance),
    ] {
        rows.add_row([what.to_owned(), value]);
    }
    text(&rows)
}

fn memories(count: u32) -> String {
    if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") }
}

fn benched(benched: &Benched) -> String {
    let mut rows = table(["CALL", "ALLOCATIONS", "MEDIAN", "P99"]);
    align_right(&mut rows, &[1, 2, 3]);
    for row in &benched.rows {
        rows.add_row([row.call.to_owned(), row.held.to_string(), short(row.median), short(row.p99)]);
    }
    text(&rows)
}

/// A duration in microseconds.
fn short(time: Duration) -> String {
    let tenths = time.as_nanos() / 100;
    format!("{}.{} us", tenths / 10, tenths % 10)
}

fn packed(packed: &Packed) -> String {
    let Packed { folder, manifest, sha256, signed } = packed;
    let signed = if *signed { ", with its signature" } else { "" };
    format!("{}: {manifest}, of the component sha256:{sha256}{signed}\n", folder.display())
}

fn signed(signed: &Signed) -> String {
    format!("{}: sha256 {}\npublic key: {}\n", signed.signature.display(), signed.sha256, signed.public_key)
}

#[cfg(test)]
mod tests {
    use tenure_engine::Conformance;
    use tenure_policy::Contents;
    use tenure_testkit::cases::{Failure, Run};
    use tenure_types::{Error, ErrorCode};

    use super::*;
    use crate::author::Row;

    #[test]
    fn what_was_made_is_listed_with_the_next_step() {
        let created = Created {
            folder: "zones".into(),
            language: "rust",
            files: vec!["Cargo.toml".into(), "src/lib.rs".into()],
        };
        insta::assert_snapshot!(work(&Work::Created(created)), @"
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
        insta::assert_snapshot!(work(&Work::Built(built)), @"zones/policy.wasm: 96154 bytes, sha256 9f86d081884c7d659a2feaa0c55ad015");
    }

    #[test]
    fn a_failed_case_has_its_line_what_was_expected_and_what_came() {
        let run = |path: &str, failure| Run { path: path.into(), steps: 7, failure };
        let failure = Failure {
            path: "zones/cases/b.txt".into(),
            line: 4,
            step: "add shop/web-0".into(),
            expected: "10.1.1.2".into(),
            got: "exhausted \"no address is free\"".into(),
        };
        let runs = vec![run("zones/cases/a.txt", None), run("zones/cases/b.txt", Some(failure))];
        let tested = Work::Tested(Tested { file: "zones/policy.wasm".into(), runs });
        assert!(!tested.is_well());
        insta::assert_snapshot!(work(&tested), @r#"
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
            work(&Work::Checked(Box::new(Checked {
                file,
                bytes: 96_154,
                sha256,
                contents,
                trial,
                conformance,
            })))
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
        insta::assert_snapshot!(work(&Work::Benched(Benched { file: "policy.wasm".into(), rows })), @"
        CALL     ALLOCATIONS   MEDIAN        P99
        define             0  31.2 us    90.0 us
        propose          252   9.8 us  1204.0 us
        ");
    }
}
