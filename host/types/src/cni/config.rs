//! The network configuration, as far as the host reads it. The remaining keys of `ipam` belong to the policy.
//!
//! Only the name is read immediately; everything else is read on demand. So a DEL, which needs only the name, works
//! even if the rest has become invalid since the ADD.

use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::json::{JsonNode, JsonObject};
use super::{Arguments, Command, Kept, Route, SpecVersion, address};
use crate::{ContainerId, Error, ErrorCode, InterfaceName, NetworkName, PolicyName};

/// The time limit of a call without `ipam.timeout`.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest that a call waits for a daemon that is away, without `ipam.wait`, as a part of its time limit: the rest is for being
/// served.
const WAIT_NUMERATOR: u32 = 3;
const WAIT_DENOMINATOR: u32 = 4;

/// The longest allowed `ipam.timeout`: every runtime has given up by then.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// The MTUs that a link can have: IPv6 needs 1280, and a veth carries at most this.
const MTU: RangeInclusive<u32> = 1280..=65_535;

/// The policy of a network whose configuration names none.
const DEFAULT_POLICY: &str = "host-local";

/// The key for the path of a resolv.conf.
const RESOLV_CONF: &str = "resolvConf";

/// The settings that the plugin itself needs to call the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSettings {
    /// The daemon's socket, if the configuration names it.
    pub socket: Option<String>,
    /// The time limit of the call.
    pub timeout: Duration,
    /// How long the call waits for a daemon that is away, within its time limit.
    pub wait: Duration,
    /// ADD and STATUS only: the file to read name servers from.
    pub resolv_conf: Option<String>,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self { socket: None, timeout: DEFAULT_TIMEOUT, wait: part_of(DEFAULT_TIMEOUT), resolv_conf: None }
    }
}

/// A network configuration with a valid name.
#[derive(Debug, Clone)]
pub struct Configuration<'a> {
    name: NetworkName,
    root: JsonObject<'a>,
}

impl<'a> Configuration<'a> {
    /// Reads the plugin's standard input.
    ///
    /// # Errors
    /// `MalformedConfig` when it is not a JSON object or its name is not a string, `InvalidConfig` when the network's name is
    /// missing or malformed.
    pub fn parse(text: &'a [u8]) -> Result<Self, Error> {
        const CONTEXT: &str = "error unmarshall network config";
        let root = JsonObject::document(text).map_err(|error| malformed(CONTEXT, error))?;
        let name = root.text("name").map_err(|error| malformed(CONTEXT, error))?.unwrap_or_default();
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
    /// `IncompatibleVersion` as for [`SpecVersion::settle`], `MalformedConfig` when `cniVersion` is not a string.
    pub fn version(&self, command: &Command) -> Result<SpecVersion, Error> {
        let named = self.root.text("cniVersion");
        let named = named.map_err(|error| malformed("decoding version from network config", error))?;
        SpecVersion::settle(&named.unwrap_or_default(), command)
    }

    /// The `ipam` object, as JSON text.
    ///
    /// # Errors
    /// `InvalidConfig` when there is none.
    pub fn ipam_text(&self) -> Result<&'a str, Error> {
        self.ipam()?;
        Ok(self.root.get("ipam").map_or("{}", |node| node.raw()))
    }

    /// The policy named by the configuration; host-local by default.
    ///
    /// # Errors
    /// `InvalidConfig` when the name is malformed, for example a path.
    pub fn policy(&self) -> Result<PolicyName, Error> {
        let ipam = self.ipam()?;
        let named = ipam.get("policy");
        let text = ipam.text("policy")?.unwrap_or_else(|| DEFAULT_POLICY.to_owned());
        PolicyName::new(text).map_err(|error| match named {
            Some(node) => node.invalid(error),
            None => Error::new(ErrorCode::Internal, error),
        })
    }

