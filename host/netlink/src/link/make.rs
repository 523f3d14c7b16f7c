//! Making and removing a pod's link.

use std::net::IpAddr;
use std::os::fd::AsFd as _;

use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rustix::io::Errno;

use super::contents::{addresses, routes};
use super::{LinkDifference, LinkName, Netns, PodLink};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::{sysctl, wire};

/// Makes a link, unless it is there without a difference that counts.
pub(super) async fn make(
    link: &PodLink,
    netns: &Netns,
    counts: impl Fn(&LinkDifference) -> bool,
) -> Result<(), Error> {
    if !super::check::check(link, netns).await?.iter().any(counts) {
        return Ok(());
    }
    let kernel = Kernel::connect()?;
    remove_from(&kernel, &link.host, &link.owner).await?;
    match build(&kernel, link, netns).await {
        Err(error) => {
            // Half a link is worse than none. Why it could not be made is what the caller has to know.
            let _ = remove_from(&kernel, &link.host, &link.owner).await;
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

/// Removes a link, if it is this owner's or nobody's.
pub(super) async fn remove(host: &LinkName, owner: &str) -> Result<(), Error> {
    let kernel = Kernel::connect()?;
    let link = kernel.link(host.as_str()).await?;
    match link.and_then(|link| link.alias) {
        Some(other) if other != owner => Ok(()),
        _ => remove_from(&kernel, host, owner).await,
    }
}

/// Removes what has a link's name, if it is ours.
async fn remove_from(kernel: &Kernel, host: &LinkName, owner: &str) -> Result<(), Error> {
    let Some(link) = kernel.link(host.as_str()).await? else { return Ok(()) };
    // Each link of ours is made with the hardware address that follows from its name, and has it before it has an alias. Another's
    // link does not have it, even if its name has the same few digits.
    let ours = link.mac == Some(host.mac()) || link.alias.as_deref() == Some(owner);
    if link.peer.is_none() || !ours {
        return Err(Error::Taken(host.to_string()));
    }
    let removed = kernel
        .request(format!("remove link {host}"), Message::DelLink(wire::remove_link(link.index)), 0)
        .await;
    removed.or_else(|error| if error.is(Errno::NODEV) { Ok(()) } else { Err(error) })
}

/// Makes the pair, and sets both ends up. The owner is named last, so that a link that has one was whole once.
async fn build(kernel: &Kernel, link: &PodLink, netns: &Netns) -> Result<(), Error> {
    let pair = wire::NewVeth {
        name: link.host.as_str(),
        mac: link.host.mac(),
        peer: &link.inside,
        peer_mac: link.host.inside(),
        namespace: netns.as_fd(),
        mtu: link.mtu,
    };
    let what = format!("make link {}", link.host);
    kernel.request(what, Message::NewLink(wire::veth(&pair)), NLM_F_CREATE | NLM_F_EXCL).await?;
    let host = kernel.link(link.host.as_str()).await?.ok_or_else(|| Error::NoLink(link.host.to_string()))?;
    quiet(link.host.as_str())?;
    let pod = link.clone();
    super::inside::inside(netns, async move |kernel| set_up(&kernel, &pod).await).await?;
    let alias = Message::NewLink(wire::set_alias(host.index, &link.owner));
    kernel.request(format!("name the owner of link {}", link.host), alias, 0).await
}

/// Sets the pod's end up, inside of the pod.
async fn set_up(kernel: &Kernel, link: &PodLink) -> Result<(), Error> {
    let name = &link.inside;
    quiet(name)?;
    if link.addresses.iter().any(IpAddr::is_ipv6) {
        // Some runtimes turn IPv6 off in each new namespace.
        let key = format!("net/ipv6/conf/{name}/disable_ipv6");
        if sysctl::read(&key)?.is_some_and(|value| value != "0") {
            sysctl::write(&key, "0")?;
        }
    }
    let index = kernel.link(name).await?.ok_or_else(|| Error::NoLink(name.clone()))?.index;
    let up = Message::NewLink(wire::set_link(index, link.mtu));
    kernel.request(format!("set link {name} up"), up, 0).await?;
    for address in addresses(link) {
        kernel.add_address(&address, index).await?;
    }
    for route in routes(link) {
        kernel.set_route(&route, index).await?;
    }
    for gateway in link.gateways() {
        let neighbour = Message::NewNeighbour(wire::write_neighbour(gateway, link.host.mac(), index));
        let what = format!("set neighbour {gateway} of {name}");
        kernel.request(what, neighbour, NLM_F_CREATE | NLM_F_REPLACE).await?;
    }
    Ok(())
}

/// Makes an end ignore router advertisements: nobody else is on the link.
fn quiet(name: &str) -> Result<(), Error> {
    let key = format!("net/ipv6/conf/{name}/accept_ra");
    match sysctl::read(&key)? {
        Some(value) if value != "0" => sysctl::write(&key, "0"),
        _ => Ok(()),
    }
}
