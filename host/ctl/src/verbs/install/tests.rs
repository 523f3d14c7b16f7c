//! Installations on made-up trees, with plugins that are scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use clap::Parser as _;
use tempfile::TempDir;

use super::record::InstallationRecord;
use super::*;
use crate::arguments::{CtlArguments, CtlCommand, NodeVerb};

const CONFLIST: &str =
    r#"{"cniVersion": "1.1.0", "name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "tenure"}}]}"#;

/// A node: its directories, and plugins to install.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        fs::write(tree.path("pods.conflist"), CONFLIST).unwrap();
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A plugin of a version.
    fn plugin(&self, version: &str) -> String {
        let path = self.path(&format!("tenure-{version}"));
        fs::write(&path, format!("#!/bin/sh\necho 'tenure {version}, a CNI IPAM plugin' >&2\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    /// The version of the plugin that is installed.
    fn installed(&self) -> String {
        let text = fs::read_to_string(self.path("bin/tenure")).unwrap_or_default();
        text.split("tenure ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default().to_owned()
    }

    fn record(&self) -> InstallationRecord {
        InstallationRecord::read(&self.path("state/installed.json")).unwrap()
    }

    /// Runs a verb without a daemon. Returns the report as JSON.
    async fn run(&self, words: &[&str]) -> Result<serde_json::Value, Error> {
        let path = |name: &str| self.path(name).display().to_string();
        let record = path("state/installed.json");
        let (bin, conf) = (path("bin"), path("net.d"));
        let mut line = vec!["tenurectl", words[0], "--record", &record, "--cni-conf-dir", &conf];
        if words[0] == "install" {
            line.extend(["--cni-bin-dir", &bin]);
        }
        line.extend(&words[1..]);
        let CtlCommand::Node(verb) = CtlArguments::parse_from(line).command else { panic!("another verb") };
        let daemon = Daemon::at(&self.path("run"), Duration::from_secs(5));
        let report = match &verb {
            NodeVerb::Install(arguments) => install(&daemon, arguments).await?,
            NodeVerb::Uninstall(arguments) => uninstall::uninstall(&daemon, arguments).await?,
            NodeVerb::Doctor(_) => panic!("another verb"),
        };
        let Report::Shown(answer) = report else { panic!("no report") };
        answer.json()
    }

    /// The outcomes of a verb that succeeds.
    async fn outcomes(&self, words: &[&str]) -> Vec<String> {
        let report = self.run(words).await.unwrap();
        let files = report["files"].as_array().unwrap();
        files.iter().map(|file| file["outcome"].as_str().unwrap().to_owned()).collect()
    }

    /// Puts the configuration into its place as ours, as an installation does once the daemon serves.
    async fn configured(&self) -> PathBuf {
        let mut store = RecordStore::open(&self.path("state/installed.json"), true).await.unwrap();
        let target = self.path("net.d/00-tenure.conflist");
        let new = NewFile::new(target.clone(), CONFLIST.into(), String::new()).unwrap();
        put_configuration(&mut store, &new, true).unwrap();
        target
    }
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_a_second_installation_neither() {
    let tree = Tree::new();
    let one = tree.plugin("1.0.0");
    assert_eq!(tree.outcomes(&["install", "--plugin", &one]).await, ["created"]);
    assert!(!tree.path("bin").exists() && !tree.path("state").exists());
    assert_eq!(tree.outcomes(&["install", "--plugin", &one, "--apply"]).await, ["created"]);
    let mode = fs::metadata(tree.path("bin/tenure")).unwrap().permissions().mode();
    assert_eq!((tree.installed().as_str(), mode & 0o7777), ("1.0.0", 0o755));
    let before = (tree.record(), fs::metadata(tree.path("bin/tenure")).unwrap().modified().unwrap());
    assert_eq!(tree.outcomes(&["install", "--plugin", &one, "--apply"]).await, ["unchanged"]);
    let after = (tree.record(), fs::metadata(tree.path("bin/tenure")).unwrap().modified().unwrap());
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_link_leads_to_the_plugin_and_is_never_made_over_something_else() {
    let tree = Tree::new();
    let one = tree.plugin("1.0.0");
    let line = ["install", "--plugin", &one, "--link", "tenure-eni"];
    assert_eq!(tree.outcomes(&line).await, ["created", "created"]);
    assert!(!tree.path("bin").exists());
    let applied = [&line[..], &["--apply"]].concat();
    assert_eq!(tree.outcomes(&applied).await, ["created", "created"]);
    assert_eq!(fs::read_link(tree.path("bin/tenure-eni")).unwrap(), PathBuf::from("tenure"));
    assert_eq!(tree.outcomes(&applied).await, ["unchanged", "unchanged"]);
    fs::remove_file(tree.path("bin/tenure-eni")).unwrap();
    fs::write(tree.path("bin/tenure-eni"), "somebody's").unwrap();
    assert_eq!(tree.run(&applied).await.unwrap_err().code, ErrorCode::FileInTheWay);
    assert_eq!(fs::read_to_string(tree.path("bin/tenure-eni")).unwrap(), "somebody's");
}

#[tokio::test]
async fn a_rollback_brings_back_the_plugin_before_and_a_second_one_returns() {
    let tree = Tree::new();
    let [one, two, three] = ["1.0.0", "2.0.0", "3.0.0"].map(|version| tree.plugin(version));
    let none = tree.run(&["install", "--rollback", "--apply"]).await.unwrap_err();
    assert_eq!(none.code, ErrorCode::NotInstalled);
    for plugin in [&one, &two, &three] {
        tree.run(&["install", "--plugin", plugin, "--apply"]).await.unwrap();
    }
    assert_eq!(fs::read_dir(tree.path("state/installed.plugins")).unwrap().count(), 1, "one is kept");
    for expected in ["2.0.0", "3.0.0", "2.0.0"] {
        let dry = tree.run(&["install", "--rollback"]).await.unwrap();
        assert_eq!(dry["files"][0]["version"], expected);
        assert_eq!(tree.outcomes(&["install", "--rollback", "--apply"]).await, ["replaced"]);
        assert_eq!(tree.installed(), expected);
    }
    let kept = tree.record().previous.unwrap();
    fs::write(tree.path("state/installed.plugins").join(kept.file), "half").unwrap();
    let damaged = tree.run(&["install", "--rollback", "--apply"]).await.unwrap_err();
    assert!(damaged.cause.contains("damaged"), "{damaged}");
    assert_eq!(tree.installed(), "2.0.0");
}

#[tokio::test]
async fn a_plugin_of_somebody_else_s_is_kept_and_what_is_none_is_not_installed() {
    let tree = Tree::new();
    fs::create_dir(tree.path("bin")).unwrap();
    fs::copy(tree.plugin("0.9.0"), tree.path("bin/tenure")).unwrap();
    assert_eq!(tree.outcomes(&["install", "--plugin", &tree.plugin("1.0.0"), "--apply"]).await, ["replaced"]);
    assert_eq!(tree.record().previous.unwrap().version, "0.9.0");
    let half = tree.path("half").display().to_string();
    fs::write(&half, "\u{7f}ELF").unwrap();
    fs::set_permissions(&half, fs::Permissions::from_mode(0o755)).unwrap();
    let error = tree.run(&["install", "--plugin", &half, "--apply"]).await.unwrap_err();
    assert!(error.cause.contains("does not run here"), "{error}");
    assert_eq!(tree.installed(), "1.0.0");
}

#[tokio::test]
async fn a_crash_between_the_record_and_the_file_is_gone_on_with() {
    let tree = Tree::new();
    let [one, two] = ["1.0.0", "2.0.0"].map(|version| tree.plugin(version));
    tree.run(&["install", "--plugin", &one, "--apply"]).await.unwrap();
    let old = fs::read(tree.path("bin/tenure")).unwrap();
    tree.run(&["install", "--plugin", &two, "--apply"]).await.unwrap();
    // As if the crash had come before the rename.
    fs::write(tree.path("bin/tenure"), &old).unwrap();
    let dry = tree.outcomes(&["uninstall", "--force"]).await;
    assert_eq!(dry, ["removed", "removed"], "the file before is ours, too");
    tree.run(&["install", "--plugin", &two, "--apply"]).await.unwrap();
    assert_eq!(tree.installed(), "2.0.0");
    assert_eq!(tree.record().previous.unwrap().version, "1.0.0");
    // The same, and the operator goes back instead.
    fs::write(tree.path("bin/tenure"), &old).unwrap();
    tree.run(&["install", "--rollback", "--apply"]).await.unwrap();
    assert_eq!((tree.installed().as_str(), tree.record().previous), ("1.0.0", None));
}

#[tokio::test]
async fn a_rollback_that_was_not_brought_to_its_end_goes_on_with_the_same_command() {
    let tree = Tree::new();
    let [one, two] = ["1.0.0", "2.0.0"].map(|version| tree.plugin(version));
    for plugin in [&one, &two] {
        tree.run(&["install", "--plugin", plugin, "--apply"]).await.unwrap();
    }
    let rollback = ["install", "--rollback", "--apply"];
    // The file cannot be written, since something has the name under which it begins.
    let blocked = place::temporary(&tree.path("bin/tenure"));
    fs::create_dir(&blocked).unwrap();
    assert_eq!(tree.run(&rollback).await.unwrap_err().code, ErrorCode::InputOutput);
    assert_eq!(tree.installed(), "2.0.0");
    fs::remove_dir(&blocked).unwrap();
    assert_eq!(tree.outcomes(&rollback).await, ["replaced"]);
    assert_eq!((tree.installed(), tree.record().returning), ("1.0.0".to_owned(), None));
    assert_eq!(tree.record().previous.unwrap().version, "2.0.0");
    assert_eq!(fs::read_dir(tree.path("state/installed.plugins")).unwrap().count(), 1, "one is kept");

    // As if the end had come between the file and the record: the next one returns to the version before.
    let mut store = RecordStore::open(&tree.path("state/installed.json"), true).await.unwrap();
    let content = fs::read(tree.path("bin/tenure")).unwrap();
    store.record.returning = Some(store.keep(&content, "1.0.0").unwrap());
    store.save().unwrap();
    drop(store);
    assert_eq!(tree.outcomes(&rollback).await, ["replaced"]);
    assert_eq!((tree.installed(), tree.record().returning), ("2.0.0".to_owned(), None));
}

/// Regression: the copy to which a rollback could not return was lost with the next installation, or stayed behind an uninstallation.
#[tokio::test]
async fn a_rollback_that_failed_costs_no_copy_and_leaves_none_behind() {
    let tree = Tree::new();
    let [one, two] = ["1.0.0", "2.0.0"].map(|version| tree.plugin(version));
    let blocked = place::temporary(&tree.path("bin/tenure"));
    let failed_rollback = async || {
        for plugin in [&one, &two] {
            tree.run(&["install", "--plugin", plugin, "--apply"]).await.unwrap();
        }
        fs::create_dir(&blocked).unwrap();
        assert!(tree.run(&["install", "--rollback", "--apply"]).await.is_err());
        fs::remove_dir(&blocked).unwrap();
        assert_eq!(tree.record().returning.unwrap().version, "1.0.0");
    };
    failed_rollback().await;
    assert_eq!(tree.outcomes(&["install", "--plugin", &two, "--apply"]).await, ["unchanged"]);
    assert_eq!((tree.record().previous.unwrap().version.as_str(), tree.record().returning), ("1.0.0", None));
    assert_eq!(fs::read_dir(tree.path("state/installed.plugins")).unwrap().count(), 1, "one is kept");
    assert_eq!(tree.outcomes(&["install", "--rollback", "--apply"]).await, ["replaced"]);
    assert_eq!(tree.installed(), "1.0.0");

    failed_rollback().await;
    let gone = tree.outcomes(&["uninstall", "--force", "--apply"]).await;
    assert_eq!(gone, ["removed", "removed", "removed"], "the plugin, and both copies");
    assert_eq!(fs::read_dir(tree.path("state")).unwrap().count(), 0, "nothing is left");
}

#[tokio::test]
async fn a_configuration_waits_for_the_daemon_and_overwrites_nobody_s() {
    let tree = Tree::new();
    let (one, file) = (tree.plugin("1.0.0"), tree.path("pods.conflist").display().to_string());
    let words = ["install", "--plugin", &one, "--wait", "0", "--configuration", &file, "--apply"];
    let error = tree.run(&words).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unreachable);
    assert!(error.cause.contains("the plugin is installed"), "{error}");
    assert!(tree.path("bin/tenure").exists() && !tree.path("net.d").exists());

    let target = tree.path("net.d/00-tenure.conflist");
    fs::create_dir(tree.path("net.d")).unwrap();
    fs::write(&target, CONFLIST.replace("pods", "other")).unwrap();
    let error = tree.run(&words).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::FileInTheWay);
    assert!(error.cause.ends_with("tenurectl did not write it"), "{error}");
    fs::remove_file(&target).unwrap();
    fs::create_dir(&target).unwrap();
    assert_eq!(tree.run(&words).await.unwrap_err().code, ErrorCode::FileInTheWay);
    fs::remove_dir(&target).unwrap();

    tree.configured().await;
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(tree.path("net.d/00-multus.conf"), "{}").unwrap();
    let dry = tree.run(&words[..words.len() - 1]).await.unwrap();
    assert_eq!(dry["files"][1]["outcome"], "unchanged");
    assert!(dry["notes"][0].as_str().unwrap().starts_with("00-multus.conf comes before"), "{dry}");
    fs::write(&file, CONFLIST.replace("bridge", "ptp")).unwrap();
    let dry = tree.run(&words[..words.len() - 1]).await.unwrap();
    assert_eq!(dry["files"][1]["outcome"], "replaced", "ours may be replaced");
    fs::write(&target, CONFLIST.replace("bridge", "macvlan")).unwrap();
    let error = tree.run(&words).await.unwrap_err();
    assert!(error.cause.contains("somebody has changed it"), "{error}");
    let mut store = RecordStore::open(&tree.path("state/installed.json"), true).await.unwrap();
    store.record.configuration.as_mut().unwrap().path = PathBuf::from(&file);
    store.save().unwrap();
    drop(store);
    let error = tree.run(&words).await.unwrap_err();
    assert!(error.cause.contains("is installed already"), "another directory is refused: {error}");
}

#[tokio::test]
async fn a_configuration_under_another_name_takes_the_place_of_the_one_before() {
    let tree = Tree::new();
    let (one, file) = (tree.plugin("1.0.0"), tree.path("pods.conflist").display().to_string());
    let (old, next) = (tree.configured().await, tree.path("net.d/05-pods.conflist"));
    let words = ["install", "--plugin", &one, "--configuration", &file, "--configuration-name"];
    let words = [&words[..], &["05-pods.conflist"]].concat();
    assert_eq!(tree.outcomes(&words).await, ["created", "created", "removed"]);
    assert!(old.exists() && !next.exists(), "a dry run");
    let put = async |content: &str| {
        let mut store = RecordStore::open(&tree.path("state/installed.json"), true).await.unwrap();
        let new = NewFile::new(next.clone(), content.into(), String::new()).unwrap();
        put_configuration(&mut store, &new, true).unwrap().map(|change| change.outcome)
    };
    // As a crash leaves it between the two files.
    fs::copy(&old, &next).unwrap();
    fs::write(&file, CONFLIST.replace("bridge", "ptp")).unwrap();
    assert_eq!(tree.outcomes(&words).await, ["created", "replaced", "removed"]);
    assert_eq!(put(CONFLIST).await, Some(FileOutcome::Removed));
    assert!(!old.exists() && fs::read_to_string(&next).unwrap() == CONFLIST);
    assert_eq!(put(CONFLIST).await, None);
    assert_eq!(tree.record().configuration.unwrap().path, next);

    // One that somebody has changed is left, and named.
    fs::write(&next, "{}").unwrap();
    fs::write(&file, CONFLIST).unwrap();
    let words = [&words[..6], &["00-tenure.conflist"]].concat();
    assert_eq!(tree.outcomes(&words).await, ["created", "created", "left"]);
}

#[tokio::test]
async fn a_configuration_whose_file_is_gone_leaves_what_is_installed() {
    let tree = Tree::new();
    let target = tree.configured().await;
    let (one, gone) = (tree.plugin("1.0.0"), tree.path("other.conflist").display().to_string());
    let words = ["install", "--plugin", &one, "--wait", "0", "--configuration", &gone, "--apply"];
    let error = tree.run(&words).await.unwrap_err();
    assert!(
        error.cause.ends_with("other.conflist does not exist; what is installed stays as it is"),
        "{error}"
    );
    assert!(fs::read_to_string(&target).unwrap() == CONFLIST && !tree.path("bin").exists());
}

#[tokio::test]
async fn only_a_list_that_uses_tenure_is_a_configuration() {
    let tree = Tree::new();
    let file = tree.path("wrong.conflist").display().to_string();
    for (text, why) in [
        ("{", "EOF"),
        (r#"{"name": "pods", "type": "bridge", "ipam": {"type": "tenure"}}"#, "no list"),
        (r#"{"name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "dhcp"}}]}"#, "no plugin uses"),
    ] {
        fs::write(&file, text).unwrap();
        let plugin = tree.plugin("1.0.0");
        let words = ["install", "--plugin", &plugin, "--configuration", &file];
        let error = tree.run(&words).await.unwrap_err();
        assert!(error.code == ErrorCode::InvalidConfig && error.cause.contains(why), "{error}");
    }
}

#[tokio::test]
async fn an_uninstallation_removes_what_is_ours_and_names_what_it_leaves() {
    let tree = Tree::new();
    assert_eq!(tree.run(&["uninstall"]).await.unwrap_err().code, ErrorCode::NotInstalled);
    tree.run(&["install", "--plugin", &tree.plugin("1.0.0"), "--apply"]).await.unwrap();
    tree.run(&["install", "--plugin", &tree.plugin("2.0.0"), "--apply"]).await.unwrap();
    let target = tree.configured().await;
    let unasked = tree.run(&["uninstall", "--apply"]).await.unwrap_err();
    assert!(unasked.code == ErrorCode::Unreachable && unasked.cause.contains("--force"), "{unasked}");
    std::os::unix::fs::symlink("tenure", tree.path("bin/host-local")).unwrap();

    fs::write(&target, "{}").unwrap();
    let report = tree.run(&["uninstall", "--force", "--apply"]).await.unwrap();
    let left = &report["files"][0];
    assert_eq!((&left["outcome"], &left["kind"]), (&"left".into(), &"configuration".into()));
    assert!(report["notes"][0].as_str().unwrap().contains("bin/host-local leads to"), "{report}");
    assert!(
        target.exists()
            && !tree.path("bin/tenure").exists()
            && !tree.path("state/installed.plugins").exists()
    );
    fs::write(&target, CONFLIST).unwrap();
    assert_eq!(tree.outcomes(&["uninstall", "--force", "--keep-configuration", "--apply"]).await, ["kept"]);
    assert_eq!(tree.outcomes(&["uninstall", "--force", "--apply"]).await, ["removed"]);
    assert_eq!(fs::read_dir(tree.path("state")).unwrap().count(), 0, "nothing is left");
    assert_eq!(tree.run(&["uninstall", "--force"]).await.unwrap_err().code, ErrorCode::NotInstalled);
}

/// Regression: a container that does not mount the previous directory took its file for gone, and installed a second one.
#[tokio::test]
async fn a_file_whose_directory_is_not_there_is_neither_forgotten_nor_installed_a_second_time() {
    let tree = Tree::new();
    let (one, file) = (tree.plugin("1.0.0"), tree.path("pods.conflist").display().to_string());
    let words = ["install", "--plugin", &one, "--wait", "0", "--configuration", &file, "--apply"];
    for (place, flag) in [("before/tenure", "--cni-bin-dir"), ("before/00-tenure.conflist", "--cni-conf-dir")]
    {
        tree.run(&["install", "--plugin", &one, "--apply"]).await.unwrap();
        tree.configured().await;
        let mut store = RecordStore::open(&tree.path("state/installed.json"), true).await.unwrap();
        let InstallationRecord { plugin, configuration, .. } = &mut store.record;
        let moved = if flag == "--cni-bin-dir" { plugin } else { configuration };
        moved.as_mut().unwrap().path = tree.path(place);
        store.save().unwrap();
        drop(store);
        let recorded = tree.record();
        let error = tree.run(&words).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::FileInTheWay);
        assert!(error.cause.contains("before does not exist here: in a container, mount it"), "{error}");
        assert!(error.cause.ends_with(&format!("pass its place with {flag}")), "{error}");
        assert_eq!(tree.record(), recorded);
        let report = tree.run(&["uninstall", "--force", "--apply"]).await.unwrap();
        let files = report["files"].as_array().unwrap();
        let left: Vec<_> = files.iter().filter(|file| file["outcome"] == "left").collect();
        assert!(left.len() == 1 && left[0]["file"] == tree.path(place).display().to_string(), "{report}");
        assert!(left[0]["reason"].as_str().unwrap().contains("before does not exist here"), "{report}");
        let record = tree.record();
        assert_eq!(
            [record.plugin.is_some(), record.configuration.is_some()],
            [flag == "--cni-bin-dir", flag == "--cni-conf-dir"]
        );
        // An empty directory in its place says that it is gone.
        fs::create_dir(tree.path("before")).unwrap();
        assert_eq!(tree.outcomes(&["uninstall", "--force", "--apply"]).await, ["absent"]);
        assert!(!tree.path("state/installed.json").exists());
        fs::remove_dir(tree.path("before")).unwrap();
    }
}

#[tokio::test]
async fn two_installations_do_not_meet_and_a_newer_record_is_left_alone() {
    let tree = Tree::new();
    let one = tree.plugin("1.0.0");
    let path = tree.path("state/installed.json");
    let store = RecordStore::open(&path, true).await.unwrap();
    let error = tree.run(&["install", "--plugin", &one, "--apply"]).await.unwrap_err();
    assert!(error.cause.contains("another installation is running"), "{error}");
    drop(store);
    fs::write(&path, r#"{"format": 2, "files": []}"#).unwrap();
    let error = tree.run(&["install", "--plugin", &one, "--apply"]).await.unwrap_err();
    assert!(error.cause.contains("newer tenurectl"), "{error}");
    assert!(!tree.path("bin").exists());
}

/// Regression: the lock was one of the directory, which anybody may open where Kubernetes has made it, and hold for good.
#[tokio::test]
async fn a_user_who_may_read_the_directory_holds_up_no_installation() {
    let tree = Tree::new();
    let (one, state) = (tree.plugin("1.0.0"), tree.path("state"));
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    let held = fs::File::open(&state).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(tree.outcomes(&["install", "--plugin", &one, "--apply"]).await, ["created"]);
    let mode = fs::metadata(state.join("installed.lock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    assert_eq!(tree.outcomes(&["uninstall", "--force", "--apply"]).await, ["removed"]);
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "nothing is left");
    // Neither does one that fails leave its lock.
    let failing = tree.run(&["install", "--plugin", "/dev/null", "--apply"]).await;
    assert!(failing.is_err() && fs::read_dir(&state).unwrap().count() == 0);
}
