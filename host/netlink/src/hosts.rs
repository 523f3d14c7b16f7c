//! Lists the single hosts that the kernel has a route to, and its own addresses, which shows whether an address is in use on this node.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rtnetlink::packet_route::neighbour::NeighbourMessage;

use crate::error::Error;
use crate::kernel::Kernel;
use crate::observe::names;
use crate::wire;

impl Kernel {
    /// Each address that a route of its own in the main table or in [our tables](crate::numbers::OWN_TABLES) leads to, or
    /// that answered as a neighbour, with the link behind which it is, and each global address of the machine's own, with its link. A
    /// neighbour in the subnet of its link is another machine.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub async fn hosts(&self) -> Result<BTreeMap<IpAddr, String>, Error> {
        let names = names(&self.links().await?);
        let neighbours =
            self.dump("list the neighbours", Message::GetNeighbour(NeighbourMessage::default())).await?;
        let neighbours = neighbours.iter().filter_map(|answer| match answer {
            Message::NewNeighbour(message) => wire::read_answered(message),
            _ => None,
        });
        let own = self.addresses(&names).await?;
        let is_outside = |address: IpAddr, link: &str| {
            let of_link = own.iter().filter(|own| own.device == link);
            let mut subnets = of_link.filter_map(|own| IpNet::new(own.address, own.length).ok());
            subnets.any(|subnet| subnet.contains(&address))
        };
        let named = |index: u32| names.get(&index).cloned().unwrap_or_default();
        let mut hosts: BTreeMap<IpAddr, String> = neighbours
            .map(|(address, index)| (address, named(index)))
            .filter(|(address, link)| !is_outside(*address, link))
            .collect();
        let routes = self.routes(&names).await?.into_iter();
        let to_hosts = routes.filter(|route| route.to.prefix_len() == route.to.max_prefix_len());
        hosts.extend(to_hosts.map(|route| (route.to.addr(), route.device)));
        // Before any route to a pod, the machine itself answers for it.
        hosts.extend(own.into_iter().map(|own| (own.address, own.device)));
        Ok(hosts)
    }
}
