//! A call from beginning to end. The checks run in the order of the reference implementation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_rpc::resolv_conf;
use tenure_rpc::v1::{Answer, Invocation};
use tenure_spool::Spool;
use tenure_types::cni::{
    Command, Configuration, DEFAULT_TIMEOUT, Environment, ErrorReport, PluginSettings, SpecVersion, versions,
};
use tenure_types::{Error, ErrorCode};

use crate::daemon::{self, DaemonFailure, Service};
use crate::deadline::Deadline;
use crate::wait::Pauses;
use crate::{input, netns};

/// The environment variable for the daemon's socket, used if the configuration names none.
const SOCKET_VARIABLE: &str = "TENURE_SOCKET";

/// The environment variable for the agents' socket, which an agent's own container has: there, calls are about the agent's claims.
const AGENT_SOCKET_VARIABLE: &str = "TENURE_AGENT_SOCKET";

/// How long a DEL waits for a daemon that is away before it is spooled: a restart takes no longer.
const DEL_WAIT: Duration = Duration::from_secs(3);

/// The name under which the plugin is a main plugin: the daemon makes the pod's link, too.
const MAIN_PLUGIN: &str = "tenure-eni";

/// An error, and the spec version to report it in.
pub(crate) struct FailedCall {
    pub(crate) report: ErrorReport,
    pub(crate) version: SpecVersion,
}

impl From<Error> for FailedCall {
    fn from(error: Error) -> Self {
        Self { report: ErrorReport::from(&error), version: SpecVersion::NEWEST }
    }
}

/// The text to print to standard output.
pub(crate) fn answer(started: Duration) -> Result<String, FailedCall> {
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
            let text = resolv_conf.map(resolv_conf::read).transpose()?;
            // For STATUS, it is enough that it can be read.
            invocation.resolv_conf = text.filter(|_| *command == Command::Add);
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
        .map_err(|report| FailedCall { report: report.on_network(config.name()), version })
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

/// The daemon's socket, its service there, the deadline of the call, and the part of it that is spent on waiting for a daemon.
struct Way {
    socket: PathBuf,
    service: Service,
    deadline: Deadline,
    wait: Duration,
}

impl Way {
    fn find(settings: PluginSettings, agent: Option<String>, service: Service, started: Duration) -> Self {
        let deadline = Deadline::new(started, settings.timeout);
        let socket = agent
            .or(settings.socket)
            .or_else(|| variable(SOCKET_VARIABLE).filter(|path| !path.is_empty()))
            .unwrap_or_else(|| tenure_rpc::DEFAULT_CNI_SOCKET.to_owned());
        Self { socket: socket.into(), service, deadline, wait: settings.wait }
    }

    fn ask(&self, command: &Command, method: &str, invocation: &Invocation) -> Result<String, ErrorReport> {
        // STATUS says how it is now.
        let wait = if *command == Command::Status { Duration::ZERO } else { self.wait };
        let is_spooled = *command == Command::Del && self.service == Service::Cni;
        let answer = self.answer(method, invocation, if is_spooled { wait.min(DEL_WAIT) } else { wait });
        let Err(DaemonFailure::Away(why) | DaemonFailure::Unreachable(why)) = &answer else {
            return self.told(command, answer);
        };
        // An agent's DEL is repeated by the agent, which may not write on the node.
        if !is_spooled {
            return self.told(command, answer);
        }
        let cause = self.unreachable(why);
        let Err(error) = Spool::beside(&self.socket).write(invocation) else { return Ok(String::new()) };
        // It cannot be kept, so it waits as long as the others.
        match self.answer(method, invocation, wait) {
            Err(DaemonFailure::Away(_) | DaemonFailure::Unreachable(_)) => {
                let cause = format!("{cause}; and the DEL could not be spooled: {error}");
                Err(ErrorReport::from(&Error::new(ErrorCode::Unreachable, cause)))
            }
            answer => self.told(command, answer),
        }
    }

    /// The daemon's answer. While a daemon is away, it is waited for; the wait began when the call did.
    fn answer(&self, method: &str, invocation: &Invocation, wait: Duration) -> Result<Answer, DaemonFailure> {
        let mut pauses = Pauses::until(self.deadline.within(wait));
        loop {
            let answer = daemon::ask(&self.socket, (self.service, method), invocation, self.deadline);
            match answer {
                Err(failure) if failure.is_passing() => {
                    // After the deadline of the call, another attempt would only hide the cause.
                    if !pauses.pause() || self.deadline.remaining().is_none() {
                        return Err(failure);
                    }
                }
                answer => return answer,
            }
        }
    }

    /// The output for an answer.
    fn told(&self, command: &Command, answer: Result<Answer, DaemonFailure>) -> Result<String, ErrorReport> {
        let error = match answer {
            Ok(answer) => match String::from_utf8(answer.output) {
                Ok(output) if *command == Command::Add && output.is_empty() => {
                    Error::new(ErrorCode::Internal, "the daemon's answer to ADD is empty")
                }
                Ok(output) => return Ok(output),
                Err(_) => Error::new(ErrorCode::Internal, "the daemon's answer is not UTF-8"),
            },
            Err(DaemonFailure::Refused(report)) => return Err(report),
            Err(DaemonFailure::Late) => {
                let cause = format_args!("tenured did not answer within {:?}", self.deadline.timeout());
                Error::new(ErrorCode::DeadlineExceeded, cause)
            }
            Err(DaemonFailure::Away(why) | DaemonFailure::Unreachable(why)) => {
                let code =
                    if *command == Command::Status { ErrorCode::Unavailable } else { ErrorCode::Unreachable };
                Error::new(code, self.unreachable(&why))
            }
        };
        Err(ErrorReport::from(&error))
    }

    fn unreachable(&self, why: &str) -> String {
        format!("cannot reach tenured at {}: {why}", self.socket.display())
    }
}

/// An environment variable. Invalid UTF-8 becomes U+FFFD, which no name may contain, so that it is refused later.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
