//! Moving over from another IPAM, as operators do it: the other IPAM keeps working after the import, an import is cut off, its
//! source is gone, and the runtime deletes pods before the import has reached them. No live address is handed out, and none that
//! is over stays held.

#[path = "moving_over/broken.rs"]
mod broken;
#[path = "moving_over/gone.rs"]
mod gone;
#[path = "moving_over/hidden.rs"]
mod hidden;
#[path = "moving_over/killed.rs"]
mod killed;
#[path = "moving_over/returned.rs"]
mod returned;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output};
use std::time::Duration;

use anyhow::{Context, ensure};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Outcome, Suite};
use tenure_rpc::v1::admin_client::AdminClient;
use tenure_rpc::{client, v1};

fn main() -> ExitCode {
    Suite::new()
        .test("what_host_local_adds_after_the_import_is_not_given_out", &[], added_after_the_import)
        .test("what_ipamd_adds_after_the_import_is_not_given_out", &[], added_by_ipamd)
        .test("a_removed_network_is_compared_with_host_local_again", &[], removed_in_between)
        .test(
            "a_removed_network_is_compared_with_its_sources_again",
            &[],
            returned::sources_outlive_their_network,
        )
        .test(
            "what_the_daemon_cannot_read_is_not_imported_and_can_be_let_go_of",
            &[Need::Root, Need::UTIL_LINUX],
            hidden::from_the_daemon,
        )
        .test("another_source_does_not_end_an_import_that_was_cut_off", &[], other_source)
        .test(
            "an_import_that_was_cut_off_survives_a_boot_and_can_be_ended",
            &[Need::Root, Need::UTIL_LINUX],
            ended,
        )
        .test("an_import_that_was_cut_off_ends_with_an_empty_source", &[], empty_source)
        .test("a_del_before_or_during_an_import_ends_its_row", &[], deleted_meanwhile)
        .test(
            "what_has_ended_does_not_return_after_its_network_was_removed",
            &[Need::Root, Need::UTIL_LINUX],
            returned::not_after_removal,
        )
        .test("an_import_whose_tenurectl_is_killed_is_continued", &[], killed::in_the_middle)
        .test(
            "a_file_that_cannot_be_read_is_held_and_said",
            &[Need::Root, Need::UTIL_LINUX],
            broken::files_of_host_local,
        )
        .test(
            "a_directory_that_cannot_be_read_imports_nothing",
            &[Need::Root, Need::UTIL_LINUX],
            broken::directory_of_host_local,
        )
        .test("a_broken_row_of_ipamd_imports_nothing", &[], broken::row_of_ipamd)
        .test(
            "an_imported_row_whose_container_is_gone_is_said_and_not_freed",
            &[Need::Root, Need::CONTAINERD, Need::PLUGINS],
            gone::container,
        )
        .run()
}

/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;

/// A daemon that looks at host-local's directory, and that directory.
struct Moving {
    daemon: Daemon,
    directory: PathBuf,
    config: PathBuf,
    subnet: &'static str,
}

impl Moving {
    fn start() -> anyhow::Result<Self> {
        Self::with("", "10.83.0.0/29")
    }

    /// With more configuration of the daemon, and this network.
    fn with(more: &str, subnet: &'static str) -> anyhow::Result<Self> {
        let mut daemon = Daemon::prepare()?;
        daemon.configure(&format!("{more}[host_local]\nignore = false\n"))?;
        daemon.start_again()?;
        let (directory, config) = (daemon.path("networks"), daemon.path("pods.conf"));
        let moving = Self { directory, config, subnet, daemon };
        fs::create_dir_all(moving.directory.join("pods"))?;
        fs::write(&moving.config, moving.configuration().to_string())?;
        Ok(moving)
    }

