//! Removal of files in the state directory that are no longer used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::node;
use tenure_policy::{CallLimits, CatalogueSource, Compiler, Policies, PolicyRuntime, embedded, sha256};
use tenure_types::PolicyName;

fn name(text: &str) -> PolicyName {
    PolicyName::new(text).unwrap()
}

/// A catalogue of the embedded policies and, if given, a file's.
fn policies(state: &Path, file: Option<&Path>) -> Policies {
    let limits = CallLimits { concurrency: 2, ..CallLimits::default() };
    let runtime = PolicyRuntime::new(limits, Compiler::InProcess).unwrap().with_cache(state.join("compiled"));
    let source =
        |path: &Path| CatalogueSource::File { path: path.into(), sha256: sha256(&fs::read(path).unwrap()) };
    let files = file.map(|path| (name("mine"), source(path)));
    Policies::with_runtime(runtime, files, state).unwrap()
}

/// The names of a directory's files.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Fills a state directory with the files of a component that no catalogue names any more; returns its digest.
fn left_by_mine(state: &Path) -> String {
    let file = state.join("mine.wasm");
    let mut component = embedded::HIGHEST_FIRST.to_vec();
    // An empty custom section: a different component with the same behaviour.
    component.extend([0, 1, 0]);
    fs::write(&file, &component).unwrap();
    let before = policies(state, Some(&file));
    for policy in ["mine", "host-local"] {
        node::obtain(&before, policy).map(drop).unwrap();
    }
    sha256(&component)
}

#[test]
fn what_neither_a_network_nor_the_catalogue_names_is_removed() {
    let state = tempfile::tempdir().unwrap();
    let digest = left_by_mine(state.path());
    let (kept, compiled) = (state.path().join("policies"), state.path().join("compiled"));
    let before = (names(&kept), names(&compiled));
    assert_eq!((before.0.len(), before.1.len()), (2, 2));

    let now = policies(state.path(), None);
    assert_eq!(now.prune([digest.as_str().into()]), 0, "it serves a network");
    let file = state.path().join("mine.wasm");
    assert_eq!(policies(state.path(), Some(&file)).prune([]), 0, "the catalogue names it");
    assert_eq!((names(&kept), names(&compiled)), before);

    assert_eq!(now.prune([]), 2);
    let host_local = sha256(embedded::HOST_LOCAL);
    assert_eq!(names(&kept), [format!("{host_local}.wasm")]);
    assert!(names(&compiled).iter().all(|name| name.starts_with(&host_local)));
    assert!(file.exists(), "the operator's own file");
}

#[test]
fn what_another_version_compiled_and_what_a_crash_left_is_removed() {
    let state = tempfile::tempdir().unwrap();
    left_by_mine(state.path());
    let (kept, compiled) = (state.path().join("policies"), state.path().join("compiled"));
    let host_local = sha256(embedded::HOST_LOCAL);
    fs::write(compiled.join(format!("{host_local}-{}.cwasm", "0".repeat(16))), "another engine's").unwrap();
    fs::write(kept.join(format!(".{host_local}.wasm.new")), "half a comp").unwrap();
    let now = policies(state.path(), None);
    assert_eq!(now.prune([]), 4);
    assert_eq!(now.prune([]), 0);
    assert_eq!((names(&kept).len(), names(&compiled).len()), (1, 1));
}

#[test]
fn what_is_not_named_as_ours_is_left_alone() {
    let state = tempfile::tempdir().unwrap();
    let digest = left_by_mine(state.path());
    let (kept, compiled) = (state.path().join("policies"), state.path().join("compiled"));
    policies(state.path(), None).prune([]);
    let strange = [
        "notes.txt".to_owned(),
        format!("{digest}.wasm.bak"),
        format!("{}.wasm", digest.to_uppercase()),
        format!("{}.wasm", &digest[1..]),
        format!("{digest}.cwasm"),
        format!("{digest}-0.cwasm"),
        ".new".to_owned(),
        ".notes.txt.new".to_owned(),
    ];
    for directory in [&kept, &compiled] {
        strange.iter().for_each(|name| fs::write(directory.join(name), "precious").unwrap());
    }
    fs::create_dir(kept.join(format!("{digest}.wasm"))).unwrap();
    std::os::unix::fs::symlink("notes.txt", compiled.join(format!("{digest}-{}.cwasm", "0".repeat(16))))
        .unwrap();
    let before = (names(&kept), names(&compiled));
    assert_eq!(policies(state.path(), None).prune([]), 0);
    assert_eq!((names(&kept), names(&compiled)), before);
}

#[test]
fn a_directory_that_others_may_enter_is_left_alone() {
    let state = tempfile::tempdir().unwrap();
    assert_eq!(policies(state.path(), None).prune([]), 0, "there is none yet");
    left_by_mine(state.path());
    for directory in ["policies", "compiled"] {
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(state.path().join(directory), open).unwrap();
    }
    assert_eq!(policies(state.path(), None).prune([]), 0);
    assert_eq!(names(&state.path().join("policies")).len(), 2);
}
