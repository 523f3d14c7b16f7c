//! Imports from another IPAM plugin: an address that may be in use is never handed out, and an ended allocation is never
//! brought back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Plugin, Suite};
use tenure_rpc::v1::admin_client::AdminClient;
use tenure_rpc::{client, v1};

fn main() -> ExitCode {
    Suite::new()
        .test("what_an_import_cannot_attribute_is_never_given_out", &[], never_given_out)
        .test("an_unknown_owners_address_is_freed_by_an_operators_word", &[], operators_word)
        .test("an_import_again_does_not_bring_back_the_dead", &[], dead_stay_dead)
        .test("what_a_boot_has_ended_is_not_imported_again", &[Need::Root, Need::UTIL_LINUX], ended_by_a_boot)
        .test("a_network_with_live_addresses_of_host_local_is_not_made", &[Need::PLUGINS], linked_over)
        .test("a_diagnosis_says_what_was_not_imported_and_under_which_name", &[], diagnosed)
        .test("sixty_thousand_addresses_are_imported", &[], full_network)
        .test("an_import_that_was_cut_off_keeps_its_network_shut", &[], cut_off)
        .test("a_program_of_one_version_before_imports_in_one_message", &[], one_message)
        .run()
}

/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;
/// The CNI code for "an ADD would fail".
const UNAVAILABLE: u32 = 50;

/// A network that is small enough to be exhausted by a few ADDs.
fn config() -> Value {
    json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.83.0.0/29" }]] } })
}

/// host-local's directory, and the network configuration for `tenurectl import`.
struct HostLocal {
    directory: PathBuf,
    config: PathBuf,
}

impl HostLocal {
    fn beside(daemon: &Daemon) -> anyhow::Result<Self> {
        let (directory, file) = (daemon.path("networks"), daemon.path("pods.conf"));
        fs::create_dir_all(directory.join("pods"))?;
        fs::write(&file, config().to_string())?;
        Ok(Self { directory, config: file })
    }

    fn file(&self, address: &str) -> PathBuf {
        self.directory.join("pods").join(address)
    }

    /// Writes an address's file as host-local does.
    fn holds(&self, address: &str, container: &str) -> anyhow::Result<()> {
        Ok(fs::write(self.file(address), format!("{container}\r\neth0"))?)
    }

    /// Imports the directory; returns the report.
    fn import(&self, daemon: &Daemon) -> anyhow::Result<Report> {
        let arguments =
            ["import", "--apply", "host-local", text(&self.directory)?, "--config", text(&self.config)?];
        let output = daemon.ctl_output(&arguments)?;
        let report = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        Ok(Report(report))
    }
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the path is not UTF-8")
}

/// The output of an import.
struct Report(Value);

impl Report {
    /// The outcome of the entry that has this address.
    fn outcome(&self, address: &str) -> Option<&str> {
        let entries = self.0.get("entries")?.as_array()?;
        let has = |entry: &&Value| {
            entry.get("addresses").and_then(Value::as_array).is_some_and(|all| all.contains(&json!(address)))
        };
        entries.iter().find(has)?.get("outcome")?.as_str()
    }

    fn ensure(&self, expected: &[(&str, &str)]) -> anyhow::Result<()> {
        for (address, outcome) in expected {
            ensure!(self.outcome(address) == Some(outcome), "{address} is not {outcome}: {}", self.0);
        }
        Ok(())
    }
}

/// Adds pods until the network is exhausted, and returns their addresses without the prefix length.
fn fill(daemon: &Daemon) -> anyhow::Result<Vec<String>> {
    let shim = daemon.shim()?;
    let mut given = Vec::new();
    for number in 0..8 {
        let outcome = shim.call("ADD", &Attachment::of(format!("new-{number}")), &config())?;
        let Ok(address) = outcome.address() else { break };
        given.push(address.split('/').next().unwrap_or_default().to_owned());
    }
    Ok(given)
}

fn never_given_out() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let theirs = HostLocal::beside(&daemon)?;
    theirs.holds("10.83.0.2", "T1")?;
    theirs.holds("10.83.0.3", "T2")?;
    // T1 is named a second time, so it is unknown which of the two addresses it uses.
    theirs.holds("10.83.0.5", "T1")?;
    // A crash left this file without an owner.
    fs::write(theirs.file("10.83.0.6"), "")?;
    let report = theirs.import(&daemon)?;
    let given = fill(&daemon)?;
    ensure!(given == ["10.83.0.4"], "live addresses were given to new pods: {given:?}");
    report.ensure(&[
        ("10.83.0.2", "unknown"),
        ("10.83.0.5", "unknown"),
        ("10.83.0.6", "unknown"),
        ("10.83.0.3", "taken"),
    ])?;
    Ok(())
}

