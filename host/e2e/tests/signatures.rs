//! Signed releases of policies: a node takes no older one than it has accepted, and none that is signed as another policy.

#[path = "support/component.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod component;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use component::build;
use minisign::KeyPair;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, binaries, wait};

/// The time limit for what the daemon does by itself, on a busy machine.
const SOON: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    Suite::new()
        .test("an_older_release_does_not_pass_where_a_newer_one_was_accepted", &[], older)
        .test("a_release_of_another_policy_or_none_does_not_pass", &[], another)
        .test("one_component_serves_under_each_name_that_it_is_signed_as", &[], two_names)
        .test("an_older_release_in_a_followed_file_is_not_applied", &[], followed)
        .test("an_older_release_in_a_file_that_is_followed_from_now_on_is_not_loaded", &[], followed_later)
        .test("a_followed_file_that_is_signed_again_serves_by_its_new_signature", &[], signed_again)
        .test("keys_that_what_serves_lacks_are_refused_by_a_reload", &[], refused_by_reload)
        .test("keys_that_are_put_right_let_pods_start_at_once", &[], way_back)
        .test("keys_that_come_later_count_for_what_was_loaded_before", &[], keys_that_come_later)
        .run()
}

fn network(name: &str, subnet: &str, policy: &str) -> Value {
    let ranges = json!([[{ "subnet": subnet }]]);
    let ipam = json!({ "type": "tenure", "policy": policy, "ranges": ranges });
    json!({ "cniVersion": "1.0.0", "name": name, "type": "bridge", "ipam": ipam })
}

fn add(daemon: &Daemon, policy: &str, pod: &str) -> anyhow::Result<tenure_e2e::Outcome> {
    daemon.shim()?.call("ADD", &Attachment::of(pod), &network("net", "10.85.0.0/16", policy))
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The error of a command that must fail.
fn refused(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = daemon.ctl_output(arguments)?;
    ensure!(!output.status.success(), "{arguments:?} succeeded");
    let error: Value = serde_json::from_slice(&output.stderr).with_context(|| format!("{output:?}"))?;
    Ok(error.get("error").cloned().unwrap_or(error))
}

/// A publisher: a key, and the components that it signs.
struct Publisher {
    directory: PathBuf,
    public: String,
}

impl Publisher {
    fn new(daemon: &Daemon) -> anyhow::Result<Self> {
        let pair = KeyPair::generate_unencrypted_keypair()?;
        let directory = daemon.path("published");
        fs::create_dir(&directory)?;
        fs::write(directory.join("key"), pair.sk.to_box(None)?.to_string())?;
        Ok(Self { directory, public: pair.pk.to_base64() })
    }

    /// The configuration that trusts its key.
    fn trusted(&self) -> String {
        format!("[signatures]\nkeys = [\"{}\"]\n", self.public)
    }

    /// Writes a component: the same policy each time, as another component.
    fn write(&self, daemon: &Daemon, mark: u8) -> anyhow::Result<PathBuf> {
        let mut component = fs::read(build("tenure-sdk/canary_deny", daemon)?)?;
        // A custom section with a name of one letter.
        component.extend([0, 2, 1, mark]);
        let path = self.directory.join(format!("{}.wasm", char::from(mark)));
        fs::write(&path, component)?;
        Ok(path)
    }

    /// Signs a component as a release.
    fn sign(&self, path: &Path, name: &str, release: &str) -> anyhow::Result<()> {
        let output = Command::new(binaries::find("tenurectl")?)
            .args(["policy", "sign", "--name", name, "--release", release, "--key"])
            .arg(self.directory.join("key"))
            .arg(path)
            .stdin(Stdio::null())
            .output()?;
        ensure!(output.status.success(), "{output:?}");
        Ok(())
    }

    /// Signs a component as minisign does by itself: the signature names no policy and no version.
    fn sign_plainly(&self, path: &Path) -> anyhow::Result<()> {
        let secret = fs::read_to_string(self.directory.join("key"))?;
        let secret = minisign::SecretKeyBox::from_string(&secret)?.into_unencrypted_secret_key()?;
        let signature = minisign::sign(None, &secret, fs::File::open(path)?, None, None)?;
        fs::write(path.with_added_extension("minisig"), signature.to_string())?;
        Ok(())
    }

    /// The same publisher with a new key.
    fn rotated(&self) -> anyhow::Result<Self> {
        let pair = KeyPair::generate_unencrypted_keypair()?;
        fs::write(self.directory.join("key"), pair.sk.to_box(None)?.to_string())?;
        Ok(Self { directory: self.directory.clone(), public: pair.pk.to_base64() })
    }

    /// A release of the policy `canary`.
    fn release(&self, daemon: &Daemon, mark: u8, release: &str) -> anyhow::Result<String> {
        let path = self.write(daemon, mark)?;
        self.sign(&path, "canary", release)?;
        Ok(path.display().to_string())
    }
}

/// A daemon that trusts a publisher.
fn trusting(more: &str) -> anyhow::Result<(Daemon, Publisher)> {
    let mut daemon = Daemon::prepare()?;
    let publisher = Publisher::new(&daemon)?;
    daemon.configure(&format!("{more}{}", publisher.trusted()))?;
    daemon.start_again()?;
    Ok((daemon, publisher))
}

fn load<'a>(path: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["policy", "load", path, "--name", "canary"], more].concat()
}

