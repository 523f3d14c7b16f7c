//! The engine's ports, played by the test: a clock that stands still, a journal that waits for a word, plain policies.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_engine::ports::{
    Answer, Catalogue, CatalogueEntry, Clock, Decision, Journal, Observer, Policy, Ticket,
};
use tenure_engine::{Add, Del, Engine, Ports, Settings};
use tenure_ledger::{Book, Choices, Direction, Fact, Shelf};
use tenure_types::{
    ContainerId, DefinedPool, Definition, Error, ErrorCode, InterfaceName, Moment, NetworkConfig,
    NetworkName, Owner, PolicyFailure, PolicyName, PolicyStamp, Pool, Proposal, Range, Request, Sandbox,
};
use tokio::sync::oneshot;

#[derive(Default)]
pub(crate) struct StillClock(pub(crate) AtomicU64);

impl Clock for StillClock {
    fn now(&self) -> Moment {
        Moment { boot_ns: self.0.load(Ordering::Relaxed) * 1_000_000, wall_ms: 0 }
    }
    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.now().boot_ns)
    }
}

type Waiter = oneshot::Sender<Result<(), Error>>;

/// Keeps what was staged; resolves at once, or when told while `held`.
#[derive(Default)]
pub(crate) struct WaitingJournal {
    pub(crate) facts: Mutex<Vec<Fact>>,
    pub(crate) held: Mutex<Option<Vec<Waiter>>>,
    pub(crate) broken: Mutex<Option<Error>>,
}

impl WaitingJournal {
    fn ticket(&self) -> Ticket {
        let (sender, ticket) = Ticket::new();
        match &mut *self.held.lock().unwrap() {
            Some(held) => held.push(sender),
            None => drop(sender.send(Ok(()))),
        }
        ticket
    }

    pub(crate) fn hold(&self) {
        *self.held.lock().unwrap() = Some(Vec::new());
    }

    pub(crate) fn resolve(&self, result: &Result<(), Error>) {
        for sender in self.held.lock().unwrap().take().unwrap() {
            let _ = sender.send(result.clone());
        }
    }
}

impl Journal for WaitingJournal {
    fn stage(&self, staged: &[Fact]) -> (u64, Ticket) {
        let mut facts = self.facts.lock().unwrap();
        let first = facts.len() as u64 + 1;
        facts.extend_from_slice(staged);
        (first, self.ticket())
    }
    fn barrier(&self) -> Ticket {
        self.ticket()
    }
    fn health(&self) -> Result<(), Error> {
        self.broken.lock().unwrap().clone().map_or(Ok(()), Err)
    }
}

/// A policy that takes the first or the last free address, or always the same one.
pub(crate) struct PlainPolicy {
    stamp: Arc<PolicyStamp>,
}

impl Policy for PlainPolicy {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    fn define<'a>(&'a self, _: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        Box::pin(async { Self::pools(config) })
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>) -> Answer<'a, Proposal> {
        Box::pin(async move {
            match self.stamp.name.as_str() {
                // Has the book and never answers.
                "stalled" => std::future::pending().await,
                "failing" => Err(Error::new(ErrorCode::PolicyFailed, "it ran longer than 50 ms")),
                _ => self.choose(request, &book),
            }
        })
    }
}

impl PlainPolicy {
    fn pools(config: &NetworkConfig) -> Result<Definition, Error> {
        match config.ipam.as_str() {
            "nothing" => return Ok(Definition::default()),
            "trap" => {
                let error = Error::new(ErrorCode::PolicyFailed, "unreachable");
                return Err(error.failed_by(PolicyFailure::Trap));
            }
            _ => {}
        }
        let subnet: ipnet::IpNet =
            config.ipam.parse().map_err(|error| Error::new(ErrorCode::InvalidConfig, error))?;
        let mut hosts = subnet.hosts();
        let gateway = hosts.next();
        let (first, last) = (hosts.next().unwrap(), subnet.hosts().last().unwrap());
        let range = Range::new(subnet, first, last, gateway, subnet.prefix_len()).unwrap();
        let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![range] }];
        Ok(Definition { pools, ..Definition::default() })
    }

    fn choose(&self, request: &Request, book: &Book) -> Result<Proposal, Error> {
        let direction =
            if self.stamp.name.as_str() == "last" { Direction::Descending } else { Direction::Ascending };
        let address = match (self.stamp.name.as_str(), request.requested.first()) {
            ("liar", _) => "203.0.113.7".parse().unwrap(),
            (_, Some(wanted)) => *wanted,
            _ => *book
                .free(Shelf::whole(0), None, direction, 1)
                .first()
                .ok_or_else(|| Error::new(ErrorCode::PoolExhausted, "nothing is free"))?,
        };
        Ok(Proposal::of([(0, address)]))
    }
}

