//! The conformance suite: rules that every policy must keep. A node runs it before a policy may serve, and
//! authors run the same.
//!
//! A policy may refuse any request. But what it proposes must be valid, it must not fail, and the same request on the same
//! book must get the same answer. One that keeps a state begins each check with an empty one. The suite reads no clock and
//! uses no randomness, so the same component gets the same verdict everywhere.

pub(crate) mod callers;
pub(crate) mod small;

use std::sync::Arc;

use tenure_ledger::{Book, Defined, LedgerFact, Violation, check_definition};
use tenure_types::{
    Definer, Definition, Error, ErrorCode, Moment, NetworkConfig, NetworkName, Outcome, Range, Request,
    Result,
};

use self::callers::{request, unusual};
use self::small::small;
use crate::give_way::give_way;
use crate::ports::Policy;

/// How many requests are made on one book.
const REQUESTS: u32 = 24;

/// The outcome of the suite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conformance {
    /// The checks that were passed, in order.
    pub passed: Vec<&'static str>,
    /// The check that was not passed, and why.
    pub failure: Option<String>,
    /// Reason for which a check was skipped.
    pub skipped: Option<String>,
}

type Checked = Result<(), String>;

/// Runs the suite on a policy, with a network's configuration.
pub async fn conformance(
    policy: &dyn Policy,
    network: &NetworkName,
    config: &Arc<NetworkConfig>,
) -> Conformance {
    let mut outcome = Conformance::default();
    let definition = match defined(policy, network, config).await {
        Ok(definition) => definition,
        // A configuration that it does not accept is not its fault.
        Err(error) if is_its_right(error.code) => {
            outcome.skipped = Some(format!("it does not accept the configuration: {}", error.cause));
            return outcome;
        }
        Err(error) => {
            outcome.failure = Some(format!("define: {}", error.cause));
            return outcome;
        }
    };
    outcome.passed.push("define gives a valid definition, twice the same");
    if definition.pools.iter().all(|pool| pool.ranges.is_empty()) {
        outcome.skipped = Some("it defines no ranges of its own, so it is not asked for addresses".into());
        return outcome;
    }
    let suite = Suite { policy, network, config };
    let checks: [(&'static str, Checked); 5] = [
        ("requests get valid answers, twice the same", suite.plain(&definition).await),
        ("a book is filled to the last address, and then refused", suite.fill(&definition).await),
        ("released addresses are used again, or refused", suite.release(&definition).await),
        ("requested addresses are honoured or refused", suite.requested(&definition).await),
        ("unusual callers do no harm", suite.unusual(&definition).await),
    ];
    for (name, checked) in checks {
        match checked {
            Ok(()) => outcome.passed.push(name),
            Err(why) => {
                outcome.failure = Some(format!("{name}: {why}"));
                break;
            }
        }
    }
    outcome
}

/// Whether a policy that refuses to define a network for this reason is right to: the configuration is not for it.
fn is_its_right(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::InvalidConfig | ErrorCode::RequestDenied | ErrorCode::PolicyRefused)
}

/// Makes a definition twice.
async fn defined(policy: &dyn Policy, network: &NetworkName, config: &NetworkConfig) -> Result<Definition> {
    let definition = policy.define(network, config).await?;
    let rejected = |why: String| Error::new(ErrorCode::ProposalRejected, why);
    check_definition(&definition).map_err(|invalid| rejected(invalid.to_string()))?;
    match policy.define(network, config).await? == definition {
        true => Ok(definition),
        false => Err(rejected("two calls with one configuration gave two definitions".into())),
    }
}

struct Suite<'a> {
    policy: &'a dyn Policy,
    network: &'a NetworkName,
    config: &'a Arc<NetworkConfig>,
}