fn operators_word() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let theirs = HostLocal::beside(&daemon)?;
    theirs.holds("10.83.0.2", "T1")?;
    theirs.holds("10.83.0.5", "T1")?;
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "unknown"), ("10.83.0.5", "unknown")])?;
    // A check lists it, with the next step.
    let check = daemon.ctl_output(&["check"])?;
    let found: Value = serde_json::from_slice(&check.stdout)?;
    ensure!(
        check.status.code() == Some(1) && found.pointer("/findings/0/kind") == Some(&json!("unknown-owner")),
        "{found}"
    );
    ensure!(found.pointer("/findings/0/addresses/0") == Some(&json!("10.83.0.2/29")), "{found}");

    let dry = daemon.ctl(&["release", "10.83.0.5/29"])?;
    ensure!(dry.pointer("/allocation/kind") == Some(&json!("unknown")), "{dry}");
    ensure!(daemon.allocations("pods")?.len() == 2, "a dry run changes nothing");
    daemon.ctl(&["release", "10.83.0.5/29", "--apply", "--reason", "no answer to arping"])?;
    let log = String::from_utf8(daemon.ctl_output(&["log"])?.stdout)?;
    ensure!(log.contains("operator: no answer to arping"), "{log}");
    ensure!(
        daemon.ctl_output(&["release", "10.83.0.5", "--apply"])?.status.code() == Some(4),
        "no allocation has it any more"
    );
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(daemon.allocations("pods")?.len() == 1, "the release was lost");

    // The release settled the stray file, so the other address is T1's, and T1's DEL frees it.
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "taken")])?;
    daemon.shim()?.call("DEL", &Attachment::of("T1"), &config())?.silent()?;
    ensure!(daemon.allocations("pods")?.is_empty());
    Ok(())
}

fn dead_stay_dead() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let theirs = HostLocal::beside(&daemon)?;
    theirs.holds("10.83.0.2", "T1")?;
    theirs.holds("10.83.0.3", "T2")?;
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "taken"), ("10.83.0.3", "taken")])?;
    let shim = daemon.shim()?;
    shim.call("DEL", &Attachment::of("T1"), &config())?.silent()?;
    for _ in 0..2 {
        theirs.import(&daemon)?.ensure(&[("10.83.0.2", "released"), ("10.83.0.3", "held")])?;
        ensure!(daemon.allocations("pods")?.len() == 1, "T1 is back");
        daemon.kill()?;
        daemon.start_again()?;
    }
    // host-local was still running and assigned the address to another pod, which is a new claim.
    fs::remove_file(theirs.file("10.83.0.2"))?;
    theirs.holds("10.83.0.2", "T3")?;
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "taken")])?;
    Ok(())
}

fn ended_by_a_boot() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let theirs = HostLocal::beside(&daemon)?;
    theirs.holds("10.83.0.2", "T1")?;
    fs::write(theirs.file("10.83.0.6"), "")?;
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "taken"), ("10.83.0.6", "unknown")])?;
    daemon.kill()?;
    daemon.reboot()?;
    daemon.start_again()?;
    ensure!(daemon.allocations("pods")?.is_empty(), "an allocation survived the reboot");
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "released"), ("10.83.0.6", "released")])?;
    Ok(())
}

