//! `policy test`: the case files of a policy, in the sandbox.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tenure_testkit::cases::{self, CaseFailure, CaseRun};
use tenure_types::{Error, ErrorCode};

use super::build::build;
use super::sandboxed::{Sandboxed, read};
use crate::render::{Page, Shown};

/// The folder of case files in a policy's folder.
const CASES: &str = "cases";

/// The results of all case files.
pub(crate) struct Tested {
    /// The component.
    pub(crate) file: PathBuf,
    pub(crate) runs: Vec<CaseRun>,
}

impl Tested {
    /// Whether every case file passed.
    pub(crate) fn passed(&self) -> bool {
        self.runs.iter().all(|run| run.failure.is_none())
    }
}

impl Shown for Tested {
    fn page(&self, _: u64) -> Page {
        let mut text = String::new();
        for run in &self.runs {
            let (path, steps) = (run.path.display(), run.steps);
            let _ = match &run.failure {
                None => writeln!(text, "{path}: {steps} steps passed"),
                Some(failure) => writeln!(text, "FAILED {failure}"),
            };
        }
        let failed = self.runs.iter().filter(|run| run.failure.is_some()).count();
        let files = match self.runs.len() {
            1 => "1 case file".to_owned(),
            count => format!("{count} case files"),
        };
        let component = self.file.display();
        let _ = match failed {
            0 => writeln!(text, "{component}: {files} passed"),
            _ => writeln!(text, "{component}: {failed} of {files} failed"),
        };
        text.into()
    }

    fn is_well(&self) -> bool {
        self.passed()
    }
}

impl Serialize for Tested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = |CaseFailure { line, step, expected, got, .. }: &CaseFailure| json!({ "line": line, "step": step, "expected": expected, "got": got });
        let run = |run: &CaseRun| json!({ "file": run.path, "steps": run.steps, "failure": run.failure.as_ref().map(failure) });
        let cases: Vec<Value> = self.runs.iter().map(run).collect();
        json!({ "file": self.file, "passed": self.passed(), "cases": cases }).serialize(serializer)
    }
}

/// Builds the policy in a folder, unless it is given as a component, and runs the folder's case files.
pub(super) fn test(folder: &Path, component: Option<PathBuf>) -> Result<Tested, Error> {
    let file = match component {
        Some(file) => file,
        None => build(folder)?.file,
    };
    let unusable = |cause: &dyn std::fmt::Display| Error::new(ErrorCode::InputOutput, cause);
    let cases = folder.join(CASES);
    let read_cases = cases::read(&cases).map_err(|error| unusable(&error))?;
    if read_cases.is_empty() {
        return Err(unusable(&format_args!("{} has no case files; each is a .txt", cases.display())));
    }
    let policy = Sandboxed::load(&file, &read(&file)?)?;
    let runs = read_cases.iter().map(|case| cases::run(case, || policy.clone())).collect();
    Ok(Tested { file, runs })
}
