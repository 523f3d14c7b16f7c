//! Policies from OCI registries: a real one, one that wants credentials, and ones that lie.

#[path = "registry/wkg.rs"]
mod wkg;

#[path = "support/component.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod component;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use component::build;
use serde_json::{Value, json};
use tenure_e2e::registry::{Answer, Layout, Liar, Manifest, Registry, USER};
use tenure_e2e::{Attachment, Daemon, Need, Suite, binaries, wait};

const REGISTRY: &[Need] = &[Need::File("/usr/bin/docker-registry", "docker-registry")];

/// The same, and the client of the Bytecode Alliance for packages of WIT: `cargo install wkg`.
const WKG: &[Need] = &[Need::File("/usr/bin/docker-registry", "docker-registry"), Need::Language("wkg")];

const POLICY_REFUSED: u32 = 104;

const POLICY_UNLOADABLE: u32 = 108;

fn main() -> ExitCode {
    Suite::new()
        .test("a_policy_from_a_registry_serves_pods_in_either_layout", REGISTRY, serves)
        .test("a_packed_policy_comes_back_with_its_signature", REGISTRY, packed)
        .test("wkg_reads_the_interface_that_is_packed", WKG, read_by_wkg)
        .test("what_is_not_one_component_with_its_digest_is_refused", REGISTRY, refused)
        .test("a_registry_s_credentials_are_those_of_docker_login", REGISTRY, credentials)
        .test("a_registry_that_lies_is_refused_with_a_cause", &[], lies)
        .test("a_file_of_references_is_followed", REGISTRY, followed)
        .test("a_blob_may_lie_elsewhere_and_credentials_do_not_go_there", &[], elsewhere)
        .run()
}

fn network() -> Value {
    let ranges = json!([[{ "subnet": "10.84.0.0/16" }]]);
    let ipam = json!({ "type": "tenure", "ranges": ranges, "deny": { "podSuffix": "-canary" } });
    json!({ "cniVersion": "1.0.0", "name": "net", "ipam": ipam })
}