    /// The settings that the plugin itself needs for a command. Parses the `ipam` object only once.
    ///
    /// A DEL must succeed even if the configuration has become invalid, so it uses the default for any value that it
    /// cannot read.
    ///
    /// # Errors
    /// `InvalidConfig` when there is no `ipam` object or a value in it is invalid; never for DEL.
    pub fn plugin_settings(&self, command: &Command) -> Result<PluginSettings, Error> {
        let ipam = match self.ipam() {
            Err(_) if *command == Command::Del => return Ok(PluginSettings::default()),
            ipam => ipam?,
        };
        if *command == Command::Del {
            let timeout = timeout(&ipam).unwrap_or(DEFAULT_TIMEOUT);
            return Ok(PluginSettings {
                socket: path(&ipam, "socket").unwrap_or_default(),
                timeout,
                wait: wait(&ipam, timeout).unwrap_or_else(|_| part_of(timeout)),
                resolv_conf: None,
            });
        }
        let (socket, timeout) = (path(&ipam, "socket")?, timeout(&ipam)?);
        let wait = wait(&ipam, timeout)?;
        let resolv_conf = match command {
            Command::Add | Command::Status => path(&ipam, RESOLV_CONF)?,
            _ => None,
        };
        Ok(PluginSettings { socket, timeout, wait, resolv_conf })
    }

    /// The configured routes, to be returned in the result; `None` if it has none, not even an empty list.
    ///
    /// # Errors
    /// `InvalidConfig` for an invalid route.
    pub fn routes(&self) -> Result<Option<Vec<Route>>, Error> {
        let ipam = self.ipam()?;
        let Some(routes) = ipam.get("routes").filter(|routes| !routes.is_null()) else { return Ok(None) };
        routes.list()?.iter().map(Route::parse).collect::<Result<_, _>>().map(Some)
    }

    /// The MTU of a pod's link, in bytes, from the main plugin's key `mtu`, if it is there. ipamd's configuration has it as a
    /// string.
    ///
    /// # Errors
    /// `InvalidConfig` when no link can have it.
    pub fn mtu(&self) -> Result<Option<u32>, Error> {
        let Some(node) = self.root.get("mtu") else { return Ok(None) };
        let expected = "a number of bytes from 1280 to 65535";
        let mtu = match node.text() {
            Ok(text) => text.parse().map_err(|_| node.invalid(format_args!("expected {expected}")))?,
            Err(_) => node.read(expected)?,
        };
        if MTU.contains(&mtu) {
            Ok(Some(mtu))
        } else {
            Err(node.invalid(format_args!("expected {expected}, not {mtu}")))
        }
    }

    /// Checks that a main plugin that makes links by itself needs no other routes than the default ones.
    ///
    /// # Errors
    /// `InvalidConfig` for a route that it would not make.
    pub fn only_default_routes(&self) -> Result<(), Error> {
        let routes = self.routes()?.unwrap_or_default();
        match self.ipam()?.list("routes")?.iter().zip(routes).find(|(_, route)| !route.is_default()) {
            Some((node, route)) => {
                let why = "tenure-eni makes the default route only; remove this one";
                Err(node.invalid(format_args!("{}: {why}", route.dst)))
            }
            None => Ok(()),
        }
    }

    /// CHECK: the result that the runtime has kept of the ADD.
    ///
    /// # Errors
    /// `InvalidConfig` when there is none, or it is malformed.
    pub fn kept(&self) -> Result<Kept, Error> {
        let missing =
            || Error::new(ErrorCode::InvalidConfig, "prevResult: missing, and CHECK compares with it");
        Kept::read(&self.root.object("prevResult")?.ok_or_else(missing)?)
    }

    /// The path of the resolv.conf from which the result's `dns` is read.
    ///
    /// # Errors
    /// `InvalidConfig` when it is not an absolute path.
    pub fn resolv_conf(&self) -> Result<Option<String>, Error> {
        path(&self.ipam()?, RESOLV_CONF)
    }