    /// The network's configuration; in the usual one of six addresses, 10.83.0.1 is the gateway's.
    fn configuration(&self) -> Value {
        json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": {
            "type": "tenure", "dataDir": self.directory, "ranges": [[{ "subnet": self.subnet }]] } })
    }

    fn file(&self, address: &str) -> PathBuf {
        self.directory.join("pods").join(address)
    }

    /// Writes an address's file as host-local did a minute ago.
    fn holds(&self, address: &str, container: &str) -> anyhow::Result<()> {
        self.holds_now(address, container)?;
        let file = File::options().write(true).open(self.file(address))?;
        Ok(file.set_modified(file.metadata()?.modified()? - Duration::from_secs(60))?)
    }

    fn holds_now(&self, address: &str, container: &str) -> anyhow::Result<()> {
        Ok(fs::write(self.file(address), format!("{container}\r\neth0"))?)
    }

    /// Imports a directory of host-local; returns the outcomes by address.
    fn import(&self, directory: &Path) -> anyhow::Result<Value> {
        let directory = directory.to_str().context("the path is not UTF-8")?;
        let config = self.config.to_str().context("the path is not UTF-8")?;
        let arguments = ["import", "--apply", "host-local", directory, "--config", config];
        outcomes(&self.daemon.ctl_output(&arguments)?)
    }

    fn call(&self, verb: &str, container: &str) -> anyhow::Result<Outcome> {
        self.daemon.shim()?.call(verb, &Attachment::of(container), &self.configuration())
    }

    /// Adds a pod; returns its address without the prefix length.
    fn add(&self, container: &str) -> anyhow::Result<String> {
        let address = self.call("ADD", container)?.address()?;
        Ok(address.split('/').next().unwrap_or_default().to_owned())
    }

    fn refused(&self, container: &str) -> anyhow::Result<String> {
        let refused = self.call("ADD", container)?;
        refused.error_code(TRY_AGAIN)?;
        Ok(refused.to_string())
    }

    /// The messages of the condition about unfinished moves.
    fn told(&self) -> anyhow::Result<Vec<String>> {
        let output = self.daemon.ctl_output(&["status"])?;
        let status: Value = serde_json::from_slice(&output.stdout)?;
        let all = status.get("conditions").and_then(Value::as_array).context("no conditions")?;
        let unfinished = all.iter().filter(|one| one.get("name") == Some(&json!("move-unfinished")));
        Ok(unfinished.filter_map(|one| Some(one.get("message")?.as_str()?.to_owned())).collect())
    }

    /// Imports one address, and cuts the import off with the daemon while more are to come.
    fn cut_off(&mut self, source: &str, container: &str, address: &str) -> anyhow::Result<()> {
        self.send(source, container, address, |moving| moving.daemon.kill())?;
        self.daemon.start_again()
    }

    /// Imports one address, does something, and leaves the import unfinished.
    fn send(
        &mut self,
        source: &str,
        container: &str,
        address: &str,
        then: impl FnOnce(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let first = v1::ImportPart {
            head: Some(v1::ImportHead {
                network: "pods".to_owned(),
                config: self.configuration().to_string().into_bytes(),
                apply: true,
                source: source.to_owned(),
                exclusive: true,
                ..v1::ImportHead::default()
            }),
            entries: vec![v1::ImportEntry {
                container_id: container.to_owned(),
                interface: "eth0".to_owned(),
                addresses: vec![address.to_owned()],
                ..v1::ImportEntry::default()
            }],
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let channel = client::connect(&self.daemon.run_directory().join("admin.sock")).await?;
            // The first part is answered; the second never arrives.
            let parts = stream::iter([first]).chain(stream::pending());
            let mut answer = AdminClient::new(channel).import_all(parts).await?.into_inner();
            ensure!(answer.message().await?.is_some(), "no answer to the first part");
            then(self)
        })
    }
}

/// The outcomes of an import by address.
fn outcomes(printed: &Output) -> anyhow::Result<Value> {
    let report: Value = serde_json::from_slice(&printed.stdout)
        .with_context(|| String::from_utf8_lossy(&printed.stderr).into_owned())?;
    let entries = report.get("entries").and_then(Value::as_array).context("no entries")?;
    let outcome = |entry: &Value| {
        let address = entry.pointer("/addresses/0")?.as_str()?.to_owned();
        Some((address, entry.get("outcome")?.clone()))
    };
    Ok(Value::Object(entries.iter().filter_map(outcome).collect()))
}

