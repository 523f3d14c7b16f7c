//! A kernel that tells a connection's process by its number only (before 6.5): the daemon asks this one, which calls itself another
//! version, and whose answer about the process's descriptor a filter of system calls takes away.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow, ensure};
use nix::libc;
use rustix::process::{Signal, kill_process};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use tenure_e2e::{Victim, wait};
use tenure_types::ErrorCode;

use crate::agent::claim;
use crate::child::{Place, claims, made};
use crate::handed::handed;
use crate::kubelet::{PodGroup, Runtime};
use crate::{LIMIT, NETWORK, accepted, agents};

/// Set where this program is to become the daemon with such a kernel.
const ROLE: &str = "--as-on-an-old-kernel";

/// The question for a descriptor of the process at the other end (`SO_PEERPIDFD`).
const PEER_PIDFD: u64 = 77;

/// Becomes the program of the arguments on such a kernel, if this process was started for that.
pub(crate) fn play() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().filter(|first| first == ROLE)?;
    let become_it = || -> anyhow::Result<std::convert::Infallible> {
        apply_filter(&filter()?)?;
        let program = arguments.next().context("no program")?;
        Err(Command::new(program).args(arguments).exec().into())
    };
    eprintln!("{:#}", become_it().err()?);
    Some(ExitCode::FAILURE)
}

fn filter() -> anyhow::Result<BpfProgram> {
    let asks = [
        SeccompCondition::new(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            u64::try_from(libc::SOL_SOCKET)?,
        )?,
        SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, PEER_PIDFD)?,
    ];
    let rules = BTreeMap::from([(libc::SYS_getsockopt, vec![SeccompRule::new(asks.into())?])]);
    let unknown = SeccompAction::Errno(libc::ENOPROTOOPT.unsigned_abs());
    let processor = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, unknown, processor)?.try_into()?)
}

pub(crate) fn pods() -> anyhow::Result<()> {
    // No other pod of this machine has such a uid.
    let of_cilium = format!("0e2e{:04x}-0000-4000-8000-000000000003", std::process::id() & 0xffff);
    let mut victim = Victim::new()?;
    let runtime = victim.daemon.path("cri.sock");
    let _runtime = Runtime::serve(&runtime, &[(&of_cilium, "cilium-x7")])?;
    let table = "[agents.cilium]\npod = \"kube-system/cilium-*\"\nnetworks = [\"pods\"]\n";
    victim
        .daemon
        .configure(&format!("{NETWORK}{table}[runtime]\nsocket = \"unix://{}\"\n", runtime.display()))?;
    let this = std::env::current_exe()?;
    let this = this.to_str().context("an odd path")?;
    let ended = victim.start_under(&["setarch", "--uname-2.6", this, ROLE])?;
    ensure!(ended.is_none(), "the daemon ended: {ended:?}\n{}", victim.daemon.log(""));
    let socket = victim.daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    wait::holds("the agents' socket", LIMIT, || Ok(socket.exists()))?;
    let cilium = PodGroup::make(&of_cilium)?;

    // It is known by its number, once the daemon has had no connection waiting.
    let address = wait::until("the agent to be known", LIMIT, || {
        let told = claims(&Place::cgroup(&cilium.procs()), &socket)?;
        Ok(told.starts_with("10.91.").then_some(told))
    })?;
    let outside = claims(&Place::default(), &socket)?;
    ensure!(outside == "agent-unknown", "{outside}");
    let (maker, connection) = made(&Place::cgroup(&cilium.procs()), &socket)?;
    accepted(&connection)?;
    maker.end()?;
    let told = handed(connection, async |agent| agent.ensure(claim("router"), 0).await)??;
    ensure!(told == [address], "{told:?}");

    // A maker that is gone before it is accepted is nobody.
    let pid = victim.pid()?;
    kill_process(pid, Signal::STOP)?;
    let gone = made(&Place::cgroup(&cilium.procs()), &socket).and_then(|(maker, connection)| {
        maker.end()?;
        Ok(connection)
    });
    kill_process(pid, Signal::CONT)?;
    let told = handed(gone?, async |agent| agent.ensure(claim("router"), 0).await)?;
    let error = told.err().ok_or_else(|| anyhow!("a process that is gone was served"))?;
    ensure!(error.code == ErrorCode::AgentUnknown, "{error:?}");
    ensure!(agents(&victim.daemon)? == ["cilium"], "{:?}", agents(&victim.daemon)?);
    victim.stop().map(drop)
}
