//! The result of an ADD, in the format of each version of the specification.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Serialize;

use super::{Dns, Route, SpecVersion};
use crate::{AssignedAddress, Connected, Error, ErrorCode, LinkEnd};

/// The result of an ADD, independent of the version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Success {
    /// The addresses, in the order of the network's pools.
    pub addresses: Vec<AssignedAddress>,
    /// The routes, as configured.
    pub routes: Vec<Route>,
    /// The DNS settings.
    pub dns: Dns,
    /// The link that the addresses are on; `None` if another plugin makes it.
    pub link: Option<Box<Connected>>,
}

impl Success {
    /// The result of a link that the host has made: each address alone in its subnet, and everything through the link.
    #[must_use]
    pub fn on(self, link: Connected) -> Self {
        let alone = |assigned: AssignedAddress| AssignedAddress::plain(IpNet::from(assigned.ip()), None);
        let addresses = self.addresses.into_iter().map(alone).collect();
        let routes = link.gateways.iter().map(|gateway| Route::default_by(*gateway)).collect();
        Self { addresses, routes, dns: self.dns, link: Some(Box::new(link)) }
    }

    /// The JSON object to print.
    ///
    /// # Errors
    /// `IncompatibleVersion` when the version cannot express these addresses: versions before 0.3.0 need at least one
    /// address, and have at most one per family.
    pub fn render(&self, version: SpecVersion) -> Result<String, Error> {
        let rendered = if version < SpecVersion::V0_3_0 {
            serde_json::to_string(&self.families(version)?)
        } else {
            serde_json::to_string(&self.list(version))
        };
        rendered.map_err(|error| {
            Error::new(ErrorCode::Internal, format_args!("cannot serialize the result: {error}"))
        })
    }

    fn list(&self, version: SpecVersion) -> List<'_> {
        let family = |address: IpAddr| if address.is_ipv4() { "4" } else { "6" };
        let ips = self.addresses.iter().map(|assigned| ListedAddress {
            version: (version < SpecVersion::V1_0_0).then(|| family(assigned.address.addr())),
            interface: self.link.is_some().then_some(INSIDE),
            address: assigned.address,
            gateway: assigned.gateway(),
        });
        List {
            cni_version: version,
            interfaces: self.interfaces(version),
            ips: ips.collect(),
            routes: &self.routes,
            dns: self.dns_of(version),
        }
    }

    /// The two ends of the link, in the order that [`INSIDE`] tells.
    fn interfaces(&self, version: SpecVersion) -> Vec<Interface<'_>> {
        let Some(link) = &self.link else { return Vec::new() };
        let mtu = (version >= SpecVersion::V1_1_0).then_some(link.mtu);
        let interface = |end: &'_ LinkEnd, sandbox| Interface {
            name: end.name.clone(),
            mac: end.mac.clone(),
            mtu,
            sandbox,
        };
        vec![interface(&link.host, None), interface(&link.inside, Some(&link.netns))]
    }

    fn families(&self, version: SpecVersion) -> Result<ResultByFamily<'_>, Error> {
        let refuse = |cause: String| Error::new(ErrorCode::IncompatibleVersion, cause);
        if self.addresses.is_empty() {
            return Err(refuse("cannot convert: no valid IP addresses".to_owned()));
        }
        let family = |is_ipv4: bool| {
            let mut members =
                self.addresses.iter().filter(|assigned| assigned.address.addr().is_ipv4() == is_ipv4);
            let first = members.next();
            if members.next().is_some() {
                let cause = format!("CNI version {version} does not support more than 1 address per family");
                return Err(refuse(cause));
            }
            let routes =
                self.routes.iter().filter(|route| route.dst.addr().is_ipv4() == is_ipv4).map(Route::plain);
            Ok(first.map(|assigned| Family {
                ip: assigned.address.to_string(),
                gateway: assigned.gateway(),
                routes: routes.collect(),
            }))
        };
        Ok(ResultByFamily {
            cni_version: version,
            ip4: family(true)?,
            ip6: family(false)?,
            dns: self.dns_of(version),
        })
    }

    /// Versions before 1.0.0 always have the key; later ones have it only if it is not empty.
    fn dns_of(&self, version: SpecVersion) -> Option<&Dns> {
        (version < SpecVersion::V1_0_0 || !self.dns.is_empty()).then_some(&self.dns)
    }
}

