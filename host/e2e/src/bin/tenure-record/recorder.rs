//! Runs a scenario with real programs and a real daemon.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;
use tempfile::TempDir;
use tenure_e2e::Daemon;
use tenure_e2e::recording::fake::{Fake, SOCKETS};
use tenure_e2e::recording::node::Node;
use tenure_e2e::recording::programs::{Form, Programs};
use tenure_e2e::recording::{CtlCall, File, Head, PluginCall, Recording, Step, wire};
use tokio::runtime::Runtime;

use crate::scenarios::Scenario;
use crate::tap::{NoContainers, Tap};

/// Every scenario is recorded in a directory of this name, so that paths do not change from one recording to the next.
const DIRECTORY: &str = "tenure-recording";

/// A node with a proxy in front of its daemon.
pub(crate) struct Recorder {
    node: Node,
    tap: Tap,
    fake: Fake,
    /// The programs, connected to the proxy.
    tapped: Programs,
    /// The programs, connected to the daemon.
    direct: Programs,
    /// The programs, connected to the fake daemon.
    replayed: Programs,
    /// Serves the container runtime for as long as this lives.
    _runtime: Runtime,
}

impl Recorder {
    /// Records a scenario.
    pub(crate) fn record(scenario: Scenario, wrote: &str) -> anyhow::Result<Recording> {
        let Scenario { name, about, configuration, answers_only, steps } = scenario;
        let directory = tempfile::Builder::new().prefix(DIRECTORY).rand_bytes(0).tempdir()?;
        let head = Head {
            scenario: name.to_owned(),
            about: about.to_owned(),
            wrote: wrote.to_owned(),
            directory: directory.path().display().to_string(),
            configuration: configuration.to_owned(),
            answers_only: answers_only.map(str::to_owned),
        };
        let mut recorder = Self::start(directory, configuration)?;
        let steps = steps.into_iter().map(|step| recorder.step(step)).collect::<anyhow::Result<_>>()?;
        Ok(Recording { folder: String::new(), head, steps })
    }

    fn start(directory: TempDir, configuration: &str) -> anyhow::Result<Self> {
        let path = directory.path().to_owned();
        let [tapped, replayed] = ["tapped", "replayed"].map(|name| path.join(name));
        fs::create_dir(&tapped)?;
        fs::create_dir(&replayed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        {
            let _guard = runtime.enter();
            wire::serve(&path.join("cri.sock"), &Arc::new(NoContainers))?;
        }
        let daemon = Daemon::prepare_in(directory)?;
        let run_directory = daemon.run_directory();
        let programs = |run_directory: &Path| Programs::new(&path, run_directory);
        let configuration = programs(&run_directory).fill_in(configuration);
        Ok(Self {
            tap: Tap::listen(&tapped, &run_directory, &SOCKETS)?,
            fake: Fake::listen(&replayed)?,
            tapped: programs(&tapped),
            direct: programs(&run_directory),
            replayed: programs(&replayed),
            node: Node::start(daemon, &configuration)?,
            _runtime: runtime,
        })
    }

    fn step(&mut self, step: Step) -> anyhow::Result<Step> {
        match &step {
            Step::Write(file) => self.direct.write(file)?,
            Step::Remove { name } => self.direct.remove(name)?,
            Step::Daemon { did } => self.node.turn(*did)?,
            Step::Plugin(_) | Step::Ctl(_) | Step::Spool { .. } => {}
        }
        Ok(match step {
            Step::Plugin(call) => Step::Plugin(self.plugin(call)?),
            Step::Ctl(call) => Step::Ctl(self.ctl(call)?),
            Step::Spool { call, .. } => {
                let (call, file) = self.spool(call)?;
                Step::Spool { call, file }
            }
            done => done,
        })
    }

    fn plugin(&self, call: PluginCall) -> anyhow::Result<PluginCall> {
        let printed = self.tapped.plugin_by_its_clock(&call)?;
        let exchanges = self.tap.said();
        ensure!(!exchanges.is_empty(), "{}: no exchange: {printed:?}", call.about);
        Ok(PluginCall { exchanges, printed, ..call })
    }

    fn ctl(&self, call: CtlCall) -> anyhow::Result<CtlCall> {
        let json = self.tapped.ctl(&call.arguments, Form::Json)?;
        let exchanges = self.tap.said();
        ensure!(!exchanges.is_empty(), "{:?}: no exchange: {json:?}", call.arguments);
        // The table comes from the recorded answers: a second request would change the node again.
        let (table, _) = self.fake.answers(&exchanges, || self.replayed.ctl(&call.arguments, Form::Table))?;
        self.direct.keep(call.keeps.as_deref(), &json)?;
        Ok(CtlCall { exchanges, json, table, ..call })
    }

    fn spool(&self, call: PluginCall) -> anyhow::Result<(PluginCall, File)> {
        let printed = self.direct.plugin_by_its_clock(&call)?;
        ensure!(printed.exit == Some(0), "{}: {printed:?}", call.about);
        Ok((PluginCall { printed, ..call }, self.direct.spooled()?))
    }
}