fn add(daemon: &Daemon, pod: &str) -> anyhow::Result<tenure_e2e::Outcome> {
    let arguments = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod}");
    daemon.shim()?.env("CNI_ARGS", arguments).call("ADD", &Attachment::of(pod), &network())
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Runs `tenurectl` with docker's configuration from the daemon's directory.
fn ctl(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Output> {
    Ok(daemon.tenurectl(arguments)?.env("DOCKER_CONFIG", daemon.path("docker")).output()?)
}

/// Loads a policy, which must succeed.
fn load(daemon: &Daemon, source: &str, more: &[&str]) -> anyhow::Result<Value> {
    let output = ctl(daemon, &[&["policy", "load", source], more].concat())?;
    ensure!(output.status.success(), "{source}: {output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Loads a policy, which must fail with this code and a cause that contains this text; a next step is always there.
fn fails(daemon: &Daemon, source: &str, more: &[&str], code: &str, cause: &str) -> anyhow::Result<()> {
    let output = ctl(daemon, &[&["policy", "load", source], more].concat())?;
    let error: Value = serde_json::from_slice(&output.stderr).with_context(|| format!("{output:?}"))?;
    let error = error.get("error").cloned().unwrap_or(error);
    let said = text(&error, "/cause");
    ensure!(
        text(&error, "/code") == code && said.contains(cause) && !text(&error, "/next_step").is_empty(),
        "{source}: expected {code}: ...{cause}..., got {error}"
    );
    ensure!(said.len() < 4096, "{said}");
    let list = daemon.ctl(&["policy", "list"])?;
    let count = list.pointer("/policies").and_then(Value::as_array).map(Vec::len);
    ensure!(count == Some(2), "{source}: something of it stayed: {list}");
    Ok(())
}

fn component(daemon: &Daemon) -> anyhow::Result<Vec<u8>> {
    Ok(fs::read(build("tenure-sdk/canary_deny", daemon)?)?)
}

/// The same component with another digest.
fn another(component: &[u8]) -> Vec<u8> {
    [component, &[0, 1, 0]].concat()
}

fn serves() -> anyhow::Result<()> {
    let (daemon, registry) = (Daemon::start()?, Registry::start()?);
    add(&daemon, "web-0")?.address()?;
    let component = component(&daemon)?;
    for (layout, name, component) in
        [(Layout::Wkg, "wkg", component.clone()), (Layout::Kwctl, "kwctl", another(&component))]
    {
        let repository = format!("team/{name}");
        let digest = registry.push(&repository, Some("1"), layout, &component)?;
        let pinned = format!("oci://{}/{repository}@{digest}", registry.address());
        let loaded = load(&daemon, &pinned, &[])?;
        ensure!(text(&loaded, "/policy/name") == name && text(&loaded, "/source") == pinned, "{loaded}");
        let sha256 = text(&loaded, "/policy/sha256");
        ensure!(
            Layout::Wkg.manifest(&component).bytes.windows(64).any(|part| part == sha256.as_bytes()),
            "the digest is not the component's: {loaded}"
        );
        let inspected = daemon.ctl(&["policy", "inspect", name])?;
        ensure!(text(&inspected, "/versions/0/source") == pinned, "{inspected}");
        daemon.ctl(&["policy", "activate", "net", name])?;
        add(&daemon, &format!("{name}-canary"))?.error_code(POLICY_REFUSED)?;
        add(&daemon, &format!("{name}-web"))?.address()?;
        // What a tag stands for now is told, and is what `inspect` shows for ever.
        let tagged = format!("oci://{}/{repository}:1", registry.address());
        let loaded = load(&daemon, &tagged, &["--unpinned", "--sha256", &sha256])?;
        ensure!(text(&loaded, "/source") == format!("{tagged}@{digest}"), "{loaded}");
    }
    Ok(())
}

fn packed() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let registry = Registry::start()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    let pair = minisign::KeyPair::generate_unencrypted_keypair()?;
    daemon.configure(&format!("[signatures]\nkeys = [\"{}\"]\n", pair.pk.to_base64()))?;
    daemon.start_again()?;
    let file = canary.display().to_string();
    let pack = |folder: &str| {
        let folder = daemon.path(folder);
        let output = ctl(&daemon, &["policy", "pack", &file, "--to", &folder.display().to_string()])?;
        ensure!(output.status.success(), "{output:?}");
        let printed: Value = serde_json::from_slice(&output.stdout)?;
        let digest = registry.push_layout("packed", None, &folder)?;
        ensure!(text(&printed, "/manifest") == digest, "{printed}");
        Ok(format!("oci://{}/packed@{digest}", registry.address()))
    };
    let unsigned = pack("unsigned")?;
    fails(&daemon, &unsigned, &[], "policy-untrusted", "it is not signed")?;
    let signature = minisign::sign(None, &pair.sk, fs::File::open(&canary)?, None, None)?;
    let beside = canary.with_added_extension("minisig");
    fs::write(&beside, signature.to_string())?;
    let signed = pack("signed")?;
    fs::rename(&beside, daemon.path("signature"))?;
    let loaded = load(&daemon, &signed, &[])?;
    ensure!(text(&loaded, "/signer") == pair.pk.to_base64(), "{loaded}");
    let given = daemon.path("signature").display().to_string();
    load(&daemon, &unsigned, &["--signature", &given])?;
    Ok(())
}

/// The packages of the interface, as the release archive has them, are what `wkg` reads as WIT, and what it would have pushed.
fn read_by_wkg() -> anyhow::Result<()> {
    let (daemon, registry) = (Daemon::prepare()?, Registry::start()?);
    let wit =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/ipam/next/ipam.wit").display().to_string();
    let client = wkg::Client::new(&registry, daemon.path("wkg"))?;
    for name in ["ipam", "supply"] {
        let (package, folder) = (format!("tenure:{name}"), daemon.path(name));
        let to = folder.display().to_string();
        let output = ctl(&daemon, &["policy", "pack", &wit, "--package", &package, "--to", &to])?;
        ensure!(output.status.success(), "{output:?}");
        let packed = wkg::Pushed::of_layout(&folder)?;
        let version = text(&packed.manifest, "/annotations/org.opencontainers.image.version");
        registry.push_layout(&format!("tenure/{name}"), Some(&version), &folder)?;
        ensure!(client.pull(&format!("tenure/{name}:{version}"))? == packed.layer, "{name}: other bytes");
        ensure!(client.get(&package, "wasm")? == packed.layer, "{name}: other bytes");
        let shown = String::from_utf8(client.get(&package, "wit")?)?;
        ensure!(shown.contains(&format!("package {package}@{version};")), "{shown}");
        // What it says of the same bytes when it pushes them itself.
        let theirs = client.config_pushed(&format!("theirs/{name}"), &packed.layer)?;
        for field in ["exports", "imports"] {
            let names = |of: &Value| wkg::names(of, &format!("/component/{field}"));
            ensure!(names(&theirs) == names(&packed.config), "{name}: {theirs} is not {}", packed.config);
        }
    }
    // A world of somebody else's, whose dependencies come from the registry.
    client.builds(
        "package my:rules@0.1.0;
         world mine {
           import tenure:ipam/ledger@0.1.0-rc.1;
           include tenure:supply/planner@0.1.0-rc.1;
         }",
        &["tenure-ipam-0.1.0-rc.1", "tenure-supply-0.1.0-rc.1"],
    )
}

fn refused() -> anyhow::Result<()> {
    let (daemon, registry) = (Daemon::start()?, Registry::start()?);
    let component = component(&daemon)?;
    let good = Layout::Wkg.manifest(&component);
    let digest = registry.push("policy", Some("1"), Layout::Wkg, &component)?;
    let at = |rest: &str| format!("oci://{}/{rest}", registry.address());
    let pinned = |manifest: &Manifest| at(&format!("policy@{}", manifest.digest()));
    let push = |manifest: &Manifest| registry.push_manifest("policy", None, manifest);

    fails(&daemon, &at("policy:1"), &[], "invalid-reference", "names no digest")?;
    fails(&daemon, "oci://policy:1", &[], "invalid-reference", "names no registry")?;
    fails(&daemon, &at("nobodys:1"), &["--unpinned"], "registry-refused", "does not have it")?;
    let zeros = "0".repeat(64);
    fails(&daemon, &at(&format!("policy@sha256:{zeros}")), &[], "registry-refused", "does not have it")?;
    // The component's digest in the manifest's place.
    let layer: Value = serde_json::from_slice(&good.bytes)?;
    let layer = text(&layer, "/layers/0/digest");
    fails(&daemon, &at(&format!("policy@{layer}")), &[], "registry-refused", "not the component's")?;
    let sha256 = ["--sha256", &zeros];
    fails(&daemon, &at(&format!("policy@{digest}")), &sha256, "policy-unloadable", "was expected")?;

    let index = good.index();
    push(&index)?;
    fails(&daemon, &pinned(&index), &[], "registry-mismatch", "it is an index")?;
    let two = Layout::Wkg.manifest_of(&component, &[&component, &component]);
    push(&two)?;
    fails(&daemon, &pinned(&two), &[], "registry-mismatch", "it has 2 layers")?;
    let image = registry.push("policy", None, Layout::Container, &component)?;
    fails(&daemon, &at(&format!("policy@{image}")), &[], "registry-mismatch", "not a component")?;
    let huge = good.claiming(65 << 20);
    push(&huge)?;
    fails(&daemon, &pinned(&huge), &[], "registry-mismatch", "the limit is 64 MiB")?;
    let short = good.claiming(100);
    push(&short)?;
    fails(&daemon, &pinned(&short), &[], "registry-mismatch", "sends more than 100 bytes")?;
    for (name, bytes, cause) in [
        ("module", &b"\0asm\x01\0\0\0"[..], "it is a core module"),
        ("text", b"this is not wasm", "it is not a WebAssembly file"),
        ("empty", b"", "it is empty"),
    ] {
        let digest = registry.push(name, None, Layout::Kwctl, bytes)?;
        fails(&daemon, &at(&format!("{name}@{digest}")), &[], "policy-unloadable", cause)?;
    }
    Ok(())
}

fn credentials() -> anyhow::Result<()> {
    let (daemon, registry) = (Daemon::start()?, Registry::start_private()?);
    let digest = registry.push("policy", None, Layout::Wkg, &component(&daemon)?)?;
    let pinned = format!("oci://{}/policy@{digest}", registry.address());
    fails(&daemon, &pinned, &[], "registry-refused", "denies access")?;
    fs::create_dir(daemon.path("docker"))?;
    let configure = |password: &str| {
        let auth = json!({ "username": USER.0, "password": password });
        let config = json!({ "auths": { registry.address(): auth } });
        fs::write(daemon.path("docker/config.json"), config.to_string())
    };
    configure("wrong")?;
    fails(&daemon, &pinned, &[], "registry-refused", "denies access")?;
    fs::write(daemon.path("docker/config.json"), "{")?;
    fails(&daemon, &pinned, &[], "registry-refused", "the credentials for")?;
    configure(USER.1)?;
    load(&daemon, &pinned, &[])?;
    Ok(())
}

fn whole(body: &[u8]) -> Answer {
    Answer::Whole(200, String::new(), body.to_vec())
}

fn lies() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let component = component(&daemon)?;
    let good = Layout::Wkg.manifest(&component);
    let with = |manifest: Answer, blob: Answer| {
        Liar::start(move |path| match path {
            path if path.contains("/manifests/") => manifest.clone(),
            path if path.contains("/blobs/") => blob.clone(),
            _ => whole(b"{}"),
        })
    };
    let (manifest, another) = (whole(&good.bytes), another(&component));
    let other = another.get(3..).context("too short")?;
    let endless = || Answer::Endless(200, String::new());
    let quick: &[&str] = &["--timeout", "2"];
    for (told, manifest, blob, more, code, cause) in [
        ("another manifest", whole(&good.index().bytes), whole(b""), &[][..], "registry-mismatch", "igest"),
        ("another blob", manifest.clone(), whole(other), &[], "registry-mismatch", "igest"),
        ("a longer blob", manifest.clone(), whole(&another), &[], "registry-mismatch", "sends more than"),
        ("no JSON", whole(b"<html>"), whole(b""), &[], "registry-mismatch", "igest"),
        ("an endless manifest", endless(), whole(b""), &[], "registry-mismatch", "sends more than"),
        ("an endless blob", manifest.clone(), endless(), &[], "registry-mismatch", "sends more than"),
        (
            "an endless error",
            Answer::Endless(500, String::new()),
            whole(b""),
            &[],
            "registry-mismatch",
            "sends more than",
        ),
        ("half a blob", manifest.clone(), Answer::Half(component.clone()), &[], "registry-unreachable", ""),
        ("half a manifest", Answer::Half(good.bytes.clone()), whole(b""), &[], "registry-unreachable", ""),
        ("silence", Answer::Silence, whole(b""), quick, "registry-unreachable", "sent nothing for 2 s"),
        (
            "a silent blob",
            manifest.clone(),
            Answer::Silence,
            quick,
            "registry-unreachable",
            "sent nothing for 2 s",
        ),
    ] {
        let liar = with(manifest, blob)?;
        let pinned = format!("oci://{}/policy@{}", liar.address(), good.digest());
        fails(&daemon, &pinned, more, code, cause).context(told)?;
    }
    // A token's server that never ends.
    let realm = Liar::start(|_| Answer::Endless(200, String::new()))?;
    let challenge =
        format!("WWW-Authenticate: Bearer realm=\"http://{}/token\",service=\"x\"\r\n", realm.address());
    let liar = Liar::start(move |_| Answer::Whole(401, challenge.clone(), Vec::new()))?;
    let pinned = |liar: &Liar| format!("oci://{}/policy@{}", liar.address(), good.digest());
    fails(&daemon, &pinned(&liar), &[], "registry-mismatch", "sends more than")?;
    // Nobody listens, and a registry that is not on this machine is asked over TLS.
    let gone = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let nobody = format!("oci://{gone}/policy@{}", good.digest());
    fails(&daemon, &nobody, &[], "registry-unreachable", "refused")
}

fn elsewhere() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let component = component(&daemon)?;
    let good = Layout::Wkg.manifest(&component);
    let store = {
        let component = component.clone();
        Liar::start(move |_| whole(&component))?
    };
    let away =
        format!("Location: http://localhost:{}/signed\r\n", store.address().rsplit(':').next().unwrap_or(""));
    let manifest = good.bytes.clone();
    let liar = Liar::start(move |path| match path {
        "/v2/" => Answer::Whole(401, "WWW-Authenticate: Basic realm=\"x\"\r\n".to_owned(), Vec::new()),
        path if path.contains("/blobs/") => Answer::Whole(307, away.clone(), Vec::new()),
        _ => whole(&manifest),
    })?;
    fs::create_dir(daemon.path("docker"))?;
    let auth = json!({ "username": USER.0, "password": USER.1 });
    let config = json!({ "auths": { liar.address(): auth } });
    fs::write(daemon.path("docker/config.json"), config.to_string())?;
    load(&daemon, &format!("oci://{}/policy@{}", liar.address(), good.digest()), &[])?;
    let authorized = |server: &Liar| {
        server.heads().iter().any(|head| head.to_ascii_lowercase().contains("authorization:"))
    };
    ensure!(authorized(&liar), "no credentials were sent at all: {:?}", liar.heads());
    ensure!(!store.heads().is_empty() && !authorized(&store), "{:?}", store.heads());
    Ok(())
}

