//! A daemon that is down, killed, stopped, hung or overloaded, and what pods and operators see of it.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::client::{Client, Failure};
use tenure_e2e::journal::Pod;
use tenure_e2e::{Attachment, Daemon, Need, Plugin, Suite, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;

fn main() -> ExitCode {
    Suite::new()
        .test("a_del_while_the_daemon_is_down_is_done_when_it_is_back", &[], del_while_down)
        .test("the_admin_socket_tells_its_health_and_its_services", &[], health_and_reflection)
        .test("every_pod_owns_its_address_after_a_crash", &[], every_pod_owns_its_address)
        .test("what_was_answered_under_load_survives_a_crash", &[], crash_under_load)
        .test("a_freed_address_goes_on_cooling_after_a_crash", &[], cooling_survives)
        .test("a_reboot_ends_every_pod", &[Need::Root, Need::UTIL_LINUX], reboot)
        .test("an_add_that_a_del_has_overtaken_is_refused", &[], del_overtakes)
        .test("an_add_that_a_del_overtook_before_a_restart_is_refused", &[], del_overtakes_then_restart)
        .test("an_add_that_was_killed_leaves_nothing", &[], killed_add)
        .test("a_hung_daemon_is_told_by_the_deadline", &[], hung_daemon)
        .test("a_stop_loses_nothing_and_is_clean", &[], stop_under_load)
        .test("a_second_daemon_on_the_same_state_is_refused", &[], second_daemon)
        .test("hundreds_of_networks_with_the_same_subnet", &[], hundreds_of_networks)
        .test("what_lies_outside_of_a_changed_configuration_is_reported", &[], changed_configuration)
        .test("an_unknown_key_is_refused_with_its_path", &[], unknown_key)
        .test("nobody_else_may_use_the_sockets", &[Need::Root], another_user)
        .run()
}

fn config(network: &str) -> Value {
    // Nothing waits for a daemon that is down; the suite of restarts shows that.
    config_with(network, json!({ "wait": 0, "ranges": [[{ "subnet": "10.71.0.0/16" }]] }))
}

fn config_with(network: &str, mut ipam: Value) -> Value {
    if let Some(ipam) = ipam.as_object_mut() {
        ipam.insert("type".to_owned(), json!("tenure"));
    }
    json!({ "cniVersion": "1.1.0", "name": network, "ipam": ipam })
}

/// The addresses of a network's containers, as reported by the daemon.
fn owners(daemon: &Daemon, network: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let entry = |allocation: &Value| {
        let container = allocation.get("container_id")?.as_str()?.to_owned();
        Some((container, allocation.pointer("/addresses/0")?.as_str()?.to_owned()))
    };
    let allocations = daemon.allocations(network)?;
    allocations.iter().map(|allocation| entry(allocation).with_context(|| allocation.to_string())).collect()
}

/// Adds containers one after another, and returns each one's address.
fn add_all(shim: &Plugin, network: &str, names: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let add = |name: &String| {
        let address = shim.call("ADD", &Attachment::of(name), &config(network))?.address()?;
        Ok((name.clone(), address))
    };
    names.iter().map(add).collect()
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

/// Adds containers from several threads until told to stop, and returns the answers.
fn add_until(
    shim: &Plugin,
    network: &str,
    enough: &AtomicBool,
    meanwhile: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<BTreeMap<String, String>> {
    thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|caller| {
                scope.spawn(move || {
                    let mut answered = BTreeMap::new();
                    for number in 0..10_000 {
                        if enough.load(Ordering::Relaxed) {
                            break;
                        }
                        let name = format!("c{caller}-{number}");
                        let outcome = shim.call("ADD", &Attachment::of(&name), &config(network))?;
                        if outcome.succeeded {
                            answered.insert(name, outcome.address()?);
                        } else {
                            outcome.error_code(TRY_AGAIN)?;
                        }
                    }
                    anyhow::Ok(answered)
                })
            })
            .collect();
        let result = meanwhile();
        enough.store(true, Ordering::Relaxed);
        let mut all = BTreeMap::new();
        for caller in callers {
            all.extend(caller.join().map_err(|_| anyhow!("a caller panicked"))??);
        }
        result.map(|()| all)
    })
}

