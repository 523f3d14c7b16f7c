//! Loading: which components are accepted, from where, and which are refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::node;
use tenure_engine::ports::{Catalogue, Offered, Policy};
use tenure_ledger::Component;
use tenure_policy::{CallLimits, CatalogueSource, Compiler, Policies, PolicyRuntime, embedded, sha256};
use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp};

fn name(text: &str) -> PolicyName {
    PolicyName::new(text).unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    let error = node::runtime().load(&name("p"), bytes, None).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyUnloadable);
    error.cause
}

fn policies(state: &Path, files: &[(&str, &Path, &str)]) -> Policies {
    let limits = CallLimits { concurrency: 2, ..CallLimits::default() };
    let runtime = PolicyRuntime::new(limits, Compiler::InProcess).unwrap().with_cache(state.join("compiled"));
    let files = files.iter().map(|(policy, path, sha256)| {
        (name(policy), CatalogueSource::File { path: path.to_path_buf(), sha256: (*sha256).into() })
    });
    Policies::with_runtime(runtime, files, state).unwrap()
}

/// The policy pinned by a stamp, once it has loaded or failed.
fn pinned(policies: &Policies, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
    loop {
        match policies.find_pinned(stamp) {
            Err(error) if error.code == ErrorCode::Preparing => std::thread::yield_now(),
            found => return found,
        }
    }
}

