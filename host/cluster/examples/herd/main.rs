//! A herd of simulated agents against a real API server and the built operator, and what it costs them.
//!
//! `herd AGENTS ADDS` joins so many nodes, lets each ask for one block more and then for a third, and prints one line of JSON. Each agent does what that of a node does
//! on the network, in its order: apply NodeIPAM, watch it by name, GET a hinted block and then its space, apply what it holds. It has no pods: these
//! cost the API server nothing, which is what `writes_at_rest` counts. Then another operator takes over. With `ADDS`, so many pods are added on the node of
//! a cluster, and as many on one without; and as many live on a node whose calls of the API server are counted.
//!
//! Nodes join 64 at a time, and ask for more within a time that grows with their number, by the demand of their pods: all of them in one instant would
//! measure how one machine shares its processors between thousands of agents and the API server, and cost the operator its Lease.

mod add;
mod agent;
mod life;
mod operator;
mod served;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tenure_cluster::client::{call, connect};
use tenure_cluster::definitions::definitions;
use tenure_cluster::{AddressPool, IPBlock};
use tenure_fixtures::control_plane::proxy::FaultProxy;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane};
use tenure_leases::PoolKey;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use agent::{Counts, SimulatedAgent, register};
use operator::{MeasuredOperator, peak, resident};

/// Any error, also across tasks.
type Failure = Box<dyn Error + Send + Sync>;

/// The longest that the herd may take for one act.
const LIMIT: Duration = Duration::from_secs(900);

/// Joins under way at once: a cluster does not start within one second.
const AT_ONCE: usize = 64;

/// The time between two reports of the progress.
const TICK: Duration = Duration::from_secs(10);

/// The time between two nodes that ask for more, on average.
const ASKS_EVERY: Duration = Duration::from_millis(25);

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let (Some(agents), Some(adds)) = (arguments.next().transpose()?, arguments.next().transpose()?) else {
        return Err("herd AGENTS ADDS".into());
    };
    // Another part of the program may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // The main thread starts the programs, which end with it.
    let mut plane = ControlPlane::start()?;
    let kubeconfig = plane.kubeconfig(ADMIN_TOKEN)?;
    let client = loop {
        match runtime.block_on(install(&kubeconfig)) {
            Ok(client) => break client,
            Err(_) => plane.check()?,
        }
        pause(&runtime, Duration::from_millis(100));
    };
    let proxy = plane.proxy()?;
    let measured = with_operator(&runtime, (&kubeconfig, &proxy), &client, agents, adds);
    println!("{}", measured?);
    Ok(())
}

fn pause(runtime: &Runtime, time: Duration) {
    runtime.block_on(async { tokio::time::sleep(time).await });
}

/// Measures with an operator, and then with its successor. Both end with it.
fn with_operator(
    runtime: &Runtime,
    (kubeconfig, proxy): (&Path, &FaultProxy),
    client: &Client,
    agents: usize,
    adds: usize,
) -> Result<Value, Failure> {
    let mut operator = MeasuredOperator::start(kubeconfig, "first")?;
    let measured = runtime.block_on(measure(client.clone(), agents, &mut operator));
    let mut all = vec![measured.map_err(|error| operator.explain(&error))?];
    if adds > 0 {
        all.push(add::measure(runtime, client, kubeconfig, adds)?);
        all.push(life::measure(runtime, client, proxy, adds)?);
    }
    operator.stop()?;
    let began = Instant::now();
    let successor = MeasuredOperator::start(kubeconfig, "successor")?;
    let granted = runtime.block_on(first_grant(client, agents, began));
    let (granted, held) = granted.map_err(|error| successor.explain(&error))?;
    all.push(json!({
        "restart_to_grant_seconds": granted.as_secs_f64(), "hold_to_grant_seconds": held,
        "successor_megabytes": resident(successor.id())?, "successor_peak_megabytes": peak(successor.id())?,
    }));
    let all =
        all.into_iter().filter_map(|part| if let Value::Object(part) = part { Some(part) } else { None });
    Ok(Value::Object(all.flatten().collect()))
}