fn added_after_the_import() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    moving.holds("10.83.0.2", "T1")?;
    ensure!(moving.import(&moving.directory)? == json!({ "10.83.0.2": "taken" }));
    // host-local is still the runtime's plugin.
    moving.holds("10.83.0.3", "T2")?;
    moving.holds("10.83.0.4", "T3")?;
    // The plugin becomes tenure, and pods come.
    for _ in 0..2 {
        let refused = moving.refused("new")?;
        ensure!(refused.contains("10.83.0.3") && refused.contains("tenurectl import"), "{refused}");
        let told = moving.told()?;
        ensure!(told.len() == 1 && told.concat().contains("pods"), "{told:?}");
        ensure!(moving.add("T1")? == "10.83.0.2", "a pod that has its address is served");
        moving.daemon.kill()?;
        moving.daemon.start_again()?;
    }
    let outcomes = json!({ "10.83.0.2": "held", "10.83.0.3": "taken", "10.83.0.4": "taken" });
    ensure!(moving.import(&moving.directory)? == outcomes);
    let given = [moving.add("new")?, moving.add("newer")?];
    ensure!(given == ["10.83.0.5", "10.83.0.6"], "{given:?}");
    ensure!(moving.told()?.is_empty(), "{:?}", moving.told()?);
    // What ends under tenure leaves its file behind, which stands for nobody; and host-local is used once more, for T4.
    moving.call("DEL", "T1")?.silent()?;
    moving.call("DEL", "new")?.silent()?;
    moving.add("another")?;
    moving.call("DEL", "another")?.silent()?;
    fs::remove_file(moving.file("10.83.0.2"))?;
    moving.holds("10.83.0.2", "T4")?;
    moving.refused("next")?;
    Ok(())
}

fn added_by_ipamd() -> anyhow::Result<()> {
    let moving = Moving::start()?;
    let file = moving.daemon.path("ipam.json");
    let row = |container: &str, address: &str, at: u64| {
        json!({ "networkName": "aws-cni", "containerID": container, "ifName": "eth0", "ipv4": address,
                "allocationTimestamp": at, "metadata": {} })
    };
    let write = |rows: &[Value]| {
        let new = moving.daemon.path("ipam.json.new");
        fs::write(&new, json!({ "version": "vpc-cni-ipam/1", "allocations": rows }).to_string())?;
        fs::rename(new, &file)
    };
    let (one, two) = (
        row("T1", "10.83.0.2", 1_700_000_000_000_000_000),
        row("T2", "10.83.0.3", 1_700_000_001_000_000_000),
    );
    write(std::slice::from_ref(&one))?;
    let path = file.to_str().context("the path is not UTF-8")?;
    let config = moving.config.to_str().context("the path is not UTF-8")?;
    let import = ["import", "--apply", "ipamd", path, "--network", "pods", "--config", config];
    moving.daemon.ctl(&import)?;
    ensure!(moving.add("first")? == "10.83.0.3");
    moving.call("DEL", "first")?.silent()?;
    // T1 has ended meanwhile, and ipamd has given its address to T9.
    let again = row("T9", "10.83.0.2", 1_700_000_003_000_000_000);
    write(&[again, row("T3", "10.83.0.4", 1_700_000_002_000_000_000), two])?;
    let refused = moving.refused("next")?;
    ensure!(refused.contains("10.83.0.2") && refused.contains("tenurectl import --apply ipamd"), "{refused}");
    ensure!(refused.contains("3 in all") && !refused.contains("host_local"), "{refused}");
    moving.daemon.ctl(&import)?;
    ensure!(moving.add("next")? == "10.83.0.5");
    // Its file goes with ipamd.
    fs::remove_file(&file)?;
    ensure!(moving.add("last")? == "10.83.0.6");
    ensure!(moving.call("ADD", "one-more")?.result().is_err(), "the network has six addresses");
    moving.call("DEL", "T9")?.silent()?;
    ensure!(moving.add("one-more")? == "10.83.0.2", "nobody else has it");
    Ok(())
}

fn removed_in_between() -> anyhow::Result<()> {
    let moving = Moving::start()?;
    ensure!(moving.add("first")? == "10.83.0.2");
    moving.call("DEL", "first")?.silent()?;
    moving.daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    // host-local serves the network for a while.
    moving.holds("10.83.0.3", "T1")?;
    moving.refused("next")?;
    ensure!(moving.import(&moving.directory)? == json!({ "10.83.0.3": "taken" }));
    // What an imported pod's DEL ended stays ended, also over another removal.
    moving.call("DEL", "T1")?.silent()?;
    moving.daemon.ctl(&["network", "remove", "pods", "--apply"])?;
    moving.holds("10.83.0.4", "T2")?;
    moving.refused("next")?;
    let outcomes = json!({ "10.83.0.3": "released", "10.83.0.4": "taken" });
    let said = moving.import(&moving.directory)?;
    ensure!(said == outcomes, "{said}");
    moving.add("next")?;
    Ok(())
}

