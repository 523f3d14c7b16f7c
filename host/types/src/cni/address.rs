//! Addresses as callers ask for them: `10.1.2.3` or `10.1.2.3/24`.

use std::net::IpAddr;

use ipnet::IpNet;

/// Reads a requested address. Its prefix length is checked and dropped: the range's own counts.
///
/// A v4-mapped v6 address is the v4 address, as it is in Go.
pub(super) fn parse(text: &str) -> Result<IpAddr, &'static str> {
    let address = match text.contains('/') {
        true => {
            text.parse().map(|net: IpNet| net.addr()).map_err(|_| "not an IP address with a prefix length")
        }
        false => text.parse().map_err(|_| "not an IP address"),
    };
    address.map(|address: IpAddr| address.to_canonical())
}
