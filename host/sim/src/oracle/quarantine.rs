//! The addresses that operators put into quarantine, as an outside observer knows them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::register::{Change, Register};

/// The addresses that operators of the simulation put into quarantine: of the policies' ranges, and of blocks.
pub(crate) const DOUBTFUL: [IpAddr; 4] = [
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 4)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 6)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 3)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 9)),
];

/// A change of an address of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quarantine {
    /// Put it into quarantine.
    Add,
    /// Take it out.
    Lift,
    /// No change, but it may be handed out meanwhile.
    Look,
}

impl Change for Quarantine {
    /// Whether nobody may be given it. It may be in quarantine although this is `false`: another network that was removed had it
    /// there.
    type Value = bool;

    fn on(self, value: bool) -> bool {
        match self {
            Self::Add => true,
            Self::Lift => false,
            Self::Look => value,
        }
    }

    fn succeeds_on(self, _: bool) -> bool {
        true
    }
}

/// The addresses of a network that may be in quarantine.
#[derive(Debug)]
pub(super) struct Quarantines(BTreeMap<IpAddr, Register<Quarantine>>);

impl Default for Quarantines {
    fn default() -> Self {
        Self(DOUBTFUL.into_iter().map(|address| (address, Register::new(false))).collect())
    }
}

impl Quarantines {
    /// A request is sent that may get addresses.
    pub(super) fn asked(&mut self, id: u64) {
        self.0.values_mut().for_each(|known| known.sent(id, Quarantine::Look));
    }

    pub(super) fn sent(&mut self, id: u64, address: IpAddr, change: Quarantine) {
        if let Some(known) = self.0.get_mut(&address) {
            known.sent(id, change);
        }
    }

    pub(super) fn ended(&mut self, id: u64, success: bool) {
        self.0.values_mut().for_each(|known| known.ended(id, success));
    }

    pub(super) fn cut_off(&mut self) {
        self.0.values_mut().for_each(Register::cut_off);
    }

    /// Whether an address may have been out of quarantine at some time since a request was sent.
    pub(super) fn may_grant(&self, id: u64, address: IpAddr) -> bool {
        self.0.get(&address).is_none_or(|known| known.since(id).contains(&false))
    }

    /// The addresses that are in quarantine for certain.
    pub(super) fn certain(&self) -> impl Iterator<Item = IpAddr> {
        self.0.iter().filter(|(_, known)| !known.possible().contains(&false)).map(|(address, _)| *address)
    }
}
