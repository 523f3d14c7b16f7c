//! Soaking: runs the randomized suites with seeds that nobody has chosen, until the time is up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tenure_fixtures::suites::{self, COUNT, PROPERTY_SEED, RandomizedSuite, SEED, SUITES};

use crate::command;
use crate::programs::{self, TestProgram};
use crate::progress;
use crate::tally::TestTally;
use crate::workspace::{WHOLE, Workspace};

/// With how many seeds in a row a suite of short runs is run each time.
const IN_A_ROW: u32 = 100;

/// The number of lines that are printed of a run that failed.
const LINES: usize = 40;

/// The arguments of a soak.
#[derive(Debug, clap::Args)]
pub(crate) struct SoakArguments {
    /// For how long, such as 90s, 30m or 8h; a run that has begun is ended
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, default_value = "1h")]
    period: Duration,
    /// Only this suite
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// Run the suite once with this seed, to repeat a failure
    #[arg(long, value_name = "SEED", requires = "suite", conflicts_with = "period")]
    seed: Option<u64>,
}

/// A run that failed.
struct FailedRun {
    suite: RandomizedSuite,
    seed: u64,
    log: PathBuf,
}

/// Runs the suites in turn, or repeats one seed.
///
/// # Errors
/// If the build fails, no suite has the name, or a run fails.
pub(crate) fn soak(workspace: &Workspace, arguments: &SoakArguments) -> Result<()> {
    let chosen = arguments.suite.as_deref();
    let suites: Vec<RandomizedSuite> =
        SUITES.into_iter().filter(|suite| chosen.is_none_or(|chosen| chosen == suite.name)).collect();
    if suites.is_empty() {
        bail!("no such suite; the suites are {}", SUITES.map(|suite| suite.name).join(", "));
    }
    // The suites of `host/e2e` run the built programs.
    command::run(workspace.cargo().arg("build").args(WHOLE))?;
    let programs = programs::build(workspace.cargo(), &targets(&suites))?;
    let runs = suites.iter().map(|suite| Ok((*suite, program_of(&programs, suite)?)));
    let suites: Vec<(RandomizedSuite, &TestProgram)> = runs.collect::<Result<_>>()?;
    let logs = workspace.target.join("soak");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    if let (Some(seed), [(suite, program)]) = (arguments.seed, suites.as_slice()) {
        let failed = run_one(suite, program, seed, 1, &logs)?;
        return conclude(workspace, &failed.into_iter().collect::<Vec<_>>());
    }
    let failed = until_over(&suites, arguments.period, &logs)?;
    conclude(workspace, &failed)
}

/// The arguments of `cargo test` that select the programs of suites.
fn targets(suites: &[RandomizedSuite]) -> Vec<&'static str> {
    let target = |suite: &RandomizedSuite| match suite.test {
        Some(test) => vec!["--test", test],
        None => vec!["--lib"],
    };
    let targets: BTreeSet<_> = suites.iter().map(target).collect();
    targets.into_iter().flatten().collect()
}

/// The program with the tests of a suite.
fn program_of<'a>(programs: &'a [TestProgram], suite: &RandomizedSuite) -> Result<&'a TestProgram> {
    let found = programs.iter().find(|program| program.name() == suite.command());
    found.with_context(|| format!("suite {}: nothing that was built is `{}`", suite.name, suite.command()))
}

/// Runs each suite once, and then again as long as there is time.
fn until_over(
    suites: &[(RandomizedSuite, &TestProgram)],
    period: Duration,
    logs: &Path,
) -> Result<Vec<FailedRun>> {
    let (began, mut failed) = (progress::now(), Vec::new());
    let mut runs: BTreeMap<&str, u32> = BTreeMap::new();
    for (suite, program) in suites.iter().cycle() {
        let took = progress::now().saturating_sub(began);
        if took >= period {
            break;
        }
        let seed = drawn();
        println!("soak: {} of {} s: {} from seed {seed}", took.as_secs(), period.as_secs(), suite.name);
        failed.extend(run_one(suite, program, seed, IN_A_ROW, logs)?);
        *runs.entry(suite.name).or_default() += 1;
    }
    let counts: Vec<String> = runs.iter().map(|(suite, count)| format!("{suite} {count}")).collect();
    println!("soak: runs: {}", counts.join(", "));
    let left_out: Vec<&str> =
        suites.iter().map(|(suite, _)| suite.name).filter(|name| !runs.contains_key(name)).collect();
    if !left_out.is_empty() {
        println!("soak: the time did not suffice for {}", left_out.join(", "));
    }
    Ok(failed)
}

