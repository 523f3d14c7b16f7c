//! The result of an ADD as a runtime has kept it, which it passes to CHECK as `prevResult`.
//!
//! Plugins that come later in the chain add to it, so it is only asked whether it still has what this one said.

use std::net::IpAddr;

use ipnet::IpNet;

use super::Success;
use super::json::JsonObject;
use crate::{AssignedAddress, Error};

/// The result of an earlier ADD, as a runtime has kept it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    addresses: Vec<IpAddr>,
    /// Each interface with its sandbox, which is empty for one on the host.
    interfaces: Vec<(String, String)>,
}

impl Kept {
    pub(super) fn read(result: &JsonObject<'_>) -> Result<Self, Error> {
        let mut kept = Self::default();
        for ip in result.list("ips")? {
            let object = ip.object()?;
            let node = object.get("address").ok_or_else(|| object.missing("address"))?;
            let net: IpNet = node.text()?.parse().map_err(|_| node.invalid("not an address in CIDR form"))?;
            kept.addresses.push(net.addr());
        }
        for interface in result.list("interfaces")? {
            let object = interface.object()?;
            let text = |key| Ok::<_, Error>(object.text(key)?.unwrap_or_default());
            kept.interfaces.push((text("name")?, text("sandbox")?));
        }
        Ok(kept)
    }

    /// Lists the parts of a result that it lacks.
    #[must_use]
    pub fn lacks(&self, result: &Success) -> Vec<String> {
        let addresses = result.addresses.iter().map(AssignedAddress::ip);
        let addresses = addresses.filter(|address| !self.addresses.contains(address));
        let mut lacks: Vec<String> = addresses.map(|address| format!("address {address}")).collect();
        let ends = result.link.iter().flat_map(|link| [(&link.host, ""), (&link.inside, &*link.netns)]);
        for (end, sandbox) in ends {
            let has = |kept: &(String, String)| kept.0 == end.name && kept.1 == sandbox;
            if !self.interfaces.iter().any(has) {
                lacks.push(match sandbox {
                    "" => format!("interface {} on the host", end.name),
                    sandbox => format!("interface {} in {sandbox}", end.name),
                });
            }
        }
        lacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cni::SpecVersion;
    use crate::{Connected, LinkEnd};

    fn result(address: &str, netns: &str) -> Success {
        let end = |name: &str| LinkEnd { name: name.to_owned(), mac: "02:00:5e:00:53:01".to_owned() };
        let link = Connected {
            host: end("eni0"),
            inside: end("eth0"),
            mtu: 1500,
            netns: netns.into(),
            gateways: Vec::new(),
        };
        let addresses = vec![AssignedAddress::plain(address.parse().unwrap(), None)];
        Success { addresses, ..Success::default() }.on(link)
    }

    fn kept(text: &str) -> Kept {
        Kept::read(&JsonObject::document(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn what_was_said_is_found_again_whatever_others_added() {
        let said = result("10.0.0.2/24", "/run/netns/pod");
        for version in [SpecVersion::V0_4_0, SpecVersion::V1_0_0, SpecVersion::V1_1_0] {
            assert_eq!(kept(&said.render(version).unwrap()).lacks(&said), [""; 0]);
        }
        let more = r#"{"ips":[{"address":"10.9.0.1/24"},{"address":"10.0.0.2/32"}],
            "interfaces":[{"name":"ifb0"},{"name":"eth0","sandbox":"/run/netns/pod"},{"name":"eni0"}]}"#;
        assert_eq!(kept(more).lacks(&said), [""; 0]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let said = result("10.0.0.2/24", "/run/netns/pod");
        let other = result("10.0.0.3/24", "/run/netns/other").render(SpecVersion::V1_1_0).unwrap();
        assert_eq!(kept(&other).lacks(&said), ["address 10.0.0.2", "interface eth0 in /run/netns/pod"]);
        let all = ["address 10.0.0.2", "interface eni0 on the host", "interface eth0 in /run/netns/pod"];
        assert_eq!(kept("{}").lacks(&said), all);
    }

    #[test]
    fn nonsense_is_named_by_its_key() {
        let error = Kept::read(&JsonObject::document(br#"{"ips":[{"address":"x"}]}"#).unwrap()).unwrap_err();
        assert!(error.cause.contains("ips[0].address: not an address"), "{error}");
    }
}
