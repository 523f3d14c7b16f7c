//! Runs the programs of a recipe, and says how to get one that is missing.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use tenure_types::{Error, ErrorCode};

/// A program, and how to get it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool {
    pub(super) program: &'static str,
    pub(super) remedy: &'static str,
}

impl Tool {
    /// Runs the program in a folder and returns what it printed.
    pub(super) fn run(
        self,
        folder: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<String, Error> {
        let mut command = Command::new(self.program);
        command.current_dir(folder).args(arguments).envs(environment.iter().copied());
        run(&mut command, self.remedy)
    }
}

/// Runs a command and returns what it printed.
pub(super) fn run(command: &mut Command, remedy: &str) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Error::new(ErrorCode::ToolMissing, format_args!("cannot find {program}: {remedy}"))
        }
        _ => Error::new(ErrorCode::ToolMissing, format_args!("cannot run {program}: {error}")),
    })?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(
        ErrorCode::BuildFailed,
        format_args!("{program} failed:\n{}{}", printed, complaint.trim_end()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_remedy_and_a_failure_with_its_output() {
        let here = Path::new(".");
        let missing = Tool { program: "no-such-tool", remedy: "install it" };
        let error = missing.run(here, &[], &[]).unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolMissing);
        assert_eq!(error.cause, "cannot find no-such-tool: install it");
        let shell = Tool { program: "sh", remedy: "" };
        assert_eq!(shell.run(here, &["-c", "echo $X"], &[("X", "heard")]).unwrap(), "heard\n");
        let error = shell.run(here, &["-c", "echo out; echo wrong >&2; exit 1"], &[]).unwrap_err();
        assert_eq!((error.code, error.cause.as_str()), (ErrorCode::BuildFailed, "sh failed:\nout\nwrong"));
    }
}
