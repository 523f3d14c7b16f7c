//! Compares a pod's link with its expected state, from both ends.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rtnetlink::packet_route::address::AddressMessage;
use rtnetlink::packet_route::neighbour::NeighbourMessage;
use rtnetlink::packet_route::route::RouteMessage;

use super::contents::{addresses, routes};
use super::{LinkDifference, Netns, PodLink};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::parts::{InterfaceAddress, IpFamily, KernelLink, KernelRoute, Mac};
use crate::wire;

/// The most addresses, routes or neighbours that are looked at in a pod, which may have NET_ADMIN and make as many as it likes.
const MOST: usize = 200_000;
/// The most addresses that are named as not the pod's.
const MOST_EXTRA: usize = 8;

/// The state inside the pod.
#[derive(Debug, Default)]
struct Inside {
    link: Option<KernelLink>,
    addresses: Vec<InterfaceAddress>,
    routes: Vec<KernelRoute>,
    neighbours: Vec<(IpAddr, Mac, u32)>,
}

/// Compares a link with its expected state.
pub(super) async fn check(link: &PodLink, netns: &Netns) -> Result<Vec<LinkDifference>, Error> {
    let host = Kernel::connect()?.link(link.host.as_str()).await?;
    let pod = link.clone();
    let inside = super::inside::inside(netns, async move |kernel| look(&kernel, &pod).await).await?;
    let mut differences: Vec<LinkDifference> = host.iter().filter_map(|host| owner(host, link)).collect();
    match (&host, &inside.link) {
        (Some(host), Some(end)) => {
            if host.peer != Some(end.index) || end.peer != Some(host.index) {
                differences
                    .push(LinkDifference::Strangers { host: host.name.clone(), inside: end.name.clone() });
            }
            for (end, wanted) in [(host, link.host.mac()), (end, link.host.inside())] {
                if let Some(found) = end.mac.filter(|found| *found != wanted) {
                    let link = end.name.clone();
                    differences.push(LinkDifference::HardwareAddress { link, found, wanted });
                }
            }
            differences.extend([host, end].into_iter().flat_map(|end| state(end, link.mtu)));
            contents(link, &inside, end.index, &mut differences);
        }
        _ => {
            let ends = [(link.host.as_str(), host.is_none()), (&link.inside, inside.link.is_none())];
            let absent = ends.into_iter().filter(|(_, absent)| *absent);
            differences.extend(absent.map(|(name, _)| LinkDifference::Absent(name.to_owned())));
        }
    }
    Ok(differences)
}

/// The difference in the owner of the host's end.
fn owner(host: &KernelLink, link: &PodLink) -> Option<LinkDifference> {
    let owner = host.alias.as_deref().unwrap_or("nobody");
    (owner != link.owner).then(|| LinkDifference::Owner {
        link: host.name.clone(),
        found: owner.to_owned(),
        wanted: link.owner.clone(),
    })
}

/// Looks at the pod's end, and of everything else in the pod only at what concerns it.
async fn look(kernel: &Kernel, pod: &PodLink) -> Result<Inside, Error> {
    let Some(end) = kernel.link(&pod.inside).await? else { return Ok(Inside::default()) };
    let names = BTreeMap::from([(end.index, end.name.clone())]);
    let question = Message::GetAddress(AddressMessage::default());
    let read = |answer| match answer {
        Message::NewAddress(message) => wire::read_address(&message, &names),
        _ => None,
    };
    let addresses = kernel.gather("list the pod's addresses", question, MOST, read).await?;
    let wanted: Vec<KernelRoute> = routes(pod).collect();
    let mut found = Vec::new();
    for gateway in pod.gateways() {
        let mut question = RouteMessage::default();
        question.header.address_family = wire::family(IpFamily::of_address(gateway));
        let read = |answer| match answer {
            Message::NewRoute(message) => {
                wire::read_route(&message, &names).filter(|route| wanted.contains(route))
            }
            _ => None,
        };
        found.extend(kernel.gather("list the pod's routes", Message::GetRoute(question), MOST, read).await?);
    }
    let question = Message::GetNeighbour(NeighbourMessage::default());
    let read = |answer| match answer {
        Message::NewNeighbour(message) => {
            wire::read_neighbour(&message).filter(|(_, _, index)| *index == end.index)
        }
        _ => None,
    };
    let neighbours = kernel.gather("list the pod's neighbours", question, MOST, read).await?;
    Ok(Inside { link: Some(end), addresses, routes: found, neighbours })
}

/// The differences of one end.
fn state(end: &KernelLink, mtu: u32) -> Vec<LinkDifference> {
    let mut differences = Vec::new();
    if !end.up {
        differences.push(LinkDifference::Down(end.name.clone()));
    }
    if end.mtu != mtu {
        differences.push(LinkDifference::Mtu { link: end.name.clone(), found: end.mtu, wanted: mtu });
    }
    differences
}

/// The differences in addresses, routes and neighbours.
fn contents(link: &PodLink, inside: &Inside, index: u32, differences: &mut Vec<LinkDifference>) {
    let wanted: Vec<InterfaceAddress> = addresses(link).collect();
    let name = || link.inside.clone();
    for address in wanted.iter().filter(|address| !inside.addresses.contains(address)) {
        differences.push(LinkDifference::AddressMissing(address.address, name()));
    }
    let own = inside.addresses.iter().filter(|address| address.device == link.inside);
    for address in own.filter(|address| !wanted.contains(address)).take(MOST_EXTRA) {
        differences.push(LinkDifference::AddressExtra(address.address, name()));
    }
    for route in routes(link).filter(|route| !inside.routes.contains(route)) {
        differences.push(LinkDifference::RouteMissing(route.to_string()));
    }
    for gateway in link.gateways() {
        if !inside.neighbours.contains(&(gateway, link.host.mac(), index)) {
            differences.push(LinkDifference::NeighbourMissing(gateway));
        }
    }
}
