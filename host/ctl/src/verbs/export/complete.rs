//! Refuses an export that would lack pods: those of an open import, and those of the file in whose place it would be put.

use std::net::IpAddr;
use std::path::Path;

use tenure_ledger::{Book, Moves};
use tenure_types::{Allocation, ContainerId, Error, ErrorCode, InterfaceName, Owner};

use super::former::FormerExport;
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

/// Refuses to replace a checkpoint of ipamd that has addresses which the new one would lack, as far as the book does not know that they are free. Any
/// other file has none, and neither has a former export that nobody has changed. Returns the rows that have to stay as they are: the book only knows that somebody uses their addresses, which the file cannot
/// express without them.
///
/// # Errors
/// `NotTakenOver`, naming the first pods.
pub(super) fn accounts_for(
    path: &Path,
    book: &Book,
    moves: &Moves,
    former: Option<&FormerExport>,
) -> Result<Vec<Row>, Error> {
    let Ok(text) = file::read(path) else { return Ok(Vec::new()) };
    let Ok(Checkpoint { allocations, .. }) = serde_json::from_slice(&text) else { return Ok(Vec::new()) };
    // What the state had then has ended under tenure.
    let is_ours = former.is_some_and(|former| former.is(&text, book));
    let (mut kept, mut unknown) = (Vec::new(), Vec::new());
    for row in allocations {
        match standing(&row, book, moves) {
            RowStanding::Known => {}
            RowStanding::Unattributed => kept.push(row),
            RowStanding::Unknown if is_ours => {}
            RowStanding::Unknown => unknown.push(named(&row)),
        }
    }
    if unknown.is_empty() {
        return Ok(kept);
    }
    let (network, path) = (book.name(), path.display());
    let cause = format_args!(
        "{path} has {} pods that network {network} does not have, such as {}: they may live, and the new file would lack them",
        unknown.len(),
        unknown.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ")
    );
    Err(Error::new(ErrorCode::NotTakenOver, cause).to_be_solved_by(format!(
        "start tenured, import them with `tenurectl import --apply ipamd {path} --network {network}`, release the owner that is gone of each address that `tenurectl check` calls `contested-address`, and stop it again; or move the file away if none of these pods lives"
    )))
}

/// The book's knowledge of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RowStanding {
    /// The new file has it, or its reservation is over.
    Known,
    /// An unknown owner has an address by this row.
    Unattributed,
    /// A pod that may live.
    Unknown,
}

fn standing(row: &Row, book: &Book, moves: &Moves) -> RowStanding {
    let container = ContainerId::new(&row.container_id).ok();
    let owner = container
        .zip(InterfaceName::new(&row.if_name).ok())
        .map(|(container, interface)| Owner::Attachment { container, interface });
    let made_ms = row.allocation_timestamp.and_then(|at| u64::try_from(at / MILLISECOND).ok());
    if owner.as_ref().is_some_and(|owner| moves.is_over(book.name(), owner, made_ms)) {
        return RowStanding::Known;
    }
    let claim = row.allocation_timestamp.map_or_else(String::new, |at| at.to_string());
    let of_address = |address: IpAddr| {
        let holder = book.holder(address);
        let is_unattributed = holder.is_some_and(|holder| matches!(holder.owner, Owner::Unknown { .. }));
        // An unknown owner that waits behind another keeps the address in tenure, but not in ipamd's file.
        let waits = book.waiting_for(address).is_some_and(|waiting| has_claim(waiting, &claim));
        if book.is_settled(address, &claim)
            || owner.as_ref().is_some_and(|owner| book.has(Some(owner), address))
        {
            RowStanding::Known
        } else if is_unattributed {
            // A pod has one row.
            let has_another = owner.as_ref().is_some_and(|owner| book.owned_by(owner).is_some());
            let is_this = holder.is_some_and(|holder| has_claim(holder, &claim));
            if is_this && !has_another { RowStanding::Unattributed } else { RowStanding::Unknown }
        } else if !waits && book.has_come_over(address, &claim) {
            RowStanding::Known
        } else {
            RowStanding::Unknown
        }
    };
    let named = [&row.ipv4, &row.ipv6].into_iter().filter(|text| !text.is_empty());
    let all = named.map(|text| text.parse().map_or(RowStanding::Unknown, of_address));
    all.max().unwrap_or(RowStanding::Known)
}

/// Whether an unknown owner has its address by exactly this claim.
fn has_claim(unknown: &Allocation, claim: &str) -> bool {
    unknown.origin.as_ref().is_some_and(|origin| origin.claim(0) == Some(claim))
}

/// A row, for people.
fn named(row: &Row) -> String {
    let address = if row.ipv4.is_empty() { &row.ipv6 } else { &row.ipv4 };
    format!("{address} of {}/{}", row.container_id, row.if_name)
}