fn is_outdated(daemon: &Daemon, path: &str, cause: &str) -> anyhow::Result<()> {
    let error = refused(daemon, &load(path, &[]))?;
    ensure!(text(&error, "/code") == "policy-outdated", "{error}");
    ensure!(text(&error, "/cause").contains(cause), "{cause} is missing: {error}");
    Ok(())
}

fn older() -> anyhow::Result<()> {
    let (mut daemon, publisher) = trusting("")?;
    let [old, new] =
        [(b'a', "1.9"), (b'b', "1.10")].map(|(mark, version)| publisher.release(&daemon, mark, version));
    let (old, new) = (old?, new?);
    daemon.ctl(&load(&old, &[]))?;
    daemon.ctl(&load(&new, &[]))?;
    let accepted = "it is version 1.9, and version 1.10 was accepted here before";
    is_outdated(&daemon, &old, accepted)?;
    // Neither unloading the newer one nor a crash lets the older one pass.
    daemon.ctl(&["policy", "unload", "canary"])?;
    is_outdated(&daemon, &old, accepted)?;
    daemon.kill()?;
    daemon.start_again()?;
    is_outdated(&daemon, &old, accepted)?;
    let forged = publisher.release(&daemon, b'c', "1.10.0")?;
    is_outdated(&daemon, &forged, "another component was accepted here as version 1.10.0 before")?;
    // An operator may insist, and what was accepted by that serves after a restart, too.
    daemon.ctl(&load(&old, &["--older"]))?;
    add(&daemon, "canary", "web-0")?.address()?;
    daemon.kill()?;
    daemon.start_again()?;
    add(&daemon, "canary", "web-1")?.address()?;
    is_outdated(&daemon, &old, accepted)
}

fn another() -> anyhow::Result<()> {
    let (mut daemon, publisher) = trusting("")?;
    let zones = publisher.write(&daemon, b'z')?;
    publisher.sign(&zones, "zones", "7")?;
    let zones = zones.display().to_string();
    let error = refused(&daemon, &load(&zones, &[]))?;
    ensure!(text(&error, "/code") == "policy-untrusted", "{error}");
    ensure!(
        text(&error, "/cause").contains("signed as policy zones, version 7, and not as canary"),
        "{error}"
    );
    // A signature of before, which names nothing, passes until a release of that name was accepted.
    let unnamed = publisher.write(&daemon, b'u')?;
    publisher.sign_plainly(&unnamed)?;
    let unnamed = unnamed.display().to_string();
    daemon.ctl(&load(&unnamed, &[]))?;
    let new = publisher.release(&daemon, b'n', "1")?;
    daemon.ctl(&load(&new, &[]))?;
    is_outdated(&daemon, &unnamed, "names no version, but version 1 of policy canary was accepted")?;
    daemon.configure(&format!("{}require_version = true\n", publisher.trusted()))?;
    daemon.ctl(&["reload"])?;
    let error = refused(&daemon, &["policy", "load", &unnamed, "--name", "other"])?;
    ensure!(text(&error, "/cause").contains("signatures.require_version"), "{error}");
    daemon.stop()?;
    Ok(())
}

fn two_names() -> anyhow::Result<()> {
    let (mut daemon, publisher) = trusting("")?;
    let component = publisher.write(&daemon, b'a')?;
    let path = component.display().to_string();
    for name in ["zones", "zones-canary"] {
        publisher.sign(&component, name, "1")?;
        daemon.ctl(&["policy", "load", &path, "--name", name])?;
    }
    daemon.kill()?;
    fs::remove_file(&component)?;
    daemon.start_again()?;
    for (name, subnet) in [("zones", "10.86.0.0/24"), ("zones-canary", "10.86.1.0/24")] {
        daemon.shim()?.call("ADD", &Attachment::of(name), &network(name, subnet, name))?.address()?;
    }
    Ok(())
}

