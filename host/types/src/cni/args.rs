//! `CNI_ARGS`: a runtime's arguments for one call, as `KEY=VALUE;...` with case-sensitive keys.

use std::net::IpAddr;

use super::address;
use crate::{Error, ErrorCode, PodIdentity};

/// The arguments that tenure knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// `IP`: an address that the caller requires.
    pub ip: Option<IpAddr>,
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
                "IP" => arguments.ip = requested(value)?,
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

fn requested(value: &str) -> Result<Option<IpAddr>, Error> {
    address::requested(value)
        .map_err(|why| invalid(format_args!("ARGS: error parsing value of pair \"IP={value}\": {why}")))
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
        assert_eq!(arguments, Arguments { ip: None, pod: Some(pod) });
        assert_eq!(Arguments::parse("").unwrap(), Arguments::default());
    }

    #[test]
    fn an_address_may_be_asked_for() {
        for text in
            ["IP=10.0.0.5", "IP=10.0.0.5/24", "IP=::ffff:10.0.0.5", "X=1;IP=10.0.0.5;IgnoreUnknown=true"]
        {
            assert_eq!(Arguments::parse(text).unwrap().ip, Some("10.0.0.5".parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn an_empty_address_asks_for_nothing() {
        for text in ["IP=", "IgnoreUnknown=1;IP=;K8S_POD_UID=u"] {
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
                r#"ARGS: error parsing value of pair "IP=10.0.0.5,10.0.0.6": not an IP address"#,
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
