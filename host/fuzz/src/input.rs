//! The fuzzer's bytes as a sequence of choices; when they are used up, every choice is zero.

use std::net::IpAddr;

/// A reader of choices.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// One of `count` choices.
    pub(crate) fn below(&mut self, count: u8) -> u8 {
        self.byte() % count.max(1)
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    /// An address: mostly one of a few hundred neighbours, so that ranges overlap; sometimes any address.
    pub(crate) fn address(&mut self) -> IpAddr {
        match self.below(8) {
            0 => IpAddr::from(self.bytes::<4>()),
            1 => IpAddr::from(self.bytes::<16>()),
            2 | 3 => IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(self.byte())]),
            choice => IpAddr::from([10, 0, choice & 1, self.byte()]),
        }
    }
}
