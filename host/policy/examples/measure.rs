//! Measures calls of host-local, and what the ledger does for an address, and prints JSON:
//! `cargo run --release -p tenure-policy --example measure -- CALLS`.
//!
//! With `--only-call` after CALLS, it makes these calls and nothing else, for a profiler that counts instructions.

#![expect(clippy::disallowed_types, reason = "measuring is what this program is for")]

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use tenure_engine::ports::Policy;
use tenure_ledger::{Book, Defined, Direction, LedgerFact, Shelf};
use tenure_policy::decisions::DecisionWriter;
use tenure_policy::{AskedPolicy, CallLimits, Compiler, PolicyRuntime, WasmPolicy, embedded};
use tenure_types::{
    ContainerId, Cooling, DefinedPool, Definer, Definition, InterfaceName, Moment, Need, NetworkConfig,
    NetworkName, Owner, PolicyName, PolicyStamp, Pool, Proposal, Range, RangeError, Request, RequestContext,
    Sandbox,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls = std::env::args().nth(1).map_or(Ok(20_000), |count| count.parse())?;
    let only_call = std::env::args().nth(2).is_some_and(|argument| argument == "--only-call");
    // Such a profiler lacks the address space for many concurrent calls, and makes each take many times as long.
    let limits = match only_call {
        true => CallLimits { concurrency: 1, deadline: Duration::from_secs(60), ..CallLimits::default() },
        false => CallLimits::default(),
    };
    let runtime = Arc::new(PolicyRuntime::new(limits, Compiler::InProcess)?);
    let policy = runtime.load(&PolicyName::new("host-local")?, embedded::HOST_LOCAL, None)?;

    let name = NetworkName::new("net")?;
    let config =
        Arc::new(NetworkConfig { ipam: r#"{"subnet": "10.0.0.0/8"}"#.into(), attributes: Vec::new() });
    let definition = policy.define(&name, &config)?;
    let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
    let book = Book::defined(&name, defined, Moment::default())?;
    let (book, request) = (Arc::new(book), request(name.clone())?);
    if only_call {
        return Ok((0..calls).try_for_each(|_| policy.propose(&request, &[], &book).map(drop))?);
    }
    let propose = report(calls, || policy.propose(&request, &[], &book).map(drop))?;
    let define = report(calls, || policy.define(&name, &config).map(drop))?;
    let rate = in_parallel(calls, &policy, &request, &book);
    // The way the daemon calls it. This policy is soon known to be quick, so its proposals run on this thread; a
    // definition always runs on a thread of the sandbox while this one sleeps.
    let policy = AskedPolicy::new(policy);
    let asked = report(calls, || {
        wait(Policy::propose(&policy, &request, Arc::clone(&book), Arc::default())).map(drop)
    })?;
    let recorded =
        |calls, most, held| RecordedCalls { calls, most, held }.report(&runtime, &policy, &request, &book);
    let (changes, whole) = (recorded(calls.min(2_000), 1_000, 100)?, recorded(calls.min(20), 1, 60_000)?);
    let woken = woken(calls)?;
    let asked_definition = report(calls, || wait(Policy::define(&policy, &name, &config)).map(drop))?;
    let one = ledger(calls, 1, 1)?;
    let (pools, ranges) = (ledger(calls, 100, 1)?, ledger(calls, 1, 1000)?);
    println!(
        r#"{{"ledger": {one}, "ledger_100_pools": {pools}, "ledger_1000_ranges": {ranges}, "propose": {propose}, "asked": {asked}, "recorded": {changes}, "recorded_whole": {whole}, "define": {define}, "asked_definition": {asked_definition}, "woken": {woken}, "proposals_per_second": {rate:.0}}}"#
    );
    Ok(())
}

/// The daemon's calls while they are recorded, on a network in which a pod comes and a pod goes before each call.
struct RecordedCalls {
    calls: usize,
    /// The most decisions to keep; with 1, each has a whole view of the network.
    most: u32,
    /// The number of addresses that are held.
    held: usize,
}

impl RecordedCalls {
    /// Times the calls, and weighs the lines of the last file.
    fn report(
        &self,
        runtime: &PolicyRuntime,
        policy: &AskedPolicy,
        request: &Request,
        book: &Arc<Book>,
    ) -> Result<String, Box<dyn std::error::Error>> {
        let mut book = Arc::clone(book);
        let mut owners = VecDeque::new();
        let pod = |number: usize| -> Result<Request, Box<dyn std::error::Error>> {
            let container = ContainerId::new(format!("pod{number}"))?;
            let owner = Owner::Attachment { container, interface: InterfaceName::new("eth0")? };
            Ok(Request { owner, ..request.clone() })
        };
        for number in 0..self.held {
            allocate(Arc::make_mut(&mut book), &pod(number)?)?;
            owners.push_back(number);
        }
        let (directory, recorder) = (tempfile::tempdir()?, runtime.recorder());
        let writer =
            DecisionWriter::new(Arc::clone(recorder), directory.path(), CallLimits::default().recorded());
        recorder.set(HashMap::from([(request.network.clone(), self.most)]));
        let before = recorder.counts();
        let times = std::thread::scope(|scope| {
            scope.spawn(|| writer.run());
            let times = (0..self.calls).map(|call| {
                let book_now = Arc::make_mut(&mut book);
                allocate(book_now, &pod(self.held + call)?)?;
                owners.push_back(self.held + call);
                if let Some(gone) = owners.pop_front() {
                    let released = book_now.release(&pod(gone)?.owner, Moment::default(), "del");
                    book_now.apply(book_now.through() + 1, &released.ok_or("nothing to release")?)?;
                    book_now.expire(Moment::default(), Duration::ZERO);
                }
                let start = Instant::now();
                wait(Policy::propose(policy, request, Arc::clone(&book), Arc::default()))?;
                Ok(start.elapsed())
            });
            let times = times.collect::<Result<Vec<_>, Box<dyn std::error::Error>>>();
            recorder.close();
            times
        })?;
        recorder.set(HashMap::new());
        let after = recorder.counts();
        let text = std::fs::read_to_string(directory.path().join("decisions/net/now.jsonl"))?;
        // The first line is the header.
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let bytes = lines.iter().map(|line| line.len() + 1).sum::<usize>() / lines.len().max(1);
        let (written, dropped) = (after.0 - before.0, after.1 - before.1);
        let report = percentiles(times);
        Ok(format!(
            r#"{}, "bytes": {bytes}, "written": {written}, "dropped": {dropped}}}"#,
            report.trim_end_matches('}')
        ))
    }
}

/// Allocates the next address in turn.
fn allocate(book: &mut Book, request: &Request) -> Result<(), Box<dyn std::error::Error>> {
    let free = book.free(Shelf::whole(0), book.last(Shelf::whole(0)), Direction::Ascending, 1);
    let proposal = Proposal::of(free.into_iter().map(|address| (0, address)));
    let stamp = Arc::new(PolicyStamp { name: PolicyName::new("measured")?, digest: "00".into() });
    let allocation = book.admit(request, &proposal, &stamp, Moment::default())?;
    Ok(book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation)))?)
}