    /// Ranges that the runtime prepends to the configured ones, as JSON text.
    ///
    /// # Errors
    /// `InvalidConfig` when `runtimeConfig` is not an object.
    pub fn ip_ranges(&self) -> Result<Option<&'a str>, Error> {
        let runtime_config = self.root.object("runtimeConfig")?;
        Ok(runtime_config.and_then(|object| object.get("ipRanges")).map(|node| node.raw()))
    }

    /// The addresses that the caller requires: those of `CNI_ARGS`, then `args.cni.ips`, then `runtimeConfig.ips`.
    /// Duplicates count once, and an empty string requests nothing.
    ///
    /// # Errors
    /// `InvalidConfig` for an invalid address.
    pub fn requested(&self, arguments: &Arguments) -> Result<Vec<IpAddr>, Error> {
        let mut requested = arguments.ips.clone();
        let args = self.root.object("args")?.map(|args| args.object("cni")).transpose()?.flatten();
        for object in [args, self.root.object("runtimeConfig")?].into_iter().flatten() {
            for node in object.list("ips")? {
                let address = address::requested(&node.text()?).map_err(|why| node.invalid(why))?;
                requested.extend(address.filter(|address| !requested.contains(address)));
            }
        }
        Ok(requested)
    }

    /// GC: the attachments that the runtime knows; `None` if it sent no list, in which case nothing may be freed.
    ///
    /// `null` is an empty list, because runtimes written in Go encode it so.
    ///
    /// # Errors
    /// `InvalidConfig` for an invalid entry.
    pub fn valid_attachments(&self) -> Result<Option<HashSet<(ContainerId, InterfaceName)>>, Error> {
        let keys = ["cni.dev/valid-attachments", "cni.dev/attachments"];
        let Some(node) = keys.iter().find_map(|key| self.root.get_or_null(key)) else { return Ok(None) };
        node.list()?.iter().map(attachment).collect::<Result<_, _>>().map(Some)
    }

    fn ipam(&self) -> Result<JsonObject<'a>, Error> {
        let missing = || Error::new(ErrorCode::InvalidConfig, "IPAM config missing 'ipam' key");
        self.root.object("ipam")?.ok_or_else(missing)
    }
}

fn path(ipam: &JsonObject<'_>, key: &str) -> Result<Option<String>, Error> {
    let Some(node) = ipam.get(key) else { return Ok(None) };
    match node.text()? {
        path if path.is_empty() => Ok(None),
        path if path.starts_with('/') => Ok(Some(path)),
        _ => Err(node.invalid("expected an absolute path")),
    }
}

fn timeout(ipam: &JsonObject<'_>) -> Result<Duration, Error> {
    let Some(node) = ipam.get("timeout") else { return Ok(DEFAULT_TIMEOUT) };
    let expected = "a number of seconds, above 0 and up to 3600";
    let seconds: f64 = node.read(expected)?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() && timeout <= LONGEST_TIMEOUT => Ok(timeout),
        _ => Err(node.invalid(format_args!("expected {expected}, not {seconds}"))),
    }
}

/// How long to wait for a daemon that is away: never longer than the call may take.
fn wait(ipam: &JsonObject<'_>, timeout: Duration) -> Result<Duration, Error> {
    let Some(node) = ipam.get("wait") else { return Ok(part_of(timeout)) };
    let expected = "a number of seconds, from 0 to 3600";
    let seconds: f64 = node.read(expected)?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(wait) if wait <= LONGEST_TIMEOUT => Ok(wait.min(timeout)),
        _ => Err(node.invalid(format_args!("expected {expected}, not {seconds}"))),
    }
}

fn part_of(timeout: Duration) -> Duration {
    timeout * WAIT_NUMERATOR / WAIT_DENOMINATOR
}

/// The error for a value that libcni itself decodes, in libcni's words.
fn malformed(context: &str, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::MalformedConfig, format_args!("{context}: {why}"))
}

fn attachment(node: &JsonNode<'_>) -> Result<(ContainerId, InterfaceName), Error> {
    let object = node.object()?;
    let text = |key| Ok::<_, Error>(object.text(key)?.unwrap_or_default());
    let container = ContainerId::new(text("containerID")?).map_err(|error| node.invalid(error))?;
    let interface = InterfaceName::new(text("ifname")?).map_err(|error| node.invalid(error))?;
    Ok((container, interface))
}

#[cfg(test)]
mod tests;