/// Runs a suite; returns the run if it failed.
fn run_one(
    suite: &RandomizedSuite,
    program: &TestProgram,
    seed: u64,
    in_a_row: u32,
    logs: &Path,
) -> Result<Option<FailedRun>> {
    let mut command = program.command();
    command.args(Some(suite.filter).filter(|filter| !filter.is_empty()));
    command.env(SEED, seed.to_string()).env(PROPERTY_SEED, seed.to_string()).env(COUNT, in_a_row.to_string());
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start `{}`", program.name()))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if output.status.success() {
        let mut tally = TestTally::default();
        text.lines().for_each(|line| tally.read(line));
        ensure!(
            !tally.is_empty(),
            "suite {}: `{}` has no test {:?}",
            suite.name,
            program.name(),
            suite.filter
        );
        return Ok(None);
    }
    let seed = failing_seed(&text).unwrap_or(seed);
    let log = logs.join(format!("{}-{seed}.log", suite.name));
    fs::write(&log, &*text).with_context(|| format!("cannot write {}", log.display()))?;
    println!("soak: {} FAILED with seed {seed}; {}:", suite.name, log.display());
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(LINES)).for_each(|line| println!("    {line}"));
    Ok(Some(FailedRun { suite: *suite, seed, log }))
}

/// The last seed that a failing test has printed: a suite of short runs takes several.
fn failing_seed(text: &str) -> Option<u64> {
    let (_, behind) = text.rsplit_once(&format!("{SEED}="))?;
    let digits = behind.split(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Says what failed, how to repeat it, and where the seeds go.
fn conclude(workspace: &Workspace, failed: &[FailedRun]) -> Result<()> {
    if failed.is_empty() {
        println!("soak: nothing failed");
        return Ok(());
    }
    for FailedRun { suite, seed, log } in failed {
        println!("\n{} failed with seed {seed}: {}", suite.name, workspace.relative(log).display());
        println!("  repeat it:  {}", suites::replay(suite.name, *seed));
        match suite.is_listed {
            true => println!("  keep it:    add the line `{} {seed}` to host/fixtures/seeds.txt", suite.name),
            false => println!("  keep it:    commit the file that it has written below proptest-regressions"),
        }
    }
    bail!("{} runs failed", failed.len())
}

/// A seed that nobody has chosen. The hasher's keys are random, and differ each time.
fn drawn() -> u64 {
    RandomState::new().hash_one(())
}

/// Reads a duration such as 90s, 30m or 8h.
fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || format!("{text} is not a duration such as 90s, 30m or 8h");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(invalid)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(invalid()),
    };
    let number: u64 = number.parse().map_err(|_| invalid())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("8h"), Ok(Duration::from_secs(8 * 3600)));
        for text in ["", "9", "h", "1d", "-1s", "1.5h", "99999999999999999999s", "9999999999999999h", "9é"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_seed_that_failed_is_the_last_that_was_printed() {
        let text = "TENURE_SEED=7: repeat it\nTENURE_SEED=8: repeat it\npanicked\n";
        assert_eq!(failing_seed(text), Some(8));
        assert_eq!(failing_seed("error: could not compile"), None);
        assert_eq!(failing_seed("TENURE_SEED=many"), None);
    }

    #[test]
    fn each_suite_has_its_program_among_those_that_are_built() {
        let built = SUITES.map(|suite| TestProgram::new(suite.command(), Command::new("true")));
        for suite in SUITES {
            assert_eq!(program_of(&built, &suite).unwrap().name(), suite.command());
        }
        let crash = SUITES.into_iter().filter(|suite| suite.name == "crash").collect::<Vec<_>>();
        assert_eq!(targets(&crash), ["--test", "crash"]);
        assert_eq!(targets(&SUITES).iter().filter(|word| **word == "--lib").count(), 1);
        let error = program_of(&[], &crash[0]).unwrap_err().to_string();
        assert_eq!(error, "suite crash: nothing that was built is `cargo test -p tenure-e2e --test crash`");
    }

    #[test]
    fn a_suite_whose_tests_are_not_there_does_not_pass() {
        let logs = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            run_one(&SUITES[0], &TestProgram::new("it", shell), 7, 1, logs.path())
        };
        assert!(run("echo 'test result: ok. 1 passed; 0 failed; 0 ignored'").unwrap().is_none());
        let error = run("echo 'test result: ok. 0 passed; 0 failed; 0 ignored'").err().unwrap();
        assert_eq!(error.to_string(), "suite agent-clients: `it` has no test \"caged\"");
        let failed = run("echo \"TENURE_SEED=$TENURE_SEED: repeat it\"; exit 1").unwrap().unwrap();
        assert_eq!((failed.seed, failed.suite.name), (7, "agent-clients"));
    }

    #[test]
    fn seeds_that_are_drawn_differ() {
        assert_ne!(drawn(), drawn());
    }
}
