//! Measures a call of host-local: `cargo run --release -p tenure-policy --example measure`.

#![expect(clippy::disallowed_types, reason = "measuring is what this program is for")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_engine::ports::Policy;
use tenure_ledger::Book;
use tenure_policy::{Compiler, Limits, Runtime, WasmPolicy, embedded};
use tenure_types::{
    ContainerId, InterfaceName, Moment, Network, NetworkConfig, NetworkName, Owner, PolicyName, Request,
};

const CALLS: usize = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Arc::new(Runtime::new(Limits::default(), Compiler::InProcess)?);
    let start = Instant::now();
    let policy = runtime.load(&PolicyName::new("host-local")?, embedded::HOST_LOCAL, None)?;
    println!("compile {:?}, {} bytes", start.elapsed(), embedded::HOST_LOCAL.len());

    let name = NetworkName::new("net")?;
    let config = NetworkConfig { ipam: r#"{"subnet": "10.0.0.0/8"}"#.into(), attributes: Vec::new() };
    let definition = policy.define(&name, &config)?;
    let stamp = policy.stamp().clone();
    let book = Book::new(Network {
        name: name.clone(),
        policy: stamp,
        activated: false,
        config: config.clone(),
        definition,
    });
    let (book, request) = (Arc::new(book), request(name.clone())?);
    report("propose", || policy.propose(&request, &book).map(drop))?;
    report("define", || policy.define(&name, &config).map(drop))?;
    in_parallel(&policy, &request, &book);
    Ok(())
}

fn request(network: NetworkName) -> Result<Request, Box<dyn std::error::Error>> {
    Ok(Request {
        network,
        owner: Owner::Attachment {
            container: ContainerId::new("c1")?,
            interface: InterfaceName::new("eth0")?,
        },
        requested: Vec::new(),
        pod: None,
        netns: String::new(),
        requested_at: Moment::default(),
    })
}

fn report<E>(what: &str, mut call: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let at = |part: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let index = (times.len() as f64 * part) as usize;
        times.get(index).copied().unwrap_or(Duration::ZERO)
    };
    println!("{what}: p50 {:?}, p99 {:?}, p99.9 {:?}", at(0.5), at(0.99), at(0.999));
    Ok(())
}

fn in_parallel(policy: &WasmPolicy, request: &Request, book: &Arc<Book>) {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..CALLS).filter(|_| policy.propose(request, book).is_ok()).count());
        }
    });
    let calls = u32::try_from(CALLS * threads).unwrap_or(u32::MAX);
    println!("{threads} threads: {:.0} calls/s", f64::from(calls) / start.elapsed().as_secs_f64());
}