/// The time from the start of an operator to its first grant to a node that joins meanwhile, with everybody's blocks to list, and the seconds since it took
/// the Lease.
async fn first_grant(client: &Client, number: usize, began: Instant) -> Result<(Duration, f64), Failure> {
    let pool: AddressPool = call(Api::all(client.clone()).get("herd")).await?;
    let pool = PoolKey { name: "herd".into(), uid: pool.uid().ok_or("no uid")?.parse()? };
    let me = register(client, number).await?;
    let (leased, mut leases) = mpsc::unbounded_channel();
    let (_wish, wishes) = watch::channel(1_u32);
    let permit = Arc::new(Semaphore::new(1)).acquire_owned().await?;
    let mut agent = SimulatedAgent {
        client: client.clone(),
        counts: Arc::default(),
        pool,
        me,
        held: vec![],
        want: 0,
        heard: None,
        asks_after: Duration::ZERO,
    };
    let deadline = tokio::time::sleep(LIMIT);
    tokio::select! {
        ended = agent.live(wishes, &leased, permit) => ended?,
        _ = leases.recv() => {}
        () = deadline => return Err("a successor granted nothing".into()),
    }
    let (granted, now) = (began.elapsed(), Timestamp::now());
    let lease: Lease = call(Api::namespaced(client.clone(), "tenure-system").get("tenure-operator")).await?;
    let taken = lease.spec.and_then(|spec| spec.acquire_time).ok_or("nobody has the Lease")?.0;
    Ok((granted, now.duration_since(taken).as_secs_f64()))
}

/// Waits for a part of the start: the server, the definitions, the operator's namespace.
async fn install(kubeconfig: &Path) -> Result<Client, Failure> {
    let client = connect(Some(kubeconfig)).await?;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions() {
        let parameters = PatchParams::apply("herd").force();
        let applied =
            call(api.patch(&definition.name_any(), &parameters, &Patch::Apply(&definition))).await?;
        let conditions = applied.status.and_then(|status| status.conditions).unwrap_or_default();
        if !conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
        {
            return Err("a definition is not served yet".into());
        }
    }
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "tenure-system" } });
    let api: Api<Namespace> = Api::all(client.clone());
    call(api.patch("tenure-system", &PatchParams::apply("herd"), &Patch::Apply(&namespace))).await?;
    Ok(client)
}