fn del_while_down() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let network = config("net");
    let [gone, stays] = ["gone", "stays"].map(Attachment::of);
    for pod in [&gone, &stays] {
        shim.call("ADD", pod, &network)?.address()?;
    }
    daemon.kill()?;
    shim.call("DEL", &gone, &network)?.silent()?;
    shim.call("DEL", &gone, &network)?.silent()?;
    shim.call("DEL", &Attachment::of("unknown"), &network)?.silent()?;
    for verb in ["ADD", "CHECK", "GC"] {
        shim.call(verb, &Attachment::of("new"), &network)?.error_code(TRY_AGAIN)?;
    }
    shim.call("STATUS", &gone, &network)?.error_code(50)?;
    daemon.start_again()?;
    wait::holds("the DEL to be done", LIMIT, || Ok(owners(&daemon, "net")?.keys().eq(["stays"])))?;
    shim.call("CHECK", &stays, &network)?.silent()?;
    // A later container of the same name is a different one: the old DEL must not affect it.
    shim.call("ADD", &gone, &network)?.address()?;
    daemon.kill()?;
    daemon.start_again()?;
    shim.call("CHECK", &gone, &network)?.silent()
}

fn every_pod_owns_its_address() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let pods = add_all(&shim, "net", &names("pod", 20))?;
    shim.call("DEL", &Attachment::of("pod-7"), &config("net"))?.silent()?;
    let mut expected = pods.clone();
    expected.remove("pod-7");
    for _ in 0..2 {
        daemon.kill()?;
        daemon.start_again()?;
        let told = owners(&daemon, "net")?;
        ensure!(told == expected, "expected {expected:?}, got {told:?}");
        let again = add_all(&shim, "net", &expected.keys().cloned().collect::<Vec<_>>())?;
        ensure!(again == expected, "a repeated ADD returned a different answer: {again:?}");
    }
    let new = shim.call("ADD", &Attachment::of("new"), &config("net"))?.address()?;
    ensure!(!pods.values().any(|held| *held == new), "{new} has two owners");
    daemon.ctl(&["check"])?;
    // The network's `ipam` object may be gone by now.
    let bare = json!({ "cniVersion": "1.1.0", "name": "net" });
    for pod in expected.keys().map(String::as_str).chain(["new"]) {
        shim.call("DEL", &Attachment::of(pod), &bare)?.silent()?;
    }
    ensure!(owners(&daemon, "net")?.is_empty(), "left behind");
    Ok(())
}

fn crash_under_load() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    add_all(&shim, "net", &names("first", 1))?;
    let answered = add_until(&shim, "net", &AtomicBool::new(false), || {
        wait::holds("some pods", LIMIT, || Ok(owners(&daemon, "net")?.len() > 40))?;
        daemon.kill()
    })?;
    daemon.start_again()?;
    let held = owners(&daemon, "net")?;
    for (pod, address) in &answered {
        ensure!(held.get(pod) == Some(address), "{pod} was answered {address} but holds {:?}", held.get(pod));
    }
    let mut addresses: Vec<_> = held.values().collect();
    addresses.sort();
    addresses.dedup();
    ensure!(addresses.len() == held.len(), "an address has two owners: {held:?}");
    Ok(())
}

fn cooling_survives() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    // This policy would pick the same address again if it were free.
    let network =
        config_with("net", json!({ "policy": "highest-first", "ranges": [[{ "subnet": "10.72.0.0/24" }]] }));
    let add = |pod| shim.call("ADD", &Attachment::of(pod), &network)?.address();
    ensure!(add("one")? == "10.72.0.254/24", "expected the highest address");
    shim.call("DEL", &Attachment::of("one"), &network)?.silent()?;
    daemon.kill()?;
    daemon.start_again()?;
    let next = add("two")?;
    ensure!(next == "10.72.0.253/24", "expected the address below the one that is cooling down, got {next}");
    Ok(())
}

fn reboot() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let pods = add_all(&shim, "net", &names("pod", 3))?;
    daemon.kill()?;
    daemon.reboot()?;
    daemon.start_again()?;
    let left = owners(&daemon, "net")?;
    ensure!(left.is_empty(), "pods of another boot still own addresses: {left:?}");
    let new = shim.call("ADD", &Attachment::of("new"), &config("net"))?.address()?;
    ensure!(!pods.values().any(|cooling| *cooling == new), "{new} was reused immediately");
    Ok(())
}

fn del_overtakes() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let pod = Attachment::of("pod");
    let input = config("net").to_string();
    let mut late = shim.begin("ADD", &pod)?;
    late.rests()?;
    shim.call("DEL", &pod, &config("net"))?.silent()?;
    late.send(input.as_bytes())?;
    late.finish()?.error_code(TRY_AGAIN)?;
    ensure!(owners(&daemon, "net")?.is_empty(), "the late ADD kept an address");
    // A DEL does not affect an ADD that begins after it.
    shim.call("ADD", &pod, &config("net"))?.address()?;
    // Conversely, a DEL that began before the ADD must not free its address.
    shim.call("DEL", &pod, &config("net"))?.silent()?;
    let mut late = shim.begin("DEL", &pod)?;
    late.rests()?;
    shim.call("ADD", &pod, &config("net"))?.address()?;
    late.send(input.as_bytes())?;
    late.finish()?.silent()?;
    shim.call("CHECK", &pod, &config("net"))?.silent()
}

