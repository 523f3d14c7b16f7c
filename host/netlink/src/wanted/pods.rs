//! Pods: one route to each address, in one table.

use ipnet::IpNet;

use super::Wanted;
use crate::node::Node;
use crate::numbers::POD_TABLE;
use crate::parts::Route;

pub(super) fn add(node: &Node, wanted: &mut Wanted) {
    for pod in &node.pods {
        let routes =
            pod.addresses.iter().map(|address| Route::new(POD_TABLE, IpNet::from(*address), None, &pod.link));
        wanted.routes.extend(routes);
    }
}