/// The format from 0.3.0 on.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    cni_version: SpecVersion,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interfaces: Vec<Interface<'a>>,
    ips: Vec<ListedAddress>,
    #[serde(skip_serializing_if = "<[Route]>::is_empty")]
    routes: &'a [Route],
    #[serde(skip_serializing_if = "Option::is_none")]
    dns: Option<&'a Dns>,
}

/// Which of the result's interfaces has the addresses: the end in the sandbox.
const INSIDE: u32 = 1;

#[derive(Serialize)]
struct Interface<'a> {
    name: String,
    mac: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'a str>,
}

#[derive(Serialize)]
struct ListedAddress {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<u32>,
    address: IpNet,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
}

/// The format of 0.1.0 and 0.2.0.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultByFamily<'a> {
    cni_version: SpecVersion,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip4: Option<Family>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip6: Option<Family>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dns: Option<&'a Dns>,
}

#[derive(Serialize)]
struct Family {
    ip: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(address: &str, gateway: &str) -> AssignedAddress {
        AssignedAddress::plain(address.parse().unwrap(), gateway.parse().ok())
    }

    fn route(dst: &str) -> Route {
        Route {
            dst: dst.parse().unwrap(),
            gw: None,
            mtu: None,
            advmss: None,
            priority: None,
            table: None,
            scope: None,
        }
    }

    fn dual_stack() -> Success {
        let v4 = Route { gw: "10.1.2.9".parse().ok(), mtu: Some(1400), table: Some(0), ..route("0.0.0.0/0") };
        Success {
            addresses: vec![
                assigned("10.1.2.2/24", "10.1.2.1"),
                assigned("2001:db8:1::2/64", "2001:db8:1::1"),
            ],
            routes: vec![v4, route("2001:db8::/32")],
            dns: Dns { nameservers: vec!["192.0.2.53".into()], ..Dns::default() },
            link: None,
        }
    }

    fn linked() -> Success {
        let end = |name: &str, mac: &str| LinkEnd { name: name.to_owned(), mac: mac.to_owned() };
        let link = Connected {
            host: end("eni0d7763386da", "02:00:5e:00:53:01"),
            inside: end("eth0", "02:00:5e:00:53:02"),
            mtu: 9001,
            netns: "/run/netns/pod".into(),
            gateways: vec!["169.254.1.1".parse().unwrap(), "fe80::1".parse().unwrap()],
        };
        let addresses = vec![assigned("10.1.2.2/24", "10.1.2.1"), assigned("2001:db8:1::2/64", "")];
        Success { addresses, ..Success::default() }.on(link)
    }

