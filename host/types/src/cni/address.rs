//! Requested addresses, written `10.1.2.3` or `10.1.2.3/24`.

use std::net::IpAddr;

use ipnet::IpNet;

/// Reads a requested address; an empty string requests none. A prefix length is checked and dropped, because the
/// range determines it.
///
/// An IPv4-mapped IPv6 address is read as IPv4, as in Go.
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
