//! Addresses that nobody has and that are withheld from allocation: they cool down, or are in quarantine.

use std::net::IpAddr;

use tenure_types::{Moment, Range};

use super::Book;
use crate::books::cooling::CoolingAddress;
use crate::books::stock::Change;

impl Book {
    /// Lets an address that was let go cool down for as long as the network asks now, or its range if that asks for longer. One of a range whose
    /// addresses never cool is free.
    pub(super) fn cool_from(&mut self, address: IpAddr, since: Moment) {
        let range = self.stock.locate(address).map(|(_, range, ..)| range);
        if range.is_some_and(Range::never_cools) {
            self.taken.remove(address);
            return;
        }
        let of_range = range.map_or(0, Range::cooldown_seconds);
        let seconds = self.network.cooldown_seconds().max(of_range);
        self.cool(CoolingAddress { address, since, seconds });
    }

    /// Takes an address that nobody has out of what can be handed out.
    pub(super) fn bar(&mut self, address: IpAddr) {
        self.taken.insert(address);
        self.stock.change(address, Change::Bar);
    }

    /// Lets an address cool down that nobody has.
    pub(super) fn cool(&mut self, cooling: CoolingAddress) {
        let address = cooling.address;
        self.warm(address);
        self.taken.insert(address);
        let place = self.cooling.push(cooling);
        self.stock.change(address, Change::Cool(place));
    }

    /// Ends an address's cooldown; the caller marks it as held or free.
    pub(super) fn warm(&mut self, address: IpAddr) {
        if let Some(place) = self.cooling.remove(address) {
            self.stock.change(address, Change::Warm(place));
        }
    }
}