fn linked_over() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let here = "[host_local]\nignore = false\n";
    daemon.configure(here)?;
    daemon.start_again()?;
    let theirs = HostLocal::beside(&daemon)?;
    let mut config = config();
    let ipam = config.get_mut("ipam").and_then(Value::as_object_mut).context("no ipam")?;
    ipam.insert("type".to_owned(), json!("host-local"));
    ipam.insert("dataDir".to_owned(), json!(theirs.directory));
    let list = json!({ "cniVersion": "1.0.0", "name": "pods", "plugins": [{ "type": "bridge", "ipam": config.get("ipam") }] });
    fs::write(&theirs.config, list.to_string())?;

    let host_local = Plugin::new("/usr/lib/cni/host-local".as_ref());
    let live = host_local.call("ADD", &Attachment::of("live"), &config)?.address()?;
    let shim = daemon.shim()?;
    for _ in 0..2 {
        let refused = shim.call("ADD", &Attachment::of("next"), &config)?;
        refused.error_code(TRY_AGAIN)?;
        let command = format!("tenurectl import --apply host-local {}", text(&theirs.directory)?);
        ensure!(refused.to_string().contains(&command), "{refused}");
    }
    let mut newer = config.clone();
    if let Some(newer) = newer.as_object_mut() {
        newer.insert("cniVersion".to_owned(), json!("1.1.0"));
    }
    shim.call("STATUS", &Attachment::of(""), &newer)?.error_code(UNAVAILABLE)?;
    // Another network is not affected, and a DEL succeeds.
    shim.call("ADD", &Attachment::of("other"), &json!({
        "cniVersion": "1.0.0", "name": "blue",
        "ipam": { "type": "tenure", "dataDir": theirs.directory, "ranges": [[{ "subnet": "10.84.0.0/29" }]] },
    }))?.result()?;
    shim.call("DEL", &Attachment::of("next"), &config)?.silent()?;

    theirs.import(&daemon)?;
    let next = shim.call("ADD", &Attachment::of("next"), &config)?.address()?;
    ensure!(next != live, "{next} is live");
    ensure!(shim.call("ADD", &Attachment::of("live"), &config)?.address()? == live, "its own address");
    // The network exists now, regardless of host-local's directory.
    daemon.kill()?;
    daemon.start_again()?;
    shim.call("ADD", &Attachment::of("third"), &config)?.result()?;

    // With `ignore`, the addresses are handed out again.
    let mut careless = Daemon::prepare()?;
    careless.configure("[host_local]\nignore = true\n")?;
    careless.start_again()?;
    careless.shim()?.call("ADD", &Attachment::of("first"), &config)?.result()?;
    Ok(())
}

/// The verdict of the check of other IPAMs, and what it found.
fn other_ipams(daemon: &Daemon, theirs: &HostLocal) -> anyhow::Result<(String, String)> {
    let list = json!({ "name": "pods", "plugins": [{ "type": "bridge", "ipam": { "type": "tenure", "dataDir": theirs.directory } }] });
    let directory = daemon.path("net.d");
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("00-tenure.conflist"), list.to_string())?;
    let output = daemon.ctl_output(&["doctor", "--cni-conf-dir", text(&directory)?])?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let checks = report.get("checks").and_then(Value::as_array).context("no checks")?;
    let found = checks.iter().find(|check| check.get("name") == Some(&json!("other-ipams")));
    let word = |key| Some(found?.get(key)?.as_str()?.to_owned());
    Ok((word("verdict").context("no verdict")?, word("found").context("nothing found")?))
}

/// The files stay after an import, and host-local's network may have another name than ours, as flannel's has.
fn diagnosed() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure("[host_local]\nignore = false\n")?;
    daemon.start_again()?;
    let theirs = HostLocal::beside(&daemon)?;
    let mut defining = config();
    let ipam = defining.get_mut("ipam").and_then(Value::as_object_mut).context("no ipam")?;
    ipam.insert("dataDir".to_owned(), json!(theirs.directory));
    fs::write(&theirs.config, defining.to_string())?;
    daemon.ctl(&["network", "define", text(&theirs.config)?, "--apply"])?;
    theirs.holds("10.83.0.2", "T1")?;
    let (verdict, found) = other_ipams(&daemon, &theirs)?;
    ensure!(verdict == "warning" && found.contains("1 addresses of network pods that were not"), "{found}");
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "taken")])?;
    let (verdict, found) = other_ipams(&daemon, &theirs)?;
    ensure!(verdict == "fine", "{verdict}: {found}");
    // As a host-local leaves it that was killed: nobody gets it, once an import has seen it.
    fs::write(theirs.file("10.83.0.6"), "")?;
    let (verdict, found) = other_ipams(&daemon, &theirs)?;
    ensure!(verdict == "warning", "{verdict}: {found}");
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "held"), ("10.83.0.6", "unknown")])?;
    let (verdict, found) = other_ipams(&daemon, &theirs)?;
    ensure!(verdict == "fine", "{verdict}: {found}");

    fs::create_dir(theirs.directory.join("cbr0"))?;
    fs::write(theirs.directory.join("cbr0/10.83.0.3"), "T2\r\neth0")?;
    fs::write(theirs.directory.join("cbr0/10.84.0.3"), "T3\r\neth0")?;
    let (verdict, found) = other_ipams(&daemon, &theirs)?;
    ensure!(verdict == "problem" && found.contains("network cbr0 has 1 addresses"), "{verdict}: {found}");
    fs::remove_file(theirs.directory.join("cbr0/10.84.0.3"))?;
    let import =
        ["import", "--apply", "host-local", text(&theirs.directory)?, "--of", "cbr0", "--network", "pods"];
    let output = daemon.ctl_output(&import)?;
    Report(serde_json::from_slice(&output.stdout)?).ensure(&[("10.83.0.3", "taken")])?;
    let (verdict, found) = other_ipams(&daemon, &theirs)?;
    ensure!(verdict == "fine", "{verdict}: {found}");
    // What is added there later is noticed, too.
    fs::write(theirs.directory.join("cbr0/10.83.0.4"), "T4\r\neth0")?;
    let refused = daemon.shim()?.call("ADD", &Attachment::of("new"), &config())?;
    refused.error_code(TRY_AGAIN)?;
    ensure!(refused.to_string().contains("--of cbr0 --network pods"), "{refused}");
    daemon.ctl_output(&import)?;
    let given = fill(&daemon)?;
    ensure!(given == ["10.83.0.5"], "a living pod's address was given out: {given:?}");
    Ok(())
}

