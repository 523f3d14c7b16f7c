//! What `tenurectl` installs and removes depends on the daemon that answers: whose it is, and whether it knows the node's pods.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::admin::FakeAdmin;
use crate::exit_codes::{ask, ask_of, run, serve};

const CONFLIST: &str =
    r#"{"cniVersion": "1.1.0", "name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "tenure"}}]}"#;

/// The command line of a verb of a release, with the node's directories below a folder.
fn line(folder: &Path, verb: &str, release: &str) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut line =
        vec![verb.to_owned(), "--apply".to_owned(), format!("--record={}", path("state/installed.json"))];
    line.push(format!("--daemon-config=/etc/tenure/config/{release}/tenured.toml"));
    line.push(format!("--cni-conf-dir={}", path("net.d")));
    if verb == "install" {
        line.push(format!("--plugin={}", path("plugin")));
        line.push(format!("--cni-bin-dir={}", path("bin")));
        line.push(format!("--configuration={}", path("pods.conflist")));
    }
    line
}

/// Prepares the configuration and a plugin of a version, for an installation below a folder.
fn prepare(folder: &Path, version: &str) {
    let plugin = folder.join("plugin");
    fs::write(folder.join("pods.conflist"), CONFLIST).unwrap();
    fs::write(&plugin, format!("#!/bin/sh\necho 'tenure {version}, a CNI IPAM plugin' >&2\n")).unwrap();
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
}

fn words(line: &[String]) -> Vec<&str> {
    line.iter().map(String::as_str).collect()
}

/// The exit code and the errors of a command.
fn said(output: Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test]
async fn the_release_whose_daemon_answers_installs_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    prepare(folder.path(), "1.0.0");
    let told = async |verb: &str, release: &str| said(ask(&words(&line(folder.path(), verb, release))).await);
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
}

/// Regression: a daemon that was being upgraded counted as gone, and the other release took the node over.
#[tokio::test]
async fn a_release_keeps_its_node_while_its_daemon_is_upgraded_and_until_it_is_uninstalled() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let content = |name: &str| fs::read_to_string(at(name)).unwrap();
    let alone = async |verb: &str, release: &str, more: &str| {
        let line = [line(folder.path(), verb, release), vec![more.to_owned()]].concat();
        said(run(folder.path(), &words(&line)).await)
    };
    prepare(folder.path(), "1.0.0");
    assert!(ask(&words(&line(folder.path(), "install", "a"))).await.status.success());

    // The daemon of a is gone, and its next one is not there yet.
    prepare(folder.path(), "2.0.0");
    for (verb, more) in [("install", "--wait=0"), ("uninstall", "--force")] {
        let (code, error) = alone(verb, "b", more).await;
        assert!(code == Some(1) && error.contains("config/a/tenured.toml, and not"), "{error}");
        assert!(error.contains("uninstall what was installed for it"), "{error}");
        assert!(content("bin/tenure").contains("1.0.0") && at("net.d/00-tenure.conflist").exists());
    }
    // Its own plugin does not wait for it; the network does.
    fs::write(at("pods.conflist"), CONFLIST.replace("bridge", "ptp")).unwrap();
    let (code, error) = alone("install", "a", "--wait=0").await;
    assert!(code == Some(3) && content("bin/tenure").contains("2.0.0"), "{error}");
    assert_eq!(content("net.d/00-tenure.conflist"), CONFLIST);

    // A record of an older version names nobody, and gets the name also where nothing changes.
    let mut record: serde_json::Value = serde_json::from_str(&content("state/installed.json")).unwrap();
    record.as_object_mut().unwrap().remove("daemon_config").unwrap();
    fs::write(at("state/installed.json"), record.to_string()).unwrap();
    let (code, error) = alone("install", "b", "--wait=0").await;
    assert_eq!(code, Some(3), "{error}");
    let (code, error) = alone("install", "a", "--wait=0").await;
    assert!(code == Some(1) && error.contains("config/b/tenured.toml, and not"), "{error}");

    // The daemon of a is back: the node is its own. Once it is uninstalled, b takes the node over.
    for verb in ["install", "uninstall"] {
        let (code, error) = said(ask(&words(&line(folder.path(), verb, "a"))).await);
        assert_eq!(code, Some(0), "{error}");
    }
    assert!(!at("bin/tenure").exists() && !at("state/installed.json").exists());
    prepare(folder.path(), "3.0.0");
    let (code, error) = alone("install", "b", "--wait=0").await;
    assert!(code == Some(3) && content("bin/tenure").contains("3.0.0"), "{error}");
}

/// Regression: an installation that waited for the daemon, on a node that does not serve, kept its operator from uninstalling.
#[tokio::test]
async fn an_installation_that_waits_for_the_daemon_lets_others_change_the_node() {
    let (folder, run_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    prepare(folder.path(), "1.0.0");
    let (install, mut uninstall) =
        (line(folder.path(), "install", "a"), line(folder.path(), "uninstall", "a"));
    uninstall.push("--force".to_owned());
    let meanwhile = async {
        let installed = async {
            while !at("bin/tenure").exists() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), installed).await.unwrap();
        let (code, error) = said(run(run_dir.path(), &words(&uninstall)).await);
        assert_eq!(code, Some(0), "{error}");
        // It ends with the test.
        drop(serve(run_dir.path(), FakeAdmin::default()));
    };
    let install = words(&install);
    let (output, ()) = tokio::join!(run(run_dir.path(), &install), meanwhile);
    // A network would start pods without a plugin.
    let (code, error) = said(output);
    assert!(code == Some(1) && error.contains("was uninstalled while the network waited"), "{error}");
    assert!(!at("net.d").exists() && fs::read_dir(at("state")).unwrap().count() == 0);
    let (code, error) = said(ask(&install).await);
    assert!(code == Some(0) && at("net.d/00-tenure.conflist").exists(), "{error}");
}

