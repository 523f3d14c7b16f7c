//! A node that serves agents over a real socket, with an engine whose ports the test controls.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream;
use tempfile::TempDir;
use tenure_engine::ports::{Answer, Policy};
use tenure_engine::{Bounds, Define, Engine, NetworkBounds, Ports, Settings};
use tenure_fixtures::ports::catalogue::LookUp;
use tenure_fixtures::ports::{self, Heard, KernelDouble, ManualClock, ManualJournal, policy};
use tenure_ledger::{Book, LedgerState};
use tenure_rpc::claims::{Agents, ClaimsService, Reload, Rights};
use tenure_rpc::client;
use tenure_rpc::peer::Peer;
use tenure_rpc::server::{self, UnderWay};
use tenure_rpc::status::{from_status, grpc_code};
use tenure_rpc::v1::claims_client::ClaimsClient;
use tenure_rpc::v1::{Claim, ClaimSpec, EnsureClaimRequest};
use tenure_types::{
    AgentName, Definer, Definition, Error, ErrorCode, Moment, NamePattern, NetworkConfig, NetworkName,
    Outcome, PolicyName, PolicyStamp, Proposal, Request, Result,
};
use tokio::net::UnixListener;
use tonic::Status;
use tonic::transport::Channel;

/// A claim on the network `net`.
pub(crate) fn spec(name: &str) -> ClaimSpec {
    ClaimSpec { network: "net".into(), name: name.into(), ..ClaimSpec::default() }
}

/// The reason of a failure as an agent reads it; the status must have all that the protocol promises.
pub(crate) fn reason<T: std::fmt::Debug>(answer: Result<T, Status>) -> String {
    let status = answer.unwrap_err();
    let Error { code, cause, .. } = from_status(&status);
    let expected = tonic::Code::from_i32(grpc_code(code) as i32);
    assert_eq!((status.code(), status.message()), (expected, cause.as_str()));
    assert!(!cause.is_empty() && !code.next_step().is_empty(), "{status:?}");
    code.name().to_owned()
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer that a policy is to give.
#[derive(Clone, Copy)]
enum Told {
    Nothing,
    Refuse(ErrorCode),
    Propose(IpAddr),
}

/// The policy of the network `net`: as `first`, unless it is told what to answer.
pub(crate) struct ToldPolicy {
    as_usual: Arc<dyn Policy>,
    told: Mutex<Told>,
}

impl ToldPolicy {
    pub(crate) fn says(&self, code: ErrorCode) {
        *hold(&self.told) = Told::Refuse(code);
    }

    pub(crate) fn proposes(&self, address: &str) {
        *hold(&self.told) = Told::Propose(address.parse().unwrap());
    }

    pub(crate) fn answers(&self) {
        *hold(&self.told) = Told::Nothing;
    }
}

impl Policy for ToldPolicy {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        self.as_usual.stamp()
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        self.as_usual.define(network, config)
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        let told = *hold(&self.told);
        match told {
            Told::Nothing => self.as_usual.propose(request, book, state),
            Told::Refuse(code) => Box::pin(async move { Err(Error::new(code, "as the test has it")) }),
            Told::Propose(address) => Box::pin(async move { Ok(Proposal::of([(0, address)]).into()) }),
        }
    }
}

/// The one agent, or why there is none.
struct OneAgent(Arc<Mutex<(Rights, Option<ErrorCode>)>>);

#[tonic::async_trait]
impl Agents for OneAgent {
    async fn rights(&self, _: &Peer) -> Result<Rights> {
        let (rights, forbidden) = hold(&self.0).clone();
        forbidden.map_or(Ok(rights), |code| Err(Error::new(code, "as the test has it")))
    }

    fn next_reload(&self) -> Reload {
        Box::pin(std::future::pending())
    }
}

/// A node with a network `net` of five addresses, 10.0.0.2 to 10.0.0.6.
pub(crate) struct Node {
    pub(crate) policy: Arc<ToldPolicy>,
    pub(crate) journal: Arc<ManualJournal>,
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
    agent: Arc<Mutex<(Rights, Option<ErrorCode>)>>,
    socket: PathBuf,
    client: ClaimsClient<Channel>,
    _directory: TempDir,
}

