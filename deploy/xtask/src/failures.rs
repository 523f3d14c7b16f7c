//! Checks that the tests named in the book's failure tables exist.

use std::fs;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// Suites whose modules list their tests, with their folders.
const LISTED: [(&str, &str); 3] = [
    ("operator", "host/operator/tests/apiserver"),
    ("cluster", "host/cluster/tests/apiserver"),
    ("nodes", "host/cluster/tests/nodes"),
];

/// Looks up each test that a table names as `` `suite::test` `` among those that `host/e2e/tests/suite.rs` registers. The suite `matrix`
/// has a test for each situation, and each suite of [`LISTED`] those of the modules in its folder.
///
/// # Errors
/// Lists the full names of the tests that do not exist.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let page = fs::read_to_string(workspace.book().join("src/failures.md"))?;
    let suite = |name: &str| {
        fs::read_to_string(workspace.root.join("host/e2e/tests").join(name).with_extension("rs"))
            .unwrap_or_default()
    };
    let situations =
        fs::read_to_string(workspace.root.join("host/e2e/src/matrix/situation.rs")).unwrap_or_default();
    let listed = |folder: &str, test: &str| {
        let module = test.split("::").next().unwrap_or_default();
        let file = workspace.root.join(folder).join(module).with_extension("rs");
        is_listed(&fs::read_to_string(file).unwrap_or_default(), test)
    };
    let exists = |file: &str, test: &str| match LISTED.iter().find(|(name, _)| *name == file) {
        Some((_, folder)) => listed(folder, test),
        None if file == "matrix" => is_situation(&situations, test),
        None => registered(&suite(file)).any(|name| name == test),
    };
    let missing: Vec<String> = named(&page)
        .filter(|(file, test)| !exists(file, test))
        .map(|(file, test)| format!("{file}::{test}"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("deploy/book/src/failures.md names tests that do not exist: {}", missing.join(", "))
}

/// The tests that the tables' rows name.
fn named(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter_map(|code| code.split_once("::"))
}

/// The names of the tests that a suite's source registers.
fn registered(source: &str) -> impl Iterator<Item = &str> {
    let calls = source.split(".test(").skip(1);
    calls.filter_map(|call| call.trim_start().strip_prefix('"')?.split_once('"')).map(|(name, _)| name)
}

/// Whether the table of situations has one of this name.
fn is_situation(source: &str, name: &str) -> bool {
    let named = format!("\"{name}\"");
    source.lines().any(|line| line.split(", ").nth(1) == Some(&named))
}

/// Whether a module's list of tests has one of this name.
fn is_listed(source: &str, name: &str) -> bool {
    let named = format!("\"{name}\",");
    source.split('(').any(|entry| entry.trim_start().starts_with(&named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_known_by_its_whole_name_and_only_where_it_is_run() {
        let source = r#"
            Suite::new().test("a_stop_is_clean", &[], stop).test(
                "a_start_is_clean",
                &[],
                start,
            )
            // "a_comment" and an_unregistered_function
            fn an_unregistered_function() { ensure!(true, "a_message"); }
        "#;
        assert_eq!(registered(source).collect::<Vec<_>>(), ["a_stop_is_clean", "a_start_is_clean"]);
    }

    #[test]
    fn a_situation_is_known_by_its_name_in_the_table() {
        let source = "situations! {\n    Calm, \"calm\", \"Nothing is wrong, not even \"down\".\";\n}";
        assert!(is_situation(source, "calm"));
        assert!(!is_situation(source, "down") && !is_situation(source, "Calm"));
    }

    #[test]
    fn a_test_of_the_operator_is_known_by_its_module_and_name() {
        let source = "pub(crate) const TESTS: &[Test] =\n    &[(\"dead::a_node_is_gone\", gone)];\nfn a_node_returns() {}";
        assert!(is_listed(source, "dead::a_node_is_gone"));
        assert!(!is_listed(source, "dead::a_node_returns") && !is_listed(source, "a_node_is_gone"));
        let wrapped = "&[\n    (\n        \"dead::a_node_is_gone\",\n        gone,\n    ),\n]";
        assert!(is_listed(wrapped, "dead::a_node_is_gone"));
    }

    #[test]
    fn only_tests_in_rows_are_looked_up() {
        let page = "As `text::says`:\n| DEL, `tenured` down | `lifecycle::spool`, `plugins::bridge` |\n";
        assert_eq!(named(page).collect::<Vec<_>>(), [("lifecycle", "spool"), ("plugins", "bridge")]);
    }
}