fn del_overtakes_then_restart() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let pod = Attachment::of("pod");
    let mut late = shim.begin("ADD", &pod)?;
    late.rests()?;
    shim.call("DEL", &pod, &config("net"))?.silent()?;
    daemon.kill()?;
    daemon.start_again()?;
    late.send(config("net").to_string().as_bytes())?;
    late.finish()?.error_code(TRY_AGAIN)?;
    ensure!(owners(&daemon, "net")?.is_empty(), "the late ADD kept an address");
    shim.call("ADD", &pod, &config("net"))?.address().map(drop)
}

fn killed_add() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    add_all(&shim, "net", &names("first", 1))?;
    let pod = Attachment::of("pod");
    daemon.signal(Signal::STOP)?;
    let killed = shim.start("ADD", &pod, config("net").to_string().as_bytes())?;
    // It has sent its request and is waiting for the answer.
    killed.rests()?;
    killed.kill();
    let del = shim.start("DEL", &pod, config("net").to_string().as_bytes())?;
    del.rests()?;
    daemon.signal(Signal::CONT)?;
    del.finish()?.silent()?;
    wait::holds("the killed ADD to be undone", LIMIT, || Ok(owners(&daemon, "net")?.keys().eq(["first-0"])))?;
    shim.call("ADD", &pod, &config("net"))?.address()?;
    Ok(())
}

fn hung_daemon() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let ranges = json!([[{ "subnet": "10.71.0.0/16" }]]);
    let impatient = config_with("net", json!({ "timeout": 1, "ranges": ranges }));
    daemon.signal(Signal::STOP)?;
    let error = shim.call("ADD", &Attachment::of("pod"), &impatient)?.error_code(TRY_AGAIN)?;
    ensure!(error.details.contains("deadline-exceeded"), "another cause: {error:?}");
    daemon.signal(Signal::CONT)?;
    // The caller is gone: the daemon undoes the part of the request that it still receives.
    shim.call("DEL", &Attachment::of("pod"), &impatient)?.silent()?;
    wait::holds("the late ADD to be undone", LIMIT, || Ok(owners(&daemon, "net")?.is_empty()))
}

fn stop_under_load() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    add_all(&shim, "net", &names("first", 1))?;
    let mut status = None;
    let answered = add_until(&shim, "net", &AtomicBool::new(false), || {
        wait::holds("some pods", LIMIT, || Ok(owners(&daemon, "net")?.len() > 20))?;
        status = Some(daemon.stop()?);
        Ok(())
    })?;
    ensure!(status.is_some_and(|status| status.success()), "ended with {status:?}");
    daemon.start_again()?;
    let held = owners(&daemon, "net")?;
    for (pod, address) in &answered {
        ensure!(held.get(pod) == Some(address), "{pod} was answered {address} but holds {:?}", held.get(pod));
    }
    // Every caller got an answer, so only answered allocations are held.
    ensure!(held.len() == answered.len() + 1, "{} answered, {} held", answered.len() + 1, held.len());
    Ok(())
}

fn second_daemon() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let mut second = daemon.command_in(&daemon.path("other"))?;
    let output = second.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    ensure!(!output.status.success(), "a second daemon served the same state");
    let holder = format!("in use by process {}", daemon.pid()?.as_raw_nonzero());
    ensure!(said.contains(&holder), "it does not name the process that uses the state: {said}");
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &config("net"))?.address()?;
    Ok(())
}

fn hundreds_of_networks() -> anyhow::Result<()> {
    const NETWORKS: usize = 300;
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    for network in names("net", NETWORKS) {
        let address = shim.call("ADD", &Attachment::of("pod"), &config(&network))?.address()?;
        ensure!(address == "10.71.0.2/16", "{network} is not a separate network: {address}");
    }
    daemon.kill()?;
    daemon.start_again()?;
    let networks = daemon.networks()?;
    ensure!(networks.len() == NETWORKS, "{} networks", networks.len());
    shim.call("DEL", &Attachment::of("pod"), &config("net-17"))?.silent()?;
    ensure!(owners(&daemon, "net-17")?.is_empty(), "left behind");
    ensure!(owners(&daemon, "net-18")?.len() == 1, "freed by another network's DEL");
    Ok(())
}

fn changed_configuration() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    add_all(&shim, "net", &names("old", 2))?;
    let changed = config_with("net", json!({ "ranges": [[{ "subnet": "10.73.0.0/24" }]] }));
    shim.call("ADD", &Attachment::of("new"), &changed)?.address()?;
    let networks = daemon.networks()?;
    let outside = networks.first().and_then(|network| network.get("outside")).and_then(Value::as_u64);
    ensure!(outside == Some(2), "expected two allocations outside: {networks:?}");
    let outside: Vec<_> = daemon
        .allocations("net")?
        .iter()
        .filter(|allocation| allocation.get("outside") == Some(&Value::Bool(true)))
        .filter_map(|allocation| allocation.get("container_id")?.as_str().map(str::to_owned))
        .collect();
    ensure!(outside == ["old-0", "old-1"], "reported: {outside:?}");
    Ok(())
}

