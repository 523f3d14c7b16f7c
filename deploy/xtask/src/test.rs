//! All checks that a change must pass before it lands: the steps in order, and the number of tests at the end.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::command::{run, succeeds};
use crate::programs::TestProgram;
use crate::progress::StepProgress;
use crate::tally::TestTally;
use crate::workspace::{WHOLE, Workspace};
use crate::{
    bench, cache, chart, demo, dependencies, dist, failures, kubernetes, moto, packages, pages, programs,
    prose, shape, tools,
};

/// The state that the steps share.
struct Context<'a> {
    workspace: &'a Workspace,
    tally: TestTally,
    /// Notes for the reader that are printed even if nothing has failed.
    notes: Vec<String>,
}

/// A step: its name, the step that it depends on, and the function that runs it.
struct CheckStep(&'static str, Option<&'static str>, fn(&mut Context<'_>) -> Result<()>);

/// A step runs even if an earlier one has failed, unless it depends on that one.
const STEPS: &[CheckStep] = &[
    CheckStep("tools", None, |context| {
        tools::install_all(context.workspace)?;
        moto::install(context.workspace)
    }),
    CheckStep("kubernetes", None, |context| kubernetes::install(context.workspace)),
    CheckStep("format", None, |context| run(cargo(context).args(["fmt", "--all", "--check"]))),
    CheckStep("lints", None, |context| {
        run(cargo(context).arg("clippy").args(WHOLE).args(["--all-targets", "--", "--deny", "warnings"]))
    }),
    CheckStep("shape", None, |context| shape::check(context.workspace)),
    CheckStep("prose", None, |context| prose::check(context.workspace, false, false)),
    CheckStep("licences", None, |context| {
        run(cargo(context).args(["deny", "--workspace", "check", "licenses", "bans", "sources"]))
    }),
    CheckStep("advisories", None, advisories),
    CheckStep("build", None, |context| run(cargo(context).arg("build").args(WHOLE).arg("--all-targets"))),
    CheckStep("tests", Some("build"), tests),
    CheckStep("chart", Some("build"), |context| chart::check(context.workspace)),
    CheckStep("pages", Some("build"), |context| pages::check(context.workspace)),
    CheckStep("dependencies", None, |context| dependencies::check(context.workspace)),
    CheckStep("failures", None, |context| failures::check(context.workspace)),
    CheckStep("book", None, |context| pages::build_book(context.workspace)),
];

/// A test program that waits for nothing: random histories.
const SIMULATION: &str = "cargo test -p tenure-sim --bin tenure-sim";

/// Runs all steps; returns `false` if one has failed.
pub(crate) fn test(workspace: &Workspace) -> bool {
    if let Err(error) = cache::prune(workspace) {
        println!("note: {error:#}");
    }
    let mut context = Context { workspace, tally: TestTally::default(), notes: Vec::new() };
    let mut progress = StepProgress::new(STEPS.len());
    for CheckStep(name, after, run) in STEPS {
        progress.step(name, *after, || run(&mut context));
    }
    println!("\n{}", progress.table());
    for line in context.tally.skips().chain(context.tally.failures()).chain(context.notes) {
        println!("{line}");
    }
    println!("{}", context.tally);
    progress.all_passed()
}

/// A cargo command. CI builds only once, so incremental compilation is not worth its space there.
fn cargo(context: &Context<'_>) -> Command {
    let mut command = context.workspace.cargo();
    if in_ci() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// Checks dependencies for known vulnerabilities. The list comes from the network, which may be unreachable.
fn advisories(context: &mut Context<'_>) -> Result<()> {
    if !succeeds(cargo(context).args(["deny", "fetch", "db"])) {
        let note = "NOTE: cannot fetch the advisory database; dependencies were NOT checked for known vulnerabilities";
        println!("{note}");
        context.notes.push(note.to_owned());
        return Ok(());
    }
    run(cargo(context).args(["deny", "--workspace", "check", "--disable-fetch", "advisories"]))
}

/// Runs all test programs, and counts their tests.
fn tests(context: &mut Context<'_>) -> Result<()> {
    let programs = test_programs(context);
    let result = programs.and_then(|programs| programs::run(context.workspace, programs, &mut context.tally));
    if result.is_err() {
        context.tally.runner_failed();
    }
    ensure!(!in_ci() || context.tally.missed() == 0, "tests must not be skipped in CI");
    result
}

/// Unit, integration and end-to-end tests, a node of Kubernetes, and the bench; and, while they wait, what only computes or compiles: a
/// simulation, images, examples in the documentation, its pages, the packages, and fuzzing.
fn test_programs(context: &mut Context<'_>) -> Result<Vec<TestProgram>> {
    let workspace = context.workspace;
    let task = |arguments: &[&str]| {
        let mut command = Command::new(workspace.binaries().join("xtask"));
        command.current_dir(&workspace.root).args(arguments);
        command
    };
    let mut programs = programs::build(cargo(context), &[])?;
    programs.extend(shipped(context)?);
    let simulation = programs.iter().position(|program| program.name() == SIMULATION);
    let simulation = simulation.with_context(|| format!("`{SIMULATION}` is not a test program"))?;
    let simulation = programs.remove(simulation).waiting_for_others();
    if can_run(context, "kubelet", &demo::kubernetes::obstacles())? {
        let play = ["demo", "--kubernetes", "--check"];
        programs.push(TestProgram::alone(format!("cargo xtask {}", play.join(" ")), task(&play)));
    }
    let missing: Vec<_> = bench::missing().into_iter().map(|what| format!("missing: {what}")).collect();
    if can_run(context, "bench", &missing)? {
        programs.push(TestProgram::new("cargo xtask bench --short", bench::short_run(workspace)));
    }
    let mut examples = cargo(context);
    examples.args(["test", "--doc", "--no-fail-fast"]).args(WHOLE);
    let mut reference = cargo(context);
    reference.arg("doc").args(WHOLE).arg("--no-deps").env("RUSTDOCFLAGS", "--deny warnings");
    programs.extend([
        TestProgram::patient("cargo xtask image --check", &task(&["image", "--check"])),
        TestProgram::patient("cargo package", &packages::checking(workspace)?),
        TestProgram::patient("cargo test --doc", &examples),
        TestProgram::patient("cargo doc", &reference),
        TestProgram::patient("cargo xtask fuzz", &task(&["fuzz", "--seconds", "20"])),
        simulation,
    ]);
    Ok(programs)
}

/// Whether this machine can run a program; if it cannot, the notes say why.
fn can_run(context: &mut Context<'_>, name: &str, obstacles: &[String]) -> Result<bool> {
    if obstacles.is_empty() {
        return Ok(true);
    }
    let note = format!("SKIP {name}: {}", obstacles.join("; "));
    ensure!(!in_ci(), "this must not be skipped in CI: {note}");
    println!("{note}");
    context.notes.push(note);
    Ok(false)
}

/// The plugin's tests once more, with the plugin as it is shipped: static, optimised, and aborting on panic.
fn shipped(context: &Context<'_>) -> Result<impl Iterator<Item = TestProgram>> {
    let shipped = context.workspace.target.join("shipped");
    fs::create_dir_all(&shipped)?;
    let debug = context.workspace.binaries();
    let plugin = dist::shim(context.workspace)?;
    for (name, from) in
        [("tenure", plugin), ("tenured", debug.join("tenured")), ("tenurectl", debug.join("tenurectl"))]
    {
        let to = shipped.join(name);
        if to.is_symlink() {
            fs::remove_file(&to)?;
        }
        symlink(from, to)?;
    }
    let mut command = cargo(context);
    command.env("TENURE_BIN_DIR", &shipped);
    let suites = ["--test", "acceptance", "--test", "plugins", "--test", "interrupted"];
    let programs = programs::build(command, &suites)?.into_iter();
    Ok(programs.map(move |program| program.with(&format!("TENURE_BIN_DIR={}", shipped.display()))))
}
