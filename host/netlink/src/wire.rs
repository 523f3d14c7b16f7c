//! Our plain data as netlink messages, and back.

mod address;
mod link;
mod neighbour;
mod route;
mod rule;

pub(crate) use address::{read_address, write_address};
pub(crate) use link::{
    NewVeth, get_link, get_links, raise_link, read_link, read_link_name, remove_link, set_alias, set_link,
    veth,
};
pub(crate) use neighbour::{read_answered, read_neighbour, write_neighbour};
pub(crate) use route::{read_route, write_route};
pub(crate) use rule::{read_rule, write_rule};

use rtnetlink::packet_route::AddressFamily;

use crate::parts::IpFamily;

/// A family as the kernel counts them.
pub(crate) fn family(family: IpFamily) -> AddressFamily {
    match family {
        IpFamily::V4 => AddressFamily::Inet,
        IpFamily::V6 => AddressFamily::Inet6,
    }
}
