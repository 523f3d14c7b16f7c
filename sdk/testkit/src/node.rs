//! A network without a node: a policy, and the ledger's book, which checks each answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::{Book, Defined, LedgerFact, check_definition};
use tenure_sdk::{Policy, Stateful};
use tenure_types::{
    AgentName, Allocation, ClaimName, ContainerId, Definer, Error, ErrorCode, InterfaceName, Moment,
    NetworkConfig, NetworkName, Outcome, Owner, PodIdentity, PolicyName, PolicyStamp, PoolName, Request,
    RequestContext, Sandbox,
};

use crate::{Native, Subject};

/// The name of every network here.
const NETWORK: &str = "net";

/// A network that a policy serves.
///
/// ```no_run
/// # use tenure_testkit::{Error, Node, Subject};
/// # fn test(policy: impl Subject) -> Result<(), Error> {
/// let mut node = Node::of(policy, r#"{ "subnet": "10.1.2.0/24" }"#)?;
/// let addresses = node.add("shop/web-0")?;
/// # let _ = addresses; Ok(()) }
/// ```
#[derive(Debug)]
pub struct Node<S> {
    policy: S,
    stamp: Arc<PolicyStamp>,
    book: Arc<Book>,
    /// The policy's state.
    state: Arc<[u8]>,
    /// Each event has a time of its own.
    clock: u64,
    /// The facts that the host adds to each request.
    context: RequestContext,
}

/// Defines a network that a policy serves natively, by its `ipam` object.
///
/// # Errors
/// With the policy's refusal, why it failed, or why the ledger does not accept its definition.
pub fn define<P: Policy>(ipam: &str) -> Result<Node<Native<P>>, Error> {
    Node::of(Native::new(), ipam)
}

/// The same for a policy that keeps a state.
///
/// # Errors
/// As [`define`].
pub fn define_stateful<P: Stateful>(ipam: &str) -> Result<Node<Native<P>>, Error> {
    Node::of(Native::stateful(), ipam)
}

