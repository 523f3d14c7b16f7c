//! Runs the test programs side by side. A test waits for most of its time, for a daemon, a lease or a deadline, so one program after
//! the other would leave the processors idle. What is left of them is for the compiler, which checks something else meanwhile.
//!
//! `cargo test` builds the programs and says where they are; [`TestTally`] counts what they print.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tenure_types::hold;

use crate::command;
use crate::progress;
use crate::tally::TestTally;
use crate::workspace::{WHOLE, Workspace};

/// The number of programs that run at once, beyond one for each processor. Each runs as many tests at once as there are processors.
const MORE: usize = 1;

/// The file with the milliseconds that each program took in the last run.
const TIMES: &str = "times";

/// A test program, or another one that tests.
#[derive(Debug)]
pub(crate) struct TestProgram {
    /// The command that runs it alone, such as `cargo test -p tenure-e2e --test crash`.
    name: String,
    command: Command,
    /// Whether it takes only the time that other programs leave: one after the other, with a low priority.
    is_patient: bool,
    /// Whether it runs before the others, beside patient programs only: it counts what a busy machine alone makes fail, such as pods that
    /// wait for a restart.
    is_alone: bool,
}

/// The end of a test program.
#[derive(Debug)]
struct ProgramEnd {
    name: String,
    took: Duration,
    /// The output if it has passed, and otherwise also why it has not.
    output: String,
    passed: bool,
}

/// Builds the test programs of the workspace that the arguments of `cargo test` select, or all of them.
///
/// # Errors
/// If they cannot be built.
pub(crate) fn build(mut cargo: Command, which: &[&str]) -> Result<Vec<TestProgram>> {
    let mut programs = Vec::new();
    cargo.args(["test", "--no-run", "--message-format", "json-render-diagnostics"]).args(WHOLE).args(which);
    command::lines(&mut cargo, |line| programs.extend(built(line)))?;
    for program in &mut programs {
        program.command.envs(cargo.get_envs().filter_map(|(name, value)| Some((name, value?))));
    }
    Ok(programs)
}

/// The test program that one of cargo's messages is about.
fn built(message: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(message).ok()?;
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    if message.pointer("/profile/test") != Some(&Value::Bool(true)) {
        return None;
    }
    let folder = Path::new(text("/manifest_path")?).parent()?;
    // `path+file:///tenure/host/e2e#tenure-e2e@0.1.0`; the name is left out if it is the folder's.
    let (path, version) = text("/package_id")?.rsplit_once('#')?;
    let package = match version.split_once('@') {
        Some((package, _)) => package,
        None => path.rsplit('/').next()?,
    };
    let target = match text("/target/kind/0")? {
        kind @ ("test" | "bin" | "example" | "bench") => format!("--{kind} {}", text("/target/name")?),
        _ => "--lib".to_owned(),
    };
    let mut command = Command::new(text("/executable")?);
    // As cargo starts it.
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    Some(TestProgram::new(format!("cargo test -p {package} {target}"), command))
}

/// Runs the programs, those first that took longest in the last run. Prints a line for each that passes, and all the output of one that
/// fails; the output of each stays in a file below the target folder. Counts the tests.
///
/// # Errors
/// Names the programs that failed.
pub(crate) fn run(workspace: &Workspace, programs: Vec<TestProgram>, tally: &mut TestTally) -> Result<()> {
    let logs = workspace.target.join("tests");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    let mut times = LastTimes::read(logs.join(TIMES));
    let (total, mut count, mut failed) = (programs.len(), 0, Vec::new());
    let (alone, others): (Vec<_>, Vec<_>) = programs.into_iter().partition(|program| program.is_alone);
    let (patient, mut together): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|program| program.is_patient);
    together.sort_by_key(|program| Reverse(times.of(&program.name)));
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let lanes = [
        vec![JobBatch { jobs: alone, at_once: 1 }, JobBatch { jobs: together, at_once: processors + MORE }],
        vec![JobBatch { jobs: patient, at_once: 1 }],
    ];
    let ended = |end: ProgramEnd| {
        count += 1;
        let mut own = TestTally::default();
        for line in end.output.lines() {
            own.read(line);
            tally.read(line);
        }
        let ProgramEnd { name, took, output, passed } = end;
        let counts = if own.is_empty() { String::new() } else { format!(", {own}") };
        let seconds = took.as_secs_f64();
        if passed {
            println!("({count}/{total}) {name}: ok in {seconds:.1} s{counts}");
            times.set(name, took);
        } else {
            println!("{output}\n({count}/{total}) {name}: FAILED in {seconds:.1} s{counts}");
            failed.push(name);
        }
    };
    side_by_side(lanes, |program| program.run(&logs), ended);
    times.write()?;
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