/// Regression: an empty ledger after a loss of the state was taken for a node without pods, whose plugin then went.
#[tokio::test]
async fn nothing_is_removed_while_the_state_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("bin/tenure");
    prepare(folder.path(), "1.0.0");
    let mut install = line(folder.path(), "install", "a");
    install.retain(|word| !word.starts_with("--configuration"));
    let output = ask(&words(&install)).await;
    assert!(output.status.success() && plugin.exists(), "{output:?}");

    let uninstall = line(folder.path(), "uninstall", "a");
    let output = ask_of(FakeAdmin::with_condition("state-lost"), &words(&uninstall)).await;
    let (code, error) = said(output);
    assert!(code == Some(1) && error.contains("the state is lost"), "{error}");
    assert!(error.contains("tenurectl adopt --empty") && plugin.exists(), "{error}");
    let output = ask(&words(&uninstall)).await;
    assert!(output.status.success() && !plugin.exists(), "{output:?}");
}

/// Regression: a record that was lost with the state named the configuration no more, which an uninstallation left without its plugin.
#[tokio::test]
async fn a_plugin_stays_while_a_configuration_needs_it_also_after_a_loss_of_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    prepare(folder.path(), "1.0.0");
    let (install, uninstall) = (line(folder.path(), "install", "a"), line(folder.path(), "uninstall", "a"));
    let (network, plugin) = (at("net.d/00-tenure.conflist"), at("bin/tenure"));
    assert!(ask(&words(&install)).await.status.success());

    // As the init container of the chart does it, before a daemon serves.
    fs::remove_dir_all(at("state")).unwrap();
    let mut alone = install.clone();
    alone.retain(|word| !word.starts_with("--configuration"));
    assert!(run(folder.path(), &words(&alone)).await.status.success());
    let output = ask(&words(&[&uninstall[..], &["--output=json".to_owned()]].concat())).await;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = report["files"][0]["reason"].as_str().unwrap();
    assert!(output.status.code() == Some(1) && reason.contains("00-tenure.conflist need"), "{report}");
    assert!(plugin.exists() && network.exists());

    // The network need not wait for the daemon to be known again, since it is in its place.
    let (code, error) =
        said(run(folder.path(), &words(&[install, vec!["--wait=0".to_owned()]].concat())).await);
    assert_eq!(code, Some(3), "{error}");
    let (code, error) = said(ask(&words(&uninstall)).await);
    assert!(code == Some(0) && !plugin.exists() && !network.exists(), "{error}");
    assert_eq!(fs::read_dir(at("state")).unwrap().count(), 0, "nothing is left");
}

/// Regression: the configuration that Multus has made of ours stays when ours goes, and each new pod failed for want of the plugin.
#[tokio::test]
async fn a_plugin_stays_while_multus_calls_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    prepare(folder.path(), "1.0.0");
    let (install, uninstall) = (line(folder.path(), "install", "a"), line(folder.path(), "uninstall", "a"));
    assert!(ask(&words(&install)).await.status.success());
    let delegate = r#"{"name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "tenure"}}]}"#;
    let multus = format!(r#"{{"name": "multus-cni-network", "type": "multus", "delegates": [{delegate}]}}"#);
    fs::write(at("net.d/00-multus.conf"), multus).unwrap();
    let (code, error) = said(ask(&words(&uninstall)).await);
    assert!(code == Some(1) && at("bin/tenure").exists(), "{error}");
    fs::remove_file(at("net.d/00-multus.conf")).unwrap();
    let (code, error) = said(ask(&words(&uninstall)).await);
    assert!(code == Some(0) && !at("bin/tenure").exists(), "{error}");
}

/// Regression: a relative directory stood in the record as it was given, and the removal looked for it in its own working directory.
#[tokio::test]
async fn a_relative_directory_is_the_one_of_the_command_that_named_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    prepare(folder.path(), "1.0.0");
    fs::create_dir_all(at("elsewhere/bin")).unwrap();
    let in_folder = async |working: &str, line: &str| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_tenurectl"));
        command.env("TENURE_RUN_DIR", folder.path()).args(line.split_whitespace());
        command.current_dir(at(working)).output().await.unwrap()
    };
    let install = "install --apply --plugin plugin --cni-bin-dir bin --record state/installed.json --daemon-config a.toml";
    let (code, error) = said(in_folder(".", install).await);
    assert!(code == Some(0) && at("bin/tenure").exists(), "{error}");
    let record = fs::read_to_string(at("state/installed.json")).unwrap();
    for named in ["bin/tenure", "a.toml"] {
        assert!(record.contains(&format!("\"{}\"", at(named).display())), "{record}");
    }
    let [state, config] = ["state/installed.json", "a.toml"].map(|name| at(name).display().to_string());
    let uninstall = format!("uninstall --apply --force --record {state} --daemon-config {config}");
    let (code, error) = said(in_folder("elsewhere", &uninstall).await);
    assert!(code == Some(0) && !at("bin/tenure").exists(), "{error}");
}
