//! Lists that are written a second time, for people or for Helm: each has what the code has.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The Rust files below a folder, without those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found
}

/// The crates of `host/`, by folder.
fn crates() -> BTreeSet<String> {
    let folders = fs::read_dir(root().join("host")).unwrap().map(|entry| entry.unwrap().path());
    let crates = folders.filter(|path| path.join("Cargo.toml").exists());
    crates.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// The texts in double quotes between two others.
fn quoted<'a>(text: &'a str, from: &str, to: &str) -> BTreeSet<&'a str> {
    let list = text.split(from).nth(1).and_then(|rest| rest.split(to).next());
    list.unwrap_or_else(|| panic!("no {from:?}")).split('"').skip(1).step_by(2).collect()
}

/// The names in the first column of the book's table that begins with this head.
fn rows<'a>(page: &'a str, head: &str) -> Vec<(&'a str, &'a str)> {
    let lines = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    lines.map_while(|line| line.strip_prefix("| `")?.split_once('`')).collect()
}

#[test]
fn a_log_level_can_name_each_crate_that_logs() {
    let logging = read("host/observe/src/logging.rs");
    let parts = quoted(&logging, "const PARTS:", "];");
    // The operator is a program of its own, without a filter.
    let of_the_daemon = crates().into_iter().filter(|name| name != "operator");
    for name in of_the_daemon {
        let files = sources(&root().join("host").join(&name).join("src"));
        let logs = files.iter().any(|file| fs::read_to_string(file).unwrap().contains("tracing::"));
        let target = if name == "daemon" { "tenured".to_owned() } else { format!("tenure_{name}") };
        assert!(!logs || parts.contains(&*target), "PARTS of host/observe/src/logging.rs lacks {target}");
    }
    let chart = read("deploy/kubernetes/chart/templates/_configuration.tpl");
    assert_eq!(quoted(&chart, "$parts := list", "-}}"), parts);
}

#[test]
fn the_book_has_each_part_of_the_daemon() {
    let page = read("deploy/book/src/architecture.md");
    let table: BTreeSet<_> = rows(&page, "| part | what it does")
        .into_iter()
        .map(|(name, rest)| (name.to_owned(), rest.trim_end().ends_with("| the daemon ends |")))
        .collect();
    let mut parts = BTreeSet::new();
    for file in sources(&root().join("host/daemon/src/app")) {
        let text = fs::read_to_string(file).unwrap();
        for (call, ends) in [(".essential(", true), (".restarted(", false), (".finite(", false)] {
            let named = text.split(call).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
            parts.extend(named.map(|rest| (rest.split('"').next().unwrap().to_owned(), ends)));
        }
    }
    assert_eq!(table, parts);
}

#[test]
fn the_book_has_each_fact_of_the_checkpoint() {
    let page = read("deploy/book/src/checkpoint.md");
    let table = rows(&page, "| chapter | facts |");
    let chapters = read("host/ledger/src/chapters.rs");
    // A row of the table of chapters: `choices: Choices(ChoiceFact),`.
    let mut expected: Vec<_> = chapters
        .lines()
        .filter(|line| line.trim_end().ends_with("Fact),"))
        .filter_map(|line| line.trim_start().split_once(": "))
        .map(|(name, _)| name)
        .collect();
    expected.insert(0, "ledger");
    assert_eq!(table.iter().map(|(name, _)| *name).collect::<Vec<_>>(), expected);
    for (chapter, facts) in table {
        let file = if chapter == "ledger" { "ledger/fact" } else { chapter };
        let stored = read(&format!("host/checkpoint/src/v1/{file}.rs"));
        let body = stored.split("enum StoredFact").nth(1).and_then(|rest| rest.split("\n}").next());
        let variants = body.unwrap().lines().filter_map(|line| line.strip_prefix("    "));
        let variants = variants.filter(|line| line.starts_with(|letter: char| letter.is_ascii_uppercase()));
        for variant in variants {
            let name = kebab(variant.split(|letter: char| !letter.is_alphanumeric()).next().unwrap());
            assert!(facts.contains(&format!("`{name}`")), "the row of `{chapter}` lacks `{name}`");
        }
    }
}

#[test]
fn the_book_has_each_value_of_the_labels_of_metrics() {
    // The source, the beginning of the list in it, the page, and the beginning of the metric's row.
    for (source, from, page, row) in [
        (
            "host/ledger/src/books/violation.rs",
            "pub fn rule(",
            "conditions.md",
            "| `tenure_policy_rejections_total`",
        ),
        ("host/ledger/src/choices/step.rs", "pub fn name(", "conditions.md", "| `tenure_policy_steps_total`"),
        (
            "host/operator/src/reports/metrics.rs",
            "impl WriteCause {",
            "cluster.md",
            "| `tenure_operator_api_requests_total",
        ),
    ] {
        let (source, page) = (read(source), read(&format!("deploy/book/src/{page}")));
        let row = page.lines().find(|line| line.starts_with(row)).unwrap();
        for value in quoted(&source, from, "\n    }\n") {
            assert!(row.contains(&format!("`{value}`")), "the row lacks `{value}`: {row}");
        }
    }
}

/// A variant's name as serde stores it.
fn kebab(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[test]
fn each_crate_of_the_host_is_in_the_readme_and_in_the_table_of_contributors() {
    let (readme, contributing) = (read("README.md"), read("CONTRIBUTING.md"));
    let of_host = |line: &&str| line.starts_with("| `host/`");
    let listed = readme.lines().find(of_host).unwrap();
    let table = contributing.split("| crate | owns |").nth(1).unwrap().split("\n\n").next().unwrap();
    for name in crates() {
        assert!(listed.contains(&format!("`{name}`")), "the README does not list `{name}`");
        assert!(table.contains(&format!("`{name}`")), "CONTRIBUTING does not list `{name}`");
    }
}
