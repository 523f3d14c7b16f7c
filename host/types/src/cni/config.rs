//! The network configuration: the envelope that the host reads. What is inside `ipam` beyond this is the policy's.
//!
//! Only the name is read at once; everything else is read when it is asked for. So a DEL, which needs no more than
//! the name, works however broken the rest has become since the ADD. `prevResult` is never read.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use super::json::{Node, Object};
use super::{Arguments, Command, Route, SpecVersion, address};
use crate::{ContainerId, Error, ErrorCode, InterfaceName, NetworkName, PolicyName};

/// How long a call may take where `ipam.timeout` does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// No call is worth waiting longer for: every runtime has given up by then.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// The policy of a network whose configuration names none.
const DEFAULT_POLICY: &str = "host-local";

/// A network configuration with a valid name.
#[derive(Debug, Clone)]
pub struct Configuration<'a> {
    name: NetworkName,
    root: Object<'a>,
}

impl<'a> Configuration<'a> {
    /// Reads the plugin's standard input.
    ///
    /// # Errors
    /// `MalformedConfig` when it is not a JSON object, `InvalidConfig` when the network's name is missing or malformed.
    pub fn parse(text: &'a [u8]) -> Result<Self, Error> {
        let root = Object::document(text).map_err(|error| {
            Error::new(ErrorCode::MalformedConfig, format_args!("error unmarshall network config: {error}"))
        })?;
        let name = root.text("name")?.unwrap_or_default();
        let name = NetworkName::new(name).map_err(|error| Error::new(ErrorCode::InvalidConfig, error))?;
        Ok(Self { name, root })
    }

    /// The network's name.
    #[must_use]
    pub fn name(&self) -> &NetworkName {
        &self.name
    }

    /// The version to answer a command in.
    ///
    /// # Errors
    /// `IncompatibleVersion` as [`SpecVersion::settle`] says, `InvalidConfig` when `cniVersion` is not a string.
    pub fn version(&self, command: &Command) -> Result<SpecVersion, Error> {
        SpecVersion::settle(&self.root.text("cniVersion")?.unwrap_or_default(), command)
    }

