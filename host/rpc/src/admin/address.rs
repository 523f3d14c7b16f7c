//! Everything about one address, on each network whose ranges contain it.

use std::net::IpAddr;

use tenure_engine::Engine;
use tenure_ledger::{Book, Standing};
use tenure_types::{Error, ErrorCode, Result};

use super::books::books;
use super::quarantine::quarantined;
use super::shown::allocation;
use crate::v1;

pub(super) async fn address(engine: &Engine, text: &str) -> Result<v1::GetAddressResponse> {
    let unknown = |cause: String| Error::new(ErrorCode::UnknownAddress, cause);
    let address: IpAddr = text.parse().map_err(|_| unknown(format!("{text:?} is not an IP address")))?;
    let states: Vec<_> = books(engine).await.iter().filter_map(|book| state(engine, book, address)).collect();
    if states.is_empty() {
        return Err(unknown(format!("{address} is in no range of any network on this node")));
    }
    Ok(v1::GetAddressResponse { states })
}

fn state(engine: &Engine, book: &Book, address: IpAddr) -> Option<v1::AddressState> {
    let standing = match book.standing(address) {
        Standing::Outside => return None,
        Standing::Free => "free",
        Standing::Held => "held",
        Standing::Cooling => "cooling",
        Standing::Draining => "draining",
        Standing::Quarantined => "quarantined",
        Standing::Reserved => "reserved",
    };
    let cooling_for_ms = book.cooling_since(address).map_or(0, |since| {
        let cooled = engine.now().since(since);
        let left = book.cooldown(engine.settings().cooldown).saturating_sub(cooled);
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
    });
    Some(v1::AddressState {
        network: book.network().name.to_string(),
        standing: standing.to_owned(),
        allocation: book.holder(address).map(|held| allocation(book, held)),
        cooling_for_ms,
        waiting: book.waiting_for(address).map(|claim| allocation(book, claim)),
        quarantine: book
            .quarantined()
            .iter()
            .find(|of| of.address == address)
            .map(|of| quarantined(book, of)),
    })
}
