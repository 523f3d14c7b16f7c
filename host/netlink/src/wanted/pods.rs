//! Pods: one route to each address, in one table.

use ipnet::IpNet;

use super::DesiredState;
use crate::node::NodeNetwork;
use crate::numbers::POD_TABLE;
use crate::parts::KernelRoute;

pub(super) fn add(node: &NodeNetwork, wanted: &mut DesiredState) {
    for pod in &node.pods {
        let routes = pod
            .addresses
            .iter()
            .map(|address| KernelRoute::new(POD_TABLE, IpNet::from(*address), None, &pod.link));
        wanted.routes.extend(routes);
    }
}
