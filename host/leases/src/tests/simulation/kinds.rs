//! The pools of the simulated cluster: one of both families, and one with larger blocks. An address tells its pool and family.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

use crate::{PoolKey, Uid};

/// The pools.
pub(super) const POOLS: usize = 2;

/// A pool in one family.
#[derive(Debug)]
pub(super) struct PoolKind {
    /// The position of the pool.
    pub(super) pool: usize,
    pub(super) is_ipv6: bool,
    /// The prefix length of a block.
    pub(super) unit: u8,
    /// Two ranges of four blocks each; the second one comes and goes.
    pub(super) ranges: [&'static str; 2],
    /// A range that joins the pool at the end.
    pub(super) room: &'static str,
}

/// All of them. The first is part of every history.
pub(super) const KINDS: [PoolKind; 3] = [
    PoolKind {
        pool: 0,
        is_ipv6: false,
        unit: 30,
        ranges: ["10.0.0.0/28", "10.0.1.0/28"],
        room: "10.0.2.0/27",
    },
    PoolKind {
        pool: 0,
        is_ipv6: true,
        unit: 126,
        ranges: ["fd00::/124", "fd00::1:0/124"],
        room: "fd00::2:0/123",
    },
    PoolKind {
        pool: 1,
        is_ipv6: false,
        unit: 29,
        ranges: ["10.1.0.0/27", "10.1.1.0/27"],
        room: "10.1.2.0/26",
    },
];

/// The key of a pool.
pub(super) fn key(pool: usize) -> PoolKey {
    PoolKey { name: format!("p{pool}").into(), uid: Uid(1 + pool as u128) }
}

/// The position of an address' kind.
fn position(address: IpAddr) -> usize {
    match address {
        IpAddr::V6(_) => 1,
        IpAddr::V4(address) if address.octets()[1] == 1 => 2,
        IpAddr::V4(_) => 0,
    }
}

/// The position of a block's kind.
pub(super) fn kind_of(cidr: IpNet) -> usize {
    position(cidr.addr())
}

/// The position of a block's pool.
pub(super) fn pool_of(cidr: IpNet) -> usize {
    KINDS[kind_of(cidr)].pool
}

/// The block of an address.
pub(super) fn block_of(address: IpAddr) -> IpNet {
    let unit = KINDS[position(address)].unit;
    IpNet::new(address, unit).map(|cidr| cidr.trunc()).unwrap_or_else(|_| unreachable!("a prefix length"))
}

/// The addresses of a block or a range.
pub(super) fn addresses(cidr: IpNet) -> impl Iterator<Item = IpAddr> {
    let count = 1_u32 << (cidr.max_prefix_len() - cidr.prefix_len());
    (0..count).map(move |index| match cidr {
        IpNet::V4(cidr) => IpAddr::V4((u32::from(cidr.network()) + index).into()),
        IpNet::V6(cidr) => IpAddr::V6(Ipv6Addr::from_bits(cidr.network().to_bits() + u128::from(index))),
    })
}
