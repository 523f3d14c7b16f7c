//! Runs other programs: prints each command before it runs, and names it in errors.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};

/// Prints a command and runs it on our own terminal.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", text(command));
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("cannot start `{}`", text(command)))?;
    ensure(status, command)
}

/// Runs a command quietly and returns its standard output.
///
/// # Errors
/// When it cannot be started, fails (with its standard error) or does not print text.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{}`", text(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` failed ({}): {}",
            text(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` did not print text", text(command)))
}

/// Runs a command quietly with the given standard input; the caller judges its status and output.
///
/// # Errors
/// When it cannot be started, or its input or output fails.
pub(crate) fn feed(command: &mut Command, input: &str) -> Result<(ExitStatus, String)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", text(command)))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let mut printed = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut printed)?;
    }
    Ok((child.wait()?, printed))
}

/// Prints a command and runs it; calls `each` with each line of its standard output as it comes.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn lines(command: &mut Command, mut each: impl FnMut(&str)) -> Result<()> {
    println!("$ {}", text(command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", text(command)))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            each(&String::from_utf8_lossy(&line?));
        }
    }
    ensure(child.wait()?, command)
}

/// Whether a command can be started and succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn ensure(status: ExitStatus, command: &Command) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("`{}` failed ({status})", text(command))
}

/// The command as typed in a shell, with the program's bare name and without quoting.
fn text(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut text = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let _ = write!(text, " {}", argument.to_string_lossy());
    }
    text
}
