//! Addresses: those of secondary interfaces, and no others there.

use super::devices::Devices;
use super::operation::Operation;
use crate::ours;
use crate::seen::ObservedState;
use crate::wanted::DesiredState;

pub(super) fn plan(
    wanted: &DesiredState,
    seen: &ObservedState,
    devices: &mut Devices<'_>,
    make: &mut Vec<Operation>,
    remove: &mut Vec<Operation>,
) {
    for address in &wanted.addresses {
        if devices.has(&address.device) && !seen.addresses.contains(address) {
            make.push(Operation::AddAddress(address.clone()));
        }
    }
    for address in &seen.addresses {
        let ours = ours::is_address(address, wanted) && devices.is_there(&address.device);
        if ours && !wanted.addresses.contains(address) {
            remove.push(Operation::RemoveAddress(address.clone()));
        }
    }
}
