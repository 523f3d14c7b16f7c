//! Sysctls. `ip_forward` is not among them: Kubernetes sets it.

use super::DesiredState;
use crate::node::NodeNetwork;

pub(super) fn add(node: &NodeNetwork, wanted: &mut DesiredState) {
    let mut set = |key: String, value: &str| wanted.sysctls.insert(key, value.to_owned());
    let primary = node.primary.as_ref().map(|primary| &primary.name);
    if let Some(primary) = primary {
        // An answer to a node port's client may come and go by different interfaces: loose reverse path filtering.
        set(format!("net/ipv4/conf/{primary}/rp_filter"), "2");
    }
    if node.has_v6() {
        set("net/ipv6/conf/all/forwarding".to_owned(), "1");
        if let Some(primary) = primary {
            // A forwarding node ignores router advertisements unless told otherwise, and loses its default route with them.
            set(format!("net/ipv6/conf/{primary}/accept_ra"), "2");
        }
    }
}