fn followed() -> anyhow::Result<()> {
    let (daemon, publisher) = trusting("")?;
    let install = |from: &str| {
        // The signature first: a file without one is refused.
        for extension in ["wasm.minisig", "wasm"] {
            let to = publisher.directory.join("canary").with_extension(extension);
            let new = to.with_added_extension("new");
            fs::copy(Path::new(from).with_extension(extension), &new)?;
            fs::rename(new, to)?;
        }
        anyhow::Ok(())
    };
    let [old, new] =
        [(b'a', "1"), (b'b', "2")].map(|(mark, version)| publisher.release(&daemon, mark, version));
    let (old, new) = (old?, new?);
    install(&new)?;
    let path = publisher.directory.join("canary.wasm").display().to_string();
    daemon.configure(&format!("{}[policies.canary]\npath = {path:?}\n", publisher.trusted()))?;
    daemon.ctl(&["reload"])?;
    wait::holds("the first release", SOON, || Ok(add(&daemon, "canary", "web-0")?.succeeded))?;
    let serves = || Ok::<_, anyhow::Error>(text(&daemon.ctl(&["policy", "history", "net"])?, "/now/sha256"));
    let newest = publisher.release(&daemon, b'c', "3")?;
    let before = serves()?;
    install(&newest)?;
    wait::holds("the newest release", SOON, || Ok(serves()? != before))?;
    let newest = serves()?;
    install(&old)?;
    wait::holds("the refusal", SOON, || {
        let policies = daemon.ctl(&["policy", "list"])?.to_string();
        Ok(policies.contains("it is version 1, and version 3 was accepted here before"))
    })?;
    ensure!(serves()? == newest, "the older release serves");
    add(&daemon, "canary", "web-1")?.address()?;
    Ok(())
}

/// Regression: a name that stood for nothing took the first release in its file, however old.
fn followed_later() -> anyhow::Result<()> {
    let (mut daemon, publisher) = trusting("")?;
    let [old, new] =
        [(b'a', "1"), (b'b', "3")].map(|(mark, version)| publisher.release(&daemon, mark, version));
    let (old, new) = (old?, new?);
    daemon.ctl(&load(&new, &[]))?;
    daemon.ctl(&["policy", "unload", "canary"])?;
    let follow = |path: &str| format!("{}[policies.canary]\npath = {path:?}\n", publisher.trusted());
    daemon.configure(&follow(&old))?;
    daemon.ctl(&["reload"])?;
    for pod in ["web-0", "web-1"] {
        wait::holds("the refusal", SOON, || {
            let policies = daemon.ctl(&["policy", "list"])?.to_string();
            Ok(policies.contains("it is version 1, and version 3 was accepted here before"))
        })?;
        let refused = add(&daemon, "canary", pod)?;
        ensure!(!refused.succeeded, "the older release serves");
        daemon.kill()?;
        daemon.start_again()?;
    }
    daemon.configure(&follow(&new))?;
    daemon.ctl(&["reload"])?;
    wait::holds("the newer release", SOON, || Ok(add(&daemon, "canary", "web-0")?.succeeded))
}

