//! Refuses an export that would lack pods: those of an open import, and those of the file in whose place it would be put.

use std::net::IpAddr;
use std::path::Path;

use tenure_ledger::{Book, Moves};
use tenure_types::{ContainerId, Error, ErrorCode, InterfaceName, Owner};

use crate::verbs::file;
use crate::verbs::ipamd::{Checkpoint, Row};

/// Nanoseconds in a millisecond.
const MILLISECOND: i64 = 1_000_000;

/// The most pods to name.
const MOST_NAMED: usize = 3;

/// Refuses while an import of the network is open: not all pods have come over.
///
/// # Errors
/// `NotTakenOver`.
pub(super) fn has_come_over(book: &Book, moves: &Moves) -> Result<(), Error> {
    if !book.is_importing() {
        return Ok(());
    }
    let network = book.name();
    let source = moves.open(network).map(|open| &*open.source).find(|source| !source.is_empty());
    let source = source.unwrap_or("an unknown source");
    let cause = format_args!(
        "an import of network {network} from {source} is not complete, so the file would lack pods"
    );
    Err(Error::new(ErrorCode::NotTakenOver, cause).to_be_solved_by(format!(
        "start tenured, run the same `tenurectl import --apply` again, or, if nothing is missing, `tenurectl import abandon {network}`, and stop tenured"
    )))
}

/// Refuses to replace a checkpoint of ipamd that has addresses which the book does not account for, as the daemon does when it compares the two. Any
/// other file has none.
///
/// # Errors
/// `NotTakenOver`, naming the first pods.
pub(super) fn accounts_for(path: &Path, book: &Book, moves: &Moves) -> Result<(), Error> {
    let Ok(text) = file::read(path) else { return Ok(()) };
    let Ok(Checkpoint { allocations, .. }) = serde_json::from_slice(&text) else { return Ok(()) };
    let unknown: Vec<String> =
        allocations.iter().filter(|row| !is_known(row, book, moves)).map(named).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let (network, path) = (book.name(), path.display());
    let cause = format_args!(
        "{path} has {} pods that network {network} does not have, such as {}: they may live, and the new file would lack them",
        unknown.len(),
        unknown.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ")
    );
    Err(Error::new(ErrorCode::NotTakenOver, cause).to_be_solved_by(format!(
        "start tenured, import them with `tenurectl import --apply ipamd {path} --network {network}`, and stop it again; or move the file away if none of these pods lives"
    )))
}

/// Whether the book has all addresses of a row, or knows that their reservation is over.
fn is_known(row: &Row, book: &Book, moves: &Moves) -> bool {
    let container = ContainerId::new(&row.container_id).ok();
    let owner = container
        .zip(InterfaceName::new(&row.if_name).ok())
        .map(|(container, interface)| Owner::Attachment { container, interface });
    let made_ms = row.allocation_timestamp.and_then(|at| u64::try_from(at / MILLISECOND).ok());
    if owner.as_ref().is_some_and(|owner| moves.is_over(book.name(), owner, made_ms)) {
        return true;
    }
    let claim = row.allocation_timestamp.map_or_else(String::new, |at| at.to_string());
    let is_accounted_for =
        |address: IpAddr| book.has_come_over(address, &claim) || book.has(owner.as_ref(), address);
    let named = [&row.ipv4, &row.ipv6].into_iter().filter(|text| !text.is_empty());
    named.map(|text| text.parse()).all(|address| address.is_ok_and(is_accounted_for))
}

/// A row, for people.
fn named(row: &Row) -> String {
    let address = if row.ipv4.is_empty() { &row.ipv6 } else { &row.ipv4 };
    format!("{address} of {}/{}", row.container_id, row.if_name)
}
