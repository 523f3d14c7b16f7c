//! Routes: ours in our tables, and none of a secondary interface's subnet in the main one.

use std::collections::BTreeSet;

use super::devices::Devices;
use super::operation::Operation;
use crate::ours;
use crate::parts::KernelRoute;
use crate::seen::ObservedState;
use crate::wanted::DesiredState;

pub(super) fn plan(
    wanted: &DesiredState,
    seen: &ObservedState,
    devices: &mut Devices<'_>,
    make: &mut Vec<Operation>,
    remove: &mut Vec<Operation>,
) {
    let present: BTreeSet<&KernelRoute> = seen.routes.iter().collect();
    let missing: Vec<&KernelRoute> =
        wanted.routes.iter().filter(|route| devices.has(&route.device) && !present.contains(route)).collect();
    let replaced: BTreeSet<_> = missing.iter().map(|route| route.key()).collect();
    for route in &seen.routes {
        let stale = ours::is_route(route, wanted) && !wanted.routes.contains(route);
        // A stranger's link that has the name of ours keeps the kernel's route to its subnet.
        let strange = wanted.link(&route.device).is_some() && !devices.is_there(&route.device);
        if stale && !strange && !replaced.contains(&route.key()) {
            remove.push(Operation::RemoveRoute(route.clone()));
        }
    }
    // A gateway is only accepted once there is a route to it.
    let (direct, through): (Vec<&KernelRoute>, Vec<&KernelRoute>) =
        missing.into_iter().partition(|route| route.via.is_none());
    make.extend(direct.into_iter().chain(through).cloned().map(Operation::SetRoute));
}