impl TestProgram {
    /// A program that is not built by `cargo test`; `name` is the command that runs it alone.
    pub(crate) fn new(name: impl Into<String>, command: Command) -> Self {
        Self { name: name.into(), command, is_patient: false, is_alone: false }
    }

    /// The command that runs it alone, as a person types it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A command that runs it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.command.get_program());
        pass_on(&self.command, &mut command);
        command
    }

    /// The same program, with the variables before its command that it runs with.
    #[must_use]
    pub(crate) fn with(mut self, variables: &str) -> Self {
        self.name = format!("{variables} {}", self.name);
        self
    }

    /// A program that runs before the others, beside patient programs only.
    pub(crate) fn alone(name: impl Into<String>, command: Command) -> Self {
        Self { is_alone: true, ..Self::new(name, command) }
    }

    /// A command that computes or compiles for most of its time.
    pub(crate) fn patient(name: impl Into<String>, command: &Command) -> Self {
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).arg(command.get_program());
        pass_on(command, &mut nice);
        Self { name: name.into(), command: nice, is_patient: true, is_alone: false }
    }

    /// The same program, in the time that others leave.
    #[must_use]
    pub(crate) fn waiting_for_others(self) -> Self {
        Self::patient(self.name, &self.command)
    }

    /// Runs it to its end.
    fn run(mut self, logs: &Path) -> ProgramEnd {
        let start = progress::now();
        let safe = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
        let log = logs.join(self.name.chars().map(safe).collect::<String>() + ".log");
        let ended = self.attempt(&log);
        let took = progress::now().saturating_sub(start);
        let mut output =
            fs::read(&log).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        if let Err(error) = &ended {
            output.push_str(&format!("{error:#}"));
        }
        ProgramEnd { name: self.name, took, output, passed: ended.is_ok() }
    }

    fn attempt(&mut self, log: &Path) -> Result<()> {
        let output = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        self.command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let program = self.command.get_program().display().to_string();
        let status = self.command.status().with_context(|| format!("cannot start {program}"))?;
        if status.success() { Ok(()) } else { bail!("{program}: {status}") }
    }
}

/// Passes the arguments, the variables and the folder of a command on to another.
fn pass_on(from: &Command, to: &mut Command) {
    to.args(from.get_args());
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
    if let Some(folder) = from.get_current_dir() {
        to.current_dir(folder);
    }
}

/// Jobs, and how many of them are worked on at once, in their order.
#[derive(Debug)]
struct JobBatch<J> {
    jobs: Vec<J>,
    at_once: usize,
}

/// Works on jobs. Lanes run side by side, and the batches of a lane one after the other. Gives each result to `ended`, on the caller's thread.
fn side_by_side<J: Send, R: Send>(
    lanes: impl IntoIterator<Item = Vec<JobBatch<J>>>,
    work: impl Fn(J) -> R + Sync,
    ended: impl FnMut(R),
) {
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for batches in lanes {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || {
                for JobBatch { jobs, at_once } in batches {
                    let waiting = Mutex::new(jobs.into_iter());
                    let next = || hold(&waiting).next();
                    let worker = |sender: mpsc::Sender<R>| {
                        while let Some(job) = next() {
                            // The receiver lives until all have ended.
                            let _ = sender.send(work(job));
                        }
                    };
                    thread::scope(|scope| {
                        for _ in 0..at_once {
                            let sender = sender.clone();
                            scope.spawn(|| worker(sender));
                        }
                    });
                }
            });
        }
        drop(sender);
        results.into_iter().for_each(ended);
    });
}