async fn measure(client: Client, agents: usize, operator: &mut MeasuredOperator) -> Result<Value, Failure> {
    // 65,536 blocks of four addresses.
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/14"], "blockPrefix": 30 } });
    let pool = AddressPool::new("herd", serde_json::from_value(spec)?);
    let pool = call(Api::all(client.clone()).create(&PostParams::default(), &pool)).await?;
    let pool = PoolKey { name: "herd".into(), uid: pool.uid().ok_or("no uid")?.parse()? };
    let counts = Arc::new(Counts::default());
    let (leased, mut leases) = mpsc::unbounded_channel();
    let (wish, wishes) = watch::channel(1_u32);
    let gate = Arc::new(Semaphore::new(AT_ONCE));
    let (began, mut herd) = (Instant::now(), JoinSet::new());
    for number in 0..agents {
        let (client, counts, pool) = (client.clone(), Arc::clone(&counts), pool.clone());
        let (leased, wishes, gate) = (leased.clone(), wishes.clone(), Arc::clone(&gate));
        herd.spawn(async move {
            let permit = gate.acquire_owned().await?;
            let me = register(&client, number).await?;
            // In another order than that in which the operator looks at them.
            let asks_after = ASKS_EVERY * u32::try_from(number * 7919 % agents)?;
            let (held, want, heard) = (vec![], 0, None);
            let mut agent = SimulatedAgent { client, counts, pool, me, held, want, heard, asks_after };
            agent.live(wishes, &leased, permit).await
        });
    }
    let joined = gather(&mut leases, &mut herd, agents, operator).await?;
    let joining = began.elapsed();
    let (writes, events) = counted(&counts);
    // At rest, nobody writes.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (rest, written) = (counted(&counts), served::written(&client).await?);
    wish.send(2)?;
    let grown = gather(&mut leases, &mut herd, agents, operator).await?;
    // The operator takes note of what each node has said last.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (after, node_writes) = (counted(&counts), served::written(&client).await? - written);
    // As many blocks as a cluster of that many nodes has.
    wish.send(3)?;
    gather(&mut leases, &mut herd, agents, operator).await?;
    let server = process("kube-apiserver", operator.id())?;
    let all = agents as f64;
    Ok(json!({
        "agents": agents,
        "join_seconds": joining.as_secs_f64(),
        "first_lease_seconds": joined.first().map(Duration::as_secs_f64),
        "join_lease_p50_ms": millis(&joined, 50), "join_lease_p99_ms": millis(&joined, 99),
        "grow_lease_p50_ms": millis(&grown, 50), "grow_lease_p99_ms": millis(&grown, 99),
        "agent_writes_per_join": writes as f64 / all, "events_per_join": events as f64 / all,
        "writes_at_rest": rest.0 - writes,
        "agent_writes_per_growth": (after.0 - rest.0) as f64 / all,
        "events_per_growth": (after.1 - rest.1) as f64 / all,
        "node_writes_per_growth": node_writes / all,
        "events_per_write": (after.1 - rest.1) as f64 / node_writes,
        "blocks": call(Api::<IPBlock>::all(client.clone()).list_metadata(&Default::default())).await?.items.len(),
        "operator_megabytes": resident(operator.id())?, "operator_peak_megabytes": peak(operator.id())?,
        "server_megabytes": server.map(resident).transpose()?,
    }))
}

fn counted(counts: &Counts) -> (u64, u64) {
    (counts.writes.load(Ordering::Relaxed), counts.events.load(Ordering::Relaxed))
}

/// Gathers one lease of each agent; returns their times, sorted.
async fn gather(
    leases: &mut mpsc::UnboundedReceiver<Duration>,
    herd: &mut JoinSet<Result<(), Failure>>,
    count: usize,
    operator: &mut MeasuredOperator,
) -> Result<Vec<Duration>, Failure> {
    let (mut times, mut ticks) = (Vec::new(), tokio::time::interval(TICK));
    let deadline = tokio::time::sleep(LIMIT);
    tokio::pin!(deadline);
    while times.len() < count {
        tokio::select! {
            lease = leases.recv() => times.push(lease.ok_or("the herd is gone")?),
            _ = ticks.tick() => {
                operator.check()?;
                eprintln!("{} of {count} leases", times.len());
            }
            Some(ended) = herd.join_next() => return Err(format!("an agent ended: {ended:?}").into()),
            () = &mut deadline => return Err(format!("{} of {count} leases came in time", times.len()).into()),
        }
    }
    times.sort();
    Ok(times)
}

fn millis(times: &[Duration], percent: usize) -> Option<f64> {
    let place = (times.len() * percent).div_ceil(100).max(1) - 1;
    times.get(place).map(|time| time.as_secs_f64() * 1000.0)
}

/// The child of this program with a name, besides one.
fn process(name: &str, besides: u32) -> Result<Option<u32>, Failure> {
    for entry in fs::read_dir("/proc/self/task")? {
        let children = fs::read_to_string(entry?.path().join("children"))?;
        for child in children.split_whitespace().map(str::parse::<u32>) {
            let child = child?;
            let command = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            if child != besides && command.trim() == name {
                return Ok(Some(child));
            }
        }
    }
    Ok(None)
}
