//! Compatibility between versions: a node keeps working while its daemon is newer than its programs, or older.
//!
//! `recordings/` contains the exchanges of older versions. In one direction, the tests send each recorded request to the
//! daemon, byte for byte; an old program must read the same in its answer. In the other direction, they give each recorded
//! answer to the plugin or `tenurectl`; an old daemon must read the same in the program's request, and the program must
//! print the same.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde_json::Value;
use tenure_e2e::recording::fake::Fake;
use tenure_e2e::recording::frozen::{PROTOCOLS, Protocol};
use tenure_e2e::recording::node::Node;
use tenure_e2e::recording::programs::{Form, Programs, json};
use tenure_e2e::recording::wire::{Call, Exchange};
use tenure_e2e::recording::{
    self, CtlCall, DIRECTORY, File, PluginCall, Printed, Recording, Step, diff, wire,
};
use tenure_e2e::{Daemon, Suite, scratch};

/// Methods that no recorded program calls: the daemon has them for programs that are older still.
const CALLED_BY_OLDER_PROGRAMS: [&str; 1] = ["/tenure.v1.Admin/Import"];

fn main() -> ExitCode {
    let recordings = match recording::all() {
        Ok(recordings) => recordings,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let all = recordings.clone();
    let mut suite = Suite::new().test("every_method_was_recorded", &[], move || every_method(&all));
    for recording in recordings {
        let name = format!("{}_of_{}", recording.head.scenario, recording.folder);
        let of_programs = recording.clone();
        if recording.head.answers_only.is_none() {
            suite = suite.test(format!("the_daemon_answers_{name}"), &[], move || daemon_answers(&recording));
        }
        suite = suite
            .test(format!("the_programs_understand_{name}"), &[], move || programs_understand(&of_programs));
    }
    suite.run()
}

fn every_method(recordings: &[Recording]) -> anyhow::Result<()> {
    for protocol in PROTOCOLS {
        let of_version = recordings.iter().filter(|recording| recording.folder == protocol.folder);
        let exchanges: Vec<&Exchange> =
            of_version.flat_map(|recording| &recording.steps).flat_map(Recording::exchanges).collect();
        let missing: Vec<&str> = protocol
            .methods
            .iter()
            .map(|method| method.path)
            .filter(|path| !exchanges.iter().any(|exchange| exchange.call.method == *path))
            .collect();
        ensure!(missing == CALLED_BY_OLDER_PROGRAMS, "{}: never called: {missing:?}", protocol.folder);
    }
    Ok(())
}

/// Sends the recorded requests to the daemon and compares its answers with the recorded ones.
fn daemon_answers(recording: &Recording) -> anyhow::Result<()> {
    let protocol = Protocol::of(&recording.folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut node = Node::start(Daemon::prepare()?, &recording.head.configuration)?;
    let mut differences = Vec::new();
    for (line, step) in (2..).zip(&recording.steps) {
        match step {
            Step::Daemon { did } => node.turn(*did)?,
            Step::Spool { file, .. } => node.spools(file)?,
            Step::Write(_) | Step::Remove { .. } | Step::Plugin(_) | Step::Ctl(_) => {}
        }
        for Exchange { call, answer } in Recording::exchanges(step) {
            let socket = if call.method.starts_with("/tenure.v1.Cni/") { "cni.sock" } else { "admin.sock" };
            let answered = runtime.block_on(wire::ask(&node.daemon.run_directory().join(socket), call))?;
            let was = protocol.read_answer(&call.method, answer)?;
            let is = protocol.read_answer(&call.method, &answered)?;
            let found = diff::between(&was, &is).into_iter();
            differences.extend(found.map(|what| format!("line {line}, {}{what}", call.method)));
        }
    }
    ensure!(differences.is_empty(), "an old program would read something else:\n{}", differences.join("\n"));
    Ok(())
}

/// Gives the recorded answers to the programs and compares what they ask and print.
fn programs_understand(recording: &Recording) -> anyhow::Result<()> {
    let directory = scratch::directory()?;
    let [run, away] = ["run", "away"].map(|name| directory.path().join(name));
    fs::create_dir(&run)?;
    fs::create_dir(&away)?;
    let listener = Listener {
        protocol: Protocol::of(&recording.folder)?,
        fake: Fake::listen(&run)?,
        programs: Programs::new(directory.path(), &run),
        alone: Programs::new(directory.path(), &away),
        directories: [directory.path().display().to_string(), recording.head.directory.clone()],
    };
    for (line, step) in (2..).zip(&recording.steps) {
        let understood = match step {
            Step::Write(file) => listener.programs.write(file),
            Step::Remove { name } => listener.programs.remove(name),
            Step::Daemon { .. } => Ok(()),
            Step::Plugin(call) => listener.plugin(call),
            Step::Ctl(call) => listener.ctl(call),
            Step::Spool { call, file } => listener.spool(call, file),
        };
        understood.with_context(|| format!("line {line}"))?;
    }
    Ok(())
}

/// The programs under test, connected to a fake daemon.
struct Listener {
    protocol: &'static Protocol,
    fake: Fake,
    programs: Programs,
    /// The programs without a daemon.
    alone: Programs,
    /// The scenario's directory, here and in the recording.
    directories: [String; 2],
}

impl Listener {
    fn plugin(&self, call: &PluginCall) -> anyhow::Result<()> {
        let (printed, questions) = self.fake.answers(&call.exchanges, || self.programs.plugin(call))?;
        self.asked_alike(&questions)?;
        equal(&printed.exit, &call.printed.exit)?;
        let (was, mut is) = (self.read(&call.printed.stdout), self.read(&printed.stdout));
        if let Some(error) = is.as_object_mut().filter(|_| says_only_what_the_reference_says(&was)) {
            let details = error.remove("details").context("no details beside the reference's text")?;
            self.says_the_rest(details.as_str().context("not a text")?, call)?;
        }
        equal(&is, &was)
    }

    /// Checks that details are those of the recorded answer: its name first, its next step last, and its cause between them, without
    /// the text that is the message.
    fn says_the_rest(&self, details: &str, call: &PluginCall) -> anyhow::Result<()> {
        let last = call.exchanges.last().context("no daemon was asked")?;
        let answer = self.protocol.read_answer(&last.call.method, &last.answer)?;
        let text = |place: &str| answer.pointer(place).and_then(Value::as_str).context("no such text");
        let (name, next_step) = (text("/error/name")?, text("/error/metadata/next_step")?);
        let (message, reference) = (text("/error/message")?, text("/error/metadata/reference")?);
        let context = details.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
        let context = context.and_then(|rest| rest.strip_suffix(next_step)).context(details.to_owned())?;
        let cause = message.strip_suffix(reference).unwrap_or(message).trim_end_matches([':', ' ']);
        ensure!(context.contains(cause) && !context.contains(reference), "{cause:?} is not in {details:?}");
        Ok(())
    }

    fn ctl(&self, call: &CtlCall) -> anyhow::Result<()> {
        let run = |form| self.fake.answers(&call.exchanges, || self.programs.ctl(&call.arguments, form));
        let (for_programs, questions) = run(Form::Json)?;
        let about = || format!("{:?}: {for_programs:?}", call.arguments);
        self.asked_alike(&questions).with_context(about)?;
        equal(&for_programs.exit, &call.json.exit).with_context(about)?;
        self.tells_programs(&for_programs, &call.json).with_context(about)?;
        self.programs.keep(call.keeps.as_deref(), &for_programs)?;

        let (for_people, _) = run(Form::Table)?;
        let about = || format!("{:?}: {for_people:?}", call.arguments);
        equal(&for_people.exit, &call.table.exit).with_context(about)?;
        self.tells_people(&for_people, call).with_context(about)
    }

    fn spool(&self, call: &PluginCall, file: &File) -> anyhow::Result<()> {
        let printed = self.alone.plugin(call)?;
        equal(&printed, &call.printed)?;
        // An old daemon needs the keys that an old plugin writes, and ignores all others.
        let (was, is) = (self.read(&file.content), self.read(&self.alone.spooled()?.content));
        let old = was.as_object().context("not an object")?.keys();
        let is: serde_json::Map<_, _> =
            old.map(|key| (key.clone(), is.get(key).cloned().unwrap_or_default())).collect();
        alike(&was, &Value::Object(is))
    }

    /// Checks that an old daemon would read the same in the requests as in the recorded ones.
    fn asked_alike(&self, questions: &[(Call, Exchange)]) -> anyhow::Result<()> {
        for (question, recorded) in questions {
            let was = self.neutral(&self.protocol.read_call(&recorded.call)?)?;
            let is = self.neutral(&self.protocol.read_call(question)?)?;
            alike(&was, &is).with_context(|| question.method.clone())?;
        }
        Ok(())
    }

    /// Checks that every value of the recorded JSON is still printed, under whichever key.
    fn tells_programs(&self, printed: &Printed, recorded: &Printed) -> anyhow::Result<()> {
        for (is, was) in [(&printed.stdout, &recorded.stdout), (&printed.stderr, &recorded.stderr)] {
            let mut told = diff::leaves(&self.read(is));
            for leaf in diff::leaves(&self.read(was)) {
                let place = told.iter().position(|told| *told == leaf);
                told.swap_remove(place.with_context(|| format!("{leaf:?} is not printed"))?);
            }
        }
        Ok(())
    }

    /// Checks that every name and address that the recorded table shows is still shown.
    fn tells_people(&self, printed: &Printed, call: &CtlCall) -> anyhow::Result<()> {
        let shown =
            |printed: &Printed, name: &str| printed.stdout.contains(name) || printed.stderr.contains(name);
        for Exchange { call: asked, answer } in &call.exchanges {
            let answer = self.protocol.read_answer(&asked.method, answer)?;
            for name in diff::names(&answer).iter().filter(|name| shown(&call.table, name)) {
                ensure!(shown(printed, name), "{name:?} is not shown");
            }
        }
        Ok(())
    }

    /// Parses a text as JSON, with the scenario's directory replaced by [`DIRECTORY`].
    fn read(&self, text: &str) -> Value {
        json(&self.directories.iter().fold(text.to_owned(), |text, path| text.replace(path, DIRECTORY)))
    }

    fn neutral(&self, value: &Value) -> anyhow::Result<Value> {
        Ok(self.read(&serde_json::to_string(value)?))
    }
}

/// Whether a recorded error is one of tenure's own codes with a text of the reference implementation alone: until then, its plugin
/// printed no details with that.
fn says_only_what_the_reference_says(was: &Value) -> bool {
    const LAST_OF_REFERENCE: u64 = 10;
    was.get("code").and_then(Value::as_u64).is_some_and(|code| code > LAST_OF_REFERENCE)
        && was.get("details").is_none()
}

fn alike(was: &Value, is: &Value) -> anyhow::Result<()> {
    let differences = diff::between(was, is);
    ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

fn equal<T: PartialEq + std::fmt::Debug>(is: &T, was: &T) -> anyhow::Result<()> {
    ensure!(is == was, "was {was:?}, is {is:?}");
    Ok(())
}