impl Node {
    pub(crate) async fn start() -> Self {
        let first = policy::catalogue().find(&PolicyName::new("first").unwrap()).unwrap();
        let told = Arc::new(ToldPolicy { as_usual: first, told: Mutex::new(Told::Nothing) });
        let of_net = Arc::clone(&told);
        let find = move |name: &PolicyName| match name.as_str() {
            "first" => Ok(Arc::clone(&of_net) as Arc<dyn Policy>),
            _ => policy::catalogue().find(name),
        };
        let (journal, clock) = (Arc::new(ManualJournal::default()), Arc::new(ManualClock::at(at_boot())));
        let ports = Ports {
            clock: clock.clone(),
            catalogue: Arc::new(LookUp(find)),
            journal: journal.clone(),
            links: Arc::new(KernelDouble::default()),
            observer: Arc::new(Heard::default()),
        };
        let (engine, _) = Engine::new(LedgerState::default(), ports, settings(Bounds::default()));
        let rights = Rights {
            name: AgentName::new("cilium").unwrap(),
            networks: vec![NamePattern::new("*")],
            names: vec![NamePattern::new("*")],
            claims: 100,
            addresses: true,
            cni: false,
        };
        let agent = Arc::new(Mutex::new((rights, None)));
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("agent.sock");
        serve(&socket, Arc::clone(&engine), OneAgent(Arc::clone(&agent)));
        let client = ClaimsClient::new(client::connect(&socket).await.unwrap());
        let node =
            Self { policy: told, journal, engine, clock, agent, socket, client, _directory: directory };
        node.define("net", "first", "10.0.0.0/29").await;
        node
    }

    pub(crate) async fn define(&self, network: &str, policy: &str, ipam: &str) {
        let define = Define {
            network: NetworkName::new(network).unwrap(),
            policy: PolicyName::new(policy).unwrap(),
            config: Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() }),
            by: Definer::Operator,
            apply: true,
            change_ranges: true,
        };
        self.engine.define_network(&define).await.unwrap();
    }

    /// Another connection.
    pub(crate) async fn channel(&self) -> Channel {
        client::connect(&self.socket).await.unwrap()
    }

    /// The same with the agents' client.
    pub(crate) async fn client(&self) -> ClaimsClient<Channel> {
        ClaimsClient::new(self.channel().await)
    }

    pub(crate) async fn ensures(&self, claim: ClaimSpec) -> Result<Claim, Status> {
        let request = EnsureClaimRequest { claim: Some(claim), ..Default::default() };
        Ok(self.client.clone().ensure(request).await?.into_inner().claim.unwrap())
    }

    /// Changes the agent's rights; it is one again.
    pub(crate) fn allow(&self, change: impl FnOnce(&mut Rights)) {
        let (rights, forbidden) = &mut *hold(&self.agent);
        change(rights);
        *forbidden = None;
    }

    /// No call is an agent's, for this reason.
    pub(crate) fn forbid(&self, code: ErrorCode) {
        hold(&self.agent).1 = Some(code);
    }

    /// The subnets that the network may be in; none for any.
    pub(crate) fn bound(&self, within: &[&str]) {
        let within = within.iter().map(|subnet| subnet.parse().unwrap()).collect();
        let bounds = NetworkBounds { within, ..NetworkBounds::default() };
        let networks = BTreeMap::from([(NetworkName::new("net").unwrap(), bounds)]);
        self.engine.set(settings(Bounds { networks, ..Bounds::default() }));
    }

    /// Lets cooldowns and the bench of a policy pass.
    pub(crate) fn rest(&self) {
        self.clock.advance(Duration::from_secs(600));
    }
}

fn at_boot() -> Moment {
    Moment { boot_ns: 1_000_000_000_000, wall_ms: 0 }
}

fn settings(bounds: Bounds) -> Settings {
    Settings { in_flight: 8, queue: 8, bounds: Arc::new(bounds), ..ports::settings() }
}

/// Serves agents in a task of its own.
fn serve(socket: &std::path::Path, engine: Arc<Engine>, agents: OneAgent) {
    let listener = UnixListener::bind(socket).unwrap();
    let incoming = stream::unfold(listener, |listener| async {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    let agents: Arc<dyn Agents> = Arc::new(agents);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let service = ClaimsService::new(engine, Arc::clone(&agents), stopped);
    tokio::spawn(async move {
        let _stop = stop;
        let (_, health) = server::health();
        server::serve_claims(incoming, agents, service, health, UnderWay::default(), std::future::pending())
            .await
    });
}
