//! A call from beginning to end. The checks run in the order of the reference implementation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_rpc::resolv_conf;
use tenure_rpc::v1::Invocation;
use tenure_spool::Spool;
use tenure_types::cni::{
    Command, Configuration, DEFAULT_TIMEOUT, Environment, ErrorReport, PluginSettings, SpecVersion, versions,
};
use tenure_types::{Error, ErrorCode};

use crate::daemon::{self, Failure, Service};
use crate::deadline::Deadline;
use crate::{input, netns};

/// The environment variable for the daemon's socket, used if the configuration names none.
const SOCKET_VARIABLE: &str = "TENURE_SOCKET";

/// The environment variable for the agents' socket, which an agent's own container has: there, calls are about the agent's claims.
const AGENT_SOCKET_VARIABLE: &str = "TENURE_AGENT_SOCKET";

/// The name under which the plugin is a main plugin: the daemon makes the pod's link, too.
const MAIN_PLUGIN: &str = "tenure-eni";

/// An error, and the spec version to report it in.
pub(crate) struct Failed {
    pub(crate) report: ErrorReport,
    pub(crate) version: SpecVersion,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { report: ErrorReport::from(&error), version: SpecVersion::NEWEST }
    }
}

/// The text to print to standard output.
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
        // Set below, for an ADD whose configuration names a file.
        resolv_conf: None,
    };
    let is_main = is_main_plugin();
    // An agent's claim has no link.
    let agent = variable(AGENT_SOCKET_VARIABLE).filter(|path| !path.is_empty() && !is_main);
    let is_pod = agent.is_none();
    check_netns(&environment, namespace, is_pod)
        .and_then(|()| config.plugin_settings(command))
        .and_then(|settings| {
            let resolv_conf = settings.resolv_conf.as_deref().filter(|_| is_pod);
            invocation.resolv_conf = resolv_conf.map(resolv_conf::read).transpose()?;
            let service = match (&agent, command) {
                (Some(_), _) => Service::AgentCni,
                // These two end links under either name, with a daemon of any version.
                (None, Command::Del | Command::Gc) => Service::Cni,
                (None, _) if is_main => Service::Eni,
                (None, _) => Service::Cni,
            };
            Ok(Way::find(settings, agent, service, started))
        })
        .map_err(|error| ErrorReport::from(&error))
        .and_then(|way| way.ask(command, method, &invocation))
        .map_err(|report| Failed { report, version })
}

/// Whether the plugin was called by its other name.
fn is_main_plugin() -> bool {
    let called = std::env::args_os().next();
    called.is_some_and(|path| Path::new(&path).file_name().is_some_and(|name| name == MAIN_PLUGIN))
}

/// The daemon's method for a command.
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

/// Refuses an ADD or CHECK for a pod in the host's own network namespace, where it needs no address of its own.
///
/// A DEL is not refused: the path may lead to another namespace by now, and the attachment's addresses must not leak.
fn check_netns(environment: &Environment, namespace: Option<(u64, u64)>, is_pod: bool) -> Result<(), Error> {
    let concerned =
        matches!(environment.command, Command::Add | Command::Check) && !environment.netns_override;
    if is_pod && concerned && netns::is_own(namespace) {
        let cause = "plugin's netns and netns from CNI_NETNS should not be the same";
        return Err(Error::new(ErrorCode::HostNetns, cause));
    }
    Ok(())
}

/// The daemon's socket, its service there, and the deadline for reaching it.
struct Way {
    socket: PathBuf,
    service: Service,
    deadline: Deadline,
}

impl Way {
    fn find(settings: PluginSettings, agent: Option<String>, service: Service, started: Duration) -> Self {
        let deadline = Deadline::new(started, settings.timeout);
        let socket = agent
            .or(settings.socket)
            .or_else(|| variable(SOCKET_VARIABLE).filter(|path| !path.is_empty()))
            .unwrap_or_else(|| tenure_rpc::DEFAULT_CNI_SOCKET.to_owned());
        Self { socket: socket.into(), service, deadline }
    }

    fn ask(&self, command: &Command, method: &str, invocation: &Invocation) -> Result<String, ErrorReport> {
        let error = match daemon::ask(&self.socket, (self.service, method), invocation, self.deadline) {
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
                    // An agent hears of it, and repeats it: it may not write on the node.
                    Command::Del if self.service == Service::Cni => {
                        return spool(&self.socket, invocation, &cause);
                    }
                    Command::Status => Error::new(ErrorCode::Unavailable, cause),
                    _ => Error::new(ErrorCode::Unreachable, cause),
                }
            }
        };
        Err(ErrorReport::from(&error))
    }
}

/// Spools a DEL for the daemon to process later. Once spooled, it counts as done.
fn spool(socket: &Path, invocation: &Invocation, cause: &str) -> Result<String, ErrorReport> {
    Spool::beside(socket).write(invocation).map(|()| String::new()).map_err(|error| {
        let cause = format!("{cause}; and the DEL could not be spooled: {error}");
        ErrorReport::from(&Error::new(ErrorCode::Unreachable, cause))
    })
}

/// An environment variable. Invalid UTF-8 becomes U+FFFD, which no name may contain, so that it is refused later.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
