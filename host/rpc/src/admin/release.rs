//! Release: ends an allocation at an operator's request.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_engine::Engine;
use tenure_ledger::Book;
use tenure_runtime::SandboxEvidence;
use tenure_types::{Allocation, End, Error, ErrorCode, Result};

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
    // Only a pod has a sandbox; the runtime need not be asked about others.
    let evidence = match held.owner.attachment() {
        Some(_) => node.look_for(std::slice::from_ref(&held)).await.0.pop(),
        None => None,
    };
    if let Some(there) = evidence.and_then(SandboxEvidence::contradiction).filter(|_| !request.force) {
        return Ok(answer(
            "kept",
            format!("{there}; its DEL will free the address; --force releases it now"),
        ));
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