impl Suite<'_> {
    fn book(&self, definition: &Definition) -> Result<Desk, String> {
        let defined = Defined { config: self.config, definition, by: Definer::Operator };
        let mut desk = Desk { book: Arc::new(Book::empty(self.network)), state: Arc::default(), place: 0 };
        let facts = desk.book.redefine(defined, Moment::default()).map_err(|invalid| invalid.to_string())?;
        facts.iter().try_for_each(|fact| desk.apply(fact))?;
        Ok(desk)
    }

    /// Asks twice on one book. `None` if the policy refuses.
    async fn ask(&self, desk: &Desk, request: &Request) -> Result<Option<Outcome>, String> {
        let mut answers = Vec::new();
        for _ in 0..2 {
            give_way().await;
            answers.push(
                match self.policy.propose(request, Arc::clone(&desk.book), Arc::clone(&desk.state)).await {
                    Ok(outcome) => match desk.book.check(request, &outcome.proposal) {
                        Ok(()) => Ok(outcome),
                        // The ledger then refuses the request: as good as a refusal of the policy's own.
                        Err(Violation::RequestIgnored(address)) => {
                            Err(Error::new(ErrorCode::AddressUnavailable, address))
                        }
                        Err(violation) => {
                            return Err(format!(
                                "the proposal for {} is invalid: {violation}",
                                request.owner
                            ));
                        }
                    },
                    Err(error) if error.code == ErrorCode::PolicyFailed => return Err(error.cause),
                    Err(error) => Err(error),
                },
            );
        }
        match (answers.pop(), answers.pop()) {
            (Some(one), Some(other)) if one == other => Ok(one.ok()),
            _ => Err(format!("{} got two answers to one request on one book", request.owner)),
        }
    }

    /// Asks and allocates. Returns whether there was an answer.
    async fn add(&self, desk: &mut Desk, request: &Request) -> Result<bool, String> {
        let Some(Outcome { proposal, state }) = self.ask(desk, request).await? else { return Ok(false) };
        let admitted = desk.book.admit(request, &proposal, self.policy.stamp(), at(desk.place));
        desk.apply(&LedgerFact::Allocated(Arc::new(admitted.map_err(|violation| violation.to_string())?)))?;
        desk.state = state.unwrap_or_else(|| Arc::clone(&desk.state));
        Ok(true)
    }

    async fn plain(&self, definition: &Definition) -> Checked {
        let mut desk = self.book(definition)?;
        for number in 0..REQUESTS {
            self.add(&mut desk, &request(self.network, number)).await?;
        }
        Ok(())
    }

    async fn fill(&self, definition: &Definition) -> Checked {
        let small = small(definition);
        let mut desk = self.book(&small)?;
        let addresses: u128 = (0..small.pools.len()).map(|pool| desk.book.total(pool)).sum();
        let most = u32::try_from(addresses).unwrap_or(u32::MAX).saturating_add(REQUESTS);
        for number in 0..most {
            self.add(&mut desk, &request(self.network, number)).await?;
        }
        Ok(())
    }

    async fn release(&self, definition: &Definition) -> Checked {
        let mut desk = self.book(&small(definition))?;
        for number in 0..REQUESTS {
            let request = request(self.network, number);
            if self.add(&mut desk, &request).await? && number % 2 == 0 {
                let released = desk.book.release(&request.owner, at(desk.place), "del");
                released.map_or(Ok(()), |fact| desk.apply(&fact))?;
            }
        }
        Ok(())
    }

    async fn requested(&self, definition: &Definition) -> Checked {
        let mut desk = self.book(definition)?;
        let ranges = definition.pools.iter().filter_map(|pool| pool.ranges.first());
        let inside = ranges.map(Range::last);
        let outside = ["192.0.2.1", "2001:db8:ffff::1"].into_iter().filter_map(|text| text.parse().ok());
        for (number, address) in (0..).zip(inside.chain(outside).collect::<Vec<_>>()) {
            let requested = vec![address];
            // The second one asks for an address that the first may hold.
            for number in [number * 2, number * 2 + 1] {
                let request = Request { requested: requested.clone(), ..request(self.network, number) };
                self.add(&mut desk, &request).await?;
            }
        }
        Ok(())
    }

    async fn unusual(&self, definition: &Definition) -> Checked {
        let mut desk = self.book(definition)?;
        for request in unusual(self.network) {
            self.add(&mut desk, &request).await?;
        }
        Ok(())
    }
}

/// A book, what the policy remembers, and how many facts the book has.
struct Desk {
    book: Arc<Book>,
    state: Arc<[u8]>,
    place: u64,
}

impl Desk {
    fn apply(&mut self, fact: &LedgerFact) -> Checked {
        self.place += 1;
        Arc::make_mut(&mut self.book).apply(self.place, fact).map_err(|conflict| conflict.to_string())
    }
}

fn at(place: u64) -> Moment {
    Moment { boot_ns: place * 1_000_000, wall_ms: place }
}