fn unknown_key() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    for (text, key) in [
        ("[limits]\nqueu = 1\n", "limits.queu"),
        ("[policies.mine]\nsha256 = \"00\"\n", "policies.mine"),
        ("nonsense = 1\n", "nonsense"),
        ("[limits]\nqueue = \"many\"\n", "limits.queue"),
    ] {
        daemon.configure(text)?;
        let output = daemon.command()?.stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.status.success(), "served with {text:?}");
        ensure!(said.contains(key), "{key} is not named: {said}");
    }
    Ok(())
}

/// An unprivileged user.
const NOBODY: u32 = 65534;

/// Another user is kept out by the file modes and, if those were changed, by the peer credentials.
fn another_user() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let run = daemon.run_directory();
    // Other users cannot enter the test's own directory, so open it first.
    open_to_all(run.parent().context("no directory")?)?;
    ensure!(add_as(0, &daemon)?.is_ok(), "root was refused");
    for socket in ["cni.sock", "admin.sock"] {
        let error = connect_as(NOBODY, &run.join(socket))?;
        ensure!(error == Err(ErrorKind::PermissionDenied), "{socket} is open to another user: {error:?}");
    }
    for path in [run.clone(), run.join("cni.sock"), run.join("admin.sock")] {
        open_to_all(&path)?;
    }
    for socket in ["cni.sock", "admin.sock"] {
        let connected = connect_as(NOBODY, &run.join(socket))?;
        ensure!(connected.is_ok(), "{socket}: the modes still keep the user out: {connected:?}");
    }
    let refused = add_as(NOBODY, &daemon)?;
    ensure!(matches!(refused, Err(Failure::Unanswered(_))), "another user was served: {refused:?}");
    ensure!(owners(&daemon, "net")?.keys().eq(["pod-of-0"]), "another user was given an address");
    Ok(())
}

fn open_to_all(path: &Path) -> anyhow::Result<()> {
    Ok(std::fs::set_permissions(path, Permissions::from_mode(0o777))?)
}

/// Runs work on a thread with another user's ID.
fn as_user<T: Send>(user: u32, work: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let run = || {
        let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        anyhow::Ok(work())
    };
    thread::scope(|scope| scope.spawn(run).join()).map_err(|_| anyhow!("the other user panicked"))?
}

fn connect_as(user: u32, socket: &Path) -> anyhow::Result<Result<(), ErrorKind>> {
    as_user(user, || UnixStream::connect(socket).map(drop).map_err(|error| error.kind()))
}

/// An ADD by another user; the connection is made and used on the same thread.
fn add_as(user: u32, daemon: &Daemon) -> anyhow::Result<Result<String, Failure>> {
    let pod = Pod { network: "net".to_owned(), container: format!("pod-of-{user}") };
    let run = daemon.run_directory();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    as_user(user, || {
        runtime.block_on(async {
            let client =
                Client::connect(&run).await.map_err(|error| Failure::Unanswered(error.to_string()))?;
            client.add(&pod, &config("net")).await
        })
    })
}

fn health_and_reflection() -> anyhow::Result<()> {
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    let daemon = Daemon::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let socket = daemon.run_directory().join("admin.sock");
    wait::holds("an idle daemon to be healthy", LIMIT, || {
        runtime.block_on(async {
            let channel = tenure_rpc::client::connect(&socket).await?;
            let health = HealthClient::new(channel).check(HealthCheckRequest::default()).await?;
            Ok(health.into_inner().status() == ServingStatus::Serving)
        })
    })?;
    runtime.block_on(async {
        let channel = tenure_rpc::client::connect(&socket).await?;

        let question = ServerReflectionRequest {
            message_request: Some(MessageRequest::ListServices(String::new())),
            ..ServerReflectionRequest::default()
        };
        let questions = futures_util::stream::iter([question]);
        let mut answers =
            ServerReflectionClient::new(channel).server_reflection_info(questions).await?.into_inner();
        let answer = answers.message().await?.and_then(|answer| answer.message_response);
        let Some(MessageResponse::ListServicesResponse(list)) = answer else { bail!("no list: {answer:?}") };
        let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
        for expected in ["tenure.v1.Admin", "tenure.v1.Cni", "grpc.health.v1.Health"] {
            ensure!(names.contains(&expected), "{expected} is not among {names:?}");
        }
        Ok(())
    })
}