/// The time that each program took in the last run in which it passed.
#[derive(Debug)]
struct LastTimes {
    file: PathBuf,
    milliseconds: BTreeMap<String, u64>,
}

impl LastTimes {
    fn read(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let milliseconds =
            lines.filter_map(|(time, name)| Some((name.to_owned(), time.parse().ok()?))).collect();
        Self { file, milliseconds }
    }

    /// The time of a program; one that is not known may take long.
    fn of(&self, name: &str) -> u64 {
        self.milliseconds.get(name).copied().unwrap_or(u64::MAX)
    }

    fn set(&mut self, name: String, took: Duration) {
        self.milliseconds.insert(name, u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    }

    fn write(&self) -> Result<()> {
        let lines: String = self.milliseconds.iter().map(|(name, time)| format!("{time} {name}\n")).collect();
        fs::write(&self.file, lines).with_context(|| format!("cannot write {}", self.file.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn cargos_messages_name_the_test_programs() {
        let message = |id: &str, kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"{id}","manifest_path":"/tenure/host/e2e/Cargo.toml",
                "target":{{"kind":["{kind}"],"name":"crash"}},"profile":{{"test":{test}}},"executable":"/target/crash-1"}}"#
            )
        };
        let names = |id: &str, kind: &str| built(&message(id, kind, true)).map(|program| program.name);
        let named = "path+file:///tenure/host/e2e#tenure-e2e@0.1.0";
        assert_eq!(names(named, "test").as_deref(), Some("cargo test -p tenure-e2e --test crash"));
        assert_eq!(names(named, "bin").as_deref(), Some("cargo test -p tenure-e2e --bin crash"));
        assert_eq!(
            names("path+file:///tenure/deploy/xtask#0.1.0", "lib").as_deref(),
            Some("cargo test -p xtask --lib")
        );
        let program = built(&message(named, "test", true)).unwrap();
        assert_eq!(program.command.get_program(), "/target/crash-1");
        assert_eq!(program.command.get_current_dir(), Some(Path::new("/tenure/host/e2e")));
        assert!(built(&message(named, "bin", false)).is_none());
        assert!(built(r#"{"reason":"build-finished","success":true}"#).is_none());
    }

    #[test]
    fn the_jobs_of_all_lanes_run_side_by_side_and_those_of_one_in_their_order() {
        let meet = Barrier::new(3);
        let mut ended = Vec::new();
        // None of three ends before the others have begun.
        let lane = |jobs: &[u32], at_once| vec![JobBatch { jobs: jobs.to_vec(), at_once }];
        let lanes = [lane(&[1, 2, 3, 4], 2), lane(&[10, 20], 1)];
        side_by_side(lanes, |job| (meet.wait(), job).1, |job| ended.push(job));
        let slow: Vec<_> = ended.iter().copied().filter(|job| *job >= 10).collect();
        assert_eq!((ended.len(), slow), (6, vec![10, 20]));
        let mut in_turn = Vec::new();
        let batches = [3, 1, 2].map(|job| JobBatch { jobs: vec![job, 10 * job], at_once: 1 });
        side_by_side([batches.into()], |job| job, |job| in_turn.push(job));
        assert_eq!(in_turn, [3, 30, 1, 10, 2, 20]);
    }

    #[test]
    fn a_program_that_fails_shows_its_output_and_is_named() {
        let target = tempfile::tempdir().unwrap();
        let workspace = Workspace { root: target.path().into(), target: target.path().into() };
        let program = |name: &str, script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            TestProgram::new(name, command)
        };
        let result =
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let programs =
            vec![program("good", &format!("echo '{result}'")), program("bad", "echo why >&2; exit 3")];
        let mut tally = TestTally::default();
        let error = run(&workspace, programs, &mut tally).unwrap_err();
        assert_eq!(error.to_string(), "failed: bad");
        assert_eq!(tally.to_string(), "2 passed, 0 failed, 0 skipped");
        assert_eq!(fs::read_to_string(target.path().join("tests/bad.log")).unwrap(), "why\n");
        let times = LastTimes::read(target.path().join("tests").join(TIMES));
        assert!(times.of("good") < u64::MAX && times.of("bad") == u64::MAX);
    }
}
