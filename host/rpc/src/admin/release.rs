//! Release: ends an allocation at an operator's request.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_engine::Engine;
use tenure_ledger::Book;
use tenure_runtime::SandboxEvidence;
use tenure_types::{Allocation, End, Error, ErrorCode, Owner, Result};

use super::books::books;
use super::node::AdminNode;
use super::shown::allocation;
use crate::v1;

/// The most characters of the operator's reason to record.
pub(super) const LONGEST_REASON: usize = 200;

/// Finds the allocation, looks for its sandbox, and ends the allocation if `apply` is set.
pub(super) async fn release(
    engine: &Engine,
    node: &dyn AdminNode,
    request: &v1::ReleaseRequest,
) -> Result<v1::ReleaseResponse> {
    let unknown = |cause: String| Error::new(ErrorCode::UnknownAddress, cause);
    let address: IpAddr = request
        .address
        .parse()
        .map_err(|_| unknown(format!("{:?} is not an IP address", request.address)))?;
    let (held, shown) = meant(engine, address, request).await?;
    let answer = |outcome: &str, reason: String| v1::ReleaseResponse {
        outcome: outcome.to_owned(),
        reason,
        allocation: Some(shown.clone()),
    };
    if let Some(there) = in_the_way(engine, node, &held).await.filter(|_| !request.force) {
        return Ok(answer("kept", format!("{there}; --force releases it now")));
    }
    if !request.apply {
        return Ok(answer("released", String::new()));
    }
    let words: String = request.reason.chars().take(LONGEST_REASON).collect();
    let outcome = match engine.reap(&held, End::Operator, &words).await? {
        true => "released",
        false => "ended",
    };
    Ok(answer(outcome, String::new()))
}

/// Names the living user who would lose the address with the allocation; `None` if nothing shows that there is one.
async fn in_the_way(engine: &Engine, node: &dyn AdminNode, held: &Arc<Allocation>) -> Option<String> {
    match &held.owner {
        Owner::Attachment { .. } => {
            let evidence = node.look_for(std::slice::from_ref(held)).await.0.pop()?;
            let there = SandboxEvidence::contradiction(evidence)?;
            Some(format!("{there}; its DEL will free the address"))
        }
        Owner::Unknown { address } => {
            let book = engine.book(&held.network).await?;
            // If it only waits for the address, that is its holder's, and stays so.
            book.holder(*address).filter(|holder| holder.owner == held.owner)?;
            // It has no sandbox to look for: it may be a pod of another IPAM that has not come over.
            match node.used_by(*address).await {
                Ok(user) => Some(format!("{}; import the address again, and it may come over", user?)),
                Err(why) => Some(format!("whether somebody uses it is not known: {why}")),
            }
        }
        Owner::Claim { .. } => None,
    }
}

/// The allocation that the request identifies, and its message for operators.
async fn meant(
    engine: &Engine,
    address: IpAddr,
    request: &v1::ReleaseRequest,
) -> Result<(Arc<Allocation>, v1::Allocation)> {
    let mut found = Vec::new();
    for book in books(engine).await {
        if request.network.is_empty() || book.network().name.as_str() == request.network {
            let claims = claims(&book, address);
            found.extend(claims.map(|held| (Arc::clone(held), allocation(&book, held))));
        }
    }
    found.retain(|(held, _)| request.generation == 0 || held.generation.0 == request.generation);
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => {
            // It may be in the state that was lost.
            engine.has_state()?;
            Err(Error::new(ErrorCode::UnknownAddress, format_args!("no allocation has {address}")))
        }
        (Some(last), false) => {
            let describe = |(held, _): &(Arc<Allocation>, v1::Allocation)| {
                format!("{} (--network {} --generation {})", held.owner, held.network, held.generation)
            };
            let all: Vec<String> = found.iter().chain([&last]).map(describe).collect();
            let cause = format!("{address} is claimed by {}; specify which one", all.join(" and by "));
            Err(Error::new(ErrorCode::AddressUnavailable, cause))
        }
    }
}

/// The allocation that holds an address, and the one that waits for it.
fn claims(book: &Book, address: IpAddr) -> impl Iterator<Item = &Arc<Allocation>> {
    book.holder(address).into_iter().chain(book.waiting_for(address))
}
