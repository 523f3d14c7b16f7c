//! The routes and the DNS settings of another plugin's result, carried by the attributes of its first address, so that they
//! are kept with the allocation and are the same in each answer. A range carries routes in the same way, for those who get its addresses.

use serde::Serialize;

use super::json::JsonObject;
use super::received::{read_dns, read_routes};
use super::{Route, Success};
use crate::{AssignedAddress, Attributes, InvalidAttributes};

/// The attribute of each route, followed by its number.
const ROUTE: &str = "cni.route.";

/// The attribute of the DNS settings.
const DNS: &str = "cni.dns";

impl Success {
    /// The attributes that carry the routes and the DNS settings, and `mark` with this value.
    ///
    /// # Errors
    /// If there are too many, or one is too long.
    pub fn carried(&self, mark: &str, value: &str) -> Result<Attributes, InvalidAttributes> {
        let routes = self.routes.iter().enumerate();
        let routes = routes.map(|(number, route)| (format!("{ROUTE}{number}"), text(route)));
        let dns = (!self.dns.is_empty()).then(|| (DNS.to_owned(), text(&self.dns)));
        Attributes::new(routes.chain(dns).chain([(mark.to_owned(), value.to_owned())]))
    }

    /// The result with these addresses, and with the routes and the DNS settings that the first of them carries.
    #[must_use]
    pub fn of(addresses: Vec<AssignedAddress>) -> Self {
        let carried = addresses.first().map(|first| first.attributes.clone()).unwrap_or_default();
        // All were written by `carried`.
        let routes = routes(&carried).collect();
        let dns =
            carried.get(DNS).and_then(|text| read_dns(&JsonObject::document(text.as_bytes()).ok()?).ok());
        Self { addresses, routes, dns: dns.unwrap_or_default(), link: None }
    }
}

impl Success {
    /// The result with the routes that the ranges of its addresses carry, unless it has one to the same destination.
    #[must_use]
    pub fn with_routes_of_ranges(mut self) -> Self {
        for assigned in &self.addresses {
            for route in routes(&assigned.source.range_attributes) {
                if self.routes.iter().all(|known| known.dst != route.dst) {
                    self.routes.push(route);
                }
            }
        }
        self
    }
}

/// The routes that attributes carry.
fn routes(carried: &Attributes) -> impl Iterator<Item = Route> {
    (0..).map_while(|number| carried.get(&format!("{ROUTE}{number}"))).filter_map(route)
}

fn route(text: &str) -> Option<Route> {
    let list = format!("{{\"routes\":[{text}]}}");
    read_routes(&JsonObject::document(list.as_bytes()).ok()?).ok()?.pop()
}

fn text(value: &impl Serialize) -> String {
    // Both always serialize.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cni::Dns;

    fn carried_routes(success: &Success) -> Attributes {
        success.carried("mark", "range").unwrap()
    }

    #[test]
    fn routes_and_dns_come_back_as_they_were() {
        let route = |dst: &str, gw: &str| Route {
            dst: dst.parse().unwrap(),
            gw: gw.parse().ok(),
            mtu: Some(1400),
            advmss: None,
            priority: None,
            table: Some(7),
            scope: None,
        };
        let mut success = Success {
            addresses: vec![AssignedAddress::plain("10.0.0.2/24".parse().unwrap(), None)],
            routes: vec![route("0.0.0.0/0", "10.0.0.1"), route("fd00::/64", "")],
            dns: Dns {
                nameservers: vec!["192.0.2.1".into()],
                domain: "example.com".into(),
                ..Dns::default()
            },
            link: None,
        };
        let carried = success.carried("mark", "host-local").unwrap();
        assert_eq!(carried.get("mark"), Some("host-local"));
        success.addresses[0].attributes = carried;
        assert_eq!(Success::of(success.addresses.clone()), success);
        let mut of_range = success.addresses[0].clone();
        of_range.attributes = Attributes::default();
        let source = crate::Source { range_attributes: carried_routes(&success), ..crate::Source::default() };
        of_range.source = std::sync::Arc::new(source);
        let own = Route { mtu: None, ..route("0.0.0.0/0", "10.0.0.9") };
        let with_own = Success { addresses: vec![of_range], routes: vec![own.clone()], ..Success::default() };
        let expected = [own, success.routes[1].clone()];
        assert_eq!(with_own.with_routes_of_ranges().routes, expected, "the network's own route stands");
        success.routes = vec![route("0.0.0.0/0", ""); 40];
        assert!(success.carried("mark", "x").is_err(), "too many to be kept");
    }
}
