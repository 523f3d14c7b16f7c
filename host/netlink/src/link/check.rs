//! Comparing a pod's link with what it shall be, from both ends.

use std::net::IpAddr;

use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rtnetlink::packet_route::neighbour::NeighbourMessage;

use super::contents::{addresses, routes};
use super::{Difference, Netns, PodLink};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::observe::names;
use crate::parts::{Address, Link, Mac, Route};
use crate::wire;

/// What was found inside.
#[derive(Debug)]
struct Inside {
    link: Option<Link>,
    addresses: Vec<Address>,
    routes: Vec<Route>,
    neighbours: Vec<(IpAddr, Mac, u32)>,
}

/// Compares.
pub(super) async fn check(link: &PodLink, netns: &Netns) -> Result<Vec<Difference>, Error> {
    let host = Kernel::connect()?.link(link.host.as_str()).await?;
    let name = link.inside.clone();
    let inside = super::inside::inside(netns, async move |kernel| look(&kernel, &name).await).await?;
    let mut differences = Vec::new();
    match (&host, &inside.link) {
        (Some(host), Some(end)) => {
            if host.peer != Some(end.index) || end.peer != Some(host.index) {
                differences.push(Difference::Strangers { host: host.name.clone(), inside: end.name.clone() });
            }
            for (end, wanted) in [(host, link.host.mac()), (end, link.host.inside())] {
                if let Some(found) = end.mac.filter(|found| *found != wanted) {
                    let link = end.name.clone();
                    differences.push(Difference::HardwareAddress { link, found, wanted });
                }
            }
            let owner = host.alias.as_deref().unwrap_or("nobody");
            if owner != link.owner {
                let (found, wanted) = (owner.to_owned(), link.owner.clone());
                differences.push(Difference::Owner { link: host.name.clone(), found, wanted });
            }
            differences.extend([host, end].into_iter().flat_map(|end| state(end, link.mtu)));
            contents(link, &inside, end.index, &mut differences);
        }
        _ => {
            let ends = [(link.host.as_str(), host.is_none()), (&link.inside, inside.link.is_none())];
            let absent = ends.into_iter().filter(|(_, absent)| *absent);
            differences.extend(absent.map(|(name, _)| Difference::Absent(name.to_owned())));
        }
    }
    Ok(differences)
}

/// Looks at the pod's end.
async fn look(kernel: &Kernel, name: &str) -> Result<Inside, Error> {
    let links = kernel.links().await?;
    let names = names(&links);
    let question = Message::GetNeighbour(NeighbourMessage::default());
    let neighbours = kernel.dump("list the neighbours", question).await?;
    let neighbours = neighbours.iter().filter_map(|answer| match answer {
        Message::NewNeighbour(message) => wire::read_neighbour(message),
        _ => None,
    });
    Ok(Inside {
        addresses: kernel.addresses(&names).await?,
        routes: kernel.routes(&names).await?,
        neighbours: neighbours.collect(),
        link: links.into_iter().find(|link| link.name == name),
    })
}

/// What is different about one end.
fn state(end: &Link, mtu: u32) -> Vec<Difference> {
    let mut differences = Vec::new();
    if !end.up {
        differences.push(Difference::Down(end.name.clone()));
    }
    if end.mtu != mtu {
        differences.push(Difference::Mtu { link: end.name.clone(), found: end.mtu, wanted: mtu });
    }
    differences
}

/// What is different about addresses, routes and neighbours.
fn contents(link: &PodLink, inside: &Inside, index: u32, differences: &mut Vec<Difference>) {
    let wanted: Vec<Address> = addresses(link).collect();
    let name = || link.inside.clone();
    for address in wanted.iter().filter(|address| !inside.addresses.contains(address)) {
        differences.push(Difference::AddressMissing(address.address, name()));
    }
    let own = inside.addresses.iter().filter(|address| address.device == link.inside);
    for address in own.filter(|address| !wanted.contains(address)) {
        differences.push(Difference::AddressExtra(address.address, name()));
    }
    for route in routes(link).filter(|route| !inside.routes.contains(route)) {
        differences.push(Difference::RouteMissing(route.to_string()));
    }
    for gateway in link.gateways() {
        if !inside.neighbours.contains(&(gateway, link.host.mac(), index)) {
            differences.push(Difference::NeighbourMissing(gateway));
        }
    }
}
