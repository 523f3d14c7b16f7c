//! The addresses that the kernel has a way to, which a witness names.

use std::net::IpAddr;

use tenure_netlink::Kernel;

use crate::room::{library, shell};
use crate::suite::Suite;
use crate::world::World;

pub(crate) fn tests(suite: &mut Suite) {
    suite.test("the_machines_own_addresses_are_among_its_hosts", hosts);
}

fn hosts() {
    let world = World::whole();
    shell(&world.node, "ip addr add 10.0.0.40/32 dev eth0");
    let hosts = library(&world.node, async || Kernel::connect().unwrap().hosts().await.unwrap());
    let at = |address: &str| hosts.get(&address.parse::<IpAddr>().unwrap()).map(String::as_str);
    assert_eq!(at("10.0.0.40"), Some("eth0"), "before any route to a pod, the machine answers for it");
    assert_eq!(at("10.0.1.33"), Some(&*world.description.pods[1].link));
    assert_eq!(at("10.0.0.41"), None);
}
