//! `policy bench`: what a policy's calls take in the sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, Serializer};
use tenure_testkit::{Node, Subject};
use tenure_types::{Error, ErrorCode, NetworkConfig, NetworkName, Supply};

use super::check::{ipam, is_refusal, with_hint};
use super::sandboxed::{Sandboxed, read};
use crate::arguments::TrialOptions;
use crate::clock::monotonic;
use crate::render::{Cell, Page, Shown, Table};

/// Calls before the first that is measured, and measured ones.
const WARM: usize = 50;
const CALLS: usize = 2000;

/// The most pods that fill a network.
const MOST: usize = 20_000;

/// The cost of the calls.
#[derive(Serialize)]
pub(crate) struct Benched {
    pub(crate) file: PathBuf,
    #[serde(rename = "calls")]
    pub(crate) rows: Vec<Row>,
}

/// The cost of one kind of call.
#[derive(Serialize)]
pub(crate) struct Row {
    /// `define` or `propose`.
    pub(crate) call: &'static str,
    /// How many allocations the network had.
    #[serde(rename = "allocations")]
    pub(crate) held: usize,
    #[serde(rename = "median_ns", serialize_with = "nanoseconds")]
    pub(crate) median: Duration,
    #[serde(rename = "p99_ns", serialize_with = "nanoseconds")]
    pub(crate) p99: Duration,
}

impl Shown for Benched {
    fn page(&self, _: u64) -> Page {
        let table = Table::of(&self.rows)
            .column("CALL", |row| row.call)
            .number("ALLOCATIONS", |row| row.held)
            .number("MEDIAN", |row| short(row.median))
            .number("P99", |row| short(row.p99));
        Page::default().table(table)
    }
}

/// A duration in microseconds.
fn short(time: Duration) -> Cell {
    let tenths = time.as_nanos() / 100;
    Cell::valued(format!("{}.{} us", tenths / 10, tenths % 10), whole(time))
}

fn nanoseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    whole(*time).serialize(serializer)
}

fn whole(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Measures a component on a network: with no allocation, and with every address but one allocated.
pub(super) fn bench(file: &Path, options: &TrialOptions) -> Result<Benched, Error> {
    let ipam = ipam(options)?;
    let policy = Sandboxed::load(file, &read(file)?)?;
    measured(file, policy, &ipam, &options.namespace).map_err(|error| with_hint(error, options))
}

/// Fills the network and measures on the way.
fn measured(file: &Path, policy: impl Subject, ipam: &str, namespace: &str) -> Result<Benched, Error> {
    let config = NetworkConfig { ipam: ipam.to_owned(), attributes: Vec::new() };
    let name = NetworkName::new("net").map_err(|error| Error::new(ErrorCode::Internal, error))?;
    let mut rows = vec![row("define", 0, || policy.define(&name, &config).map(drop))?];
    let mut node = Node::of(policy, ipam)?;
    rows.push(propose(&mut node, namespace).map_err(|error| without_supply(error, &node))?);
    let mut held = Vec::new();
    while held.len() < MOST {
        let pod = format!("{namespace}/pod-{}", held.len());
        match node.add(&pod) {
            Ok(_) => held.push(pod),
            // The network is full, or the policy gives it no more.
            Err(error) if is_refusal(error.code) && !held.is_empty() => break,
            Err(error) => return Err(Error { cause: format!("{pod}: {}", error.cause), ..error }),
        }
    }
    // One address is free again, so that there is something to find.
    if let Some(last) = held.last() {
        node.del(last)?;
        node.thaw();
        rows.push(propose(&mut node, namespace)?);
    }
    Ok(Benched { file: file.into(), rows })
}

/// A refusal for want of ranges that no configuration can bring, since a host supplies them, in words that say so.
fn without_supply(error: Error, node: &Node<impl Subject>) -> Error {
    let supplied = node.book().pools().iter().find(|pool| pool.supply == Supply::Host);
    match supplied.filter(|_| is_refusal(error.code)) {
        Some(pool) => {
            let cause = format!(
                "the host supplies pool {}, and there is no host here: only a policy whose pools have ranges of the configuration can be measured",
                pool.name
            );
            Error::new(ErrorCode::BuildFailed, cause)
        }
        None => error,
    }
}

/// Measures proposals that nothing is made of.
fn propose(node: &mut Node<impl Subject>, namespace: &str) -> Result<Row, Error> {
    let request = node.request(&format!("{namespace}/one-more"), &[])?;
    let held = node.book().allocations().len();
    row("propose", held, || node.policy().propose(&request, node.state(), node.book()).map(drop))
}

fn row(call: &'static str, held: usize, run: impl Fn() -> Result<(), Error>) -> Result<Row, Error> {
    for _ in 0..WARM {
        run()?;
    }
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = monotonic();
        run()?;
        times.push(monotonic().saturating_sub(start));
    }
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    Ok(Row { call, held, median: at(50), p99: at(99) })
}

#[cfg(test)]
mod tests {
    use std::cell::OnceCell;
    use std::sync::Arc;

    use tenure_ledger::Book;
    use tenure_types::{Definition, Outcome, Request};

    use super::super::check::NETWORK;
    use super::*;

    /// A policy that answers each request as on the book of the first, so that it proposes an address twice.
    struct Forgetful(Sandboxed, OnceCell<Arc<Book>>);

    impl Subject for Forgetful {
        fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
            Subject::define(&self.0, network, config)
        }

        fn propose(&self, request: &Request, state: &[u8], book: &Arc<Book>) -> Result<Outcome, Error> {
            Subject::propose(&self.0, request, state, self.1.get_or_init(|| Arc::clone(book)))
        }
    }

    /// A policy whose pools the host supplies.
    struct Supplied(Sandboxed);

    impl Subject for Supplied {
        fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
            let mut definition = Subject::define(&self.0, network, config)?;
            for pool in &mut definition.pools {
                pool.pool.supply = Supply::Host;
                pool.ranges.clear();
            }
            Ok(definition)
        }

        fn propose(&self, request: &Request, state: &[u8], book: &Arc<Book>) -> Result<Outcome, Error> {
            Subject::propose(&self.0, request, state, book)
        }
    }

    #[test]
    fn a_pool_that_the_host_supplies_cannot_be_measured_and_no_network_is_asked_for() {
        let file = Path::new("policy.wasm");
        let policy = Supplied(Sandboxed::load(file, tenure_policy::embedded::HOST_LOCAL).unwrap());
        let error = measured(file, policy, NETWORK, "shop").err().unwrap();
        assert_eq!(error.code, ErrorCode::BuildFailed);
        assert!(error.cause.starts_with("the host supplies pool "), "{error}");
    }

    /// Regression: the network counted as full, and the bench as passed.
    #[test]
    fn a_policy_that_fails_while_the_network_fills_has_not_passed() {
        let file = Path::new("policy.wasm");
        let policy = Sandboxed::load(file, tenure_policy::embedded::HOST_LOCAL).unwrap();
        let failed = measured(file, Forgetful(policy, OnceCell::new()), NETWORK, "shop");
        let error = failed.err().unwrap();
        assert_eq!(error.code, ErrorCode::ProposalRejected);
        assert!(error.cause.starts_with("shop/pod-1: "), "{error}");
    }
}
