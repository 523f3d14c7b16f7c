//! A policy as the engine calls it: on the calling thread once it is known to be quick, elsewhere once it is too
//! slow.

use std::io;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_engine::ports::Policy;
use tenure_ledger::{Book, Defined};
use tenure_policy::{AskedPolicy, CallLimits, Compiler, PolicyRuntime};
use tenure_types::{
    ContainerId, Definer, ErrorCode, InterfaceName, Moment, NetworkConfig, NetworkName, Outcome, Owner,
    PolicyName, Range, Request, RequestContext, Result, Sandbox,
};
use tracing_subscriber::fmt::MakeWriter;

use crate::node;

/// More calls than it takes to be trusted again, however busy the machine.
const MANY: usize = 100_000;

/// The log output, with the name of the thread in each line.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Logged {
    /// The threads that have logged the policy's line since the last call.
    fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines().filter(|line| line.contains("let me think"));
        lines.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
    }
}

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logged {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A policy and its network. The policy hesitates if the request asks for an address.
struct Hesitating {
    policy: AskedPolicy,
    book: Arc<Book>,
}

impl Hesitating {
    fn new(limits: CallLimits) -> Self {
        Self::of(limits, "hesitate", 1)
    }

    /// One whose network has so many ranges.
    fn of(limits: CallLimits, misbehaviour: &str, ranges: u32) -> Self {
        let runtime = PolicyRuntime::new(limits, Compiler::InProcess).unwrap();
        let bytes = node::build("tenure-hostile");
        let policy = runtime.load(&PolicyName::new("hostile").unwrap(), &bytes, None).unwrap();
        let name = NetworkName::new("net").unwrap();
        let ipam = format!(r#"{{"subnet": "10.1.2.0/24", "misbehave": "{misbehaviour}"}}"#);
        let config = Arc::new(NetworkConfig { ipam, attributes: Vec::new() });
        let mut definition = policy.define(&name, &config).unwrap();
        definition.pools.first_mut().unwrap().ranges.extend((1..ranges).map(range));
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let book = Book::defined(&name, defined, Moment::default()).unwrap();
        Self { policy: AskedPolicy::new(policy), book: Arc::new(book) }
    }

    /// Asks for a proposal. Returns whether the answer was ready at once, too.
    fn ask(&self, hesitates: bool) -> (Result<Outcome>, bool) {
        let request = Request {
            network: NetworkName::new("net").unwrap(),
            owner: Owner::Attachment {
                container: ContainerId::new("c").unwrap(),
                interface: InterfaceName::new("eth0").unwrap(),
            },
            requested: hesitates.then(|| "10.1.2.2".parse().unwrap()).into_iter().collect(),
            sandbox: Sandbox::default(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: Moment::default(),
        };
        let mut answer = pin!(self.policy.propose(&request, Arc::clone(&self.book), Arc::default()));
        let outcome = match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => (outcome, true),
            Poll::Pending => (node::wait(answer), false),
        };
        assert_eq!(Arc::strong_count(&self.book), 1, "the book was released before the answer");
        outcome
    }

    /// Asks until the log shows a call on this thread; returns how many calls came before it. Not every call is
    /// logged, since lines are limited per second.
    fn until_here(&self, logged: &Logged) -> usize {
        let here = std::thread::current().name().unwrap().to_owned();
        let is_here = |_| {
            let (answer, at_once) = self.ask(false);
            answer.unwrap();
            match logged.take().as_slice() {
                [thread] if *thread == here => at_once,
                lines => {
                    assert!(lines.is_empty() || lines == ["policy"], "{lines:?}");
                    false
                }
            }
        };
        (0..MANY).position(is_here).unwrap()
    }
}

/// A range beside the configured one.
fn range(number: u32) -> Range {
    let first = Ipv4Addr::from(0x0a02_0000 + number);
    Range::new("10.2.0.0/15".parse().unwrap(), first.into(), first.into(), None, 32).unwrap()
}

/// A policy's lines are limited per second, and the calls before may have used them up.
#[expect(clippy::disallowed_methods, reason = "what is allowed again after some time tells nobody")]
fn until_lines_are_logged_again() {
    std::thread::sleep(Duration::from_millis(1100));
}

#[test]
fn a_call_that_takes_too_long_here_is_made_again_and_its_lines_are_logged_once() {
    let logged = Logged::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(logged.clone())
        .without_time()
        .with_thread_names(true)
        .with_ansi(false)
        .finish();
    // Lines of other threads matter, too; no other test logs what this one looks for.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let hesitating =
        Hesitating::new(CallLimits { deadline: Duration::from_secs(60), ..CallLimits::default() });
    assert!(hesitating.until_here(&logged) >= 8);
    until_lines_are_logged_again();
    let (answer, _) = hesitating.ask(true);
    assert_eq!(answer.unwrap().proposal.assignments.len(), 1);
    assert_eq!(logged.take(), ["policy"], "one line, not from the call on this thread");
    assert!(hesitating.until_here(&logged) >= 64, "it has to prove itself again");
    // It gets its whole deadline, and then fails.
    let hasty = Hesitating::new(CallLimits { deadline: Duration::from_millis(2), ..CallLimits::default() });
    hasty.until_here(&logged);
    until_lines_are_logged_again();
    let error = hasty.ask(true).0.unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyFailed);
    assert!(error.cause.contains("it ran longer than 2 ms"), "{error}");
    assert_eq!(logged.take(), ["policy"]);
    looks_through_a_large_network_elsewhere(&logged);
}

/// No tick interrupts a question that looks through all ranges.
fn looks_through_a_large_network_elsewhere(logged: &Logged) {
    let limits = CallLimits { deadline: Duration::from_secs(60), ..CallLimits::default() };
    let looking = Hesitating::of(limits, "look-through", 257);
    looking.until_here(logged);
    until_lines_are_logged_again();
    looking.ask(true).0.unwrap();
    assert_eq!(logged.take(), ["policy"], "not on this thread");
}
