//! A call from beginning to end, in the order in which the reference implementation checks one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_rpc::resolv_conf;
use tenure_rpc::v1::Invocation;
use tenure_spool::Spool;
use tenure_types::cni::{
    Command, Configuration, DEFAULT_TIMEOUT, Environment, ErrorReport, PluginSettings, SpecVersion, versions,
};
use tenure_types::{Error, ErrorCode};

use crate::daemon::{self, Failure};
use crate::deadline::Deadline;
use crate::{input, netns};

/// The variable that names the daemon's socket where the configuration does not.
const SOCKET_VARIABLE: &str = "TENURE_SOCKET";

/// An error and the version to tell it in.
pub(crate) struct Failed {
    pub(crate) report: ErrorReport,
    pub(crate) version: SpecVersion,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { report: ErrorReport::from(&error), version: SpecVersion::NEWEST }
    }
}

/// What to print on standard output.
pub(crate) fn answer(started: Duration) -> Result<String, Failed> {
    let environment = Environment::read(variable)?;
    let command = &environment.command;
    if *command == Command::Version {
        return Ok(format!("{}\n", versions()));
    }
    let text = input::read(std::io::stdin().lock(), Deadline::new(started, DEFAULT_TIMEOUT))?;
    let config = Configuration::parse(&text)?;
    let method = method(command)?;
    let version = config.version(command)?;

    let namespace = netns::identity(&environment.netns);
    let (netns_device, netns_inode) = namespace.unwrap_or_default();
    let mut invocation = Invocation {
        container_id: environment.container_id.clone(),
        netns: environment.netns.clone(),
        interface: environment.interface.clone(),
        args: environment.args.clone(),
        path: environment.path.clone(),
        config: text.clone(),
        started_at_boot_ms: u64::try_from(started.as_millis()).unwrap_or(u64::MAX),
        started_at_boot_ns: u64::try_from(started.as_nanos()).unwrap_or(u64::MAX),
        netns_device,
        netns_inode,
        // Only for an ADD whose configuration names one.
        resolv_conf: None,
    };
    check_netns(&environment, namespace)
        .and_then(|()| config.plugin_settings(command))
        .and_then(|settings| {
            invocation.resolv_conf = settings.resolv_conf.as_deref().map(resolv_conf::read).transpose()?;
            Ok(Way::find(settings, started))
        })
        .map_err(|error| ErrorReport::from(&error))
        .and_then(|way| way.ask(command, method, &invocation))
        .map_err(|report| Failed { report, version })
}

/// The method of the daemon that serves a command.
fn method(command: &Command) -> Result<&'static str, Error> {
    match command {
        Command::Add => Ok("Add"),
        Command::Del => Ok("Del"),
        Command::Check => Ok("Check"),
        Command::Gc => Ok("Gc"),
        Command::Status => Ok("Status"),
        Command::Version | Command::Unknown(_) => {
            Err(Error::new(ErrorCode::InvalidEnvironment, format_args!("unknown CNI_COMMAND: {command}")))
        }
    }
}

/// A pod in the host's network needs no address of its own.
///
/// A DEL goes on: the namespace's path may by now lead elsewhere, and what the attachment owns must not leak.
fn check_netns(environment: &Environment, namespace: Option<(u64, u64)>) -> Result<(), Error> {
    let concerned =
        matches!(environment.command, Command::Add | Command::Check) && !environment.netns_override;
    if concerned && netns::is_own(namespace) {
        let cause = "plugin's netns and netns from CNI_NETNS should not be the same";
        return Err(Error::new(ErrorCode::HostNetns, cause));
    }
    Ok(())
}

/// The way to the daemon.
struct Way {
    socket: PathBuf,
    deadline: Deadline,
}

impl Way {
    fn find(settings: PluginSettings, started: Duration) -> Self {
        let socket = settings
            .socket
            .or_else(|| variable(SOCKET_VARIABLE).filter(|path| !path.is_empty()))
            .unwrap_or_else(|| tenure_rpc::DEFAULT_CNI_SOCKET.to_owned());
        Self { socket: socket.into(), deadline: Deadline::new(started, settings.timeout) }
    }

    fn ask(&self, command: &Command, method: &str, invocation: &Invocation) -> Result<String, ErrorReport> {
        let error = match daemon::ask(&self.socket, method, invocation, self.deadline) {
            Ok(answer) => match String::from_utf8(answer.output) {
                Ok(output) if *command == Command::Add && output.is_empty() => {
                    Error::new(ErrorCode::Internal, "the daemon's answer to ADD is empty")
                }
                Ok(output) => return Ok(output),
                Err(_) => Error::new(ErrorCode::Internal, "the daemon's answer is not UTF-8"),
            },
            Err(Failure::Refused(report)) => return Err(report),
            Err(Failure::Late) => {
                let cause = format_args!("tenured did not answer within {:?}", self.deadline.timeout());
                Error::new(ErrorCode::DeadlineExceeded, cause)
            }
            Err(Failure::Unreachable(why)) => {
                let cause = format!("cannot reach tenured at {}: {why}", self.socket.display());
                match command {
                    Command::Del => return spool(&self.socket, invocation, &cause),
                    Command::Status => Error::new(ErrorCode::Unavailable, cause),
                    _ => Error::new(ErrorCode::Unreachable, cause),
                }
            }
        };
        Err(ErrorReport::from(&error))
    }
}

/// Keeps a DEL for when the daemon is back. From then on it counts as done.
fn spool(socket: &Path, invocation: &Invocation, cause: &str) -> Result<String, ErrorReport> {
    Spool::beside(socket).write(invocation).map(|()| String::new()).map_err(|error| {
        let cause = format!("{cause}; nor could the DEL be kept for later: {error}");
        ErrorReport::from(&Error::new(ErrorCode::Unreachable, cause))
    })
}

/// A variable of the environment. What is not UTF-8 becomes what no name may contain, and is refused as such.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
