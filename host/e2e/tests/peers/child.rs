//! A process of its own that acts as an agent: the test's program once more, told by its environment what to do.

use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::agent::claim;
use crate::handed::handed;

/// The variable with the process's role, and the socket to connect to.
const ROLE: &str = "TENURE_E2E_ROLE";
const SOCKET: &str = "TENURE_E2E_SOCKET";

/// The use that a process makes of a connection to the agents' socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Claims over a connection of its own.
    Connects,
    /// Connects, passes the connection on, and ends when it is told to.
    PassesOn,
    /// Claims over the connection that it inherited.
    Inherits,
    /// Claims over a connection that is passed to it.
    Receives,
}

const ROLES: [Role; 4] = [Role::Connects, Role::PassesOn, Role::Inherits, Role::Receives];

/// Plays a role, if this process was started for one.
pub(crate) fn play() -> Option<ExitCode> {
    let role = std::env::var(ROLE).ok()?;
    let role = ROLES.into_iter().find(|known| format!("{known:?}") == role)?;
    Some(match act(role) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    })
}

fn act(role: Role) -> anyhow::Result<()> {
    let connect =
        || UnixStream::connect(std::env::var_os(SOCKET).context("no socket")?).context("cannot connect");
    let stdin = || anyhow::Ok(UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?));
    let connection = match role {
        Role::Connects => connect()?,
        Role::Inherits => stdin()?,
        Role::Receives => receive(&stdin()?)?,
        Role::PassesOn => {
            let to = stdin()?;
            pass(&to, &connect()?)?;
            // Until the test has closed its end.
            _ = (&to).read(&mut [0])?;
            return Ok(());
        }
    };
    let told = match handed(connection, async |agent| agent.ensure(claim("router"), 0).await)? {
        Ok(addresses) => addresses.join(" "),
        Err(error) => error.code.name().to_owned(),
    };
    Ok(write!(std::io::stdout(), "{told}")?)
}

/// A command that plays a role, with this as its standard input.
fn command(role: Role, socket: &Path, input: OwnedFd) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(ROLE, format!("{role:?}")).env(SOCKET, socket);
    command.stdin(Stdio::from(input)).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// The place in which a process runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The group; 0 for the test's own.
    pub(crate) gid: u32,
    /// The file that moves a process into a control group, if it is to be in one.
    pub(crate) cgroup: Option<std::path::PathBuf>,
}

impl Place {
    pub(crate) fn group(gid: u32) -> Self {
        Self { gid, cgroup: None }
    }

    pub(crate) fn cgroup(procs: &Path) -> Self {
        Self { gid: 0, cgroup: Some(procs.to_owned()) }
    }

    /// The same command, run there.
    fn settle(&self, command: Command) -> Command {
        let mut settled = match &self.cgroup {
            None => command,
            Some(procs) => {
                let mut shell = Command::new("sh");
                shell
                    .args(["-c", "echo $$ > \"$1\" && exec \"$2\"", "sh"])
                    .arg(procs)
                    .arg(command.get_program());
                shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
                shell
            }
        };
        if self.gid > 0 {
            settled.gid(self.gid);
        }
        settled
    }
}

/// Runs a process to its end, and returns what it printed: addresses, or the code of the refusal.
pub(crate) fn run(role: Role, place: &Place, socket: &Path, input: OwnedFd) -> anyhow::Result<String> {
    let mut command = place.settle(command(role, socket, input.try_clone()?)?);
    let output = command.stdin(Stdio::from(input)).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    ensure!(output.status.success(), "{role:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Claims from a place.
pub(crate) fn claims(place: &Place, socket: &Path) -> anyhow::Result<String> {
    run(Role::Connects, place, socket, std::fs::File::open("/dev/null")?.into())
}

/// A process that has connected and lives until this is dropped.
pub(crate) struct Maker {
    child: Child,
    _tells: UnixStream,
}

/// Has a process connect and pass its connection on.
pub(crate) fn made(place: &Place, socket: &Path) -> anyhow::Result<(Maker, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let input = OwnedFd::from(theirs);
    let mut command = place.settle(command(Role::PassesOn, socket, input.try_clone()?)?);
    let child = command.stdin(Stdio::from(input)).spawn()?;
    let connection = receive(&ours)?;
    Ok((Maker { child, _tells: ours }, connection))
}

impl Maker {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process, which is gone when this returns.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

/// Passes a connection to another process.
pub(crate) fn pass(to: &UnixStream, connection: &UnixStream) -> anyhow::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [connection.as_fd()];
    ensure!(control.push(SendAncillaryMessage::ScmRights(&fds)), "no room for a descriptor");
    sendmsg(to, &[IoSlice::new(b"x")], &mut control, SendFlags::empty())?;
    Ok(())
}

fn receive(from: &UnixStream) -> anyhow::Result<UnixStream> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    ensure!(received.bytes == 1 && !received.flags.contains(ReturnFlags::CTRUNC), "nothing was passed on");
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut fds) = message {
            return Ok(UnixStream::from(fds.next().context("no descriptor")?));
        }
    }
    bail!("no descriptor was passed on")
}
