//! `tenurectl cluster import` runs the program that can do it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

fn import(directory: &Path) -> Output {
    let program = directory.join("tenurectl");
    if std::fs::hard_link(env!("CARGO_BIN_EXE_tenurectl"), &program).is_err() && !program.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_tenurectl"), &program).unwrap();
    }
    let arguments = ["cluster", "import", "whereabouts", "--pool", "a b", "--apply", "--kubeconfig=there"];
    Command::new(program).args(arguments).env("PATH", directory).output().unwrap()
}

#[test]
fn an_import_is_that_of_the_operator_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let without = import(directory.path());
    assert_eq!(without.status.code(), Some(1), "{without:?}");
    let words = String::from_utf8(without.stderr).unwrap();
    assert!(
        words.contains("tenure-operator imports, and is neither beside tenurectl nor in PATH"),
        "{words}"
    );
    let operator = directory.path().join("tenure-operator");
    std::fs::write(&operator, "#!/bin/sh\nprintf '%s|' \"$@\"\necho refused >&2\nexit 7\n").unwrap();
    std::fs::set_permissions(&operator, std::fs::Permissions::from_mode(0o755)).unwrap();
    let with = import(directory.path());
    assert_eq!(with.status.code(), Some(7), "{with:?}");
    assert_eq!(with.stdout, b"import|whereabouts|--pool|a b|--apply|--kubeconfig=there|");
    assert_eq!(with.stderr, b"refused\n");
}
