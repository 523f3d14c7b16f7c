//! Counts instructions rather than time. Counts do not depend on the machine's load, so versions can be compared on any machine.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::exec::Subject;
use crate::policy;

/// The number of calls in the longer of two runs; the difference between the runs cancels out the common part.
const CALLS: u32 = 200;

/// The plugin's instructions for one ADD, without the daemon's.
pub(crate) fn of_plugin(subject: &Subject) -> anyhow::Result<f64> {
    let (command, input) = subject.command("ADD", usize::MAX);
    count(&command, &input)
}

/// The instructions of one policy call, including instantiation.
pub(crate) fn of_policy_call() -> anyhow::Result<f64> {
    let run = |calls: u32| {
        let mut command = Command::new(policy::example()?);
        command.arg(calls.to_string()).arg("--only-call");
        count(&command, "")
    };
    Ok((run(CALLS)? - run(0)?) / f64::from(CALLS))
}

/// Runs a command under callgrind.
///
/// Callgrind hides the kernel's vDSO from a program, but not from one that asks the kernel for its auxiliary vector; strace
/// makes that system call fail.
fn count(counted: &Command, input: &str) -> anyhow::Result<f64> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=prctl", "-e", "inject=prctl:error=EINVAL"]);
    command.args(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(counted.get_program()).args(counted.get_args());
    command.envs(counted.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start strace, which is needed to count instructions")?;
    child.stdin.take().context("no input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", counted.get_program().display());
    let line = said.lines().find_map(|line| line.split_once("Collected : "));
    line.and_then(|(_, count)| count.trim().parse().ok()).context("callgrind printed no count")
}