/// Regression: the node's copy of the signature before won over the new one beside the file, so that the keys could never be changed.
fn signed_again() -> anyhow::Result<()> {
    let (mut daemon, publisher) = trusting("")?;
    let file = publisher.write(&daemon, b'a')?;
    let followed = format!("[policies.canary]\npath = {:?}\n", file.display().to_string());
    publisher.sign_plainly(&file)?;
    daemon.configure(&format!("{}{followed}", publisher.trusted()))?;
    daemon.ctl(&["reload"])?;
    wait::holds("the policy", SOON, || Ok(add(&daemon, "canary", "web-0")?.succeeded))?;
    // Signed as a release: the node keeps that signature even if the file's goes.
    publisher.sign(&file, "canary", "1")?;
    let kept = || -> anyhow::Result<String> {
        let history = daemon.ctl(&["policy", "history", "net"])?;
        let name = format!("policies/{}.canary.wasm.minisig", text(&history, "/now/sha256"));
        Ok(fs::read_to_string(daemon.state_directory().join(name))?)
    };
    wait::holds("the copy of the new signature", SOON, || Ok(kept()?.contains("tenure policy canary 1")))?;
    fs::remove_file(file.with_added_extension("minisig"))?;
    let versioned =
        |publisher: &Publisher| format!("{}require_version = true\n{followed}", publisher.trusted());
    daemon.configure(&versioned(&publisher))?;
    daemon.ctl(&["reload"])?;
    // Signed by another key: it counts at once, and after a restart.
    let rotated = publisher.rotated()?;
    rotated.sign(&file, "canary", "1")?;
    daemon.configure(&versioned(&rotated))?;
    daemon.ctl(&["reload"])?;
    for pod in ["web-1", "web-2"] {
        daemon.kill()?;
        daemon.start_again()?;
        wait::holds("the policy", SOON, || Ok(add(&daemon, "canary", pod)?.succeeded))?;
        fs::remove_file(file.with_added_extension("minisig")).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    Ok(())
}

fn refused_by_reload() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let publisher = Publisher::new(&daemon)?;
    let unsigned = publisher.write(&daemon, b'u')?;
    let path = unsigned.display().to_string();
    daemon.ctl(&load(&path, &[]))?;
    add(&daemon, "canary", "web-0")?.address()?;
    let of_another = Attachment::of("db-0");
    daemon.shim()?.call("ADD", &of_another, &network("next", "10.86.0.0/16", "canary"))?.address()?;
    daemon.configure(&publisher.trusted())?;
    let error = refused(&daemon, &["reload"])?;
    ensure!(text(&error, "/code") == "invalid-config", "{error}");
    ensure!(text(&error, "/next_step").contains("load them again"), "{error}");
    let cause = text(&error, "/cause");
    for words in [
        "policy canary@",
        "serves network net:",
        "serves network next:",
        "it is not signed",
        "sign it, or activate another",
    ] {
        ensure!(cause.contains(words), "{words} is missing: {error}");
    }
    let status = daemon.ctl(&["status"])?.to_string();
    ensure!(status.contains("configuration-refused"), "{status}");
    // Nothing has changed.
    daemon.ctl(&load(&path, &[]))?;
    // Signed and loaded again, it satisfies the keys.
    publisher.sign(&unsigned, "canary", "1")?;
    daemon.ctl(&load(&path, &[]))?;
    daemon.ctl(&["reload"])?;
    let status = daemon.ctl(&["status"])?.to_string();
    ensure!(!status.contains("configuration-refused"), "{status}");
    daemon.kill()?;
    daemon.start_again()?;
    wait::holds("the policy", SOON, || Ok(add(&daemon, "canary", "web-1")?.succeeded))
}

fn way_back() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let publisher = Publisher::new(&daemon)?;
    let path = publisher.write(&daemon, b'u')?.display().to_string();
    daemon.ctl(&load(&path, &[]))?;
    add(&daemon, "canary", "web-0")?.address()?;
    // Keys that nobody has checked by a reload.
    daemon.kill()?;
    daemon.configure(&publisher.trusted())?;
    daemon.start_again()?;
    // Each refusal makes the next attempt wait longer.
    wait::holds("three refusals", SOON, || {
        add(&daemon, "canary", "web-1")?.error()?;
        Ok(daemon.log("cannot load a policy").lines().count() >= 3)
    })?;
    daemon.configure("")?;
    daemon.ctl(&["reload"])?;
    add(&daemon, "canary", "web-1")?.address()?;
    Ok(())
}

/// Regression: a policy that was loaded before the keys came was activated without a signature, and the next start did not load it.
fn keys_that_come_later() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let publisher = Publisher::new(&daemon)?;
    let signed = publisher.release(&daemon, b's', "1.1.0")?;
    daemon.ctl(&load(&signed, &[]))?;
    add(&daemon, "canary", "web-0")?.address()?;
    let unsigned = publisher.write(&daemon, b'u')?;
    let path = unsigned.display().to_string();
    let load_other = ["policy", "load", path.as_str(), "--name", "other"];
    daemon.ctl(&load_other)?;
    let activate_other = ["policy", "activate", "net", "other"];
    daemon.ctl(&activate_other)?;
    daemon.ctl(&["policy", "activate", "net", "canary"])?;
    daemon.configure(&publisher.trusted())?;
    daemon.ctl(&["reload"])?;
    for verb in [&activate_other[..], &["policy", "shadow", "net", "other"], &["policy", "rollback", "net"]] {
        let error = refused(&daemon, verb)?;
        ensure!(text(&error, "/code") == "policy-untrusted", "{verb:?}: {error}");
    }
    let listed = daemon.ctl(&["policy", "list"])?.to_string();
    ensure!(listed.contains("it is not signed"), "{listed}");
    // The release that serves counts as accepted, though nobody looked at its signature when it was loaded.
    let older = publisher.release(&daemon, b'o', "0.9.0")?;
    is_outdated(&daemon, &older, "version 1.1.0 was accepted here before")?;
    publisher.sign(&unsigned, "other", "1")?;
    daemon.ctl(&load_other)?;
    daemon.ctl(&activate_other)?;
    daemon.kill()?;
    daemon.start_again()?;
    wait::holds("the policy", SOON, || Ok(add(&daemon, "canary", "web-1")?.succeeded))
}