fn only_file(directory: PathBuf) -> PathBuf {
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn what_is_no_policy_is_refused_with_the_reason() {
    let component = |text: &str| wat::parse_str(format!("(component {text})")).unwrap();
    let wasi = component(r#"(import "wasi:clocks/monotonic-clock@0.2.0" (instance))"#);
    assert!(refusal(&wasi).contains(
        "it imports wasi:clocks/monotonic-clock@0.2.0, which is not offered; policies have no WASI"
    ));
    let other = component(r#"(import "somebody:else/thing" (instance))"#);
    assert!(refusal(&other).contains(
        "it imports somebody:else/thing, which is not offered; a policy may import only tenure:ipam"
    ));
    let newer = component(r#"(import "tenure:ipam/kernel@0.1.0-rc.1" (instance (export "f" (func))))"#);
    assert!(
        refusal(&newer).contains(
            "it imports tenure:ipam/kernel@0.1.0-rc.1; this host has tenure:ipam@0.1.0-rc.1: build"
        )
    );
    for version in ["0.1.0", "0.1.0-rc.0", "0.2.0", "0.0.9", "1.1.0"] {
        let import = format!("tenure:ipam/ledger@{version}");
        let text = refusal(&component(&format!(r#"(import "{import}" (instance (export "free" (func))))"#)));
        assert!(
            text.contains(&format!("it imports {import}; this host has tenure:ipam@0.1.0-rc.1: build")),
            "{text}"
        );
    }
    let grown = component(r#"(import "tenure:ipam/ledger@0.1.7" (instance (export "owner-of" (func))))"#);
    assert!(refusal(&grown).contains("this host has tenure:ipam@0.1.0-rc.1"), "{}", refusal(&grown));
    assert!(refusal(&component("")).contains("it is not a policy of this interface"));
    assert!(refusal(&wat::parse_str("(module)").unwrap()).contains("it is a core module, not a component"));
    for garbage in [&b""[..], b"\x7fELF", b"(component)"] {
        assert!(refusal(garbage).contains("it is not a WebAssembly file"), "{}", refusal(garbage));
    }
}

#[test]
fn the_exports_are_those_of_the_interface_or_nothing_is_loaded() {
    let exporting = |interface: &str, function: &str| {
        let text = format!(
            r#"(component
                (core module $m (func (export "f")))
                (core instance $i (instantiate $m))
                (func $f (canon lift (core func $i "f")))
                (instance $e (export "{function}" (func $f)))
                (export "{interface}" (instance $e)))"#
        );
        refusal(&wat::parse_str(text).unwrap())
    };
    for (interface, function, cause) in [
        (
            "somebody:else/thing",
            "define",
            "it must export define of tenure:ipam/network@0.1.0-rc.1, but does not",
        ),
        ("tenure:ipam/network@0.2.0", "define", "but exports tenure:ipam/network@0.2.0"),
        ("tenure:ipam/network@0.1.0-rc.1", "defined", "but that interface lacks it"),
        (
            "tenure:ipam/network@0.1.0-rc.1",
            "define",
            "its define does not have the type of tenure:ipam/network@0.1.0-rc.1 (",
        ),
    ] {
        let text = exporting(interface, function);
        assert!(text.contains("it is not a policy of this interface: ") && text.contains(cause), "{text}");
        assert!(text.contains("; this host has tenure:ipam@0.1.0-rc.1: build"), "{text}");
    }
    let planner = exporting("tenure:ipam/planning@0.1.0", "plan");
    let words =
        "it exports tenure:ipam/planning, which is tenure:supply/planning in this version; this host has";
    assert!(planner.contains(words), "{planner}");
}

#[test]
fn a_component_that_needs_more_memory_than_allowed_names_the_setting() {
    let text = "(component (core module $m (memory 257)) (core instance (instantiate $m)))";
    let text = refusal(&wat::parse_str(text).unwrap());
    let cause = "its initial memory, 17 MiB, exceeds the limit of 16 MiB (sandbox.memory_mib)";
    assert!(text.ends_with(cause), "{text}");
}

#[test]
fn the_digest_is_that_of_the_bytes_or_nothing_is_loaded() {
    let wrong = "0".repeat(64);
    let error = node::runtime().load(&name("p"), embedded::HOST_LOCAL, Some(&wrong)).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyUnloadable);
    assert!(error.cause.contains(&sha256(embedded::HOST_LOCAL)) && error.cause.contains(&wrong), "{error}");
}

#[test]
fn the_catalogue_lists_what_there_is_and_what_is_wrong_with_it() {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("mine.wasm");
    fs::write(&file, embedded::HIGHEST_FIRST).unwrap();
    let digest = sha256(embedded::HIGHEST_FIRST);
    let missing = state.path().join("missing.wasm");
    let wrong = "0".repeat(64);
    let policies = policies(
        state.path(),
        &[("changed", &file, &wrong), ("mine", &file, &digest), ("missing", &missing, &wrong)],
    );
    policies.begin([]);
    while policies.list().iter().any(|entry| entry.loading) {
        std::thread::yield_now();
    }
    let list: Vec<_> = policies
        .list()
        .into_iter()
        .map(|entry| (entry.stamp.name.to_string(), entry.source == "embedded", entry.problem.is_some()))
        .collect();
    let entry = |name: &str, embedded, problem| (name.to_owned(), embedded, problem);
    assert_eq!(
        list,
        [
            entry("changed", false, true),
            entry("highest-first", true, false),
            entry("host-local", true, false),
            entry("mine", false, false),
            entry("missing", false, true),
        ]
    );
    let code = |policy: &str| node::obtain(&policies, policy).map(|_| ()).map_err(|error| error.code);
    assert_eq!(code("mine"), Ok(()));
    assert_eq!(code("changed"), Err(ErrorCode::PolicyUnloadable));
    assert_eq!(code("missing"), Err(ErrorCode::PolicyUnloadable));
    assert_eq!(code("unheard-of"), Err(ErrorCode::UnknownPolicy));
}

#[test]
fn a_node_goes_on_with_its_own_copy_when_the_file_is_gone_or_another() {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("mine.wasm");
    let digest = sha256(embedded::HIGHEST_FIRST);
    fs::write(&file, embedded::HIGHEST_FIRST).unwrap();
    let load = || node::obtain(&policies(state.path(), &[("mine", &file, &digest)]), "mine");
    load().unwrap();

    fs::remove_file(&file).unwrap();
    load().unwrap();
    // The catalogue need not even list it any more.
    let stamp = PolicyStamp { name: name("mine"), digest: digest.into() };
    assert_eq!(pinned(&policies(state.path(), &[]), &stamp).unwrap().stamp().as_ref(), &stamp);
    // A modified copy is not used.
    let kept = state.path().join("policies").join(format!("{}.wasm", stamp.digest));
    fs::write(&kept, embedded::HOST_LOCAL).unwrap();
    let error: Error = pinned(&policies(state.path(), &[]), &stamp).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyUnloadable);
}

#[test]
fn what_was_compiled_is_used_again_only_while_it_is_ours_and_whole() {
    let state = tempfile::tempdir().unwrap();
    let load = || node::obtain(&policies(state.path(), &[]), "host-local").map(|_| ()).unwrap();
    load();
    let compiled = only_file(state.path().join("compiled"));
    assert_eq!(compiled.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(state.path().join("compiled").metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let (good, inode) = (fs::read(&compiled).unwrap(), inode(&compiled));
    load();
    assert_eq!(self::inode(&compiled), inode, "it was recompiled although it was intact");

    let mut tampered = good.clone();
    *tampered.last_mut().unwrap() ^= 1;
    for bad in [&tampered[..], &good[..good.len() / 2], &[]] {
        fs::write(&compiled, bad).unwrap();
        load();
        assert_eq!(fs::read(&compiled).unwrap(), good, "a tampered file was not replaced");
    }
    // A file that others could have written is not trusted, however right it looks.
    let before = self::inode(&compiled);
    fs::set_permissions(&compiled, fs::Permissions::from_mode(0o666)).unwrap();
    load();
    assert_ne!(self::inode(&compiled), before);
    assert_eq!(compiled.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

fn inode(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    path.metadata().unwrap().ino()
}

/// A component whose only function cannot be compiled: its forbidden imports are reported first.
#[test]
fn imports_are_checked_before_anything_is_compiled() {
    let invalid = "(core module (func (result i32)))";
    let component = |import: &str| wat::parse_str(format!("(component {import} {invalid})")).unwrap();
    let foreign = refusal(&component(r#"(import "wasi:clocks/monotonic-clock@0.2.0" (instance))"#));
    assert!(
        foreign.contains("it imports wasi:clocks/monotonic-clock@0.2.0, which is not offered"),
        "{foreign}"
    );
    let nested = r#"(component (import "somebody:else/thing" (instance)))"#;
    for ours in ["", nested, r#"(import "tenure:ipam/log@0.1.0-rc.1" (instance))"#] {
        assert!(refusal(&component(ours)).contains("it does not compile"), "{}", refusal(&component(ours)));
    }
}

/// Devices and directories are not files, a file of gigabytes is not read, and a FIFO without a writer does not
/// block.
#[test]
fn what_is_no_regular_file_of_the_right_size_is_refused_unread() {
    let state = tempfile::tempdir().unwrap();
    let (fifo, sparse) = (state.path().join("fifo"), state.path().join("sparse"));
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    fs::File::create(&sparse).unwrap().set_len(3 << 30).unwrap();
    let digest = "0".repeat(64);
    let files = [
        ("device", Path::new("/dev/zero")),
        ("directory", state.path()),
        ("fifo", &fifo),
        ("sparse", &sparse),
    ];
    let files: Vec<_> = files.into_iter().map(|(name, path)| (name, path, digest.as_str())).collect();
    let policies = policies(state.path(), &files);
    for (policy, cause) in [
        ("device", "not a regular file"),
        ("directory", "not a regular file"),
        ("fifo", "not a regular file"),
        ("sparse", "it is 3072 MiB, and the limit is 64 MiB"),
    ] {
        let error = node::obtain(&policies, policy).map(|_| ()).unwrap_err();
        assert_eq!(error.code, ErrorCode::PolicyUnloadable);
        assert!(error.cause.contains(cause), "{policy}: {error}");
    }
}

/// A failed policy is not retried for each request, and its error is remembered; an operator's request retries it at
/// once.
#[test]
fn a_policy_that_failed_is_remembered_and_an_operator_tries_it_again() {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("mine.wasm");
    let digest = sha256(embedded::HIGHEST_FIRST);
    let policies = policies(state.path(), &[("mine", &file, &digest)]);
    assert_eq!(
        policies.find(&name("mine")).map(|_| ()).unwrap_err().code,
        ErrorCode::Preparing,
        "not waited for"
    );
    let failed = node::obtain(&policies, "mine").map(|_| ()).unwrap_err();
    assert_eq!(policies.find(&name("mine")).map(|_| ()).unwrap_err(), failed);
    fs::write(&file, embedded::HIGHEST_FIRST).unwrap();
    assert_eq!(policies.find(&name("mine")).map(|_| ()).unwrap_err(), failed, "its pause is not over");
    node::obtain(&policies, "mine").map(|_| ()).unwrap();
    policies.find(&name("mine")).map(|_| ()).unwrap();
}

/// The files of a directory that may not exist.
fn count(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

/// The files of a component.
fn count_of(directory: &Path, digest: &str) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(digest)).count()
}

fn offered(bytes: &[u8]) -> Offered {
    let (sha256, signature, source) = (String::new(), String::new(), String::new());
    Offered { name: name("mine"), bytes: bytes.to_vec(), sha256, signature, source, older: false }
}

#[tokio::test]
async fn a_component_that_does_not_load_leaves_no_copy() {
    let state = tempfile::tempdir().unwrap();
    let policies = policies(state.path(), &[]);
    let broken = &embedded::HOST_LOCAL[..embedded::HOST_LOCAL.len() / 2];
    let refused = policies.take_in(offered(broken)).await.map(drop).unwrap_err();
    assert_eq!(refused.code, ErrorCode::PolicyUnloadable);
    assert_eq!(count(&state.path().join("policies")), 0);
    // A copy that the node had before is somebody's.
    policies.take_in(offered(embedded::HIGHEST_FIRST)).await.map(drop).unwrap();
    let kept = count(&state.path().join("policies"));
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn what_is_unloaded_is_freed_unless_somebody_uses_it() {
    let state = tempfile::tempdir().unwrap();
    let policies = policies(state.path(), &[]);
    // An empty custom section: another component than the embedded one, which is always named.
    let component = [embedded::HIGHEST_FIRST, &[0, 1, 0]].concat();
    let policy = policies.take_in(offered(&component)).await.unwrap().policy;
    let stamp = policy.stamp().as_ref().clone();
    // The embedded policies are compiled meanwhile, and have files of their own.
    let of = |folder: &str| count_of(&state.path().join(folder), &stamp.digest);
    let files = || (of("policies"), of("compiled"));
    policies.free(&[], &[]);
    assert!(policies.details(&stamp).is_some(), "a caller has it");
    drop(policy);
    policies.free(std::slice::from_ref(&stamp), &[]);
    assert!(policies.details(&stamp).is_some(), "a network uses it");
    let at = tenure_types::Moment::default();
    let component = Component { policy: stamp.clone(), source: String::new(), signer: String::new(), at };
    policies.set_loaded(&[component]);
    policies.free(&[], &[]);
    assert!(policies.details(&stamp).is_some(), "its name stands for it");
    policies.set_loaded(&[]);
    policies.free(&[], std::slice::from_ref(&stamp));
    assert_eq!(policies.details(&stamp), None);
    assert_eq!(files(), (1, 1), "a network may return to it");
    pinned(&policies, &stamp).map(drop).unwrap();
    // The thread that has loaded it may have it for a moment longer.
    for _ in 0..100_000 {
        policies.free(&[], &[]);
        if files() == (0, 0) {
            break;
        }
        std::thread::yield_now();
    }
    assert_eq!(files(), (0, 0));
    assert_eq!(pinned(&policies, &stamp).map(drop).unwrap_err().code, ErrorCode::PolicyUnloadable);
}
