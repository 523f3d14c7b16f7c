//! ipamd's checkpoint, compared with the ledger. ipamd knows one network, so all of its rows are those of the network that moved
//! over from it.

use std::net::IpAddr;
use std::path::Path;

use serde_json::Value;
use tenure_engine::ports::{IsKnown, Reservation};
use tenure_types::{ContainerId, InterfaceName, NetworkName, Owner, Result};

use super::{is_nothing, letting_go, refused};

/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Refuses the network if the ledger does not account for a row.
pub(super) fn look(file: &Path, network: &NetworkName, is_known: &IsKnown) -> Result<()> {
    let path = file.display();
    let let_go = letting_go(network, format_args!("ipamd {path}"));
    let told = |what: &dyn std::fmt::Display| {
        let cause = format_args!(
            "{path}: {what}; import them with `tenurectl import --apply ipamd {path} --network {network}`"
        );
        refused(cause).to_be_solved_by(format!(
            "import them as described above; if none of them is in use, remove the file, or end the comparison with it: {let_go}"
        ))
    };
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) if is_nothing(&error) => return Ok(()),
        Err(error) => {
            let cause = format_args!(
                "{path}: {error}, but network {network} was imported from it; let tenured read it, or, if none of its addresses is in use, {let_go}"
            );
            return Err(refused(cause).to_be_solved_by("do what the message says"));
        }
    };
    let checkpoint: Value = serde_json::from_slice(&text).map_err(|error| told(&error))?;
    let rows = match checkpoint.get("allocations") {
        None => &[],
        Some(Value::Array(rows)) => rows.as_slice(),
        Some(_) => return Err(told(&"its allocations are not a list")),
    };
    let mut all_unknown = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let unreadable =
            |text: &Value| told(&format_args!("allocation {index}: {text} is not an IP address"));
        all_unknown.extend(unknown(row, is_known).map_err(unreadable)?);
    }
    let unknown = all_unknown;
    match unknown.iter().min() {
        None => Ok(()),
        Some(lowest) => Err(told(&format_args!(
            "ipamd has addresses for network {network} that were not imported, {} in all, such as {lowest}",
            unknown.len()
        ))),
    }
}

/// The addresses of a row that the ledger does not account for; an error is what cannot be an address.
fn unknown<'a>(row: &'a Value, is_known: &IsKnown) -> std::result::Result<Vec<IpAddr>, &'a Value> {
    let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
    let at = row.get("allocationTimestamp").and_then(Value::as_i64);
    // As the import tells claims apart.
    let claim = at.map_or_else(String::new, |at| at.to_string());
    let claimed_at_ms = at.and_then(|at| u64::try_from(at).ok()).map(|at| at / MILLISECOND);
    let owner = || {
        let container = ContainerId::new(text("containerID")).ok()?;
        let interface = InterfaceName::new(text("ifName")).ok()?;
        Some(Owner::Attachment { container, interface })
    };
    let named = ["ipv4", "ipv6"].into_iter().filter_map(|key| row.get(key));
    let named = named.filter(|named| named.as_str() != Some(""));
    let read = |named: &'a Value| named.as_str().and_then(|text| text.parse::<IpAddr>().ok()).ok_or(named);
    let addresses = named.map(read).collect::<std::result::Result<Vec<_>, _>>()?;
    let is_unknown = |address: &IpAddr| {
        !is_known(&Reservation { address: *address, claim: &claim, claimed_at_ms, owner: &owner })
    };
    Ok(addresses.into_iter().filter(is_unknown).collect())
}