fn full_network() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let theirs = HostLocal::beside(&daemon)?;
    let config = json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.85.0.0/16" }]] } });
    fs::write(&theirs.config, config.to_string())?;
    let addresses =
        (0..240_u8).flat_map(|third| (2..252_u8).map(move |last| format!("10.85.{third}.{last}")));
    let count = addresses
        .clone()
        .enumerate()
        .map(|(number, address)| theirs.holds(&address, &format!("{number:064x}")));
    let count = count.collect::<anyhow::Result<Vec<()>>>()?.len();
    ensure!(count == 60_000, "{count} files");
    let Report(report) = theirs.import(&daemon)?;
    let entries = report.get("entries").and_then(Value::as_array).context("no entries")?;
    let taken = entries.iter().filter(|entry| entry.get("outcome") == Some(&json!("taken"))).count();
    ensure!((taken, entries.len()) == (count, count), "{taken} of {} entries were imported", entries.len());
    ensure!(daemon.allocations("pods")?.len() == count, "not all are listed");
    daemon.shim()?.call("ADD", &Attachment::of("next"), &config)?.result()?;
    Ok(())
}

fn one_message() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcomes = runtime.block_on(async {
        let channel = client::connect(&daemon.run_directory().join("admin.sock")).await?;
        let entry = |container: &str, address: &str| v1::ImportEntry {
            container_id: container.to_owned(),
            interface: "eth0".to_owned(),
            addresses: vec![address.to_owned()],
            ..v1::ImportEntry::default()
        };
        let request = v1::ImportRequest {
            network: "pods".to_owned(),
            config: config().to_string().into_bytes(),
            entries: vec![entry("c1", "10.83.0.2"), entry("c2", "10.83.0.2"), entry("c3", "here")],
            apply: true,
        };
        let answer = AdminClient::new(channel).import(request).await?.into_inner();
        anyhow::Ok(answer.outcomes)
    })?;
    let words: Vec<_> = outcomes.iter().map(|outcome| outcome.outcome.as_str()).collect();
    ensure!(words == ["taken", "unknown", "refused"], "{outcomes:?}");
    ensure!(daemon.allocations("pods")?.len() == 2, "expected the live owner and the unknown one");
    Ok(())
}

fn cut_off() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let theirs = HostLocal::beside(&daemon)?;
    theirs.holds("10.83.0.2", "T1")?;
    theirs.holds("10.83.0.3", "T2")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let first = v1::ImportPart {
        head: Some(v1::ImportHead {
            network: "pods".to_owned(),
            config: config().to_string().into_bytes(),
            apply: true,
            source: format!("host-local {}", fs::canonicalize(&theirs.directory)?.display()),
            ..v1::ImportHead::default()
        }),
        entries: vec![v1::ImportEntry {
            container_id: "T1".to_owned(),
            interface: "eth0".to_owned(),
            addresses: vec!["10.83.0.2".to_owned()],
            ..v1::ImportEntry::default()
        }],
    };
    runtime.block_on(async {
        let channel = client::connect(&daemon.run_directory().join("admin.sock")).await?;
        // The first part is answered; the second never arrives.
        let parts = stream::iter([first]).chain(stream::pending());
        let mut answer = AdminClient::new(channel).import_all(parts).await?.into_inner();
        ensure!(
            answer.message().await?.is_some_and(|part| part.outcomes.len() == 1),
            "no answer to the first part"
        );
        daemon.kill()
    })?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("next"), &config())?.error_code(TRY_AGAIN)?;
    shim.call("ADD", &Attachment::of("T1"), &config())?.result()?;
    theirs.import(&daemon)?.ensure(&[("10.83.0.2", "held"), ("10.83.0.3", "taken")])?;
    let next = shim.call("ADD", &Attachment::of("next"), &config())?.address()?;
    ensure!(next == "10.83.0.4/29", "{next} is live");
    Ok(())
}
