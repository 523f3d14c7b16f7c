//! Quarantine: listing what is doubtful, and an operator's word about it.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_engine::Engine;
use tenure_ledger::{Book, QuarantinedAddress};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use super::books::books;
use super::release::LONGEST_REASON;
use super::shown::unknown_network;
use crate::v1;

pub(super) async fn list(
    engine: &Engine,
    request: &v1::ListQuarantineRequest,
) -> Result<v1::ListQuarantineResponse> {
    engine.has_state()?;
    let books = of_network(engine, &request.network).await?;
    let addresses =
        books.iter().flat_map(|book| book.quarantined().into_iter().map(|of| quarantined(book, &of)));
    Ok(v1::ListQuarantineResponse { addresses: addresses.collect() })
}

/// The book of a network that is named, or of every network.
async fn of_network(engine: &Engine, network: &str) -> Result<Vec<Arc<Book>>> {
    let mut books = books(engine).await;
    if !network.is_empty() {
        books.retain(|book| book.name().as_str() == network);
        if books.is_empty() {
            return Err(unknown_network(network));
        }
    }
    Ok(books)
}

pub(super) fn quarantined(book: &Book, of: &QuarantinedAddress) -> v1::QuarantinedAddress {
    v1::QuarantinedAddress {
        network: book.name().to_string(),
        address: of.address.to_string(),
        kind: if of.is_doubt { "owner" } else { "address" }.to_owned(),
        owner: of.owner.as_ref().map_or_else(String::new, ToString::to_string),
        reason: of.mark.reason.to_string(),
        since_ms: of.mark.since.wall_ms,
    }
}

/// Puts an address into quarantine.
pub(super) async fn add(
    engine: &Engine,
    request: &v1::QuarantineAddressRequest,
) -> Result<v1::QuarantineAddressResponse> {
    let address = parsed(&request.address)?;
    let network = NetworkName::new(&request.network).map_err(|_| unknown_network(&request.network))?;
    let reason: String = request.reason.chars().take(LONGEST_REASON).collect();
    let changed = engine.quarantine(&network, address, &reason).await?;
    Ok(v1::QuarantineAddressResponse { changed })
}

/// Lifts the quarantine of an address, and the doubt about its owner.
pub(super) async fn lift(
    engine: &Engine,
    request: &v1::LiftQuarantineRequest,
) -> Result<v1::LiftQuarantineResponse> {
    engine.has_state()?;
    let address = parsed(&request.address)?;
    let mut meant = of_network(engine, &request.network).await?;
    meant.retain(|book| book.quarantined().iter().any(|of| of.address == address));
    let book = match &*meant {
        [] => {
            let cause = format_args!("{address} is not in quarantine");
            let error = Error::new(ErrorCode::UnknownAddress, cause);
            return Err(error.to_be_solved_by("`tenurectl quarantine list` shows what is in quarantine"));
        }
        [book] => book,
        several => {
            let names: Vec<_> = several.iter().map(|book| book.name().to_string()).collect();
            let cause =
                format!("{address} is in quarantine on {}; specify --network", names.join(" and on "));
            return Err(Error::new(ErrorCode::AddressUnavailable, cause));
        }
    };
    let reason: String = request.reason.chars().take(LONGEST_REASON).collect();
    engine.lift(book.name(), address, &reason).await?;
    if let Some(held) = book.holder(address) {
        engine.lift_doubt(held, &reason).await?;
    }
    Ok(v1::LiftQuarantineResponse { network: book.name().to_string() })
}

/// A note for each address in quarantine.
pub(super) fn notes(book: &Book) -> impl Iterator<Item = v1::Finding> {
    book.quarantined().into_iter().map(|of| {
        let reason = if of.mark.reason.is_empty() { "no reason was given" } else { &*of.mark.reason };
        let (detail, next_step) = match of.is_doubt {
            true => (
                format!("its owner may be gone: {reason}"),
                "if the pod is gone, `tenurectl release ADDRESS --apply` frees the address",
            ),
            false => (
                format!("it is withheld from allocation: {reason}"),
                "once nothing else uses the address, run `tenurectl quarantine lift ADDRESS`",
            ),
        };
        v1::Finding {
            kind: "address-quarantined".to_owned(),
            network: book.name().to_string(),
            subject: of.address.to_string(),
            detail,
            next_step: next_step.to_owned(),
            generation: book.holder(of.address).map_or(0, |held| held.generation.0),
            addresses: vec![of.address.to_string()],
            ..v1::Finding::default()
        }
    })
}

fn parsed(address: &str) -> Result<IpAddr> {
    let invalid = |_| Error::new(ErrorCode::UnknownAddress, format_args!("{address:?} is not an IP address"));
    address.parse().map_err(invalid)
}
