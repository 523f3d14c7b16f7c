//! `CNI_ARGS`: a runtime's arguments for one call, as `KEY=VALUE;...` with case-sensitive keys.

use std::net::IpAddr;

use super::address;
use crate::{Error, ErrorCode, PodIdentity};

/// The arguments that tenure knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// `IP`: the addresses that the caller requires, at most one of each family.
    pub ips: Vec<IpAddr>,
    /// `K8S_POD_*`: the attachment's pod.
    pub pod: Option<PodIdentity>,
}

impl Arguments {
    /// Reads the variable; an empty string has no arguments.
    ///
    /// # Errors
    /// `InvalidEnvironment` for a malformed pair, for an unknown key without `IgnoreUnknown`, and for an invalid value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut arguments = Self::default();
        let mut pod = PodIdentity::default();
        let mut ignore_unknown = false;
        let mut unknown = Vec::new();
        for pair in text.split(';').filter(|_| !text.is_empty()) {
            let Some((key, value)) = pair.split_once('=').filter(|(_, value)| !value.contains('=')) else {
                return Err(invalid(format_args!("ARGS: invalid pair {pair:?}")));
            };
            match key {
                "IgnoreUnknown" => ignore_unknown = boolean(value)?,
                "IP" => arguments.ips = requested(value)?,
                "K8S_POD_NAMESPACE" => pod.namespace = value.into(),
                "K8S_POD_NAME" => pod.name = value.into(),
                "K8S_POD_UID" => pod.uid = value.into(),
                "K8S_POD_INFRA_CONTAINER_ID" => {}
                _ => unknown.push(pair),
            }
        }
        if !unknown.is_empty() && !ignore_unknown {
            return Err(invalid(format_args!("ARGS: unknown args {unknown:?}")));
        }
        arguments.pod = (!pod.name.is_empty()).then_some(pod);
        Ok(arguments)
    }
}

fn boolean(value: &str) -> Result<bool, Error> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(invalid(format_args!(
            "ARGS: error parsing value of pair \"IgnoreUnknown={value}\": expected 0, 1, true or false"
        ))),
    }
}

/// Reads one address, or one of each family with a comma between them, as Multus joins a pod's `ips`; host-local refuses such a list.
fn requested(value: &str) -> Result<Vec<IpAddr>, Error> {
    let refused = |why: std::fmt::Arguments<'_>| {
        invalid(format_args!("ARGS: error parsing value of pair \"IP={value}\": {why}"))
    };
    let mut all: Vec<IpAddr> = Vec::new();
    for text in value.split(',') {
        let address = address::requested(text).map_err(|why| refused(format_args!("{why}")))?;
        let Some(address) = address.filter(|address| !all.contains(address)) else { continue };
        if let Some(other) = all.iter().find(|other| other.is_ipv4() == address.is_ipv4()) {
            let one = "an interface gets one address of each family";
            return Err(refused(format_args!("{other} and {address} are both requested, and {one}")));
        }
        all.push(address);
    }
    Ok(all)
}

fn invalid(cause: std::fmt::Arguments<'_>) -> Error {
    Error::new(ErrorCode::InvalidEnvironment, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kubelet_sends() {
        let arguments = Arguments::parse(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=front-0;K8S_POD_INFRA_CONTAINER_ID=abc;K8S_POD_UID=1-2",
        )
        .unwrap();
        let pod = PodIdentity { namespace: "web".into(), name: "front-0".into(), uid: "1-2".into() };
        assert_eq!(arguments, Arguments { ips: vec![], pod: Some(pod) });
        assert_eq!(Arguments::parse("").unwrap(), Arguments::default());
    }

    #[test]
    fn an_address_may_be_asked_for() {
        for text in
            ["IP=10.0.0.5", "IP=10.0.0.5/24", "IP=::ffff:10.0.0.5", "X=1;IP=10.0.0.5;IgnoreUnknown=true"]
        {
            assert_eq!(
                Arguments::parse(text).unwrap().ips,
                ["10.0.0.5".parse::<IpAddr>().unwrap()],
                "{text}"
            );
        }
    }

    #[test]
    fn one_address_of_each_family_may_be_asked_for() {
        let both: [IpAddr; 2] = ["10.0.0.5".parse().unwrap(), "fd00::5".parse().unwrap()];
        for text in ["IP=10.0.0.5,fd00::5", "IP=10.0.0.5/24,fd00::5/64", "IP=10.0.0.5,,fd00::5,10.0.0.5"] {
            assert_eq!(Arguments::parse(text).unwrap().ips, both, "{text}");
        }
    }

    #[test]
    fn an_empty_address_asks_for_nothing() {
        for text in ["IP=", "IP=,", "IgnoreUnknown=1;IP=;K8S_POD_UID=u"] {
            assert_eq!(Arguments::parse(text), Ok(Arguments::default()), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, cause) in [
            ("IP", r#"ARGS: invalid pair "IP""#),
            ("IP=1=2", r#"ARGS: invalid pair "IP=1=2""#),
            ("IP=10.0.0.5;", r#"ARGS: invalid pair """#),
            ("A=1;B=2", r#"ARGS: unknown args ["A=1", "B=2"]"#),
            ("ip=10.0.0.5;IgnoreUnknown=0", r#"ARGS: unknown args ["ip=10.0.0.5"]"#),
            (
                "IP=10.0.0.5,10.0.0.6",
                "ARGS: error parsing value of pair \"IP=10.0.0.5,10.0.0.6\": 10.0.0.5 and 10.0.0.6 are both requested, and an interface gets one address \
                 of each family",
            ),
            (
                "IP=fd00::5,10.0.0.x",
                r#"ARGS: error parsing value of pair "IP=fd00::5,10.0.0.x": not an IP address"#,
            ),
            (
                "IgnoreUnknown=yes",
                r#"ARGS: error parsing value of pair "IgnoreUnknown=yes": expected 0, 1, true or false"#,
            ),
        ] {
            let error = Arguments::parse(text).unwrap_err();
            assert_eq!((error.code, error.cause.as_str()), (ErrorCode::InvalidEnvironment, cause));
        }
    }
}