fn other_source() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    moving.cut_off("host-local /elsewhere", "T1", "10.83.0.2")?;
    let told = moving.told()?;
    ensure!(told.len() == 1 && told.concat().contains("host-local /elsewhere"), "{told:?}");
    moving.holds("10.83.0.3", "T2")?;
    ensure!(moving.import(&moving.directory)? == json!({ "10.83.0.3": "taken" }));
    let refused = moving.refused("new")?;
    ensure!(refused.contains("host-local /elsewhere"), "{refused}");
    moving.daemon.kill()?;
    moving.daemon.start_again()?;
    moving.refused("new")?;
    Ok(())
}

fn ended() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    let gone = moving.daemon.path("gone");
    fs::create_dir_all(gone.join("pods"))?;
    let source = format!("host-local {}", gone.display());
    moving.cut_off(&source, "T1", "10.83.0.2")?;
    fs::remove_dir_all(&gone)?;
    moving.daemon.kill()?;
    moving.daemon.reboot()?;
    moving.daemon.start_again()?;
    let told = moving.told()?;
    ensure!(told.len() == 1 && told.concat().contains(&source), "{told:?}");
    moving.refused("new")?;
    // Again, after the boot: the row that came over stays.
    moving.cut_off(&source, "T2", "10.83.0.3")?;

    let abandon = ["import", "abandon", "pods", "--reason", "the pods are gone"];
    moving.daemon.ctl(&abandon)?;
    moving.refused("new")?;
    moving.daemon.ctl(&[&abandon[..], &["--apply"]].concat())?;
    ensure!(moving.told()?.is_empty(), "{:?}", moving.told()?);
    let log = String::from_utf8(moving.daemon.ctl_output(&["log"])?.stdout)?;
    ensure!(log.contains("abandoned") && log.contains("the pods are gone"), "{log}");
    moving.daemon.kill()?;
    moving.daemon.start_again()?;
    let given = [moving.add("new")?, moving.add("newer")?];
    ensure!(given.iter().all(|given| given != "10.83.0.3"), "{given:?}");
    ensure!(moving.add("T2")? == "10.83.0.3", "what came over stays its owner's");
    Ok(())
}

fn empty_source() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    let source = format!("host-local {}", fs::canonicalize(&moving.directory)?.display());
    moving.cut_off(&source, "T1", "10.83.0.2")?;
    moving.refused("new")?;
    // All of host-local's pods have ended since, so its directory is empty.
    ensure!(moving.import(&moving.directory)? == json!({}));
    moving.add("new")?;
    Ok(())
}

fn deleted_meanwhile() -> anyhow::Result<()> {
    let mut moving = Moving::start()?;
    for (address, container) in [("10.83.0.2", "T1"), ("10.83.0.3", "T2"), ("10.83.0.4", "T3")] {
        moving.holds(address, container)?;
    }
    // Before the network is known, and over a restart.
    moving.call("DEL", "T1")?.silent()?;
    moving.daemon.kill()?;
    moving.daemon.start_again()?;
    // While an import of it is under way.
    moving.send("host-local /elsewhere", "T9", "10.83.0.5", |moving| moving.call("DEL", "T2")?.silent())?;
    moving.daemon.ctl(&["import", "abandon", "pods", "--apply"])?;
    // Its container began again under host-local after the DEL.
    moving.call("DEL", "T3")?.silent()?;
    fs::remove_file(moving.file("10.83.0.4"))?;
    moving.holds_now("10.83.0.4", "T3")?;
    let outcomes = json!({ "10.83.0.2": "released", "10.83.0.3": "released", "10.83.0.4": "taken" });
    for _ in 0..2 {
        let said = moving.import(&moving.directory)?;
        ensure!(said.get("10.83.0.2") == outcomes.get("10.83.0.2"), "{said}");
        ensure!(said.get("10.83.0.3") == outcomes.get("10.83.0.3"), "{said}");
        ensure!(moving.daemon.allocations("pods")?.len() == 2, "{:?}", moving.daemon.allocations("pods")?);
        moving.daemon.kill()?;
        moving.daemon.start_again()?;
    }
    moving.add("new")?;
    Ok(())
}