/// Allocates and releases an address of the first of `pools` pools, which has `ranges` ranges.
fn ledger(calls: usize, pools: u8, ranges: u16) -> Result<String, Box<dyn std::error::Error>> {
    let range = |pool: u8, number: u16| -> Result<Range, RangeError> {
        let [high, low] = (number * 8).to_be_bytes();
        let at = |offset| IpAddr::from([pool, high, low, offset]);
        let subnet = IpNet::new_assert(IpAddr::from([pool, 0, 0, 0]), 8);
        Range::new(subnet, at(1), at(6), None, 8)
    };
    let defined = |pool: u8| -> Result<DefinedPool, Box<dyn std::error::Error>> {
        let need = if pool == 0 { Need::Always } else { Need::Optional };
        let ranges = (0..if pool == 0 { ranges } else { 1 }).map(|number| range(pool + 10, number));
        let pool = Pool { need, ..Pool::numbered(pool.into()) };
        Ok(DefinedPool { pool, ranges: ranges.collect::<Result<_, _>>()? })
    };
    let pools = (0..pools).map(defined).collect::<Result<_, _>>()?;
    let definition = Definition { pools, cooling: Cooling::Preferred, ..Definition::default() };
    let (name, config) = (NetworkName::new("net")?, Arc::default());
    let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
    let mut book = Book::defined(&name, defined, Moment::default())?;
    let stamp = Arc::new(PolicyStamp { name: PolicyName::new("measured")?, digest: "00".into() });
    let request = request(name)?;
    report(calls, || {
        let now = Moment::default();
        let free = book.free(Shelf::whole(0), book.last(Shelf::whole(0)), Direction::Ascending, 1);
        let proposal = Proposal::of(free.into_iter().map(|address| (0, address)));
        let allocation = book.admit(&request, &proposal, &stamp, now)?;
        book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation)))?;
        let released = book.release(&request.owner, now, "del").ok_or("nothing to release")?;
        book.apply(book.through() + 1, &released)?;
        book.expire(now, Duration::ZERO);
        Ok::<_, Box<dyn std::error::Error>>(())
    })
}

/// Measures a call on another thread: that thread is woken, does nothing, and wakes this one.
fn woken(calls: usize) -> Result<String, Box<dyn std::error::Error>> {
    let ((call, calls_made), (answer, answers)) = (mpsc::channel(), mpsc::channel());
    std::thread::scope(|scope| {
        scope.spawn(move || calls_made.iter().all(|()| answer.send(()).is_ok()));
        let report = report(calls, || {
            call.send(())?;
            Ok(answers.recv()?)
        });
        drop(call);
        report
    })
}

/// Waits for a future on the calling thread.
fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn request(network: NetworkName) -> Result<Request, Box<dyn std::error::Error>> {
    Ok(Request {
        network,
        owner: Owner::Attachment {
            container: ContainerId::new("c1")?,
            interface: InterfaceName::new("eth0")?,
        },
        requested: Vec::new(),
        sandbox: Sandbox::default(),
        supply_full: false,
        context: RequestContext::default(),
        requested_at: Moment::default(),
    })
}

/// The 50th and 99th percentile of a number of calls, as JSON.
fn report<E>(calls: usize, mut call: impl FnMut() -> Result<(), E>) -> Result<String, E> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed());
    }
    Ok(percentiles(times))
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| {
        let time = times.get((times.len().saturating_sub(1)) * share / 100).copied();
        time.unwrap_or_default().as_secs_f64() * 1e6
    };
    format!(r#"{{"p50_us": {:.2}, "p99_us": {:.2}}}"#, at(50), at(99))
}

/// The proposals per second of all processors together.
fn in_parallel(calls: usize, policy: &WasmPolicy, request: &Request, book: &Arc<Book>) -> f64 {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..calls).filter(|_| policy.propose(request, &[], book).is_ok()).count());
        }
    });
    let made = u32::try_from(calls * threads).unwrap_or(u32::MAX);
    f64::from(made) / start.elapsed().as_secs_f64()
}
