//! What `tenurectl` installs and removes depends on the daemon that answers: whose it is, and whether it knows the node's pods.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::admin::FakeAdmin;
use crate::exit_codes::{ask, ask_of, run};

const CONFLIST: &str =
    r#"{"cniVersion": "1.1.0", "name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "tenure"}}]}"#;

/// The command line of a verb of a release, with the node's directories below a folder.
fn line(folder: &Path, verb: &str, release: &str) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut line =
        vec![verb.to_owned(), "--apply".to_owned(), format!("--record={}", path("state/installed.json"))];
    line.push(format!("--daemon-config=/etc/tenure/config/{release}/tenured.toml"));
    if verb == "install" {
        line.push(format!("--plugin={}", path("plugin")));
        line.push(format!("--cni-bin-dir={}", path("bin")));
        line.push(format!("--cni-conf-dir={}", path("net.d")));
        line.push(format!("--configuration={}", path("pods.conflist")));
    }
    line
}

#[tokio::test]
async fn the_release_whose_daemon_answers_installs_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("pods.conflist"), CONFLIST).unwrap();
    fs::write(at("plugin"), "#!/bin/sh\necho 'tenure 1.0.0, a CNI IPAM plugin' >&2\n").unwrap();
    fs::set_permissions(at("plugin"), fs::Permissions::from_mode(0o755)).unwrap();
    let words = |verb: &str, release: &str| line(folder.path(), verb, release);
    let told = async |verb: &str, release: &str| {
        let words = words(verb, release);
        let output = ask(&words.iter().map(String::as_str).collect::<Vec<_>>()).await;
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = told("install", "b").await;
    assert!(code == Some(1) && error.contains("config/a/tenured.toml and not"), "{error}");
    assert!(!at("bin").exists() && !at("net.d").exists() && !at("state").exists());
    let (code, error) = told("install", "a").await;
    assert_eq!(code, Some(0), "{error}");
    let network = at("net.d/00-tenure.conflist");
    assert!(at("bin/tenure").exists() && network.exists());
    let (code, error) = told("uninstall", "b").await;
    assert!(code == Some(1) && error.contains("Keep one of the two off this node"), "{error}");
    assert!(at("bin/tenure").exists() && network.exists());

    // The plugin is installed before its daemon starts, so it is taken over from a daemon that is gone; the network waits for the next one.
    fs::write(at("plugin"), "#!/bin/sh\necho 'tenure 2.0.0, a CNI IPAM plugin' >&2\n").unwrap();
    fs::write(at("pods.conflist"), CONFLIST.replace("bridge", "ptp")).unwrap();
    let words = [words("install", "b"), vec!["--wait=0".to_owned()]].concat();
    let output = run(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(fs::read_to_string(at("bin/tenure")).unwrap().contains("2.0.0"));
    assert_eq!(fs::read_to_string(network).unwrap(), CONFLIST);
}

/// Regression: an empty ledger after a loss of the state was taken for a node without pods, whose plugin then went.
#[tokio::test]
async fn nothing_is_removed_while_the_state_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("bin/tenure");
    fs::write(folder.path().join("plugin"), "#!/bin/sh\necho 'tenure 1.0.0, a CNI IPAM plugin' >&2\n")
        .unwrap();
    fs::set_permissions(folder.path().join("plugin"), fs::Permissions::from_mode(0o755)).unwrap();
    let words = line(folder.path(), "install", "a");
    let words = words.iter().filter(|word| !word.starts_with("--configuration")).map(String::as_str);
    let output = ask(&words.collect::<Vec<_>>()).await;
    assert!(output.status.success() && plugin.exists(), "{output:?}");

    let words = line(folder.path(), "uninstall", "a");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let output = ask_of(FakeAdmin::with_condition("state-lost"), &words).await;
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("the state is lost"), "{error}");
    assert!(error.contains("tenurectl adopt --empty") && plugin.exists(), "{error}");
    let output = ask(&words).await;
    assert!(output.status.success() && !plugin.exists(), "{output:?}");
}
