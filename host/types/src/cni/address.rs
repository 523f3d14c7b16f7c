//! Addresses as callers ask for them: `10.1.2.3` or `10.1.2.3/24`.

use std::net::IpAddr;

use ipnet::IpNet;

/// Reads a requested address; an empty text asks for none. Its prefix length is checked and dropped: the range's own counts.
///
/// A v4-mapped v6 address is the v4 address, as it is in Go.
pub(super) fn requested(text: &str) -> Result<Option<IpAddr>, &'static str> {
    let address = match text.contains('/') {
        _ if text.is_empty() => return Ok(None),
        true => {
            text.parse().map(|net: IpNet| net.addr()).map_err(|_| "not an IP address with a prefix length")
        }
        false => text.parse().map_err(|_| "not an IP address"),
    };
    address.map(|address: IpAddr| Some(address.to_canonical()))
}
