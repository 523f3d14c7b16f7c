//! Output of another plugin: a result in the form of any version, or an error object.

use std::net::IpAddr;

use ipnet::IpNet;

use super::json::{JsonNode, JsonObject};
use super::{Dns, Route, SpecVersion, Success};
use crate::{AssignedAddress, Error, ErrorCode};

/// The output of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// The result of an ADD.
    Success(Success),
    /// An error; some plugins print one and exit with 0.
    Failure {
        /// The error's code; never 0.
        code: u32,
        /// The error's message, with the details behind it.
        message: String,
    },
}

impl Received {
    /// Reads what a plugin printed on its standard output.
    ///
    /// # Errors
    /// `InvalidConfig` with what is wrong, if it is neither a result with an address nor an error.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let invalid =
            |error| Error::new(ErrorCode::InvalidConfig, format_args!("not a JSON object: {error}"));
        let root = JsonObject::document(text).map_err(invalid)?;
        if let Some(failure) = failure(&root)? {
            return Ok(failure);
        }
        if let Some(version) = root.text("cniVersion")?.filter(|version| SpecVersion::find(version).is_none())
        {
            // What its keys mean is not known.
            let cause = format_args!("cniVersion: {version:?} is not a version that tenure knows");
            return Err(Error::new(ErrorCode::InvalidConfig, cause));
        }
        let (mut addresses, mut routes) = (Vec::new(), Vec::new());
        for node in root.list("ips")? {
            addresses.push(address(&node, "address")?);
        }
        // Versions before 0.3.0 have at most one address of each family, with its routes.
        for key in ["ip4", "ip6"] {
            if let Some(node) = root.get(key).filter(|_| addresses.is_empty() || key == "ip6") {
                addresses.push(address(&node, "ip")?);
                routes.append(&mut read_routes(&node.object()?)?);
            }
        }
        routes.append(&mut read_routes(&root)?);
        if addresses.is_empty() {
            return Err(Error::new(ErrorCode::InvalidConfig, "it has no addresses"));
        }
        let dns = root.object("dns")?.map(|dns| read_dns(&dns)).transpose()?.unwrap_or_default();
        Ok(Self::Success(Success { addresses, routes, dns, link: None }))
    }
}

fn failure(root: &JsonObject<'_>) -> Result<Option<Received>, Error> {
    let Some(code) = root.get("code") else { return Ok(None) };
    let code: u32 = code.read("a whole number")?;
    if code == 0 {
        return Ok(None);
    }
    let parts = [root.text("msg")?, root.text("details")?];
    let message = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    Ok(Some(Received::Failure { code, message }))
}

fn address(node: &JsonNode<'_>, key: &str) -> Result<AssignedAddress, Error> {
    let object = node.object()?;
    let value = object.get(key).ok_or_else(|| object.missing(key))?;
    let subnet: IpNet = value.text()?.parse().map_err(|_| value.invalid("not an address in CIDR form"))?;
    let gateway = match object.get("gateway").map(|node| Ok((node.text()?, node))).transpose()? {
        Some((text, node)) if !text.is_empty() => {
            let gateway: IpAddr = text.parse().map_err(|_| node.invalid("not an IP address"))?;
            Some(gateway.to_canonical())
        }
        _ => None,
    };
    Ok(AssignedAddress::plain(subnet, gateway))
}

pub(super) fn read_routes(object: &JsonObject<'_>) -> Result<Vec<Route>, Error> {
    object.list("routes")?.iter().map(Route::parse).collect()
}

pub(super) fn read_dns(dns: &JsonObject<'_>) -> Result<Dns, Error> {
    let texts = |key| dns.list(key)?.iter().map(JsonNode::text).collect::<Result<Vec<String>, _>>();
    Ok(Dns {
        nameservers: texts("nameservers")?,
        domain: dns.text("domain")?.unwrap_or_default(),
        search: texts("search")?,
        options: texts("options")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn success() -> Success {
        Success {
            addresses: vec![
                AssignedAddress::plain("10.1.0.2/24".parse().unwrap(), "10.1.0.1".parse().ok()),
                AssignedAddress::plain("fd00::2/64".parse().unwrap(), None),
            ],
            routes: vec![Route {
                dst: "0.0.0.0/0".parse().unwrap(),
                gw: "10.1.0.9".parse().ok(),
                mtu: None,
                advmss: None,
                priority: None,
                table: None,
                scope: None,
            }],
            dns: Dns { nameservers: vec!["192.0.2.53".into()], ..Dns::default() },
            link: None,
        }
    }

    #[test]
    fn a_result_of_each_version_is_read_as_what_it_was() {
        for version in SpecVersion::ALL {
            let text = success().render(version).unwrap();
            assert_eq!(Received::parse(text.as_bytes()), Ok(Received::Success(success())), "{text}");
        }
    }

    #[test]
    fn an_error_is_one_whatever_else_it_has() {
        let text = br#"{"cniVersion":"1.0.0","code":101,"msg":"none left","details":"pool a","ips":[]}"#;
        let failure = Received::Failure { code: 101, message: "none left; pool a".into() };
        assert_eq!(Received::parse(text), Ok(failure));
    }

    #[test]
    fn what_is_neither_is_told_with_the_key() {
        for (text, cause) in [
            ("", "not a JSON object"),
            ("[]", "not a JSON object"),
            ("{}", "it has no addresses"),
            (r#"{"ips":null}"#, "it has no addresses"),
            (r#"{"ips":[{"address":"10.0.0.1"}]}"#, "ips[0].address: not an address in CIDR form"),
            (r#"{"ips":[{}]}"#, "ips[0].address: missing"),
            (r#"{"ips":[{"address":"10.0.0.1/24","gateway":"x"}]}"#, "ips[0].gateway: not an IP address"),
            (r#"{"code":"x"}"#, "code: expected a whole number"),
            (
                r#"{"cniVersion":"9.9.9","ips":[{"address":"10.0.0.1/24"}]}"#,
                "cniVersion: \"9.9.9\" is not a version that tenure knows",
            ),
            (r#"{"cniVersion":1,"ips":[{"address":"10.0.0.1/24"}]}"#, "cniVersion: "),
        ] {
            let error = Received::parse(text.as_bytes()).unwrap_err();
            assert!(error.cause.contains(cause), "{text}: {error}");
        }
    }
}