/// A program beside the daemon that keeps a directory of policies up to date, as the chart's container does.
struct Puller(Child);

impl Drop for Puller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Puller {
    fn start(daemon: &Daemon) -> anyhow::Result<Self> {
        let log = File::create(daemon.path("puller.log"))?;
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(binaries::find("tenurectl")?)
            .args(["--timeout", "5", "policy", "pull"])
            .arg(daemon.path("references.json"))
            .arg("--directory")
            .arg(daemon.path("pulled"))
            .arg("--follow")
            .env("DOCKER_CONFIG", daemon.path("docker"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Self(child))
    }
}

/// A changed reference exchanges the policy, and neither the daemon nor the puller starts again; a registry that is down changes nothing.
fn followed() -> anyhow::Result<()> {
    const SOON: Duration = Duration::from_secs(60);
    let (mut daemon, registry) = (Daemon::prepare()?, Registry::start()?);
    daemon
        .configure(&format!("[policies.mine]\npath = \"{}\"\n", daemon.path("pulled/mine.wasm").display()))?;
    daemon.spawn()?;
    let mut network = network();
    if let Some(ipam) = network.pointer_mut("/ipam").and_then(Value::as_object_mut) {
        ipam.insert("policy".to_owned(), json!("mine"));
    }
    let add = |daemon: &Daemon, pod: &str| {
        let arguments = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod}");
        daemon.shim()?.env("CNI_ARGS", arguments).call("ADD", &Attachment::of(pod), &network)
    };
    add(&daemon, "early")?.error_code(POLICY_UNLOADABLE)?;
    let first = component(&daemon)?;
    let second = another(&first);
    let reference = |component: &[u8]| -> anyhow::Result<String> {
        let digest = registry.push("team/mine", None, Layout::Wkg, component)?;
        Ok(format!("oci://{}/team/mine@{digest}", registry.address()))
    };
    let name = |reference: &str| -> anyhow::Result<()> {
        let text = json!({ "mine": reference }).to_string();
        fs::write(daemon.path("references.new"), text)?;
        Ok(fs::rename(daemon.path("references.new"), daemon.path("references.json"))?)
    };
    let serves = |component: &[u8]| -> anyhow::Result<bool> {
        let now = text(&daemon.ctl(&["policy", "history", "net"])?, "/now/sha256");
        // The manifest names the component.
        Ok(Layout::Wkg.manifest(component).bytes.windows(64).any(|part| part == now.as_bytes()))
    };
    let (one, two) = (reference(&first)?, reference(&second)?);
    name(&one)?;
    let mut puller = Puller::start(&daemon)?;
    wait::until("the first pod to have its address", SOON, || Ok(add(&daemon, "web-0")?.address().ok()))?;
    add(&daemon, "web-canary")?.error_code(POLICY_REFUSED)?;
    ensure!(serves(&first)?, "another component serves");
    let pid = daemon.pid()?;
    name(&two)?;
    wait::holds("the other component to serve", SOON, || serves(&second))?;
    add(&daemon, "web-1")?.address()?;
    drop(registry);
    name(&one)?;
    wait::holds("the puller to say that the registry is down", SOON, || {
        Ok(fs::read_to_string(daemon.path("puller.log"))?.contains("FAILED"))
    })?;
    ensure!(serves(&second)?, "a registry that is down has changed the policy");
    add(&daemon, "web-2")?.address()?;
    ensure!(daemon.pid()? == pid && puller.0.try_wait()?.is_none(), "something has ended");
    Ok(())
}