pub(crate) struct PlainCatalogue;

impl Catalogue for PlainCatalogue {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        match name.as_str() {
            "first" | "last" | "liar" | "stalled" | "failing" => {
                let stamp = PolicyStamp { name: name.clone(), digest: "d".into() };
                Ok(Arc::new(PlainPolicy { stamp: Arc::new(stamp) }))
            }
            "broken" => Err(Error::new(ErrorCode::PolicyUnloadable, "it is not what it should be")),
            _ => Err(Error::new(ErrorCode::UnknownPolicy, name)),
        }
    }
    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        self.find(&stamp.name)
    }
    fn load<'a>(&'a self, name: &'a PolicyName) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(async { self.find(name) })
    }
    fn awaited(&self) -> Option<String> {
        None
    }
    fn list(&self) -> Vec<CatalogueEntry> {
        Vec::new()
    }
}

#[derive(Default)]
pub(crate) struct Outcomes(
    pub(crate) Mutex<Vec<(String, Option<ErrorCode>)>>,
    pub(crate) Mutex<PolicyOutcomes>,
);

/// What was heard of policies: how many calls, and which failures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyOutcomes {
    pub(crate) calls: u32,
    pub(crate) failures: Vec<(String, PolicyFailure)>,
}

impl Observer for Outcomes {
    fn request(&self, decision: &Decision<'_>) {
        let error = decision.error.map(|error| error.code);
        self.0.lock().unwrap().push((decision.verb.to_owned(), error));
    }
    fn policy_call(&self, _: &PolicyStamp, _: Duration, _: Result<(), ErrorCode>) {
        self.1.lock().unwrap().calls += 1;
    }
    fn policy_failed(&self, policy: &PolicyStamp, failure: PolicyFailure) {
        self.1.lock().unwrap().failures.push((policy.to_string(), failure));
    }
    fn sync(&self, _: Duration, _: Result<usize, ErrorCode>, _: u64) {}
}

/// An engine with everything around it in the test's hands.
pub(crate) struct Bench {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<StillClock>,
    pub(crate) journal: Arc<WaitingJournal>,
    pub(crate) outcomes: Arc<Outcomes>,
    pub(crate) abandoned: Option<tenure_engine::Abandoned>,
}

impl Bench {
    pub(crate) fn new(in_flight: usize, queue: usize) -> Self {
        let clock = Arc::new(StillClock(AtomicU64::new(1_000_000)));
        let (journal, outcomes) = (Arc::new(WaitingJournal::default()), Arc::new(Outcomes::default()));
        let ports = Ports {
            clock: clock.clone(),
            catalogue: Arc::new(PlainCatalogue),
            journal: journal.clone(),
            observer: outcomes.clone(),
        };
        let (cooldown, bounds) = (Duration::from_secs(30), Arc::default());
        let settings = Settings { cooldown, in_flight, queue, networks: 3, bounds };
        let (engine, abandoned) = Engine::new(Vec::new(), Choices::default(), ports, settings);
        Self { engine, clock, journal, outcomes, abandoned: Some(abandoned) }
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) fn add(&self, number: u32) -> Add {
        self.add_with(number, "first", "10.0.0.0/29")
    }

    pub(crate) fn add_with(&self, number: u32, policy: &str, ipam: &str) -> Add {
        Add {
            request: Request {
                network: network(),
                owner: owner(number),
                requested: Vec::new(),
                sandbox: Sandbox::default(),
                requested_at: self.now(),
            },
            policy: PolicyName::new(policy).unwrap(),
            config: Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() }),
        }
    }

    pub(crate) fn del(&self, number: u32) -> Del {
        Del { network: network(), owner: owner(number), requested_at: self.now() }
    }

    pub(crate) async fn address(&self, number: u32) -> Result<String, Error> {
        let grant = self.engine.add(self.add(number), fits).await?;
        Ok(grant.addresses[0].ip().to_string())
    }

    pub(crate) fn tick(&self, milliseconds: u64) {
        self.clock.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

pub(crate) fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

pub(crate) fn owner(number: u32) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(format!("c{number}")).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

/// A caller that can use any addresses.
pub(crate) fn fits(_: &[tenure_types::AssignedAddress]) -> Result<(), Error> {
    Ok(())
}

/// Runs a future as far as it gets without anyone else.
pub(crate) fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}
