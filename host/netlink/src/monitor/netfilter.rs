//! Changes of nftables, of which only the table's name is read.

use std::io;

use rtnetlink::sys::protocols::NETLINK_NETFILTER;

use super::KernelChange;
use super::socket::MonitorSocket;
use crate::nft::NAME;

/// The group of nftables' changes (NFNLGRP_NFTABLES).
const GROUP: u32 = 7;
/// The subsystem of nftables in a message's type (NFNL_SUBSYS_NFTABLES).
const NFTABLES: u16 = 10;
/// The message after each transaction, which has no table (NFT_MSG_NEWGEN).
const NEW_GENERATION: u16 = 15;
/// The attribute with the table's name, in messages of tables, chains, rules and sets alike (NFTA_TABLE_NAME and others).
const TABLE: u16 = 1;
/// The length of the netlink header and of netfilter's own.
const HEADERS: usize = 16 + 4;

/// Opens the channel.
pub(super) fn open() -> io::Result<MonitorSocket> {
    MonitorSocket::open(NETLINK_NETFILTER, &[GROUP])
}

/// The change of our table that messages report.
pub(super) fn change(bytes: &[u8]) -> Option<KernelChange> {
    let mut rest = bytes;
    while let Some(length) = number_32(rest, 0).and_then(|length| usize::try_from(length).ok()) {
        let Some(message) = rest.get(..length).filter(|_| length >= HEADERS) else {
            return Some(KernelChange::Overrun);
        };
        let kind = number_16(message, 4)?;
        if kind >> 8 == NFTABLES && kind & 0xff != NEW_GENERATION && table(message) == Some(NAME.as_bytes()) {
            return Some(KernelChange::Table);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

/// The table's name in a message.
fn table(message: &[u8]) -> Option<&[u8]> {
    let mut rest = message.get(HEADERS..)?;
    loop {
        let length = usize::from(number_16(rest, 0)?);
        let value = rest.get(4..length)?;
        if number_16(rest, 2)? & 0x3fff == TABLE {
            return value.strip_suffix(&[0]);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn number_16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn number_32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, table: &str) -> Vec<u8> {
        let mut attribute = u16::try_from(4 + table.len() + 1).unwrap().to_ne_bytes().to_vec();
        attribute.extend(TABLE.to_ne_bytes());
        attribute.extend(table.as_bytes());
        attribute.push(0);
        attribute.resize(attribute.len().next_multiple_of(4), 0);
        let mut message = u32::try_from(HEADERS + attribute.len()).unwrap().to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend([0; 10]);
        message.extend([2, 0, 0, 0]);
        message.extend(attribute);
        message
    }

    #[test]
    fn only_our_table_is_a_change() {
        assert_eq!(change(&message(0x0a08, "tenure")), Some(KernelChange::Table));
        assert_eq!(change(&message(0x0a08, "tenure2")), None);
        assert_eq!(change(&message(0x0a0f, "tenure")), None, "the generation's identity is not a name");
        assert_eq!(change(&message(0x0108, "tenure")), None, "another subsystem");
        let both = [message(0x0a08, "nat"), message(0x0a01, "tenure")].concat();
        assert_eq!(change(&both), Some(KernelChange::Table));
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_change_of_everything() {
        let whole = message(0x0a08, "other");
        assert_eq!(change(whole.get(..19).unwrap()), Some(KernelChange::Overrun));
        assert_eq!(change(&[0; 16]), Some(KernelChange::Overrun));
        assert_eq!(change(&[]), None);
    }
}