    #[test]
    fn a_link_is_told_from_0_3_0_on_with_the_index_of_the_pods_end() {
        let render = |version| linked().render(version).unwrap();
        insta::assert_snapshot!(render(SpecVersion::V0_2_0), @r#"{"cniVersion":"0.2.0","ip4":{"ip":"10.1.2.2/32","routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"}]},"ip6":{"ip":"2001:db8:1::2/128","routes":[{"dst":"::/0","gw":"fe80::1"}]},"dns":{}}"#);
        insta::assert_snapshot!(render(SpecVersion::V0_4_0), @r#"{"cniVersion":"0.4.0","interfaces":[{"name":"eni0d7763386da","mac":"02:00:5e:00:53:01"},{"name":"eth0","mac":"02:00:5e:00:53:02","sandbox":"/run/netns/pod"}],"ips":[{"version":"4","interface":1,"address":"10.1.2.2/32"},{"version":"6","interface":1,"address":"2001:db8:1::2/128"}],"routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"},{"dst":"::/0","gw":"fe80::1"}],"dns":{}}"#);
        insta::assert_snapshot!(render(SpecVersion::V1_0_0), @r#"{"cniVersion":"1.0.0","interfaces":[{"name":"eni0d7763386da","mac":"02:00:5e:00:53:01"},{"name":"eth0","mac":"02:00:5e:00:53:02","sandbox":"/run/netns/pod"}],"ips":[{"interface":1,"address":"10.1.2.2/32"},{"interface":1,"address":"2001:db8:1::2/128"}],"routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"},{"dst":"::/0","gw":"fe80::1"}]}"#);
        insta::assert_snapshot!(render(SpecVersion::V1_1_0), @r#"{"cniVersion":"1.1.0","interfaces":[{"name":"eni0d7763386da","mac":"02:00:5e:00:53:01","mtu":9001},{"name":"eth0","mac":"02:00:5e:00:53:02","mtu":9001,"sandbox":"/run/netns/pod"}],"ips":[{"interface":1,"address":"10.1.2.2/32"},{"interface":1,"address":"2001:db8:1::2/128"}],"routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"},{"dst":"::/0","gw":"fe80::1"}]}"#);
    }

    #[test]
    fn each_version_has_its_shape() {
        let render = |version| dual_stack().render(version).unwrap();
        insta::assert_snapshot!(render(SpecVersion::V0_2_0), @r#"{"cniVersion":"0.2.0","ip4":{"ip":"10.1.2.2/24","gateway":"10.1.2.1","routes":[{"dst":"0.0.0.0/0","gw":"10.1.2.9"}]},"ip6":{"ip":"2001:db8:1::2/64","gateway":"2001:db8:1::1","routes":[{"dst":"2001:db8::/32"}]},"dns":{"nameservers":["192.0.2.53"]}}"#);
        insta::assert_snapshot!(render(SpecVersion::V0_4_0), @r#"{"cniVersion":"0.4.0","ips":[{"version":"4","address":"10.1.2.2/24","gateway":"10.1.2.1"},{"version":"6","address":"2001:db8:1::2/64","gateway":"2001:db8:1::1"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.1.2.9","mtu":1400,"table":0},{"dst":"2001:db8::/32"}],"dns":{"nameservers":["192.0.2.53"]}}"#);
        insta::assert_snapshot!(render(SpecVersion::V1_1_0), @r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.2.2/24","gateway":"10.1.2.1"},{"address":"2001:db8:1::2/64","gateway":"2001:db8:1::1"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.1.2.9","mtu":1400,"table":0},{"dst":"2001:db8::/32"}],"dns":{"nameservers":["192.0.2.53"]}}"#);
    }

    #[test]
    fn versions_that_share_a_shape_differ_in_their_name_only() {
        for (version, like) in [
            (SpecVersion::V0_1_0, SpecVersion::V0_2_0),
            (SpecVersion::V0_3_0, SpecVersion::V0_4_0),
            (SpecVersion::V0_3_1, SpecVersion::V0_4_0),
            (SpecVersion::V1_0_0, SpecVersion::V1_1_0),
        ] {
            let renamed = dual_stack().render(like).unwrap().replace(like.as_str(), version.as_str());
            assert_eq!(dual_stack().render(version).unwrap(), renamed);
        }
    }

    #[test]
    fn an_empty_dns_is_told_before_1_0_0_only() {
        let success = Success { addresses: vec![assigned("10.0.0.2/24", "")], ..Success::default() };
        for version in SpecVersion::ALL {
            let text = success.render(version).unwrap();
            assert_eq!(text.contains(r#""dns":{}"#), version < SpecVersion::V1_0_0, "{text}");
            assert!(!text.contains("routes") && !text.contains("gateway"), "{text}");
        }
    }

    #[test]
    fn old_versions_tell_one_address_of_each_family() {
        let mut success = dual_stack();
        success.addresses.push(assigned("10.9.0.2/24", "10.9.0.1"));
        let error = success.render(SpecVersion::V0_2_0).unwrap_err();
        assert_eq!(error.code, ErrorCode::IncompatibleVersion);
        assert_eq!(error.cause, "CNI version 0.2.0 does not support more than 1 address per family");
        assert!(success.render(SpecVersion::V0_3_0).is_ok());
        assert!(Success::default().render(SpecVersion::V0_1_0).is_err());
    }

    #[test]
    fn a_route_of_a_family_without_address_is_not_told_before_0_3_0() {
        let mut success = dual_stack();
        success.addresses.truncate(1);
        assert!(!success.render(SpecVersion::V0_2_0).unwrap().contains("2001:db8"));
        assert!(success.render(SpecVersion::V0_3_0).unwrap().contains("2001:db8"));
    }
}
