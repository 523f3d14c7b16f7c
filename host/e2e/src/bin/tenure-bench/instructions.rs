//! Instructions instead of time: the same whatever else the machine does, so a later change can be compared anywhere.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::exec::Subject;
use crate::policy;

/// Calls of the longer of two runs; what both have in common cancels out.
const CALLS: u32 = 200;

/// Instructions of one ADD in the plugin; the daemon's are not counted.
pub(crate) fn of_plugin(subject: &Subject) -> anyhow::Result<f64> {
    let (command, input) = subject.command("ADD", usize::MAX);
    count(&command, &input)
}

/// Instructions of one policy call, a fresh instance included.
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
/// Callgrind hides the kernel's vDSO from a program, but not from one that asks the kernel itself for its auxiliary
/// vector, which is told that there is no such question.
fn count(counted: &Command, input: &str) -> anyhow::Result<f64> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=prctl", "-e", "inject=prctl:error=EINVAL"]);
    command.args(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(counted.get_program()).args(counted.get_args());
    command.envs(counted.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("strace and valgrind count instructions")?;
    child.stdin.take().context("no input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", counted.get_program().display());
    let line = said.lines().find_map(|line| line.split_once("Collected : "));
    line.and_then(|(_, count)| count.trim().parse().ok()).context("callgrind has counted nothing")
}