    /// The `ipam` object, as JSON text.
    ///
    /// # Errors
    /// `InvalidConfig` when there is none.
    pub fn ipam_text(&self) -> Result<&'a str, Error> {
        self.ipam()?;
        Ok(self.root.get("ipam").map_or("{}", |node| node.raw()))
    }

    /// The policy that the configuration names, host-local by default.
    ///
    /// # Errors
    /// `InvalidConfig` when the name is malformed; a path is.
    pub fn policy(&self) -> Result<PolicyName, Error> {
        let ipam = self.ipam()?;
        let named = ipam.get("policy");
        let text = ipam.text("policy")?.unwrap_or_else(|| DEFAULT_POLICY.to_owned());
        PolicyName::new(text).map_err(|error| match named {
            Some(node) => node.invalid(error),
            None => Error::new(ErrorCode::Internal, error),
        })
    }

    /// The daemon's socket, where the configuration names it.
    ///
    /// # Errors
    /// `InvalidConfig` when it is not an absolute path.
    pub fn socket(&self) -> Result<Option<String>, Error> {
        self.path("socket")
    }

    /// How long the call may take.
    ///
    /// # Errors
    /// `InvalidConfig` when it is not a number of seconds above 0 and up to an hour.
    pub fn timeout(&self) -> Result<Duration, Error> {
        let Some(node) = self.ipam()?.get("timeout") else { return Ok(DEFAULT_TIMEOUT) };
        let expected = "a number of seconds, above 0 and up to 3600";
        let seconds: f64 = node.read(expected)?;
        match Duration::try_from_secs_f64(seconds) {
            Ok(timeout) if !timeout.is_zero() && timeout <= LONGEST_TIMEOUT => Ok(timeout),
            _ => Err(node.invalid(format_args!("expected {expected}, not {seconds}"))),
        }
    }

    /// The routes that a result repeats.
    ///
    /// # Errors
    /// `InvalidConfig` for a route that is none.
    pub fn routes(&self) -> Result<Vec<Route>, Error> {
        self.ipam()?.list("routes")?.iter().map(Route::parse).collect()
    }

    /// The resolv.conf that a result's `dns` is read from.
    ///
    /// # Errors
    /// `InvalidConfig` when it is not an absolute path.
    pub fn resolv_conf(&self) -> Result<Option<String>, Error> {
        self.path("resolvConf")
    }

    /// Where host-local would keep its addresses, where the configuration says so in a way that host-local reads.
    #[must_use]
    pub fn data_directory(&self) -> Option<String> {
        self.ipam().ok()?.text("dataDir").ok()?.filter(|path| !path.is_empty())
    }

    /// Ranges that the runtime puts before the configured ones, as JSON text.
    ///
    /// # Errors
    /// `InvalidConfig` when `runtimeConfig` is not an object.
    pub fn ip_ranges(&self) -> Result<Option<&'a str>, Error> {
        let runtime_config = self.root.object("runtimeConfig")?;
        Ok(runtime_config.and_then(|object| object.get("ipRanges")).map(|node| node.raw()))
    }

    /// The addresses that the caller insists on: those of `CNI_ARGS`, then `args.cni.ips`, then `runtimeConfig.ips`.
    ///
    /// # Errors
    /// `InvalidConfig` for an address that is none.
    pub fn requested(&self, arguments: &Arguments) -> Result<Vec<IpAddr>, Error> {
        let parse = |node: Node<'a>| address::parse(&node.text()?).map_err(|why| node.invalid(why));
        let mut requested: Vec<IpAddr> = arguments.ip.into_iter().collect();
        if let Some(cni) = self.root.object("args")?.map(|args| args.object("cni")).transpose()?.flatten() {
            for node in cni.list("ips")? {
                requested.push(parse(node)?);
            }
        }
        if let Some(runtime_config) = self.root.object("runtimeConfig")? {
            for node in runtime_config.list("ips")? {
                requested.push(parse(node)?);
            }
        }
        Ok(requested)
    }

    /// GC: the attachments that the runtime knows; `None` when it sent no list, and then nothing may be freed.
    ///
    /// A list that is null is an empty one: Go's runtimes write it so.
    ///
    /// # Errors
    /// `InvalidConfig` for an entry that is no attachment.
    pub fn valid_attachments(&self) -> Result<Option<HashSet<(ContainerId, InterfaceName)>>, Error> {
        let keys = ["cni.dev/valid-attachments", "cni.dev/attachments"];
        let Some(node) = keys.iter().find_map(|key| self.root.get_or_null(key)) else { return Ok(None) };
        node.list()?.iter().map(attachment).collect::<Result<_, _>>().map(Some)
    }

    fn ipam(&self) -> Result<Object<'a>, Error> {
        let missing = || Error::new(ErrorCode::InvalidConfig, "IPAM config missing 'ipam' key");
        self.root.object("ipam")?.ok_or_else(missing)
    }

    fn path(&self, key: &str) -> Result<Option<String>, Error> {
        let ipam = self.ipam()?;
        let path = ipam.text(key)?;
        match ipam.get(key).zip(path) {
            Some((node, path)) if !path.starts_with('/') => Err(node.invalid("expected an absolute path")),
            Some((_, path)) => Ok(Some(path)),
            None => Ok(None),
        }
    }
}

fn attachment(node: &Node<'_>) -> Result<(ContainerId, InterfaceName), Error> {
    let object = node.object()?;
    let text = |key| Ok::<_, Error>(object.text(key)?.unwrap_or_default());
    let container = ContainerId::new(text("containerID")?).map_err(|error| node.invalid(error))?;
    let interface = InterfaceName::new(text("ifname")?).map_err(|error| node.invalid(error))?;
    Ok((container, interface))
}

#[cfg(test)]
mod tests;