impl<S: Subject> Node<S> {
    /// Defines a network that a policy serves, by its `ipam` object.
    ///
    /// # Errors
    /// With the policy's refusal, why it failed, or why the ledger does not accept its definition.
    pub fn of(policy: S, ipam: &str) -> Result<Self, Error> {
        let (network, name) = (named(NetworkName::new(NETWORK))?, named(PolicyName::new("tested"))?);
        let config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() });
        let definition = policy.define(&network, &config)?;
        let rejected = |error| Error::new(ErrorCode::ProposalRejected, error);
        check_definition(&definition).map_err(rejected)?;
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let book = Book::defined(&network, defined, Moment::default()).map_err(rejected)?;
        let stamp = Arc::new(PolicyStamp { name, digest: "0".repeat(64).into() });
        Ok(Self {
            policy,
            stamp,
            book: Arc::new(book),
            state: Arc::default(),
            clock: 0,
            context: RequestContext::default(),
        })
    }

    /// Adds an owner, and returns its addresses: one of each pool that the policy chose. A repeated ADD returns the
    /// same addresses, and does not call the policy.
    ///
    /// `NAMESPACE/NAME` is a pod, `claim AGENT/NAME` an agent's claim, and any other word a container about which
    /// nothing is known.
    ///
    /// # Errors
    /// With the policy's refusal, why it failed, or why the ledger does not accept its proposal.
    pub fn add(&mut self, owner: &str) -> Result<Vec<IpAddr>, Error> {
        self.add_requesting(owner, &[])
    }

    /// The same for an owner that requests addresses.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_requesting(&mut self, owner: &str, requested: &[IpAddr]) -> Result<Vec<IpAddr>, Error> {
        let request = self.request(owner, requested)?;
        if let Some(held) = self.book.owned_by(&request.owner) {
            return Ok(addresses(held));
        }
        let Outcome { proposal, state } = self.policy.propose(&request, &self.state, &self.book)?;
        let now = self.now();
        let admitted = self.book.admit(&request, &proposal, &self.stamp, now);
        let allocation =
            Arc::new(admitted.map_err(|violation| Error::new(ErrorCode::ProposalRejected, violation))?);
        self.apply(&LedgerFact::Allocated(Arc::clone(&allocation)))?;
        self.state = state.unwrap_or_else(|| Arc::clone(&self.state));
        Ok(addresses(&allocation))
    }

    /// Offers these pools alone to each later request, the preferred ones first, as the host does where the pod or its namespace decides.
    ///
    /// # Errors
    /// If a name is not one that a pool can have.
    pub fn offer(&mut self, pools: &[&str]) -> Result<(), Error> {
        let pools = pools.iter().map(|name| named(PoolName::new(*name)));
        self.context.pools = Some(pools.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Adds a label or an annotation to each later request, such as `pod.label.app`, as the host does for a policy that was granted it.
    pub fn tell(&mut self, name: &str, value: &str) {
        let told = self.context.metadata.iter().cloned();
        self.context.metadata = told.chain([(name.into(), value.into())]).collect();
    }

    /// Adds these labels and annotations to each later request, in place of those that [`Self::tell`] has added.
    pub(crate) fn tell_only(&mut self, metadata: &[(String, String)]) {
        let pair = |(name, value): &(String, String)| (name.as_str().into(), value.as_str().into());
        self.context.metadata = metadata.iter().map(pair).collect();
    }

    /// Deletes an owner: its addresses are free after they have cooled down. `false` if it held none.
    ///
    /// # Errors
    /// If the owner has no valid name.
    pub fn del(&mut self, owner: &str) -> Result<bool, Error> {
        let (owner, _) = read(owner)?;
        let now = self.now();
        let Some(fact) = self.book.release(&owner, now, "del") else { return Ok(false) };
        self.apply(&fact).map(|()| true)
    }

    /// Ends the cooling of all addresses, as time does.
    pub fn thaw(&mut self) {
        let now = self.now();
        Arc::make_mut(&mut self.book).expire(now, Duration::ZERO);
    }

    /// The book: who holds what.
    #[must_use]
    pub fn book(&self) -> &Arc<Book> {
        &self.book
    }

    /// The policy's state; empty if it keeps none.
    #[must_use]
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &S {
        &self.policy
    }

    /// The same network at the same time, with another instance of the policy.
    pub(crate) fn clone_for(&self, policy: S) -> Self {
        let (stamp, book, state) = (Arc::clone(&self.stamp), Arc::clone(&self.book), Arc::clone(&self.state));
        Self { policy, stamp, book, state, clock: self.clock, context: self.context.clone() }
    }

    /// The request of an owner, as the host passes it to the policy.
    ///
    /// # Errors
    /// If the owner has no valid name.
    pub fn request(&mut self, owner: &str, requested: &[IpAddr]) -> Result<Request, Error> {
        let (owner, pod) = read(owner)?;
        Ok(Request {
            network: self.book.name().clone(),
            owner,
            requested: requested.to_vec(),
            sandbox: Sandbox { pod, ..Sandbox::default() },
            supply_full: false,
            context: self.context.clone(),
            requested_at: self.now(),
        })
    }

    pub(crate) fn now(&mut self) -> Moment {
        self.clock += 1;
        Moment { boot_ns: self.clock * 1_000_000, wall_ms: self.clock }
    }

    pub(crate) fn apply(&mut self, fact: &LedgerFact) -> Result<(), Error> {
        let place = self.book.through() + 1;
        Arc::make_mut(&mut self.book)
            .apply(place, fact)
            .map_err(|conflict| Error::new(ErrorCode::Internal, conflict))
    }
}

fn addresses(allocation: &Allocation) -> Vec<IpAddr> {
    allocation.addresses.iter().map(tenure_types::AssignedAddress::ip).collect()
}

/// The owner that a text stands for, and its pod.
fn read(owner: &str) -> Result<(Owner, Option<PodIdentity>), Error> {
    let pair = |text: &str| text.split_once('/').map(|(whose, name)| (whose.to_owned(), name.to_owned()));
    if let Some(claim) = owner.strip_prefix("claim ") {
        let wrong = || Error::new(ErrorCode::InvalidEnvironment, format_args!("{claim:?} is not AGENT/NAME"));
        let (agent, name) = pair(claim).ok_or_else(wrong)?;
        let (agent, name) = (named(AgentName::new(agent))?, named(ClaimName::new(name))?);
        return Ok((Owner::Claim { agent, name }, None));
    }
    let pod = pair(owner).map(|(namespace, name)| PodIdentity {
        namespace: namespace.into(),
        name: name.into(),
        uid: "".into(),
    });
    // A pod's names have no `_`.
    let container = named(ContainerId::new(owner.replace('/', "_")))?;
    Ok((Owner::Attachment { container, interface: named(InterfaceName::new("eth0"))? }, pod))
}

pub(crate) fn named<T>(name: Result<T, tenure_types::InvalidName>) -> Result<T, Error> {
    name.map_err(|error| Error::new(ErrorCode::InvalidEnvironment, error))
}
